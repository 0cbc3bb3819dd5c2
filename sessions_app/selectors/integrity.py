"""Checks what is stored of a session: its chain, its seals, and that every table says what the log says."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from sessions_app.engine import seals, stored_log
from sessions_app.engine.handles import ParentContext
from sessions_app.engine.ledger import EntryKind
from sessions_app.engine.log import EventKind, Fault, Head, HealthReason, StoredEvent, Verification, verify_chain
from sessions_app.engine.projections import (
    GapView,
    HandleView,
    NodeView,
    OutputView,
    QuestionView,
    RunView,
    SessionView,
    project,
)
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.state import Preferences
from sessions_app.engine.stored_log import LogRow, ReplyRow, SessionRow, Told
from sessions_app.models import WorkSession
from sessions_app.selectors import gates_passed
from sessions_app.selectors.stored_sessions import SessionTables, read_stored
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.seals import to_us
from workflows_app.engine.program import Autonomy, RiskPolicy

_IDS_AT_ONCE = 2000
_STALE = "stale_projection"
_MISSING = "missing_row"
_COLUMN = stored_log.LogReason.COLUMN_MISMATCH.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken promise, and where. Without a session it is the team's, or the installation's."""

    session_id: UUID | None
    reason: str
    message: str
    team_id: UUID | None = None

    def __str__(self) -> str:
        return f"{self._place()}: {self.reason}: {self.message}"

    def _place(self) -> str:
        if self.session_id is not None:
            return to_text(Prefix.SESSION, self.session_id)
        return "the installation" if self.team_id is None else to_text(Prefix.TEAM, self.team_id)


def session_ids() -> Iterator[UUID]:
    return WorkSession.objects.order_by("id").values_list("id", flat=True).iterator(chunk_size=_IDS_AT_ONCE)


def verify_session(session_id: UUID) -> list[Finding]:
    """Everything wrong with one session; empty when its log and its rows keep every promise."""
    return judge(read_stored(session_id))


def judge(stored: SessionTables) -> list[Finding]:
    """The same of rows that are read already."""
    if stored.row is None:
        return list(_remains(stored))
    verification = verify_chain(map(_event, stored.events))
    found = [_from_fault(stored.session_id, fault) for fault in verification.faults]
    found.extend(_head(stored, verification))
    found.extend(_entered(stored))
    if verification.faults:
        return found
    trusted = next((entry.next_event_index for entry in stored.entries if entry.kind == EntryKind.ADOPTED.value), None)
    faults, told = _sealed(stored, trusted)
    found.extend(faults)
    view = project(bytes(row.body) for row in stored.events)
    found.extend(_Judge(stored, view, told).findings())
    passed = gates_passed.gates_passed(stored, view)
    found.extend(Finding(session_id=stored.session_id, reason=gates_passed.REASON, message=said) for said in passed)
    return found


def to_ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _remains(stored: SessionTables) -> Iterator[Finding]:
    """Rows of a session whose own row is gone."""
    tables = ("events", "runs", "nodes", "attempts", "outputs", "gaps", "questions", "handles")
    left = {name: len(getattr(stored, name)) for name in tables if getattr(stored, name)}
    if left:
        told = ", ".join(f"{count} {name}" for name, count in left.items())
        message = f"The session is gone, and of its rows there are {told}."
        yield Finding(session_id=stored.session_id, reason="session_row_gone", message=message)


def _event(row: Any) -> StoredEvent:
    return StoredEvent(index=row.index, kind=row.kind, dedupe=row.dedupe, body=bytes(row.body), digest=row.digest)


def _from_fault(session_id: UUID, fault: Fault) -> Finding:
    return Finding(session_id=session_id, reason=fault.reason.value, message=fault.message)


def _head(stored: SessionTables, verification: Verification) -> Iterator[Finding]:
    head = Head(next_index=stored.row.next_event_index, digest=stored.row.head_digest)
    if verification.head != head:
        message = f"The session says its log ends at {head}, and it ends at {verification.head}."
        yield Finding(session_id=stored.session_id, reason=HealthReason.HEAD_MISMATCH.value, message=message)


def _entered(stored: SessionTables) -> Iterator[Finding]:
    """The log still has what it had when the session was entered in the team's ledger."""
    digests = {row.index + 1: row.digest for row in stored.events}
    for entry in stored.entries:
        if entry.team_id != stored.row.team_id:
            message = "The ledger of another team tells of it."
            yield Finding(session_id=stored.session_id, reason=_COLUMN, message=message)
        elif entry.kind == EntryKind.DELETED.value:
            message = "The team's ledger says that it was deleted, and it is there."
            yield Finding(session_id=stored.session_id, reason="deleted_and_there", message=message)
        elif digests.get(entry.next_event_index) != entry.head_digest:
            message = (
                f"The log is not the one that the team's ledger tells of, up to event {entry.next_event_index - 1}."
            )
            yield Finding(session_id=stored.session_id, reason="ledger_mismatch", message=message)


def _sealed(stored: SessionTables, trusted: int | None) -> tuple[list[Finding], Told]:
    row = stored.row
    session = SessionRow(
        session_id=row.id,
        team_id=row.team_id,
        head=Head(next_index=row.next_event_index, digest=row.head_digest),
        head_seal=row.head_seal,
        trusted=trusted,
        dialects={run.id: run.dialect for run in stored.runs},
    )
    found, told = stored_log.check_log(
        settings.SEAL_KEYS,
        session=session,
        events=[_log_row(event) for event in stored.events],
        replies=map(_reply_row, stored.attempts),
    )
    return [Finding(session_id=row.id, reason=each.reason.value, message=each.message) for each in found], told


def _log_row(row: Any) -> LogRow:
    return LogRow(
        index=row.index,
        team_id=row.team_id,
        event_id=row.event_id,
        kind=row.kind,
        run_id=row.run_id,
        node_id=row.node_id,
        body=bytes(row.body),
        digest=row.digest,
        created_us=to_us(row.created_at),
        seal=row.seal,
    )


def _reply_row(row: Any) -> ReplyRow:
    digest = seals.attempt_digest(
        node_id=row.node_id,
        nonce=bytes(row.nonce),
        kind=row.kind,
        to_node_id=row.to_node_id,
        reply_sha256=row.reply,
        reply_template=row.reply_template,
        keys_generation=row.keys_generation,
        actor=row.actor,
    )
    return ReplyRow(
        event_index=row.event_index,
        team_id=row.team_id,
        digest=digest,
        actor=row.actor,
        created_us=to_us(row.created_at),
        name=f"the attempt {bytes(row.nonce).hex() or 'without a nonce'} at {to_text(Prefix.NODE, row.node_id)}",
    )


class _Judge:
    """Compares the rows of one session with what its log amounts to."""

    def __init__(self, stored: SessionTables, view: SessionView, told: Told) -> None:
        self.stored = stored
        self.view = view
        self.told = told
        self.row = stored.row

    def findings(self) -> Iterator[Finding]:
        yield from self._teams()
        yield from self._session()
        yield from self._runs()
        yield from self._nodes()
        yield from self._same("outputs", map(_of_output, self.stored.outputs), map(_of_told_output, self._outputs()))
        yield from self._same("gaps", map(_of_gap, self.stored.gaps), self._told_gaps())
        yield from self._same("checkpoints", map(_of_question, self.stored.questions), self._told_questions())
        yield from self._same("holders of session tokens", map(_of_handle, self.stored.handles), self._told_handles())
        yield from self._times()
        yield from self._attempts()

    def _finding(self, reason: str, message: str) -> Finding:
        return Finding(session_id=self.row.id, reason=reason, message=message)

    def _teams(self) -> Iterator[Finding]:
        for name in ("runs", "nodes", "attempts", "outputs", "gaps", "questions", "handles"):
            strange = [row for row in getattr(self.stored, name) if row.team_id != self.row.team_id]
            if strange:
                yield self._finding(_COLUMN, f"{len(strange)} {name} are said to be another team's.")

    def _session(self) -> Iterator[Finding]:
        row = self.row
        for key in ObservationKey:
            value = getattr(row, key.value)
            if self.view.observed.get(key, "") != value:
                yield self._finding(_STALE, f"{key.value} is {value!r}, the log says otherwise.")
        baseline = Preferences(
            autonomy=Autonomy(row.autonomy), risk_policy=RiskPolicy(row.risk_policy), waived_by=row.waived_by
        )
        if self.view.baseline not in {None, baseline}:
            yield self._finding(_STALE, "Its runs begin with preferences that the log does not tell.")
        begun = orjson.loads(bytes(self.stored.events[0].body))["data"] if self.stored.events else {}
        parent = to_text(Prefix.SESSION, row.parent_id) if row.parent_id else None
        said = {
            "title": (row.title, self.view.title),
            "parent_id": (parent, begun.get("parentSessionId")),
            "created_by": (row.created_by, self.told.actors.get(0, row.created_by)),
            "created_at": (to_us(row.created_at), self.told.created_us.get(0)),
        }
        yield from self._columns("the session", said)
        last = next(reversed(self.told.created_us.values()), 0)
        # An import is later than what it takes in.
        if to_us(row.last_activity_at) < last:
            yield self._finding(_COLUMN, "last_activity_at of the session is before the last event.")

    def _columns(self, name: str, said: Mapping[str, tuple[object, object]]) -> Iterator[Finding]:
        for column, (stored, logged) in said.items():
            if stored != logged:
                yield self._finding(_COLUMN, f"{column} of {name} is {stored!r}, the log says {logged!r}.")

    def _runs(self) -> Iterator[Finding]:
        runs = {run.id: run for run in self.stored.runs}
        if set(runs) != set(self.view.runs):
            yield self._finding(_MISSING, "The runs of the table are not the runs of the log.")
        starts = {row.run_id: row for row in self.stored.events if row.kind == EventKind.RUN_STARTED.value}
        latest: dict[UUID, int] = {}
        for event in self.stored.events:
            if event.run_id is not None:
                latest[event.run_id] = to_us(event.created_at)
        for run_id in sorted(runs.keys() & self.view.runs.keys()):
            yield from self._run(runs[run_id], self.view.runs[run_id], starts.get(run_id), latest.get(run_id))

    def _run(self, run: Any, view: RunView, start: Any, latest: int | None) -> Iterator[Finding]:
        name = to_text(Prefix.RUN, run.id)
        tip = view.tip
        said = (run.status, run.tip_node_id, run.workflow_hash, to_ms(run.completed_at))
        logged = (view.status.value, tip.node_id if tip else None, view.workflow_hash, view.completed_ms)
        if said != logged:
            yield self._finding(_STALE, f"{name} is {said}, the log says {logged}.")
        began = orjson.loads(bytes(start.body))["data"] if start else {}
        columns = {
            "workflow_id": (run.workflow_id, view.workflow_id),
            "workflow_title": (run.workflow_title, began.get("title", "")[:256]),
            "goal": (run.goal, view.goal[:2048]),
            "name": (run.name, view.name),
            "created_by": (run.created_by, self.told.actors.get(start.index, run.created_by) if start else None),
            "started_at": (to_us(run.started_at), self.told.created_us.get(start.index) if start else None),
            "last_activity_at": (to_us(run.last_activity_at), latest),
        }
        yield from self._columns(name, columns)

    def _nodes(self) -> Iterator[Finding]:
        logged = {node.node_id: node for run in self.view.runs.values() for node in run.nodes.values()}
        nodes = {node.id: node for node in self.stored.nodes}
        if set(nodes) != set(logged):
            yield self._finding(_MISSING, "The nodes of the table are not the nodes of the log.")
        for node_id, node in nodes.items():
            if node_id in logged and _of_node(node) != _of_view(logged[node_id]):
                yield self._finding(_STALE, f"{to_text(Prefix.NODE, node_id)} differs from the log.")
            if node.snapshot_has is None:
                yield self._finding(_MISSING, f"Snapshot {node.snapshot_digest} is gone.")
            elif node.snapshot_has != node.snapshot_digest:
                message = f"Snapshot {node.snapshot_digest} has other bytes."
                yield self._finding(HealthReason.DIGEST_MISMATCH.value, message)

    def _same(
        self, name: str, stored: Iterable[tuple[Any, ...]], logged: Iterable[tuple[Any, ...]]
    ) -> Iterator[Finding]:
        """Rows are named by their first value."""
        kept = {row[0]: row for row in stored}
        told = {row[0]: row for row in logged}
        if kept.keys() != told.keys():
            yield self._finding(_MISSING, f"{len(kept)} {name} are stored, the log tells of {len(told)}.")
        for key in sorted(kept.keys() & told.keys()):
            if kept[key] != told[key]:
                yield self._finding(_STALE, f"One of the {name}, {key}, differs from the log.")

    def _outputs(self) -> Iterable[OutputView]:
        return self.view.every_output()

    def _told_gaps(self) -> Iterator[tuple[Any, ...]]:
        return (_of_told_gap(run, gap) for run in self.view.runs.values() for gap in run.gaps)

    def _told_questions(self) -> Iterator[tuple[Any, ...]]:
        return (_of_asked(run, each) for run in self.view.runs.values() for each in run.questions.values())

    def _told_handles(self) -> Iterator[tuple[Any, ...]]:
        return map(_of_told_handle, self.view.handles.values())

    def _times(self) -> Iterator[Finding]:
        for name in ("nodes", "outputs", "gaps", "handles"):
            for row in getattr(self.stored, name):
                if to_us(row.created_at) != self.told.created_us.get(row.event_index):
                    yield self._finding(_COLUMN, f"One of the {name} has another time than event {row.event_index}.")

    def _attempts(self) -> Iterator[Finding]:
        known = {*(node.id for node in self.stored.nodes), self.row.id}
        if any(attempt.to_node_id not in known for attempt in self.stored.attempts):
            yield self._finding("orphan_row", "An attempt leads to a node that is not there.")


def _of_node(node: Any) -> tuple[object, ...]:
    place = (node.kind, node.parent_id, node.edge_kind, node.edge_cause, node.event_index)
    return (*place, node.snapshot_digest, node.pending_key, node.autonomy, node.risk_policy)


def _of_view(node: NodeView) -> tuple[object, ...]:
    place = (node.kind.value, node.parent_id, node.edge_kind, node.edge_cause, node.event_index)
    return (*place, node.snapshot, node.pending, node.autonomy, node.risk_policy)


def _of_output(row: Any) -> tuple[Any, ...]:
    place = (row.run_id, row.node_id, row.to_node_id, row.channel, row.supersedes_id, row.event_index)
    return (row.id, *place, row.body_has, row.sha256, row.artifact_kind)


def _of_told_output(out: OutputView) -> tuple[Any, ...]:
    place = (out.run_id, out.node_id, out.to_node_id, out.channel.value, out.supersedes, out.event_index)
    return (out.output_id, *place, out.sha256, out.sha256, out.artifact_kind[:128])


def _of_gap(row: Any) -> tuple[Any, ...]:
    told = (row.severity, row.category, row.detail, row.summary)
    return (row.id, row.run_id, row.node_id, *told, row.resolved_by_id, row.event_index)


def _of_told_gap(run: RunView, gap: GapView) -> tuple[Any, ...]:
    told = (gap.severity.value, gap.category, gap.detail, gap.summary)
    return (gap.gap_id, run.run_id, gap.node_id, *told, gap.resolved_by, gap.event_index)


def _of_question(row: Any) -> tuple[Any, ...]:
    texts = (row.checkpoint_id, row.instance_key, row.title, row.message, row.authority, row.digest)
    shown = (*texts, _sorted(orjson.loads(row.options)))
    times = (to_ms(row.presented_at), to_ms(row.due_at), to_ms(row.answered_at), row.event_index)
    answer = (row.answered_by, row.answered_as, row.option_id, row.reason, row.door, row.to_node_id)
    return (row.id, row.run_id, row.state, *shown, *times, *answer)


def _of_asked(run: RunView, view: QuestionView) -> tuple[Any, ...]:
    texts = tuple(view.shown[key] for key in ("checkpointId", "instance", "title", "message", "authority", "digest"))
    shown = (*texts, _sorted(view.shown["options"]))
    times = (view.presented_ms, view.due_ms, view.answered_ms, view.event_index)
    answer = (view.answered_by, view.answered_as, view.option_id, view.reason, view.door, view.to_node_id)
    return (view.request_id, run.run_id, run.state_of(view).value, *shown, *times, *answer)


def _sorted(options: object) -> bytes:
    """The same for equal options: jsonb gives keys back in an order of its own."""
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS)


def _of_handle(row: Any) -> tuple[Any, ...]:
    of_parent = (row.parent_workflow_id, row.parent_activity, row.parent_version)
    parent = (row.parent_run_id, row.parent_session_id, *of_parent)
    return (row.id, row.run_id, row.dialect, row.agent_id, *parent, row.event_index)


def _of_told_handle(view: HandleView) -> tuple[Any, ...]:
    held = view.handle
    return (held.id, held.run_id, held.dialect.value, held.agent_id, *_parent(held.parent), view.event_index)


def _parent(parent: ParentContext | None) -> tuple[UUID | None, UUID | None, str, str, str]:
    if parent is None:
        return (None, None, "", "", "")
    return (parent.run_id, parent.session_id, parent.workflow_id, parent.activity, parent.version)
