"""The rows of an import, written as the file is read for the second time. What is written is what the views tell."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection
from psycopg.types.json import Json

from sessions_app.engine import deflation
from sessions_app.engine.bundle_checks import Examined, ExaminedSession
from sessions_app.engine.bundle_reader import EventPart, Part, SealedBundle, SessionEnd, SnapshotPart
from sessions_app.engine.bundle_renaming import Renaming
from sessions_app.engine.bundles import BundledSession, PinnedWorkflow, Preamble
from sessions_app.engine.log import GENESIS, EventKind, Head
from sessions_app.engine.projections import ProjectedNode, ProjectedRun, output_body
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.seals import SealedTransition, dialects_told, seal_transition
from sessions_app.engine.state import Preferences
from sessions_app.engine.tables import (
    GAPS,
    HANDLES,
    NODES,
    OUTPUTS,
    QUESTIONS,
    RUNS,
    TABLES,
    NodeRow,
    Table,
    moment,
    node_row,
    output_row,
)
from sessions_app.models import WorkSession
from sessions_app.selectors.standings import birth_date
from sessions_app.services.store import appends
from teams_app.engine.actors import Actor
from teams_app.engine.seals import to_us
from workflows_app.engine import canonical
from workflows_app.engine.source import ContentKind
from workflows_app.selectors.programs import StoredContent
from workflows_app.services.pinned import keep_program

_PACK_EVENTS = 200
_PACK_BYTES = 1024 * 1024
_BATCH_ROWS = 500
_BATCH_BYTES = 4 * 1024 * 1024
_EVENTS = {
    "born_on": "date",
    "session_id": "uuid",
    "index": "int",
    "count": "smallint",
    "team_id": "uuid",
    "body": "bytea",
    "digest": "text",
    "created_at": "timestamptz",
    "seal": "text",
}
_SNAPSHOTS = (
    "INSERT INTO sessions_app_snapshot (team_id, digest, data) SELECT %s, * FROM unnest(%s::text[], %s::bytea[]) "
    "ON CONFLICT DO NOTHING"
)


def _inserting(name: str, columns: Mapping[str, str]) -> str:
    """Not by COPY, which Postgres refuses where it limits the rows of a role."""
    arrays = ", ".join(f"%s::{kind}[]" for kind in columns.values())
    return f"INSERT INTO {name} ({', '.join(columns)}) SELECT * FROM unnest({arrays})"  # noqa: S608  constants only


def _keeping(table: Table[Any]) -> str:
    own = {column.name: column.sql for column in table.columns}
    beside = dict.fromkeys(_set(table.beside), "text")
    return _inserting(table.name, {"team_id": "uuid", "session_id": "uuid", **own, **beside})


def _set(beside: Mapping[str, str | None]) -> dict[str, str]:
    """A column that begins with nothing is left out."""
    return {name: value for name, value in beside.items() if value is not None}


def write_parts(
    *, actor: Actor, examined: Examined, parts: Iterable[Part], renaming: Renaming | None, now: datetime
) -> SealedBundle | None:
    """Everything of the bundle as rows of the actor's team; the seal that the file ends with."""
    writer = _Writer(actor=actor, renaming=renaming, now=now)
    waiting = iter(examined.sessions)
    seal: SealedBundle | None = None
    for part in parts:
        match part:
            case Preamble():
                pass
            case PinnedWorkflow():
                writer.pin(part)
            case BundledSession():
                writer.begin(next(waiting))
            case SnapshotPart():
                writer.snapshot(part)
            case EventPart():
                writer.event(part)
            case SessionEnd():
                writer.end()
            case SealedBundle():
                seal = part
    return seal


@dataclass(slots=True, kw_only=True)
class _Rows:
    """Rows that wait to be written, sent in batches: each parameter is a column."""

    statement: str
    rows: list[tuple[Any, ...]]
    size_bytes: int = 0

    def add(self, row: tuple[Any, ...], size_bytes: int = 0) -> None:
        self.rows.append(row)
        self.size_bytes += size_bytes
        if len(self.rows) >= _BATCH_ROWS or self.size_bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self.rows:
            return
        with connection.cursor() as cursor:
            cursor.execute(self.statement, [list(column) for column in zip(*self.rows, strict=True)])
        self.rows, self.size_bytes = [], 0


@dataclass(slots=True, kw_only=True)
class _Snapshots:
    team_id: UUID
    digests: list[str]
    data: list[bytes]
    size_bytes: int = 0

    def add(self, digest: str, data: bytes) -> None:
        self.digests.append(digest)
        self.data.append(data)
        self.size_bytes += len(data)
        if len(self.digests) >= _BATCH_ROWS or self.size_bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        if self.digests:
            with connection.cursor() as cursor:
                cursor.execute(_SNAPSHOTS, [self.team_id, self.digests, self.data])
        self.digests, self.data, self.size_bytes = [], [], 0


@dataclass(slots=True, kw_only=True)
class _Waiting:
    """Events of one moment, which go into one row."""

    bodies: list[bytes] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    at_ms: int = 0
    size_bytes: int = 0

    def takes(self, body: bytes, at_ms: int) -> bool:
        has_room = len(self.bodies) < _PACK_EVENTS and self.size_bytes + len(body) <= _PACK_BYTES
        return at_ms == self.at_ms and has_room

    def add(self, body: bytes, digest: str, at_ms: int) -> None:
        self.bodies.append(body)
        self.digests.append(digest)
        self.at_ms = at_ms
        self.size_bytes += len(body)


class _Writer:
    def __init__(self, *, actor: Actor, renaming: Renaming | None, now: datetime) -> None:
        self.actor, self.renaming, self.now = actor, renaming, now
        self.team_id = actor.team_id
        self.events = _Rows(statement=_inserting("sessions_app_event", _EVENTS), rows=[])
        self.kept = {table.name: _Rows(statement=_keeping(table), rows=[]) for table in TABLES.values()}
        self.snapshots = _Snapshots(team_id=self.team_id, digests=[], data=[])

    def pin(self, part: PinnedWorkflow) -> None:
        contents = [
            StoredContent(kind=ContentKind(each.kind), digest=each.digest, text=each.text, document=each.document)
            for each in part.contents
        ]
        keep_program(actor=self.actor, program=part.program, contents=contents, now=self.now)

    def begin(self, session: ExaminedSession) -> None:
        self.session = session
        self.session_id = self._id(session.session_id)
        self.born_on = birth_date(self.session_id)
        self.digest = GENESIS
        self.index = 0
        self.told = {output.output_id: output for output in session.view.every_output()}
        self.waiting = _Waiting()

    def snapshot(self, part: SnapshotPart) -> None:
        if self.renaming is None:
            self.snapshots.add(part.digest, part.data)
            return
        self.snapshots.add(*self.renaming.snapshot(part.digest, orjson.loads(part.data)))

    def event(self, part: EventPart) -> None:
        event = part.event
        if event["kind"] == EventKind.NODE_OUTPUT_APPENDED.value:
            self._output(event)
        body = part.body if self.renaming is None else self.renaming.event(event, previous=self.digest)
        self.digest = part.digest if self.renaming is None else canonical.digest(body)
        # The pack that turns out to be the last is sealed.
        if self.waiting.bodies and not self.waiting.takes(body, event["timestampMs"]):
            self._keep_events(None)
        self.waiting.add(body, self.digest, event["timestampMs"])
        self.index += 1

    def _keep_events(self, seal: str | None) -> None:
        waiting, self.waiting = self.waiting, _Waiting()
        body = deflation.pack(waiting.bodies, waiting.digests)
        last = self.index - 1
        place = (self.born_on, self.session_id, last, len(waiting.bodies), self.team_id)
        self.events.add((*place, body, waiting.digests[-1], moment(waiting.at_ms), seal), len(body))

    def end(self) -> None:
        if self.waiting.bodies:
            self._keep_events(self._seal())
        self.events.flush()
        self.snapshots.flush()
        self._session()
        view = self.session.view
        for run in RUNS.told(view):
            dialect = self.session.dialects[run.id].value
            self._keep(RUNS, replace(run, dialect=dialect, created_by=self.actor.id))
        for of_run in view.runs.values():
            for node in of_run.nodes.values():
                self._keep(NODES, self._node(of_run, node))
        tables: tuple[Table[Any], ...] = (GAPS, QUESTIONS, HANDLES)
        for table in tables:
            for row in table.told(view):
                self._keep(table, row)
        for rows in self.kept.values():
            rows.flush()

    def _keep(self, table: Table[Any], row: Any) -> None:
        """The row under its new names."""
        values = {column: getattr(row, column.name) for column in table.columns}
        renamed = [self._maybe(value) if column.sql == "uuid" else value for column, value in values.items()]
        written = [
            Json(value) if column.sql == "jsonb" else value for column, value in zip(values, renamed, strict=True)
        ]
        size = sum(len(value) for value in renamed if isinstance(value, str))
        self.kept[table.name].add((self.team_id, self.session_id, *written, *_set(table.beside).values()), size)

    def _head(self) -> Head:
        return Head(next_index=self.index, digest=self.digest)

    def _seal(self) -> str:
        """All that is taken in is one transition, and whoever imports it made it."""
        transition = SealedTransition(
            session_id=self.session_id,
            team_id=self.team_id,
            first=0,
            last=self._head(),
            at_us=to_us(moment(self.waiting.at_ms)),
            actor=self.actor.id,
            dialect=dialects_told([self.session.dialects[run_id].value for run_id in self.session.view.runs]),
        )
        return seal_transition(settings.SEAL_KEYS, transition)

    def _id(self, old: UUID) -> UUID:
        return old if self.renaming is None else self.renaming.id(old)

    def _maybe(self, old: UUID | None) -> UUID | None:
        return None if old is None else self._id(old)

    def _output(self, event: dict[str, Any]) -> None:
        output = self.told[UUID(hex=event["data"]["outputId"].rpartition("_")[2])]
        self._keep(OUTPUTS, output_row(output, output_body(event["data"]["payload"])))

    def _session(self) -> None:
        view = self.session.view
        baseline = view.baseline or Preferences()
        observed = {key.value: view.observed.get(key, "") for key in ObservationKey}
        WorkSession.objects.create(
            id=self.session_id,
            team_id=self.team_id,
            title=view.title,
            parent_id=self._maybe(view.parent_id),
            next_event_index=self.index,
            head_digest=self.digest,
            head_seal=appends.head_seal(session_id=self.session_id, team_id=self.team_id, head=self._head()),
            autonomy=baseline.autonomy.value,
            risk_policy=baseline.risk_policy.value,
            waived_by=baseline.waived_by,
            created_by=self.actor.id,
            created_at=moment(self.session.first_ms),
            # Now: what was just taken in is not idle.
            last_activity_at=max(self.now, moment(self.session.last_ms)),
            **observed,
        )

    def _node(self, run: ProjectedRun, node: ProjectedNode) -> NodeRow:
        row = node_row(run, node, title=self.session.title_at(run, node))
        return row if self.renaming is None else replace(row, snapshot_digest=self.renaming.snapshots[node.snapshot])
