"""Checks what is stored: the chain of each log, and every invariant that no constraint of the database holds."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import orjson

from sessions_app.engine.handles import ParentContext
from sessions_app.engine.log import Fault, HealthReason, StoredEvent, verify_chain
from sessions_app.engine.projections import NodeView, QuestionView, RunView, SessionView, project
from sessions_app.engine.runs import ObservationKey
from sessions_app.models import Attempt, CheckpointRequest, Event, Gap, Handle, Node, Output, Run, Snapshot, WorkSession
from sessions_app.selectors.preferences import preferences_of
from sessions_app.selectors.standings import birth_date
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine import canonical

CHUNK_ROWS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One broken promise, and where."""

    session_id: UUID
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{to_text(Prefix.SESSION, self.session_id)}: {self.reason}: {self.message}"


def session_ids() -> Iterator[UUID]:
    return WorkSession.objects.order_by("id").values_list("id", flat=True).iterator(chunk_size=CHUNK_ROWS)


def verify_session(session_id: UUID) -> list[Finding]:
    """Everything wrong with one session; empty when its log and its rows keep every promise."""
    session = WorkSession.objects.get(pk=session_id)
    stored = list(_events(session_id))
    verification = verify_chain(stored)
    found = [_from_fault(session_id, fault) for fault in verification.faults]
    head = (session.next_event_index, session.head_digest)
    if (verification.head.next_index, verification.head.digest) != head:
        message = f"The session says its log ends at {head}, and it ends at {verification.head}."
        found.append(Finding(session_id=session_id, reason=HealthReason.HEAD_MISMATCH.value, message=message))
    if verification.faults:
        return found
    view = project(event.body for event in stored)
    found.extend(_projections(session, view))
    found.extend(_rows(session_id, view))
    return found


def _events(session_id: UUID) -> Iterator[StoredEvent]:
    rows = Event.objects.filter(born_on=birth_date(session_id), session_id=session_id).order_by("index")
    for row in rows.iterator(chunk_size=CHUNK_ROWS):
        yield StoredEvent(index=row.index, kind=row.kind, dedupe=row.dedupe, body=bytes(row.body), digest=row.digest)


def _from_fault(session_id: UUID, fault: Fault) -> Finding:
    return Finding(session_id=session_id, reason=fault.reason.value, message=fault.message)


def _projections(session: WorkSession, view: SessionView) -> Iterator[Finding]:
    columns = {
        ObservationKey.GIT_BRANCH: session.git_branch,
        ObservationKey.GIT_HEAD_SHA: session.git_head_sha,
        ObservationKey.REPOSITORY: session.repository,
        ObservationKey.TICKET: session.ticket,
    }
    for key, value in columns.items():
        if view.observed.get(key, "") != value:
            yield _finding(session.id, "stale_projection", f"{key.value} is {value!r}, the log says otherwise.")
    baseline = preferences_of(session)
    if view.baseline not in {None, baseline}:
        yield _finding(session.id, "stale_projection", "Its runs begin with preferences that the log does not tell.")
    runs = {run.id: run for run in Run.objects.filter(session_id=session.id)}
    if set(runs) != set(view.runs):
        yield _finding(session.id, "missing_row", "The runs of the table are not the runs of the log.")
        return
    for run_id, projected in view.runs.items():
        yield from _run(session.id, runs[run_id], projected)


def _run(session_id: UUID, run: Run, view: RunView) -> Iterator[Finding]:
    tip = view.tip
    said = (run.status, run.tip_node_id, run.workflow_hash, to_ms(run.completed_at))
    logged = (view.status.value, tip.node_id if tip else None, view.workflow_hash, view.completed_ms)
    if said != logged:
        name = to_text(Prefix.RUN, run.id)
        yield _finding(session_id, "stale_projection", f"{name} is {said}, the log says {logged}.")


def _rows(session_id: UUID, view: SessionView) -> Iterator[Finding]:
    logged = {node.node_id: node for run in view.runs.values() for node in run.nodes.values()}
    nodes = {node.id: node for node in Node.objects.filter(session_id=session_id)}
    if set(nodes) != set(logged):
        yield _finding(session_id, "missing_row", "The nodes of the table are not the nodes of the log.")
        return
    for node_id, node in nodes.items():
        if _of_node(node) != _of_view(logged[node_id]):
            yield _finding(session_id, "stale_projection", f"{to_text(Prefix.NODE, node_id)} differs from the log.")
    yield from _snapshots(session_id, nodes)
    yield from _outputs(session_id, view)
    yield from _gaps(session_id, view)
    yield from _questions(session_id, view)
    yield from _handles(session_id, view)
    orphans = Attempt.objects.filter(session_id=session_id).exclude(to_node_id__in=[*nodes, session_id])
    if orphans.exists():
        yield _finding(session_id, "orphan_row", "An attempt leads to a node that is not there.")


def _of_node(node: Node) -> tuple[object, ...]:
    place = (node.kind, node.parent_id, node.edge_kind, node.edge_cause, node.event_index)
    return (*place, node.snapshot_digest, node.pending_key, node.autonomy, node.risk_policy)


def _of_view(node: NodeView) -> tuple[object, ...]:
    place = (node.kind.value, node.parent_id, node.edge_kind, node.edge_cause, node.event_index)
    return (*place, node.snapshot, node.pending, node.autonomy, node.risk_policy)


def _outputs(session_id: UUID, view: SessionView) -> Iterator[Finding]:
    stored = {
        row.id: (row.run_id, row.node_id, row.to_node_id, row.channel, row.body, row.sha256, row.supersedes_id)
        for row in Output.objects.filter(session_id=session_id)
    }
    logged = {
        out.output_id: (out.run_id, out.node_id, out.to_node_id, out.channel, out.body, out.sha256, out.supersedes)
        for out in view.every_output()
    }
    if stored.keys() != logged.keys():
        yield _finding(session_id, "missing_row", f"{len(stored)} outputs are stored, the log tells of {len(logged)}.")
    for output_id in sorted(stored.keys() & logged.keys()):
        if stored[output_id] != logged[output_id]:
            yield _finding(session_id, "stale_projection", f"Output {output_id} differs from the log.")


def _gaps(session_id: UUID, view: SessionView) -> Iterator[Finding]:
    stored = {
        (row.id, row.node_id, row.severity, row.detail, row.summary, row.resolved_by_id)
        for row in Gap.objects.filter(session_id=session_id)
    }
    logged = {
        (gap.gap_id, gap.node_id, gap.severity.value, gap.detail, gap.summary, gap.resolved_by)
        for run in view.runs.values()
        for gap in run.gaps
    }
    if stored != logged:
        yield _finding(session_id, "stale_projection", "The gaps of the table are not the gaps of the log.")


def _questions(session_id: UUID, view: SessionView) -> Iterator[Finding]:
    stored = {_of_question(row) for row in CheckpointRequest.objects.filter(session_id=session_id)}
    logged = {_of_asked(run, question) for run in view.runs.values() for question in run.questions.values()}
    if stored != logged:
        yield _finding(session_id, "stale_projection", "The checkpoints of the table are not those of the log.")


def _handles(session_id: UUID, view: SessionView) -> Iterator[Finding]:
    stored = {
        (row.id, row.run_id, row.dialect, row.agent_id, row.parent_run_id, row.parent_activity, row.event_index)
        for row in Handle.objects.filter(session_id=session_id)
    }
    logged = {
        (held.id, held.run_id, held.dialect.value, held.agent_id, *_parent(held.parent), each.event_index)
        for each in view.handles.values()
        for held in (each.handle,)
    }
    if stored != logged:
        yield _finding(session_id, "stale_projection", "The holders of session tokens are not those of the log.")


def _parent(parent: ParentContext | None) -> tuple[UUID | None, str]:
    return (None, "") if parent is None else (parent.run_id, parent.activity)


def _of_question(row: CheckpointRequest) -> tuple[object, ...]:
    shown = (
        row.checkpoint_id,
        row.instance_key,
        row.title,
        row.message,
        row.authority,
        row.digest,
        _sorted(row.options),
    )
    times = (to_ms(row.presented_at), to_ms(row.due_at), to_ms(row.answered_at), row.event_index)
    answer = (row.answered_by, row.answered_as, row.option_id, row.reason, row.door, row.to_node_id)
    return (row.id, row.state, *shown, *times, *answer)


def _of_asked(run: RunView, view: QuestionView) -> tuple[object, ...]:
    texts = tuple(view.shown[key] for key in ("checkpointId", "instance", "title", "message", "authority", "digest"))
    shown = (*texts, _sorted(view.shown["options"]))
    times = (view.presented_ms, view.due_ms, view.answered_ms, view.event_index)
    answer = (view.answered_by, view.answered_as, view.option_id, view.reason, view.door, view.to_node_id)
    return (view.request_id, run.state_of(view).value, *shown, *times, *answer)


def _sorted(options: object) -> bytes:
    """The same for equal options: jsonb gives keys back in an order of its own."""
    return orjson.dumps(options, option=orjson.OPT_SORT_KEYS)


def to_ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _snapshots(session_id: UUID, nodes: dict[UUID, Node]) -> Iterator[Finding]:
    wanted = {(node.team_id, node.snapshot_digest) for node in nodes.values()}
    for team_id, digest in sorted(wanted, key=str):
        data = Snapshot.objects.filter(team_id=team_id, digest=digest).values_list("data", flat=True).first()
        if data is None:
            yield _finding(session_id, "missing_row", f"Snapshot {digest} is gone.")
        elif canonical.digest(bytes(data)) != digest:
            yield _finding(session_id, HealthReason.DIGEST_MISMATCH.value, f"Snapshot {digest} has other bytes.")


def _finding(session_id: UUID, reason: str, message: str) -> Finding:
    return Finding(session_id=session_id, reason=reason, message=message)
