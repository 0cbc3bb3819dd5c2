"""The rows of a transition, taken from its decisions and from where their events came to stand in the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.decisions import Decision, IdentifiedGap, NewlyAsked, OutputDraft
from sessions_app.engine.drafts import gap_name
from sessions_app.engine.log import EventKind
from sessions_app.engine.outputs import output_name
from sessions_app.engine.prompts import title_of
from sessions_app.engine.session_tokens import Handle, issued_draft
from sessions_app.engine.tables import (
    KIND_CHARACTERS,
    TITLE_CHARACTERS,
    GapRow,
    HandleRow,
    NodeRow,
    OutputRow,
    QuestionRow,
    handle_row,
)
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """`places` are the indices of the events by what they say."""

    program: Program
    decisions: Sequence[Decision]
    places: Mapping[str, int]
    now: datetime

    def nodes(self) -> list[NodeRow]:
        return [self._node(decision) for decision in self.decisions]

    def outputs(self) -> list[OutputRow]:
        return [
            OutputRow(
                id=output.output_id,
                run_id=decision.place.run_id,
                node_id=decision.place.node_id,
                to_node_id=decision.place.next_node,
                channel=output.channel.value,
                body=output.body,
                sha256=output.sha256,
                artifact_kind=output.artifact_kind[:KIND_CHARACTERS],
                supersedes_id=output.supersedes,
                event_index=self.places[f"{EventKind.NODE_OUTPUT_APPENDED.value}:{_name(output)}"],
                created_at=self.now,
            )
            for decision in self.decisions
            for output in decision.outputs
        ]

    def gaps(self) -> list[GapRow]:
        return [
            gap_row(
                found,
                node_id=decision.place.node_id or decision.place.next_node,
                run_id=decision.place.run_id,
                event_index=self.places[f"{EventKind.GAP_RECORDED.value}:{gap_name(found.gap_id)}"],
                now=self.now,
            )
            for decision in self.decisions
            for found in decision.gaps
        ]

    def questions(self) -> list[QuestionRow]:
        return [self._question(asked, decision) for decision in self.decisions for asked in decision.asked]

    def handles(self, handles: Sequence[Handle]) -> list[HandleRow]:
        return [
            handle_row(each, event_index=self.places[issued_draft(each).dedupe], created_at=self.now)
            for each in handles
        ]

    def _question(self, asked: NewlyAsked, decision: Decision) -> QuestionRow:
        shown = asked.shown
        return QuestionRow(
            id=asked.request,
            run_id=decision.place.run_id,
            checkpoint_id=shown.checkpoint_id,
            instance_key=shown.instance,
            title=shown.title,
            message=shown.message,
            options=[option.as_json() for option in shown.options],
            authority=shown.authority.value,
            digest=shown.digest,
            event_index=self.places[f"{EventKind.CHECKPOINT_PRESENTED.value}:{_asked_name(asked, decision)}"],
            presented_at=self.now,
            due_at=shown.due_at(decision.place.at_ms),
            state=CheckpointState.OPEN.value,
            answered_at=None,
            answered_by="",
            answered_as="",
            option_id="",
            reason="",
            door="",
            to_node_id=None,
        )

    def _node(self, decision: Decision) -> NodeRow:
        place = decision.place
        snapshot = decision.snapshot
        return NodeRow(
            id=place.next_node,
            run_id=place.run_id,
            parent_id=place.node_id,
            kind=decision.node_kind.value,
            edge_kind=decision.edge_kind.value if decision.edge_kind else "",
            edge_cause=decision.edge_cause.value if decision.edge_cause else "",
            snapshot_digest=decision.snapshot_digest,
            pending_key=snapshot.position.pending,
            pending_title=title_of(program=self.program, snapshot=snapshot)[:TITLE_CHARACTERS],
            autonomy=snapshot.preferences.autonomy.value,
            risk_policy=snapshot.preferences.risk_policy.value,
            event_index=self.places[_created(decision)],
            created_at=self.now,
        )


def gap_row(found: IdentifiedGap, *, node_id: UUID, run_id: UUID, event_index: int, now: datetime) -> GapRow:
    gap = found.gap
    return GapRow(
        id=found.gap_id,
        run_id=run_id,
        node_id=node_id,
        severity=gap.severity.value,
        category=gap.category.value,
        detail=gap.detail.value,
        summary=gap.summary,
        resolved_by_id=None,
        event_index=event_index,
        created_at=now,
    )


def _created(decision: Decision) -> str:
    return decision.drafts[decision.node_draft].dedupe


def _asked_name(asked: NewlyAsked, decision: Decision) -> str:
    """A question that is asked alone goes by the name of its node."""
    alone = asked.request == decision.place.next_node
    return to_text(Prefix.NODE if alone else Prefix.CHECKPOINT, asked.request)


def _name(output: OutputDraft) -> str:
    return output_name(channel=output.channel, output_id=output.output_id)
