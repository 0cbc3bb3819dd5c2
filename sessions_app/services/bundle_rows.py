"""The rows of an import, copied in as the file is read for the second time. What is written is what the views tell."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection

from sessions_app.engine.bundle_checks import Examined, ExaminedSession
from sessions_app.engine.bundle_reader import EventPart, Part, Sealed, SessionEnd, SnapshotPart
from sessions_app.engine.bundle_renaming import Renaming
from sessions_app.engine.bundles import BundledSession, PinnedWorkflow, Preamble
from sessions_app.engine.log import GENESIS, EventKind, Head
from sessions_app.engine.projections import GapView, NodeView, OutputView, QuestionView, RunView, output_body
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.seals import Transition, dialects_told, seal_transition
from sessions_app.engine.state import Preferences
from sessions_app.models import CheckpointRequest, Gap, Handle, Run, WorkSession
from sessions_app.selectors.standings import birth_date
from sessions_app.services import sealing
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.seals import to_us
from workflows_app.engine import canonical
from workflows_app.engine.source import ContentKind
from workflows_app.selectors.programs import StoredContent, load_program
from workflows_app.services.pinned import keep_program

_BODY, _CREATED_AT = 9, 11  # their places in a row of an event
_BATCH_ROWS = 500
_BATCH_BYTES = 4 * 1024 * 1024
_EVENTS = (
    "COPY sessions_app_event (born_on, session_id, index, team_id, event_id, kind, run_id, node_id, dedupe, body, digest, "
    "created_at, seal) FROM STDIN"
)
_NODES = (
    "COPY sessions_app_node (id, team_id, session_id, run_id, parent_id, kind, edge_kind, edge_cause, snapshot_digest, "
    "pending_key, pending_title, autonomy, risk_policy, event_index, created_at) FROM STDIN"
)
_OUTPUTS = (
    "COPY sessions_app_output (id, team_id, session_id, run_id, node_id, to_node_id, channel, body, artifact_kind, sha256, "
    "supersedes_id, event_index, created_at) FROM STDIN"
)
_SNAPSHOTS = (
    "INSERT INTO sessions_app_snapshot (team_id, digest, data) SELECT %s, * FROM unnest(%s::text[], %s::bytea[]) "
    "ON CONFLICT DO NOTHING"
)


def write_parts(
    *, actor: Actor, examined: Examined, parts: Iterable[Part], renaming: Renaming | None, now: datetime
) -> Sealed | None:
    """Everything of the bundle as rows of the actor's team; the seal that the file ends with."""
    brought = frozenset(session.session_id for session in examined.sessions)
    writer = _Writer(actor=actor, renaming=renaming, brought=brought, now=now)
    waiting = iter(examined.sessions)
    seal: Sealed | None = None
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
            case Sealed():
                seal = part
    return seal


@dataclass(slots=True, kw_only=True)
class _Rows:
    """Rows that wait to be copied. `COPY` is one stream at a time, so each table's are sent in batches."""

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
        with connection.cursor() as cursor, cursor.copy(self.statement) as copy:
            for row in self.rows:
                copy.write_row(row)
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


class _Writer:
    def __init__(self, *, actor: Actor, renaming: Renaming | None, brought: frozenset[UUID], now: datetime) -> None:
        self.actor, self.renaming, self.brought, self.now = actor, renaming, brought, now
        self.team_id = actor.team_id
        self.events = _Rows(statement=_EVENTS, rows=[])
        self.outputs = _Rows(statement=_OUTPUTS, rows=[])
        self.nodes = _Rows(statement=_NODES, rows=[])
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
        self.last_event: tuple[Any, ...] = ()

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
        told = event if self.renaming is None else orjson.loads(body)
        scope = told.get("scope", {})
        row = (
            self.born_on,
            self.session_id,
            self.index,
            self.team_id,
            from_text(Prefix.EVENT, told["eventId"]),
            told["kind"],
            from_text(Prefix.RUN, scope.get("runId", "")),
            from_text(Prefix.NODE, scope.get("nodeId", "")),
            told["dedupeKey"],
            body,
            self.digest,
            moment(told["timestampMs"]),
        )
        # The one that turns out to be the last is sealed.
        if self.last_event:
            self._keep_event(None)
        self.last_event = row
        self.index += 1

    def _keep_event(self, seal: str | None) -> None:
        self.events.add((*self.last_event, seal), len(self.last_event[_BODY]))

    def end(self) -> None:
        if self.last_event:
            self._keep_event(self._seal())
        self.events.flush()
        self.outputs.flush()
        self.snapshots.flush()
        self._session()
        for run in self.session.view.runs.values():
            self._run(run)
        self.nodes.flush()
        self._handles()

    def _head(self) -> Head:
        return Head(next_index=self.index, digest=self.digest)

    def _seal(self) -> str:
        """All that is taken in is one transition, and whoever imports it made it."""
        transition = Transition(
            session_id=self.session_id,
            team_id=self.team_id,
            first=0,
            last=self._head(),
            at_us=to_us(self.last_event[_CREATED_AT]),
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
        body = output_body(event["data"]["payload"])
        self.outputs.add(self._output_row(output, body), len(body))

    def _output_row(self, output: OutputView, body: str) -> tuple[Any, ...]:
        return (
            self._id(output.output_id),
            self.team_id,
            self.session_id,
            self._maybe(output.run_id),
            self._maybe(output.node_id),
            self._maybe(output.to_node_id),
            output.channel.value,
            body,
            output.artifact_kind[:128],
            canonical.digest(body.encode()),
            self._maybe(output.supersedes),
            output.event_index,
            moment(output.created_ms),
        )

    def _session(self) -> None:
        view = self.session.view
        baseline = view.baseline or Preferences()
        parent = next(iter(self.session.parents & self.brought), None)
        observed = {key.value: view.observed.get(key, "") for key in ObservationKey}
        WorkSession.objects.create(
            id=self.session_id,
            team_id=self.team_id,
            title=view.title,
            parent_id=self._maybe(parent),
            next_event_index=self.index,
            head_digest=self.digest,
            head_seal=sealing.head_seal(session_id=self.session_id, team_id=self.team_id, head=self._head()),
            autonomy=baseline.autonomy.value,
            risk_policy=baseline.risk_policy.value,
            waived_by=baseline.waived_by,
            created_by=self.actor.id,
            created_at=moment(self.session.first_ms),
            # Now: what was just taken in is not idle.
            last_activity_at=max(self.now, moment(self.session.last_ms)),
            **observed,
        )

    def _run(self, run: RunView) -> None:
        tip = run.tip
        if tip is None:
            return
        Run.objects.create(
            id=self._id(run.run_id),
            team_id=self.team_id,
            session_id=self.session_id,
            workflow_id=run.workflow_id,
            workflow_title=load_program(run.workflow_hash).title[:256],
            workflow_hash=run.workflow_hash,
            dialect=self.session.dialects[run.run_id].value,
            goal=run.goal,
            name=run.name,
            status=run.status.value,
            tip_node_id=self._id(tip.node_id),
            created_by=self.actor.id,
            started_at=moment(run.started_ms),
            last_activity_at=moment(run.last_activity_ms),
            completed_at=None if run.completed_ms is None else moment(run.completed_ms),
        )
        for node in run.nodes.values():
            self.nodes.add(self._node_row(run, node))
        Gap.objects.bulk_create(self._gap(run, gap) for gap in run.gaps)
        CheckpointRequest.objects.bulk_create(self._question(run, question) for question in run.questions.values())

    def _node_row(self, run: RunView, node: NodeView) -> tuple[Any, ...]:
        digest = node.snapshot if self.renaming is None else self.renaming.snapshots[node.snapshot]
        return (
            self._id(node.node_id),
            self.team_id,
            self.session_id,
            self._id(run.run_id),
            self._maybe(node.parent_id),
            node.kind.value,
            node.edge_kind,
            node.edge_cause,
            digest,
            node.pending,
            self.session.title_at(run, node),
            node.autonomy,
            node.risk_policy,
            node.event_index,
            moment(node.created_ms),
        )

    def _gap(self, run: RunView, gap: GapView) -> Gap:
        return Gap(
            id=self._id(gap.gap_id),
            team_id=self.team_id,
            session_id=self.session_id,
            run_id=self._id(run.run_id),
            node_id=self._id(gap.node_id or run.run_id),
            severity=gap.severity.value,
            category=gap.category,
            detail=gap.detail,
            summary=gap.summary,
            resolved_by_id=self._maybe(gap.resolved_by),
            event_index=gap.event_index,
            created_at=moment(gap.created_ms),
        )

    def _question(self, run: RunView, view: QuestionView) -> CheckpointRequest:
        shown = view.shown
        return CheckpointRequest(
            id=self._id(view.request_id),
            team_id=self.team_id,
            session_id=self.session_id,
            run_id=self._id(run.run_id),
            checkpoint_id=shown["checkpointId"],
            instance_key=shown["instance"],
            title=shown["title"],
            message=shown["message"],
            options=shown["options"],
            authority=shown["authority"],
            digest=shown["digest"],
            event_index=view.event_index,
            presented_at=moment(view.presented_ms),
            due_at=None if view.due_ms is None else moment(view.due_ms),
            state=run.state_of(view).value,
            answered_at=None if view.answered_ms is None else moment(view.answered_ms),
            answered_by=view.answered_by,
            answered_as=view.answered_as,
            option_id=view.option_id,
            reason=view.reason,
            door=view.door,
            to_node_id=self._maybe(view.to_node_id),
        )

    def _handles(self) -> None:
        Handle.objects.bulk_create(self._holders())

    def _holders(self) -> Iterator[Handle]:
        for view in self.session.view.handles.values():
            held, parent = view.handle, view.handle.parent
            yield Handle(
                id=self._id(held.id),
                team_id=self.team_id,
                session_id=self.session_id,
                run_id=self._id(held.run_id),
                dialect=held.dialect.value,
                agent_id=held.agent_id,
                parent_run_id=self._maybe(parent.run_id) if parent else None,
                parent_session_id=self._maybe(parent.session_id) if parent else None,
                parent_workflow_id=parent.workflow_id if parent else "",
                parent_activity=parent.activity if parent else "",
                parent_version=parent.version if parent else "",
                event_index=view.event_index,
                created_at=moment(view.created_ms),
            )


def moment(unix_ms: int) -> datetime:
    return datetime.fromtimestamp(unix_ms / 1000, tz=UTC)
