"""Answers from memory all that the moves of runs ask of the tables, as the statements in Postgres would."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from sessions_app.engine.checkpoints import UNANSWERED, Authority, CheckpointState
from sessions_app.engine.log import NodeKind
from sessions_app.engine.reasons import GapSeverity
from sessions_app.engine.reply_facts import MAX_RECAP_BYTES, Branching, Recap, Sibling
from sessions_app.engine.runs import Dialect, ObservationKey, OutputChannel, Recorded, RunStatus
from sessions_app.engine.session_tokens import Handle, ParentContext
from sessions_app.engine.state import Preferences
from sessions_app.engine.tables import HandleRow, NodeRow, OutputRow
from sessions_app.selectors.branches import (
    MAX_ANCESTORS,
    MAX_DOWNSTREAM_BYTES,
    MAX_SIBLINGS,
    MAX_SUMMARY_CHARACTERS,
    Beneath,
    Leaf,
    RecapNote,
    recap_within,
)
from sessions_app.selectors.checkpoints import AfterAnswer, CheckpointValue, checkpoint_value
from sessions_app.selectors.session_tokens import ChildHandle, Holder
from sessions_app.selectors.standings import SessionStanding, Standing
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.program import Autonomy
from workflows_app.engine.values import Published
from workflows_app.selectors.publications import LatestPublication
from workrail_site.simulation.tables import Tables


@dataclass(kw_only=True)
class MemoryStore(Tables):
    """`published` are workflows by their ids, the same for every team, `programs` their bytes by hash."""

    published: Mapping[str, Published] = field(default_factory=dict)
    programs: Mapping[str, bytes] = field(default_factory=dict)

    def ask(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, name)(*args, **kwargs)

    # What people see

    def waiting(self) -> list[tuple[UUID, str, list[str]]]:
        rows = [placed.row for placed in self.questions.values()]
        return [
            (row.id, row.digest, [option["id"] for option in row.options])
            for row in sorted(rows, key=lambda row: row.id)
            if row.authority == Authority.HUMAN.value and CheckpointState(row.state) in UNANSWERED
        ]

    def run_ids(self) -> list[UUID]:
        return sorted(self.runs)

    def node_ids(self, run_id: UUID) -> list[UUID]:
        return sorted(id_ for id_, placed in self.nodes.items() if placed.row.run_id == run_id)

    # What belongs to the team

    def one_state(self) -> AbstractContextManager[None]:
        return nullcontext()

    def read_generations(self) -> list[tuple[int, bytes, timedelta]]:
        return []

    def find_published(self, *, actor: Actor, workflow_id: str, beside: str = "") -> Published:
        actor.require(Permission.READ_WORKFLOWS)
        found = self.published.get(workflow_id)
        if found is None:
            raise NotFoundError(f"There is no workflow {workflow_id}{beside and ' beside '}{beside}.")
        return found

    def read_publication(self, *, actor: Actor, workflow_id: str) -> LatestPublication | None:
        actor.require(Permission.READ_WORKFLOWS)
        found = self.published.get(workflow_id)
        if found is None:
            return None
        return LatestPublication(workflow_hash=found.workflow_hash, version=found.version)

    def program_bytes(self, workflow_hash: str) -> bytes:
        return self.programs[workflow_hash]

    def baseline_of(self, *, actor: Actor) -> Preferences:
        del actor
        return Preferences()

    # Nodes and runs

    def read_standing(self, *, team_id: UUID, node_id: UUID, nonce: bytes) -> Standing | None:
        placed = self.nodes.get(node_id)
        if placed is None or placed.team_id != team_id:
            return None
        return self.standing(placed.row, self.recorded(node_id, nonce))

    def read_tip(self, *, team_id: UUID, run_id: UUID) -> Standing | None:
        placed = self.runs.get(run_id)
        if placed is None or placed.team_id != team_id:
            return None
        return self.standing(self.node(placed.row.tip_node_id), None)

    def is_withdrawn(self, *, team_id: UUID, node_id: UUID) -> bool:
        placed = self.nodes.get(node_id)
        if placed is None or placed.team_id != team_id:
            return False
        node, never = placed.row, Autonomy.NEVER_STOP.value
        later = (each.row for each in self.nodes.values() if each.row.event_index > node.event_index)
        softened = (row for row in later if row.run_id == node.run_id and row.autonomy != never and row.parent_id)
        return any(self.node(row.parent_id).autonomy == never for row in softened)

    def standing(self, node: NodeRow, recorded: Recorded | None) -> Standing:
        run, session_id = self.run(node.run_id), self.nodes[node.id].session_id
        return Standing(
            node_id=node.id,
            session_id=session_id,
            run_id=node.run_id,
            node_kind=NodeKind(node.kind),
            snapshot=self.snapshot(node),
            snapshot_digest=node.snapshot_digest,
            head=self.sessions[session_id].head,
            workflow_id=run.workflow_id,
            workflow_title=run.workflow_title,
            workflow_hash=run.workflow_hash,
            goal=run.goal,
            run_status=RunStatus(run.status),
            tip_node_id=run.tip_node_id,
            has_children=bool(self.successors(node.id)),
            has_gaps=any(
                gap.severity == GapSeverity.CRITICAL.value and gap.resolved_by_id is None
                for gap in self.gaps_of(node.run_id)
            ),
            has_withdrawal=self.is_withdrawn(team_id=self.nodes[node.id].team_id, node_id=node.id),
            recorded=recorded,
        )

    def snapshot(self, node: NodeRow) -> bytes:
        return self.snapshots[self.nodes[node.id].team_id, node.snapshot_digest]

    def recorded(self, node_id: UUID, nonce: bytes) -> Recorded | None:
        kept = self.attempts.get((node_id, nonce))
        if kept is None:
            return None
        return Recorded(
            reply=kept.new.reply,
            reply_template=kept.new.reply_template,
            keys_generation=kept.new.keys_generation,
            to_node_id=kept.new.to_node_id,
            kept=tuple(
                (output.channel, output.body)
                for output in map(self.output, self.outputs_of.get(kept.new.to_node_id, ()))
            ),
        )

    def read_recorded(self, *, team_id: UUID, node_id: UUID, nonce: bytes) -> Recorded | None:
        kept = self.attempts.get((node_id, nonce))
        return self.recorded(node_id, nonce) if kept is not None and kept.team_id == team_id else None

    def is_request_known(self, *, team_id: UUID, node_id: UUID) -> bool:
        return any(key[0] == node_id and kept.team_id == team_id for key, kept in self.attempts.items())

    def read_session(
        self,
        *,
        team_id: UUID,
        session_id: UUID,
        nonce: bytes = b"",
        noted: Sequence[UUID] = (),  # noqa: ARG002  what was kept of a use is told without
    ) -> SessionStanding | None:
        session = self.sessions.get(session_id)
        if session is None or session.team_id != team_id:
            return None
        return SessionStanding(
            session_id=session_id,
            title=session.title,
            parent_id=session.parent_id,
            head=session.head,
            baseline=session.baseline,
            observed={key: session.observed[key.value] for key in ObservationKey},
            recorded=self.recorded(session_id, nonce),
        )

    def is_waiver_told(self, *, session_id: UUID, waived_by: str) -> bool:
        """Nobody writes past the services here."""
        return self.sessions[session_id].baseline.waived_by == waived_by

    # Questions

    def read_answered(self, *, team_id: UUID, request_id: UUID) -> AfterAnswer | None:
        placed = self.questions.get(request_id)
        if placed is None or placed.team_id != team_id:
            return None
        row = placed.row
        by_person = row.state == CheckpointState.ANSWERED.value and row.answered_as == Authority.HUMAN.value
        if not by_person or row.to_node_id is None:
            return None
        node = self.node(row.to_node_id)
        return AfterAnswer(
            node_id=node.id,
            node_kind=NodeKind(node.kind),
            snapshot=self.snapshot(node),
            snapshot_digest=node.snapshot_digest,
            has_children=bool(self.successors(node.id)),
        )

    def waiting_node(self, *, team_id: UUID, request_id: UUID) -> UUID:
        placed = self.nodes.get(request_id)
        if placed is None or placed.team_id != team_id:
            return request_id
        return max(self.staying(placed.row), key=lambda node: node.event_index).id

    def staying(self, node: NodeRow) -> Iterator[NodeRow]:
        yield node
        for child in self.successors(node.id):
            if child.pending_key == node.pending_key:
                yield from self.staying(child)

    def read_checkpoint(self, *, actor: Actor, request_id: UUID) -> CheckpointValue:
        actor.require(Permission.READ_RUNS)
        placed = self.questions.get(request_id)
        if placed is None or placed.team_id != actor.team_id:
            raise NotFoundError(
                "There is no such checkpoint.", suggestion="List the checkpoints of the team for their ids."
            )
        return checkpoint_value(
            cast("Any", _AskedRow(placed.row, placed.session_id)), cast("Any", self.run(placed.row.run_id))
        )

    # Session tokens

    def read_holder(self, *, team_id: UUID, handle_id: UUID, nonce: bytes = b"") -> Holder | None:
        placed = self.handles.get(handle_id)
        if placed is None or placed.team_id != team_id:
            return None
        tip = self.node(self.run(placed.row.run_id).tip_node_id)
        standing = self.standing(tip, self.recorded(handle_id, nonce))
        return Holder(handle=_handle(placed.row, placed.session_id), standing=standing)

    def read_children(self, *, team_id: UUID, run_ids: list[UUID]) -> tuple[ChildHandle, ...]:
        found = [
            placed
            for placed in self.handles.values()
            if placed.team_id == team_id and placed.row.run_id in run_ids and placed.row.parent_run_id is not None
        ]
        return tuple(
            ChildHandle(
                handle=_handle(placed.row, placed.session_id),
                workflow_id=self.run(placed.row.run_id).workflow_id,
                next_event_index=self.sessions[placed.session_id].head.next_index,
                tip_node_id=self.run(placed.row.run_id).tip_node_id,
            )
            for placed in sorted(found, key=lambda placed: placed.row.id)
        )

    # Trees

    def newest_leaf(self, *, actor: Actor, node_id: UUID) -> Leaf | None:
        placed = self.nodes.get(node_id)
        if placed is None or placed.team_id != actor.team_id:
            return None
        leaf = max((placed.row, *self.below(node_id)), key=lambda node: node.event_index)
        return Leaf(
            node_id=leaf.id,
            kind=NodeKind(leaf.kind),
            pending_key=leaf.pending_key,
            created_at=leaf.created_at,
            snapshot=self.snapshot(leaf),
        )

    def below(self, node_id: UUID) -> Iterator[NodeRow]:
        for child in self.successors(node_id):
            yield child
            yield from self.below(child.id)

    def beneath(self, *, actor: Actor, node_id: UUID, forked: bool) -> Beneath | None:
        placed = self.nodes.get(node_id)
        below = list(self.below(node_id)) if placed is not None and placed.team_id == actor.team_id else []
        if not below:
            return None
        leaf = max(below, key=lambda node: node.event_index)
        path = self.path(leaf, above=node_id)
        successors = sorted(self.successors(node_id), key=lambda node: node.event_index)
        told = successors[-MAX_SIBLINGS:]
        further = len(path) > MAX_ANCESTORS and path[-1].parent_id != node_id
        return Beneath(
            leaf_id=leaf.id,
            leaf_kind=NodeKind(leaf.kind),
            snapshot=self.snapshot(leaf),
            snapshot_digest=leaf.snapshot_digest,
            branching=Branching(
                forked=forked,
                siblings=tuple(self.sibling(row) for row in told),
                omitted=len(successors) - len(told),
                downstream=recap_within(
                    _in_order(self.notes(path)), max_bytes=MAX_DOWNSTREAM_BYTES, further_back=further
                ),
            ),
        )

    def path(self, leaf: NodeRow, *, above: UUID | None = None) -> list[NodeRow]:
        """From the leaf upwards, as far as anybody looks."""
        path = [leaf]
        while len(path) <= MAX_ANCESTORS and path[-1].parent_id not in {None, above}:
            path.append(self.node(path[-1].parent_id))
        return path

    def notes(self, path: list[NodeRow]) -> Iterator[tuple[OutputRow, RecapNote]]:
        made = [each.id for node in path for each in (node, *self.bookmarks(node.id))]
        for node_id in made:
            for output in self.recaps(node_id):
                at = self.node(cast("UUID", output.node_id))
                yield output, RecapNote(output.id, output.supersedes_id, output.body, at.pending_key, at.pending_title)

    def recaps(self, node_id: UUID) -> list[OutputRow]:
        rows = [self.output(each) for each in self.outputs_of.get(node_id, ())]
        return [row for row in rows if row.channel == OutputChannel.RECAP.value]

    def sibling(self, row: NodeRow) -> Sibling:
        mine = (row, *self.bookmarks(row.id))
        notes = [output for node in mine for output in self.recaps(node.id)]
        newest = max(notes, key=lambda output: (output.event_index, output.id), default=None)
        summary = newest.body[:MAX_SUMMARY_CHARACTERS] if newest else ""
        return Sibling(node_id=to_text(Prefix.NODE, row.id), kind=row.kind, title=row.pending_title, summary=summary)

    def recap_of(self, *, actor: Actor, node_id: UUID) -> Recap:
        placed = self.nodes[node_id]
        if placed.team_id != actor.team_id:
            raise NotFoundError("There is no such node.")
        path = self.path(placed.row)
        further = len(path) > MAX_ANCESTORS and path[-1].parent_id is not None
        notes = _in_order(self.notes(path))
        return recap_within(notes, max_bytes=MAX_RECAP_BYTES, further_back=further)


class _AskedRow:
    """A question as its row in Postgres has it: with the session, and nobody's claim."""

    claimed_by = ""
    claimed_at = None

    def __init__(self, row: Any, session_id: UUID) -> None:
        self._row, self.session_id = row, session_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


def _in_order(notes: Iterator[tuple[OutputRow, RecapNote]]) -> list[RecapNote]:
    found = sorted(notes, key=lambda each: (each[0].event_index, each[0].id))
    return [note for _, note in found]


def _handle(row: HandleRow, session_id: UUID) -> Handle:
    parent = None
    if row.parent_run_id is not None and row.parent_session_id is not None:
        parent = ParentContext(
            run_id=row.parent_run_id,
            session_id=row.parent_session_id,
            workflow_id=row.parent_workflow_id,
            activity=row.parent_activity,
            version=row.parent_version,
        )
    return Handle(
        id=row.id,
        session_id=session_id,
        run_id=row.run_id,
        dialect=Dialect(row.dialect),
        agent_id=row.agent_id,
        parent=parent,
    )
