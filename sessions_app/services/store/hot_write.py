"""The hot write: one prepared statement. Everything that is not hot uses the ORM.

A write is one statement and therefore one transaction. It begins with the UPDATE of the session's row, which is the lock of
its one writer; when the log has grown since the read, that UPDATE finds no row and nothing at all is written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
from django.db import IntegrityError, OperationalError

from sessions_app.engine import deflation
from sessions_app.engine.checkpoints import CheckpointState, Closing
from sessions_app.engine.log import Event
from sessions_app.engine.tables import ANSWER, GAPS, HANDLES, NODES, OUTPUTS, QUESTIONS, RUNS, Table
from sessions_app.engine.tokens import TokenSessionLockedError
from sessions_app.selectors.standings import birth_date, keep_reply
from sessions_app.services.store import appends
from sessions_app.services.store.appends import Append, NewAttempt
from sessions_app.services.store.patience import held_sessions
from teams_app.services import storage
from workflows_app.selectors.asked import prepared_cursor

# Two requests to start that name the same key meet here; every other attempt meets at its session's row first.
_ATTEMPT_KEY = "sessions_app_attempt_pkey"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """How many rows of each kind a transition has. Each shape is one statement text, prepared once per connection."""

    begins: bool
    starts: bool
    has_run: bool
    events: bool
    nodes: int
    attempts: int
    outputs: int
    gaps: int
    resolved: int
    questions: int = 0
    closes: int = 0
    moves: int = 0
    handles: int = 0
    told: int = 0


# Columns and their types, in the order in which the rows give them. Types are named because a VALUES list has none.
_HEAD = {
    "team": "uuid",
    "session": "uuid",
    "actor": "text",
    "now": "timestamptz",
    "born": "date",
    "before": "int",
    "before_digest": "text",
    "next": "int",
    "digest": "text",
    "run": "uuid",
    "status": "text",
    "tip": "uuid",
    "completed": "timestamptz",
    "branch": "text",
    "sha": "text",
    "repository": "text",
    "ticket": "text",
    "head_seal": "text",
    "patience": "text",
}
_BEGINS = {"title": "text", "parent": "uuid", "autonomy": "text", "risk": "text", "waived": "text"}
_STARTS = RUNS.own
_EVENTS = {"count": "smallint", "body": "bytea", "seal": "text"}
_ATTEMPT = {
    "node_id": "uuid",
    "nonce": "bytea",
    "kind": "text",
    "to_node_id": "uuid",
    "reply": "bytea",
    "reply_template": "int",
    "keys_generation": "int",
}
_RESOLVED = {"id": "uuid", "by_id": "uuid"}
_CLOSING = {"id": "uuid", **ANSWER}
_MOVED = {"asked": "uuid", "closed": "uuid"}
_TOLD = {"id": "uuid", "kind": "text", "request_id": "uuid", "status": "text"}


@cache
def _statement(shape: _Shape) -> str:
    """The text of one transition with native placeholders; psycopg's own parsing costs more than the parameters."""
    head = _HEAD | (_BEGINS if shape.begins else {}) | (_STARTS if shape.starts else {})
    p = {name: f"${number}::{kind}" for number, (name, kind) in enumerate(head.items(), 1)}
    rows = _StoreRows(first=len(head) + 1)
    # A transition does not use every value; naming all of them here gives each its type and costs nothing.
    parts = [f"WITH given AS (SELECT {', '.join(p.values())})", f"s AS ({_begin(p) if shape.begins else _grow(p)})"]
    if shape.has_run:
        parts.append(f"runs AS ({_new_run(p) if shape.starts else _old_run(p)})")
    if shape.events:
        parts.append(
            f"events AS (INSERT INTO sessions_app_event (born_on, session_id, index, team_id, digest, created_at, {_names(_EVENTS)}) "
            f"SELECT {p['born']}, s.id, {p['next']} - 1, {p['team']}, {p['digest']}, {p['now']}, x.* "
            f"FROM s, {rows.of(_EVENTS, 1)})"
        )
    if shape.nodes:
        parts.append(f"made AS (SELECT * FROM {rows.of({**NODES.own, 'snapshot': 'bytea'}, shape.nodes)})")
        parts.append(
            "snapshots AS (INSERT INTO sessions_app_snapshot (team_id, digest, data) SELECT DISTINCT ON (x.snapshot_digest) "
            f"{p['team']}, x.snapshot_digest, x.snapshot FROM s, made x ON CONFLICT DO NOTHING)"
        )
        parts.append(f"nodes AS ({_insert(p, NODES, 'made x')})")
    if shape.attempts:
        parts.append(
            "attempts AS (INSERT INTO sessions_app_attempt (team_id, session_id, event_index, actor, created_at, "
            f"{_names(_ATTEMPT)}) SELECT {p['team']}, s.id, {p['before']}, {p['actor']}, {p['now']}, x.* "
            f"FROM s, {rows.of(_ATTEMPT, shape.attempts)})"
        )
    kept: dict[str, Table[Any]] = {"outputs": OUTPUTS, "gaps": GAPS, "asked": QUESTIONS, "handles": HANDLES}
    counts = (shape.outputs, shape.gaps, shape.questions, shape.handles)
    for (name, table), count in zip(kept.items(), counts, strict=True):
        if count:
            parts.append(f"{name} AS ({_insert(p, table, rows.of(table.own, count))})")
    if shape.resolved:
        parts.append(
            "resolved AS (UPDATE sessions_app_gap g SET resolved_by_id = x.by_id "
            f"FROM s, {rows.of(_RESOLVED, shape.resolved)} WHERE g.id = x.id AND g.session_id = s.id)"
        )
    parts.extend(_questions(rows, p, shape))
    if shape.told:
        # The row of the run is read as it was before this statement, whatever the statement makes of it.
        parts.append(
            "told AS (INSERT INTO sessions_app_announcement (id, team_id, session_id, run_id, request_id, kind, at) "
            f"SELECT x.id, {p['team']}, s.id, {p['run']}, x.request_id, x.kind, {p['now']} "
            f"FROM s, {rows.of(_TOLD, shape.told)} WHERE x.status = '' OR x.status IS DISTINCT FROM "
            f"(SELECT r.status FROM sessions_app_run r WHERE r.id = {p['run']}) ON CONFLICT DO NOTHING)"
        )
    return f"{', '.join(parts)} SELECT count(*) FROM s"


def _questions(rows: "_StoreRows", p: Mapping[str, str], shape: _Shape) -> Iterator[str]:
    """What waits for people. No row is changed twice: Postgres would keep either change, and not say which."""
    if shape.closes:
        changes = ", ".join(f"{column} = x.{column}" for column in _CLOSING if column != "id")
        yield (
            f"closed AS (UPDATE sessions_app_checkpointrequest q SET {changes} "
            f"FROM s, {rows.of(_CLOSING, shape.closes)} "
            "WHERE q.id = x.id AND q.session_id = s.id AND q.state IN ('open', 'withdrawn'))"
        )
    if shape.moves:
        yield (
            "moved AS (UPDATE sessions_app_checkpointrequest q "
            "SET state = CASE WHEN q.id = x.asked THEN 'open' ELSE 'withdrawn' END "
            f"FROM s, {rows.of(_MOVED, shape.moves)} WHERE q.run_id = {p['run']} AND q.session_id = s.id "
            "AND q.state IN ('open', 'withdrawn') AND q.id IS DISTINCT FROM x.closed)"
        )


class _StoreRows:
    """Numbers the placeholders of one VALUES list after the other."""

    def __init__(self, *, first: int) -> None:
        self.next = first

    def of(self, columns: Mapping[str, str], count: int) -> str:
        lines = [self._line(columns) for _ in range(count)]
        return f"(VALUES {', '.join(lines)}) AS x({_names(columns)})"

    def _line(self, columns: Mapping[str, str]) -> str:
        cells = []
        for kind in columns.values():
            cells.append(f"${self.next}::{kind}")
            self.next += 1
        return f"({', '.join(cells)})"


def _names(columns: Mapping[str, str]) -> str:
    return ", ".join(columns)


def _insert(p: Mapping[str, str], table: Table[Any], source: str) -> str:
    """Rows of a table that is kept beside the log, of values named `x`."""
    own = {name: f"x.{name}" for name in table.own}
    given = {name: p[value] for name, value in table.given.items()}
    beside = {name: f"'{value}'" for name, value in table.beside.items() if value is not None}
    values = {"team_id": p["team"], "session_id": "s.id", **given, **beside, **own}
    return f"INSERT INTO {table.name} ({_names(values)}) SELECT {', '.join(values.values())} FROM s, {source}"


def _begin(p: Mapping[str, str]) -> str:
    return (
        "INSERT INTO sessions_app_worksession (id, team_id, title, parent_id, next_event_index, head_digest, head_seal, "
        "git_branch, git_head_sha, repository, ticket, autonomy, risk_policy, waived_by, created_by, created_at, "
        f"last_activity_at) VALUES ({p['session']}, {p['team']}, {p['title']}, {p['parent']}, {p['next']}, {p['digest']}, "
        f"{p['head_seal']}, {p['branch']}, {p['sha']}, {p['repository']}, {p['ticket']}, {p['autonomy']}, {p['risk']}, "
        f"{p['waived']}, {p['actor']}, {p['now']}, {p['now']}) RETURNING id"
    )


def _grow(p: Mapping[str, str]) -> str:
    """The UPDATE that is the lock: it waits for the other writer, and then finds no row if the log has grown.

    How long it waits is set in the statement itself, for this transaction: no further round trip, and no state that a
    pool of connections would lose or keep.
    """
    return (
        f"UPDATE sessions_app_worksession SET next_event_index = {p['next']}, head_digest = {p['digest']}, "
        f"head_seal = {p['head_seal']}, last_activity_at = {p['now']}, git_branch = COALESCE({p['branch']}, git_branch), "
        f"git_head_sha = COALESCE({p['sha']}, git_head_sha), repository = COALESCE({p['repository']}, repository), "
        f"ticket = COALESCE({p['ticket']}, ticket) "
        f"FROM (SELECT set_config('lock_timeout', {p['patience']}, true) AS at_most) waiting "
        f"WHERE waiting.at_most IS NOT NULL AND id = {p['session']} AND team_id = {p['team']} "
        f"AND next_event_index = {p['before']} AND head_digest = {p['before_digest']} RETURNING id"
    )


def _new_run(p: Mapping[str, str]) -> str:
    own = ", ".join(f"{p[name]} AS {name}" for name in RUNS.own)
    return _insert(p, RUNS, f"(SELECT {own}) x")


def _old_run(p: Mapping[str, str]) -> str:
    return (
        f"UPDATE sessions_app_run SET status = COALESCE({p['status']}, status), "
        f"tip_node_id = COALESCE({p['tip']}, tip_node_id), last_activity_at = {p['now']}, "
        f"completed_at = CASE WHEN {p['status']} IS NULL THEN completed_at ELSE {p['completed']} END "
        f"WHERE id = {p['run']} AND EXISTS (SELECT 1 FROM s)"
    )


def append(plan: Append) -> bool:
    """Write one transition whole; False when another writer was first and nothing was written."""
    storage.require_room(team_id=plan.team_id)
    statement, parameters = _statement(_shape(plan)), _parameters(plan)
    try:
        row = prepared_cursor().execute(statement, parameters).fetchone()
    except IntegrityError as error:
        if not _is_taken_attempt(error):
            raise
        return False
    except OperationalError as error:
        if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
            raise
        held_sessions.note_held(plan.session_id)
        raise TokenSessionLockedError(
            "Another call is writing to this session.",
            suggestion="Wait a second and repeat the same call with the same tokens; it is answered once.",
        ) from error
    held_sessions.note_free(plan.session_id)
    storage.charge(team_id=plan.team_id, stored_bytes=storage.size_of(parameters))
    return row is not None and row[0] == 1


def _is_taken_attempt(error: IntegrityError) -> bool:
    cause = error.__cause__
    return isinstance(cause, psycopg.errors.UniqueViolation) and cause.diag.constraint_name == _ATTEMPT_KEY


def _shape(plan: Append) -> _Shape:
    return _Shape(
        begins=plan.session is not None,
        starts=plan.run is not None,
        has_run=plan.run_id is not None,
        events=bool(plan.events),
        nodes=len(plan.nodes),
        attempts=len(plan.attempts),
        outputs=len(plan.outputs),
        gaps=len(plan.gaps),
        resolved=len(plan.resolved),
        questions=len(plan.questions),
        closes=len(plan.closings),
        moves=int(plan.moved is not None),
        handles=len(plan.handles),
        told=len(plan.announcements),
    )


def _parameters(plan: Append) -> list[Any]:
    """The values in the order of the columns above."""
    values = _head_values(plan)
    if plan.session is not None:
        baseline = plan.session.baseline
        values += [plan.session.title, plan.session.parent_id, baseline.autonomy.value, baseline.risk_policy.value]
        values.append(baseline.waived_by)
    if plan.run is not None:
        values += RUNS.params(plan.run)
    if plan.events:
        values += [len(plan.events), packed(plan.events), appends.transition_seal(plan)]
    for node in plan.nodes:
        values += [*NODES.params(node), plan.snapshots[node.snapshot_digest]]
    for attempt in plan.attempts:
        values += _attempt_values(attempt)
    hung: Iterable[tuple[Table[Any], Sequence[object]]] = (
        (OUTPUTS, plan.outputs),
        (GAPS, plan.gaps),
        (QUESTIONS, plan.questions),
        (HANDLES, plan.handles),
    )
    values += [value for table, rows in hung for row in rows for value in table.params(row)]
    for closed, by in plan.resolved:
        values += [closed, by]
    return values + _waiting_values(plan)


def _waiting_values(plan: Append) -> list[Any]:
    values: list[Any] = []
    for closing in plan.closings:
        values += _closing_values(plan, closing)
    if plan.moved is not None:
        values += [plan.moved.asked, plan.closings[0].request if plan.closings else None]
    for told in plan.announcements:
        values += [told.id, told.kind.value, told.request_id, told.status]
    return values


def _closing_values(plan: Append, closing: Closing) -> list[Any]:
    answered = closing.state is CheckpointState.ANSWERED
    return [
        closing.request,
        closing.state.value,
        plan.now if answered else None,
        closing.voice.who if answered else "",
        closing.authority.value if closing.authority else "",
        closing.option,
        closing.voice.reason if answered else "",
        closing.voice.door if answered else "",
        plan.closed_by if answered else None,
    ]


def _head_values(plan: Append) -> list[Any]:
    observed = plan.observed or {}
    absent = "" if plan.session is not None else None
    return [
        plan.team_id,
        plan.session_id,
        plan.actor,
        plan.now,
        birth_date(plan.session_id),
        plan.before.next_index,
        plan.before.digest,
        plan.after.next_index,
        plan.after.digest,
        plan.run_id,
        plan.run_status.value if plan.run_status is not None else None,
        plan.tip_node_id,
        plan.completed_at,
        *(observed.get(key, absent) for key in ("git_branch", "git_head_sha", "repository", "ticket")),
        appends.head_seal(session_id=plan.session_id, team_id=plan.team_id, head=plan.after),
        str(held_sessions.wait_ms(plan.session_id)),
    ]


def packed(events: Sequence[Event]) -> bytes:
    return deflation.pack([event.body for event in events], [event.digest for event in events])


def _attempt_values(attempt: NewAttempt) -> list[Any]:
    return [
        attempt.node_id,
        attempt.nonce,
        attempt.kind.value,
        attempt.to_node_id,
        keep_reply(attempt.reply),
        attempt.reply_template,
        attempt.keys_generation,
    ]
