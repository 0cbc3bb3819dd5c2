"""Sessions with all their rows, as the tables hold them: one, or all of them side by side without keeping more than one.

Each table is read once, in the order of sessions. That is linear in what is stored and needs no index, and a row whose
session is gone is seen like any other.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection
from psycopg.rows import namedtuple_row

from sessions_app.engine.deflation import PackError
from sessions_app.engine.tables import TABLES
from sessions_app.selectors.log_reading import LoggedEvent, unpacked
from sessions_app.selectors.standings import birth_date

_ROWS_AT_ONCE = 1000
_OF_RUNS = "t.run_id IN (SELECT r.id FROM sessions_app_run r WHERE r.session_id = %(session)s)"
_OF_SESSION = "t.session_id = %(session)s"
_OF_TEAM = (
    f"t.team_id = (SELECT w.team_id FROM sessions_app_worksession w WHERE w.id = %(session)s LIMIT 1) AND {_OF_SESSION}"
)
_SNAPSHOT = (
    ", (SELECT 'sha256:' || encode(sha256(s.data), 'hex') FROM sessions_app_snapshot s "
    "WHERE s.team_id = t.team_id AND s.digest = t.snapshot_digest LIMIT 1) AS snapshot_has"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """`narrow` finds the rows of one session by an index."""

    columns: str
    source: str
    narrow: str = _OF_SESSION
    key: str = "t.session_id"
    then: str = ""

    def sql(self, scope: str) -> str:
        order = f"{self.key}{', ' + self.then if self.then else ''}"
        return f"SELECT {self.key} AS session_id, {self.columns} FROM {self.source} WHERE {scope} ORDER BY {order}"


def _kept(name: str, *, then: str, narrow: str = _OF_SESSION, more: str = "") -> _Table:
    """One of those that are kept beside the log, with all the columns that it has there."""
    table = TABLES[name]
    columns = ", ".join(column.reading for column in table.columns)
    return _Table(columns=f"t.team_id, {columns}{more}", source=f"{table.name} t", narrow=narrow, then=then)


_TABLES = {
    "session": _Table(
        columns="t.id, t.team_id, t.title, t.parent_id, t.next_event_index, t.head_digest, t.head_seal, t.git_branch, "
        "t.git_head_sha, t.repository, t.ticket, t.autonomy, t.risk_policy, t.waived_by, t.created_by, t.created_at, t.last_activity_at, "
        "t.activity_window",
        source="sessions_app_worksession t",
        narrow="t.id = %(session)s",
        key="t.id",
    ),
    "events": _Table(
        columns="t.born_on, t.index, t.count, t.team_id, t.event_id, t.kind, t.run_id, t.node_id, t.dedupe, t.body, t.digest, "
        "t.created_at, t.seal",
        source="sessions_app_event t",
        narrow="t.born_on = %(born_on)s AND t.session_id = %(session)s",
        then="t.index",
    ),
    "runs": _kept("runs", then="t.id", more=", t.activity_window"),
    "nodes": _kept("nodes", narrow=_OF_RUNS, then="t.event_index, t.id", more=_SNAPSHOT),
    "attempts": _Table(
        columns="t.node_id, t.nonce, t.kind, t.team_id, t.to_node_id, t.event_index, t.reply, "
        "t.reply_template, t.keys_generation, t.actor, t.created_at",
        source="sessions_app_attempt t",
        then="t.event_index, t.node_id, t.nonce",
    ),
    "outputs": _kept("outputs", narrow=_OF_TEAM, then="t.event_index, t.id"),
    "gaps": _kept("gaps", narrow=_OF_RUNS, then="t.id"),
    "questions": _kept("questions", narrow=_OF_RUNS, then="t.id"),
    "handles": _kept("handles", narrow=_OF_RUNS, then="t.id"),
    "entries": _Table(
        columns="t.team_id, t.kind, t.next_event_index, t.head_digest, t.reason, t.entered_at",
        source="sessions_app_ledgerentry t",
        narrow=_OF_TEAM,
        then="t.kind",
    ),
}


@dataclass(slots=True, kw_only=True)
class SessionTables:
    """The rows of one session by table, each with the columns of its table. `row` is None when the session itself is gone."""

    session_id: UUID
    row: Any = None
    events: list[LoggedEvent] = field(default_factory=list)
    runs: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    attempts: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    gaps: list[Any] = field(default_factory=list)
    questions: list[Any] = field(default_factory=list)
    handles: list[Any] = field(default_factory=list)
    entries: list[Any] = field(default_factory=list)

    @property
    def own_entries(self) -> list[Any]:
        """Those of the ledger of its team."""
        return [entry for entry in self.entries if entry.team_id == self.row.team_id]

    def take(self, table: str, row: Any) -> None:
        if table == "session":
            self.row = row
        elif table == "events":
            self.events.extend(_events(row))
        else:
            getattr(self, table).append(row)


def _events(row: Any) -> list[LoggedEvent]:
    """Of a row that holds none there is one without bytes, for the check to tell of."""
    try:
        return unpacked(row)
    except PackError:
        return [LoggedEvent(row=row, index=row.index, body=b"", digest=row.digest)]


def read_stored(session_id: UUID) -> SessionTables:
    """One session, each table by its index. What is found by a run and said to be another session's is not of this one."""
    stored = SessionTables(session_id=session_id)
    parameters: Mapping[str, UUID | date] = {"session": session_id, "born_on": birth_date(session_id)}
    for name, table in _TABLES.items():
        with _raw().cursor(row_factory=namedtuple_row) as cursor:
            found: Iterator[Any] = iter(cursor.execute(table.sql(table.narrow), parameters))
            for row in found:
                if row.session_id == session_id:
                    stored.take(name, row)
    return stored


def stream_stored(*, since: datetime | None = None) -> Iterator[SessionTables]:
    """All sessions, or those that were worked on since then. The transaction is the caller's, and its state of the tables."""
    with ExitStack() as stack:
        heads: dict[str, tuple[Any, Iterator[Any]]] = {}
        for name, table in _TABLES.items():
            cursor = stack.enter_context(psycopg.ServerCursor(_raw(), f"stored_{name}", row_factory=namedtuple_row))
            cursor.itersize = _ROWS_AT_ONCE
            cursor.execute(table.sql(_scope(table.key, since)), {"since": since})
            rows = iter(cursor)
            heads[name] = (next(rows, None), rows)
        while (session_id := _first(heads)) is not None:
            yield _gathered(session_id, heads)


def _scope(key: str, since: datetime | None) -> str:
    if since is None:
        return "true"
    return f"{key} IN (SELECT w.id FROM sessions_app_worksession w WHERE w.last_activity_at >= %(since)s)"


def _first(heads: Mapping[str, tuple[Any, Iterator[Any]]]) -> UUID | None:
    waiting = [row.session_id for row, _ in heads.values() if row is not None]
    return min(waiting, default=None)


def _gathered(session_id: UUID, heads: dict[str, tuple[Any, Iterator[Any]]]) -> SessionTables:
    stored = SessionTables(session_id=session_id)
    for name, (row, rows) in heads.items():
        at = row
        while at is not None and at.session_id == session_id:
            stored.take(name, at)
            at = next(rows, None)
        heads[name] = (at, rows)
    return stored


def _raw() -> psycopg.Connection[Any]:
    connection.ensure_connection()
    raw: psycopg.Connection[Any] = connection.connection
    return raw
