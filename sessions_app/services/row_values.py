"""The rows of a transition, taken from its decisions and from where their events came to stand in the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sessions_app.engine.decisions import Decision, NewlyAsked, OutputDraft
from sessions_app.engine.drafts import gap_name, output_name
from sessions_app.engine.handles import Handle, issued_draft
from sessions_app.engine.log import EventKind
from sessions_app.engine.prompts import title_of
from sessions_app.services.appends import NewGap, NewHandle, NewNode, NewOutput, NewQuestion
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.program import Program

_TITLE_CHARACTERS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """`places` are the indices of the events by what they say."""

    program: Program
    decisions: Sequence[Decision]
    places: Mapping[str, int]
    unix_ms: int

    def nodes(self) -> list[NewNode]:
        return [self._node(decision) for decision in self.decisions]

    def outputs(self) -> list[NewOutput]:
        return [
            NewOutput(
                output_id=output.output_id,
                node_id=decision.place.node_id,
                to_node_id=decision.place.next_node,
                channel=output.channel,
                body=output.body,
                sha256=output.sha256,
                artifact_kind=output.artifact_kind[:128],
                supersedes_id=output.supersedes,
                event_index=self.places[f"{EventKind.NODE_OUTPUT_APPENDED.value}:{_name(output)}"],
            )
            for decision in self.decisions
            for output in decision.outputs
        ]

    def gaps(self) -> list[NewGap]:
        return [
            NewGap(
                gap_id=found.gap_id,
                node_id=decision.place.node_id or decision.place.next_node,
                gap=found.gap,
                event_index=self.places[f"{EventKind.GAP_RECORDED.value}:{gap_name(found.gap_id)}"],
            )
            for decision in self.decisions
            for found in decision.gaps
        ]

    def questions(self) -> list[NewQuestion]:
        return [
            NewQuestion(
                request_id=asked.request,
                shown=asked.shown,
                due_at=asked.shown.due_at(self.unix_ms),
                event_index=self.places[f"{EventKind.CHECKPOINT_PRESENTED.value}:{_asked_name(asked, decision)}"],
            )
            for decision in self.decisions
            for asked in decision.asked
        ]

    def handles(self, handles: Sequence[Handle]) -> list[NewHandle]:
        return [NewHandle(handle=each, event_index=self.places[issued_draft(each).dedupe]) for each in handles]

    def _node(self, decision: Decision) -> NewNode:
        place = decision.place
        snapshot = decision.snapshot
        return NewNode(
            node_id=place.next_node,
            parent_id=place.node_id,
            kind=decision.node_kind,
            edge_kind=decision.edge_kind,
            edge_cause=decision.edge_cause,
            snapshot=decision.snapshot_data,
            snapshot_digest=decision.snapshot_digest,
            pending_key=snapshot.position.pending,
            pending_title=title_of(program=self.program, snapshot=snapshot)[:_TITLE_CHARACTERS],
            preferences=snapshot.preferences,
            event_index=self.places[_created(decision)],
        )


def _created(decision: Decision) -> str:
    return decision.drafts[decision.node_draft].dedupe


def _asked_name(asked: NewlyAsked, decision: Decision) -> str:
    """A question that is asked alone goes by the name of its node."""
    alone = asked.request == decision.place.next_node
    return to_text(Prefix.NODE if alone else Prefix.CHECKPOINT, asked.request)


def _name(output: OutputDraft) -> str:
    return output_name(channel=output.channel, output_id=output.output_id)
