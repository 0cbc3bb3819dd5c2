"""Checks what is stored of a session: its chain, its seals, and that every table says what the log says."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.conf import settings
from msgspec.structs import replace

from sessions_app.engine import seals, stored_log
from sessions_app.engine.ledger import EntryKind
from sessions_app.engine.log import (
    ChainVerification,
    EventKind,
    Head,
    HealthReason,
    LogFault,
    StoredEvent,
    verify_chain,
)
from sessions_app.engine.projections import ProjectedSession, project
from sessions_app.engine.prompts import written_titles
from sessions_app.engine.runs import DRIVES, Dialect, Drive, ObservationKey, window_of
from sessions_app.engine.state import Preferences
from sessions_app.engine.stored_log import LogRow, ReplyRow, SessionRow, Told
from sessions_app.engine.tables import TABLES, TITLE_CHARACTERS, Table
from sessions_app.models import WorkSession
from sessions_app.selectors import gates_passed
from sessions_app.selectors.adopted import untold_digests
from sessions_app.selectors.log_reading import LoggedEvent
from sessions_app.selectors.reading import any_moment
from sessions_app.selectors.standings import KeptReplyError, birth_date, kept_reply
from sessions_app.selectors.stored_sessions import SessionTables, read_stored
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.seals import to_us
from workflows_app.engine.program import Autonomy, RiskPolicy
from workflows_app.selectors.programs import load_program

_IDS_AT_ONCE = 2000
# So releases before have called a step that asks.
_TITLED_BEFORE = "Waits for an answer: "
_STALE = "stale_projection"
_MISSING = "missing_row"
# What reading an event raises that no code of ours has written.
NOT_TOLD = (ArithmeticError, AttributeError, LookupError, NotFoundError, RecursionError, TypeError, ValueError)
_BESIDE = ("event_id", "kind", "dedupe", "run_id", "node_id")
# Those of the machines that write sessions and enter them.
_CLOCKS_DIFFER_US = 3_600_000_000
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
    with any_moment():
        return list(to_its_end("the session", _judged(session_id), session_id=session_id))


def _judged(session_id: UUID) -> Iterator[Finding]:
    yield from judge(read_stored(session_id))


def to_its_end(
    what: str, found: Iterable[Finding], *, session_id: UUID | None = None, team_id: UUID | None = None
) -> Iterator[Finding]:
    """Whoever owns the tables can put into a row what no code of ours expects: that is a finding, and the rest is checked."""
    try:
        yield from found
    except NOT_TOLD as error:
        message = f"What is stored of {what} cannot be read to its end: {type(error).__name__}: {error}"
        yield Finding(session_id=session_id, team_id=team_id, reason=HealthReason.UNREADABLE.value, message=message)


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
    adopted = next((entry for entry in stored.own_entries if entry.kind == EntryKind.ADOPTED.value), None)
    faults, told = _sealed(stored, adopted.next_event_index if adopted else None)
    found.extend(faults)
    found.extend(_as_adopted(adopted))
    try:
        view = project(event.body for event in stored.events)
        found.extend(_Judge(stored, view, told).findings())
        passed = list(gates_passed.gates_passed(stored, view))
    except NOT_TOLD as error:
        message = f"The log tells what cannot have happened: {type(error).__name__}: {error}"
        found.append(Finding(session_id=stored.session_id, reason=HealthReason.UNREADABLE.value, message=message))
        return found
    found.extend(Finding(session_id=stored.session_id, reason=gates_passed.REASON, message=said) for said in passed)
    return found


def _remains(stored: SessionTables) -> Iterator[Finding]:
    """Rows of a session whose own row is gone."""
    tables = ("events", "attempts", *TABLES)
    left = {name: len(getattr(stored, name)) for name in tables if getattr(stored, name)}
    if left:
        told = ", ".join(f"{count} {name}" for name, count in left.items())
        message = f"The session is gone, and of its rows there are {told}."
        yield Finding(session_id=stored.session_id, reason="session_row_gone", message=message)


def _event(event: LoggedEvent) -> StoredEvent:
    return StoredEvent(index=event.index, body=event.body, digest=event.digest)


def _from_fault(session_id: UUID, fault: LogFault) -> Finding:
    return Finding(session_id=session_id, reason=fault.reason.value, message=fault.message)


def _head(stored: SessionTables, verification: ChainVerification) -> Iterator[Finding]:
    head = Head(next_index=stored.row.next_event_index, digest=stored.row.head_digest)
    if verification.head != head:
        message = f"The session says its log ends at {head}, and it ends at {verification.head}."
        yield Finding(session_id=stored.session_id, reason=HealthReason.HEAD_MISMATCH.value, message=message)


def _entered(stored: SessionTables) -> Iterator[Finding]:
    """The log still has what it had when the session was entered in the team's ledger. Another team may have had it before, and deleted it."""
    digests = {row.index + 1: row.digest for row in stored.events}
    deleted_by = {entry.team_id for entry in stored.entries if entry.kind == EntryKind.DELETED.value}
    if {entry.team_id for entry in stored.entries} - deleted_by - {stored.row.team_id}:
        yield Finding(session_id=stored.session_id, reason=_COLUMN, message="The ledger of another team tells of it.")
    for entry in stored.own_entries:
        if entry.kind == EntryKind.DELETED.value:
            message = "The team's ledger says that it was deleted, and it is there."
            yield Finding(session_id=stored.session_id, reason="deleted_and_there", message=message)
        elif digests.get(entry.next_event_index) != entry.head_digest:
            message = (
                f"The log is not the one that the team's ledger tells of, up to event {entry.next_event_index - 1}."
            )
            yield Finding(session_id=stored.session_id, reason="ledger_mismatch", message=message)


def _as_adopted(entry: Any) -> Iterator[Finding]:
    """Releases before have kept no digest of it."""
    if entry is None or not entry.reason:
        return
    now = untold_digests({entry.session_id: entry.next_event_index})
    if now.get(entry.session_id) != entry.reason:
        message = (
            "Who founded it or its runs, their dialects, or what was answered up to event "
            f"{entry.next_event_index - 1} is not what was adopted."
        )
        yield Finding(session_id=entry.session_id, reason="not_as_adopted", message=message)


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


def _log_row(event: LoggedEvent) -> LogRow:
    row: Any = event.row
    beside = {name: getattr(row, name) for name in _BESIDE}
    return LogRow(
        index=event.index,
        team_id=row.team_id,
        envelope=event.envelope,
        digest=event.digest,
        created_us=to_us(row.created_at),
        seal=row.seal if event.index == row.index else None,
        run_id=event.run_id,
        beside=beside if any(value is not None for value in beside.values()) else None,
    )


def _reply_row(row: Any) -> ReplyRow:
    digest = seals.attempt_digest(
        node_id=row.node_id,
        nonce=bytes(row.nonce),
        kind=row.kind,
        to_node_id=row.to_node_id,
        reply_sha256=hashlib.sha256(_reply(bytes(row.reply))).hexdigest(),
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


def _reply(stored: bytes) -> bytes:
    """Bytes that hold no reply are another one than what was answered."""
    try:
        return kept_reply(stored)
    except KeptReplyError:
        return stored


def _is_titled(node: Any, workflow_hash: str) -> bool:
    if not node.pending_key:
        return not node.pending_title
    item = node.pending_key.rpartition("::")[2]
    known = _titles_of(workflow_hash).get(item)
    return known is None or node.pending_title in known or node.pending_title == f"{_TITLED_BEFORE}{item}"


@lru_cache(maxsize=256)
def _titles_of(workflow_hash: str) -> Mapping[str, frozenset[str]]:
    found = written_titles(load_program(workflow_hash))
    return {item: frozenset(title[:TITLE_CHARACTERS] for title in titles) for item, titles in found.items()}


class _Judge:
    """Compares the rows of one session with what its log amounts to."""

    def __init__(self, stored: SessionTables, view: ProjectedSession, told: Told) -> None:
        self.stored = stored
        self.view = view
        self.told = told
        self.row = stored.row

    def findings(self) -> Iterator[Finding]:
        yield from self._teams()
        yield from self._session()
        for name, table in TABLES.items():
            yield from self._table(name, table)
        yield from self._runs()
        yield from self._snapshots()
        yield from self._waivers()
        yield from self._times()
        yield from self._titles()
        yield from self._attempts()

    def _finding(self, reason: str, message: str) -> Finding:
        return Finding(session_id=self.row.id, reason=reason, message=message)

    def _teams(self) -> Iterator[Finding]:
        for name in ("attempts", *TABLES):
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
        # Releases that told none had nobody waive people.
        if baseline != (self.view.baseline or replace(baseline, waived_by="")):
            yield self._finding(_STALE, "Its runs begin with preferences that the log does not tell.")
        said = {
            "title": (row.title, self.view.title),
            "parent_id": (row.parent_id, self.view.parent_id),
            "created_by": (row.created_by, self.told.actors.get(0, row.created_by)),
            "created_at": (to_us(row.created_at), self.told.created_us.get(0)),
        }
        yield from self._columns("the session", said)
        yield from self._last_activity()

    def _last_activity(self) -> Iterator[Finding]:
        """An import is later than what it takes in, and entered in the ledger with it. Of releases before by a task, soon after."""
        at, last = to_us(self.row.last_activity_at), next(reversed(self.told.created_us.values()), 0)
        entered = [to_us(entry.entered_at) for entry in self.stored.own_entries]
        if at < last:
            yield self._finding(_COLUMN, "last_activity_at of the session is before the last event.")
        elif entered and at > max(last, *(each + _CLOCKS_DIFFER_US for each in entered)):
            yield self._finding(_COLUMN, "last_activity_at of the session is when nothing happened to it.")
        for name, row in (("the session", self.row), *((to_text(Prefix.RUN, run.id), run) for run in self.stored.runs)):
            if row.activity_window != window_of(row.last_activity_at):
                yield self._finding(_COLUMN, f"activity_window of {name} is none of its last activity.")

    def _columns(self, name: str, said: Mapping[str, tuple[object, object]]) -> Iterator[Finding]:
        for column, (stored, logged) in said.items():
            if stored != logged:
                yield self._finding(_COLUMN, f"{column} of {name} is {stored!r}, the log says {logged!r}.")

    def _table(self, name: str, table: Table[Any]) -> Iterator[Finding]:
        kept = {row.id: row for row in getattr(self.stored, name)}
        told = {row.id: row for row in table.told(self.view)}
        if kept.keys() != told.keys():
            yield self._finding(_MISSING, f"{len(kept)} {name} are stored, the log tells of {len(told)}.")
        for id_ in sorted(kept.keys() & told.keys()):
            differing = table.differing(kept[id_], told[id_])
            if differing:
                yield self._finding(
                    _STALE, f"Of one of the {name}, {id_}, the log tells another {', '.join(differing)}."
                )

    def _runs(self) -> Iterator[Finding]:
        """What the seals tell of the runs beyond the log: who began them, and moments more exact than its own."""
        events = self.stored.events
        starts = {event.run_id: event.index for event in events if event.kind == EventKind.RUN_STARTED.value}
        latest = {event.run_id: to_us(event.row.created_at) for event in events if event.run_id is not None}
        for run in self.stored.runs:
            start = starts.get(run.id)
            columns = {
                "created_by": (run.created_by, None if start is None else self.told.actors.get(start, run.created_by)),
                "started_at": (to_us(run.started_at), None if start is None else self.told.created_us.get(start)),
                "last_activity_at": (to_us(run.last_activity_at), latest.get(run.id)),
            }
            yield from self._columns(to_text(Prefix.RUN, run.id), columns)

    def _snapshots(self) -> Iterator[Finding]:
        for node in self.stored.nodes:
            if node.snapshot_has is None:
                yield self._finding(_MISSING, f"Snapshot {node.snapshot_digest} is gone.")
            elif node.snapshot_has != node.snapshot_digest:
                message = f"Snapshot {node.snapshot_digest} has other bytes."
                yield self._finding(HealthReason.DIGEST_MISMATCH.value, message)

    def _waivers(self) -> Iterator[Finding]:
        """A state in which nobody is asked is one that a person chose, as the log tells: by a row alone a run may have been given it."""
        never = {
            run.run_id: [node for node in run.nodes.values() if node.autonomy == Autonomy.NEVER_STOP.value]
            for run in self.view.runs.values()
        }
        digests = (node.snapshot for nodes in never.values() for node in nodes)
        states = gates_passed.states_of(digests, team_id=self.row.team_id)
        for run_id, nodes in never.items():
            told = {"", *self.view.runs[run_id].waived_by}
            for node in nodes:
                state = states.get(node.snapshot)
                if state is not None and state.preferences.waived_by not in told:
                    name, by = to_text(Prefix.NODE, node.node_id), state.preferences.waived_by
                    yield self._finding("waiver_untold", f"{name} waits for nobody, and the log does not tell of {by}.")
                    break

    def _times(self) -> Iterator[Finding]:
        born = birth_date(self.row.id)
        if any(event.row.born_on != born for event in self.stored.events):
            yield self._finding(_COLUMN, f"Events lie in another month than {born:%Y-%m}, where nobody looks for them.")
        for name, table in TABLES.items():
            for row in getattr(self.stored, name) if table.born else ():
                if to_us(getattr(row, table.born)) != self.told.created_us.get(row.event_index):
                    yield self._finding(_COLUMN, f"One of the {name} has another time than event {row.event_index}.")

    def _titles(self) -> Iterator[Finding]:
        """The log tells no titles, and the program does; one that waits for an answer or holds values is worded anew."""
        led = {run.id for run in self.stored.runs if DRIVES[Dialect(run.dialect)] is not Drive.HANDED_OVER}
        runs = {run_id: run.workflow_hash for run_id, run in self.view.runs.items() if run_id in led}
        for node in self.stored.nodes:
            if node.run_id in runs and not _is_titled(node, runs[node.run_id]):
                yield self._finding(_COLUMN, f"The title of node {node.id} is none of the workflow's.")

    def _attempts(self) -> Iterator[Finding]:
        known = {*(node.id for node in self.stored.nodes), self.row.id}
        if any(attempt.to_node_id not in known for attempt in self.stored.attempts):
            yield self._finding("orphan_row", "An attempt leads to a node that is not there.")
