"""What selectors of this app hand out: plain values, never rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine.log import EdgeCause, EdgeKind, EventKind, NodeKind
from sessions_app.engine.reasons import Detail, GapCategory, GapSeverity
from sessions_app.engine.runs import AttemptKind, Dialect, OutputChannel, RunStatus
from sessions_app.engine.state import Blocked, CapabilityObservation, Preferences
from workflows_app.engine.program import Capability


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionValue:
    """`preferences` are what its next runs begin with; `runs` counts its runs by status."""

    id: UUID
    title: str
    parent_id: UUID | None
    git_branch: str
    git_head_sha: str
    repository: str
    ticket: str
    preferences: Preferences
    event_count: int
    head_digest: str
    created_by: str
    created_at: datetime
    last_activity_at: datetime
    runs: Mapping[RunStatus, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunValue:
    id: UUID
    session_id: UUID
    workflow_id: str
    workflow_title: str
    workflow_hash: str
    dialect: Dialect
    goal: str
    status: RunStatus
    tip_node_id: UUID
    created_by: str
    started_at: datetime
    last_activity_at: datetime
    completed_at: datetime | None
    # What a person has called it.
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeValue:
    id: UUID
    session_id: UUID
    run_id: UUID
    parent_id: UUID | None
    kind: NodeKind
    edge_kind: EdgeKind | None
    edge_cause: EdgeCause | None
    pending_key: str
    pending_title: str
    preferences: Preferences
    snapshot_digest: str
    event_index: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail:
    """A run with what is known of its tip. `open_gaps` counts the gaps that nothing has closed, by severity.

    `blocked` says why it stands still, where it does.
    """

    run: RunValue
    session: SessionValue
    tip: NodeValue
    open_gaps: Mapping[GapSeverity, int]
    blocked: Blocked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptValue:
    """One use of a token at a node, and the node that it made. What it was answered stays with whoever asked."""

    id: UUID
    kind: AttemptKind
    to_node_id: UUID
    actor: str
    event_index: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputValue:
    id: UUID
    run_id: UUID | None
    node_id: UUID | None
    to_node_id: UUID | None
    channel: OutputChannel
    body: str
    artifact_kind: str
    sha256: str
    supersedes_id: UUID | None
    is_superseded: bool
    event_index: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GapValue:
    """`resolved_by_id` names the entry that closed it; `closes` tells that this is such an entry."""

    id: UUID
    run_id: UUID
    node_id: UUID
    severity: GapSeverity
    category: GapCategory
    detail: Detail
    summary: str
    resolved_by_id: UUID | None
    closes: bool
    event_index: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventValue:
    """`body` are the canonical bytes, whose digest is `digest`."""

    index: int
    event_id: UUID
    kind: EventKind
    run_id: UUID | None
    node_id: UUID | None
    body: bytes
    digest: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDetail:
    """A node with all that hangs on it. Lists are as long as a page and say by `more` which of them go on."""

    node: NodeValue
    run: RunValue
    session_title: str
    children: Sequence[NodeValue]
    attempts: Sequence[AttemptValue]
    outputs: Sequence[OutputValue]
    gaps: Sequence[GapValue]
    blocked: Blocked | None
    context: Mapping[str, Any]
    capabilities: Mapping[Capability, CapabilityObservation]
    more: frozenset[str] = frozenset()
