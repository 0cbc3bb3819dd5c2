"""Rows into values."""

from collections.abc import Mapping

from sessions_app.engine.decisions import derive_id
from sessions_app.engine.log import EdgeCause, EdgeKind, EventKind, NodeKind
from sessions_app.engine.reasons import Detail, GapCategory, GapSeverity
from sessions_app.engine.runs import AttemptKind, Dialect, OutputChannel, RunStatus
from sessions_app.engine.state import Preferences
from sessions_app.engine.values import (
    AttemptValue,
    EventValue,
    GapValue,
    NodeValue,
    OutputValue,
    RunValue,
    SessionValue,
)
from sessions_app.models import Attempt, Gap, Node, Output, Run, WorkSession
from sessions_app.selectors.log_reading import LoggedEvent, not_healthy
from teams_app.engine.ids import Prefix, from_text
from workflows_app.engine.program import Autonomy, RiskPolicy


def session_value(row: WorkSession, *, runs: Mapping[RunStatus, int] | None = None) -> SessionValue:
    return SessionValue(
        id=row.id,
        title=row.title,
        parent_id=row.parent_id,
        git_branch=row.git_branch,
        git_head_sha=row.git_head_sha,
        repository=row.repository,
        ticket=row.ticket,
        preferences=_preferences(row),
        event_count=row.next_event_index,
        head_digest=row.head_digest,
        created_by=row.created_by,
        created_at=row.created_at,
        last_activity_at=row.last_activity_at,
        runs=runs or {},
    )


def run_value(row: Run) -> RunValue:
    return RunValue(
        id=row.id,
        session_id=row.session_id,
        workflow_id=row.workflow_id,
        workflow_title=row.workflow_title,
        workflow_hash=row.workflow_hash,
        dialect=Dialect(row.dialect),
        goal=row.goal,
        name=row.name,
        status=RunStatus(row.status),
        tip_node_id=row.tip_node_id,
        created_by=row.created_by,
        started_at=row.started_at,
        last_activity_at=row.last_activity_at,
        completed_at=row.completed_at,
    )


def node_value(row: Node) -> NodeValue:
    return NodeValue(
        id=row.id,
        session_id=row.session_id,
        run_id=row.run_id,
        parent_id=row.parent_id,
        kind=NodeKind(row.kind),
        edge_kind=EdgeKind(row.edge_kind) if row.edge_kind else None,
        edge_cause=EdgeCause(row.edge_cause) if row.edge_cause else None,
        pending_key=row.pending_key,
        pending_title=row.pending_title,
        preferences=_preferences(row),
        snapshot_digest=row.snapshot_digest,
        event_index=row.event_index,
        created_at=row.created_at,
    )


def attempt_value(row: Attempt) -> AttemptValue:
    return AttemptValue(
        id=derive_id("attempt", row.node_id.bytes, bytes(row.nonce)),
        kind=AttemptKind(row.kind),
        to_node_id=row.to_node_id,
        actor=row.actor,
        event_index=row.event_index,
        created_at=row.created_at,
    )


def output_value(row: Output, *, is_superseded: bool) -> OutputValue:
    return OutputValue(
        id=row.id,
        run_id=row.run_id,
        node_id=row.node_id,
        to_node_id=row.to_node_id,
        channel=OutputChannel(row.channel),
        body=row.body,
        artifact_kind=row.artifact_kind,
        sha256=row.sha256,
        supersedes_id=row.supersedes_id,
        is_superseded=is_superseded,
        event_index=row.event_index,
        created_at=row.created_at,
    )


def gap_value(row: Gap, *, closes: bool) -> GapValue:
    return GapValue(
        id=row.id,
        run_id=row.run_id,
        node_id=row.node_id,
        severity=GapSeverity(row.severity),
        category=GapCategory(row.category),
        detail=Detail(row.detail),
        summary=row.summary,
        resolved_by_id=row.resolved_by_id,
        closes=closes,
        event_index=row.event_index,
        created_at=row.created_at,
    )


def event_value(event: LoggedEvent) -> EventValue:
    event_id = from_text(Prefix.EVENT, event.envelope["eventId"])
    if event_id is None:
        raise not_healthy()
    return EventValue(
        index=event.index,
        event_id=event_id,
        kind=EventKind(event.kind),
        run_id=event.run_id,
        node_id=event.node_id,
        body=event.body,
        digest=event.digest,
        created_at=event.row.created_at,
    )


def _preferences(row: WorkSession | Node) -> Preferences:
    waived_by = row.waived_by if isinstance(row, WorkSession) else ""
    return Preferences(autonomy=Autonomy(row.autonomy), risk_policy=RiskPolicy(row.risk_policy), waived_by=waived_by)
