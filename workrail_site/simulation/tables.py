"""The tables of sessions in memory, and the write of a transition with the meaning that the statement in Postgres has.

It begins with the head: a session whose log has grown is not written to. An attempt, an event and what it says are there once.
Of several plans all are written or none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine.checkpoints import UNANSWERED, Authority, CheckpointState, Closing
from sessions_app.engine.log import Event, Head, NodeKind
from sessions_app.engine.state import Preferences
from sessions_app.engine.tables import GapRow, HandleRow, NodeRow, OutputRow, QuestionRow, RunRow
from sessions_app.services.store.appends import Append, NewAttempt
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, to_text

OBSERVED = ("git_branch", "git_head_sha", "repository", "ticket")
AttemptKey = tuple[UUID, bytes]


class BrokenConstraintError(Exception):
    """What Postgres would have refused: no service ever writes it."""


class _Conflict(Exception):  # noqa: N818  another writer was first: no error, and no plan of the transition is written
    pass


@dataclass(slots=True, kw_only=True)
class MemorySession:
    id: UUID
    team_id: UUID
    title: str
    parent_id: UUID | None
    head: Head
    baseline: Preferences
    created_by: str
    last_activity_at: datetime
    observed: dict[str, str] = field(default_factory=lambda: dict.fromkeys(OBSERVED, ""))
    events: list[Event] = field(default_factory=list)
    said: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A row with the team and the session that it is of."""

    row: Any
    team_id: UUID
    session_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAttempt:
    new: NewAttempt
    team_id: UUID
    session_id: UUID
    event_index: int
    actor: str


@dataclass(kw_only=True)
class Tables:
    """`transitions` counts those that were written."""

    sessions: dict[UUID, MemorySession] = field(default_factory=dict)
    runs: dict[UUID, Placed] = field(default_factory=dict)
    nodes: dict[UUID, Placed] = field(default_factory=dict)
    snapshots: dict[tuple[UUID, str], bytes] = field(default_factory=dict)
    attempts: dict[AttemptKey, KeptAttempt] = field(default_factory=dict)
    outputs: dict[UUID, Placed] = field(default_factory=dict)
    gaps: dict[UUID, Placed] = field(default_factory=dict)
    questions: dict[UUID, Placed] = field(default_factory=dict)
    handles: dict[UUID, Placed] = field(default_factory=dict)
    announcements: dict[UUID, str] = field(default_factory=dict)
    audit: list[tuple[str, str]] = field(default_factory=list)
    children: dict[UUID, list[UUID]] = field(default_factory=dict)
    outputs_of: dict[UUID, list[UUID]] = field(default_factory=dict)
    transitions: int = 0

    def write(self, *, actor: Actor, plans: Sequence[Append]) -> bool:
        del actor
        undo: list[Callable[[], Any]] = []
        try:
            for plan in plans:
                self.append(plan, undo)
        except _Conflict:
            for step in reversed(undo):
                step()
            return False
        self.transitions += 1
        return True

    def append(self, plan: Append, undo: list[Callable[[], Any]]) -> None:
        self.grow(plan, undo)
        before = self.runs.get(plan.run_id) if plan.run_id else None
        self.tell(plan, before.row.status if before else None, undo)
        self.place_run(plan, before, undo)
        self.close(plan, undo)
        for node in plan.nodes:
            key = (plan.team_id, node.snapshot_digest)
            if key not in self.snapshots:
                _put(self.snapshots, key, plan.snapshots[node.snapshot_digest], undo)
            self.add(self.nodes, node, plan, undo)
            if node.parent_id is not None:
                _hang(self.children, node.parent_id, node.id, undo)
        for output in plan.outputs:
            self.add(self.outputs, output, plan, undo)
            if output.to_node_id is not None:
                _hang(self.outputs_of, output.to_node_id, output.id, undo)
        self.answer(plan, undo)
        rows: tuple[tuple[dict[UUID, Placed], Sequence[Any]], ...] = (
            (self.gaps, plan.gaps),
            (self.questions, plan.questions),
            (self.handles, plan.handles),
        )
        for table, new in rows:
            for row in new:
                self.add(table, row, plan, undo)
        for gap, by in plan.resolved:
            self.change(self.gaps, gap, undo, resolved_by_id=by)
        self.account(plan, undo)

    # The parts of the statement

    def grow(self, plan: Append, undo: list[Callable[[], Any]]) -> None:
        """The lock: nobody writes behind a head that they have not read."""
        session = self.sessions.get(plan.session_id)
        if plan.session is not None:
            if session is not None:
                raise BrokenConstraintError("A session is begun twice.")
            session = MemorySession(
                id=plan.session_id,
                team_id=plan.team_id,
                title=plan.session.title,
                parent_id=plan.session.parent_id,
                head=plan.before,
                baseline=plan.session.baseline,
                created_by=plan.actor,
                last_activity_at=plan.now,
            )
            _put(self.sessions, plan.session_id, session, undo)
        elif session is None or session.team_id != plan.team_id or not self.is_head(session, plan.before):
            raise _Conflict
        head, at, observed = session.head, session.last_activity_at, dict(session.observed)
        count, said = len(session.events), [event.dedupe for event in plan.events]
        if len(set(said)) < len(said) or not session.said.isdisjoint(said):
            raise BrokenConstraintError(f"The log says it once: {said}")

        def back() -> None:
            session.head, session.last_activity_at, session.observed = head, at, observed
            del session.events[count:]
            session.said.difference_update(said)

        undo.append(back)
        session.head, session.last_activity_at = plan.after, plan.now
        session.observed |= plan.observed or {}
        session.events.extend(plan.events)
        session.said.update(said)

    def is_head(self, session: MemorySession, before: Head) -> bool:
        return session.head == before

    def place_run(self, plan: Append, before: Placed | None, undo: list[Callable[[], Any]]) -> None:
        if plan.run_id is None:
            return
        if plan.run is None:
            if before is None:
                return
            status = {} if plan.run_status is None else {"status": plan.run_status.value}
            completed = {} if plan.run_status is None else {"completed_at": plan.completed_at}
            tip = {} if plan.tip_node_id is None else {"tip_node_id": plan.tip_node_id}
            self.change(self.runs, plan.run_id, undo, last_activity_at=plan.now, **status, **completed, **tip)
            return
        if plan.run_status is None or plan.tip_node_id is None:
            raise BrokenConstraintError("A run begins with a status and a tip.")
        own = {each.name: getattr(plan.run, each.name) for each in fields(plan.run)}
        run = RunRow(
            **own,
            id=plan.run_id,
            status=plan.run_status.value,
            tip_node_id=plan.tip_node_id,
            started_at=plan.now,
            last_activity_at=plan.now,
            completed_at=plan.completed_at,
            created_by=plan.actor,
        )
        self.add(self.runs, run, plan, undo)

    def close(self, plan: Append, undo: list[Callable[[], Any]]) -> None:
        """What became of the questions that were there before."""
        waiting = [
            placed.row
            for placed in self.questions.values()
            if placed.session_id == plan.session_id and CheckpointState(placed.row.state) in UNANSWERED
        ]
        closings = {closing.request: closing for closing in plan.closings}
        for row in waiting:
            if row.id in closings:
                self.change(self.questions, row.id, undo, **_closed(plan, closings[row.id]))
            elif plan.moved is not None and row.run_id == plan.run_id:
                state = CheckpointState.OPEN if row.id == plan.moved.asked else CheckpointState.WITHDRAWN
                self.change(self.questions, row.id, undo, state=state.value)

    def answer(self, plan: Append, undo: list[Callable[[], Any]]) -> None:
        for new in plan.attempts:
            key = (new.node_id, new.nonce)
            if key in self.attempts:
                raise _Conflict
            kept = KeptAttempt(
                new=new,
                team_id=plan.team_id,
                session_id=plan.session_id,
                event_index=plan.before.next_index,
                actor=plan.actor,
            )
            _put(self.attempts, key, kept, undo)

    def tell(self, plan: Append, status: str | None, undo: list[Callable[[], Any]]) -> None:
        for told in plan.announcements:
            if told.id not in self.announcements and (not told.status or told.status != status):
                _put(self.announcements, told.id, told.kind.value, undo)

    def account(self, plan: Append, undo: list[Callable[[], Any]]) -> None:
        people = [closing for closing in plan.closings if closing.authority is Authority.HUMAN]
        entries = [("checkpoint.answered", to_text(Prefix.CHECKPOINT, closing.request)) for closing in people]
        count = len(self.audit)
        undo.append(lambda: self.audit.__delitem__(slice(count, None)))
        self.audit.extend([*entries, *plan.audited])

    # Rows

    def add(self, table: dict[UUID, Placed], row: Any, plan: Append, undo: list[Callable[[], Any]]) -> None:
        if row.id in table:
            raise BrokenConstraintError(f"A row is there twice: {row}")
        _put(table, row.id, Placed(row=row, team_id=plan.team_id, session_id=plan.session_id), undo)

    def change(self, table: dict[UUID, Placed], key: UUID, undo: list[Callable[[], Any]], **values: Any) -> None:
        placed = table[key]
        own = {each.name: getattr(placed.row, each.name) for each in fields(placed.row)}
        changed = type(placed.row)(**(own | values))
        _put(table, key, Placed(row=changed, team_id=placed.team_id, session_id=placed.session_id), undo)

    def rows_of(self, session_id: UUID) -> Mapping[str, list[Any]]:
        """By the names under which checks read them."""
        tables: dict[str, dict[UUID, Placed]] = {
            "runs": self.runs,
            "nodes": self.nodes,
            "outputs": self.outputs,
            "gaps": self.gaps,
            "questions": self.questions,
            "handles": self.handles,
        }
        return {
            name: [placed.row for placed in table.values() if placed.session_id == session_id]
            for name, table in tables.items()
        }

    # Shorter ways to rows

    def node(self, node_id: UUID) -> NodeRow:
        row: NodeRow = self.nodes[node_id].row
        return row

    def run(self, run_id: UUID) -> RunRow:
        row: RunRow = self.runs[run_id].row
        return row

    def question(self, request_id: UUID) -> QuestionRow:
        row: QuestionRow = self.questions[request_id].row
        return row

    def handle(self, handle_id: UUID) -> HandleRow:
        row: HandleRow = self.handles[handle_id].row
        return row

    def output(self, output_id: UUID) -> OutputRow:
        row: OutputRow = self.outputs[output_id].row
        return row

    def gaps_of(self, run_id: UUID) -> Iterator[GapRow]:
        return (placed.row for placed in self.gaps.values() if placed.row.run_id == run_id)

    def successors(self, node_id: UUID) -> list[NodeRow]:
        """In the order in which they were made; bookmarks are none."""
        rows = [self.node(child) for child in self.children.get(node_id, ())]
        return [row for row in rows if row.kind != NodeKind.BOOKMARK.value]

    def bookmarks(self, node_id: UUID) -> list[NodeRow]:
        rows = [self.node(child) for child in self.children.get(node_id, ())]
        return [row for row in rows if row.kind == NodeKind.BOOKMARK.value]


def _closed(plan: Append, closing: Closing) -> dict[str, Any]:
    answered = closing.state is CheckpointState.ANSWERED
    return {
        "state": closing.state.value,
        "answered_at": plan.now if answered else None,
        "answered_by": closing.voice.who if answered else "",
        "answered_as": closing.authority.value if closing.authority else "",
        "option_id": closing.option,
        "reason": closing.voice.reason if answered else "",
        "door": closing.voice.door if answered else "",
        "to_node_id": plan.closed_by if answered else None,
    }


def _put(table: dict[Any, Any], key: Any, value: Any, undo: list[Callable[[], Any]]) -> None:
    if key in table:
        before = table[key]
        undo.append(lambda: table.__setitem__(key, before))
    else:
        undo.append(lambda: table.__delitem__(key))
    table[key] = value


def _hang(table: dict[UUID, list[UUID]], key: UUID, value: UUID, undo: list[Callable[[], Any]]) -> None:
    table.setdefault(key, []).append(value)
    undo.append(table[key].pop)
