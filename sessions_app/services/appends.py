"""One transition as the rows that it writes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sessions_app.engine.checkpoints import Authority, CheckpointState, Closing, Shown
from sessions_app.engine.decisions import derive_id
from sessions_app.engine.handles import Handle
from sessions_app.engine.log import EdgeCause, EdgeKind, Event, Head, NodeKind
from sessions_app.engine.reasons import Gap
from sessions_app.engine.runs import AttemptKind, OutputChannel, RunStatus
from sessions_app.engine.state import Preferences
from teams_app.engine.webhooks import NoticeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNode:
    node_id: UUID
    parent_id: UUID | None
    kind: NodeKind
    edge_kind: EdgeKind | None
    edge_cause: EdgeCause | None
    snapshot: bytes
    snapshot_digest: str
    pending_key: str
    pending_title: str
    preferences: Preferences
    event_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAttempt:
    node_id: UUID
    nonce: bytes
    kind: AttemptKind
    to_node_id: UUID
    reply: bytes
    reply_template: int
    keys_generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOutput:
    output_id: UUID
    node_id: UUID | None
    to_node_id: UUID | None
    channel: OutputChannel
    body: str
    sha256: str
    event_index: int
    artifact_kind: str = ""
    supersedes_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewGap:
    """`resolves` is the gap that this one closes."""

    gap_id: UUID
    node_id: UUID
    gap: Gap
    event_index: int
    resolves: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewQuestion:
    """A question that waits for a person. One that is asked alone is named by its node."""

    request_id: UUID
    shown: Shown
    due_at: datetime | None
    event_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewHandle:
    """A new holder of a session token."""

    handle: Handle
    event_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTip:
    """The run goes on from another place: of its unanswered questions only that one is open which is asked there."""

    asked: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    run_id: UUID
    workflow_id: str
    workflow_title: str
    workflow_hash: str
    dialect: str
    goal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    title: str
    baseline: Preferences
    parent_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """With a status, only if the run does not have it yet. `about` and the kind name the notice for good."""

    kind: NoticeKind
    about: UUID
    request_id: UUID | None = None
    status: str = ""

    @property
    def id(self) -> UUID:
        return derive_id("notice", self.about.bytes, self.kind.value.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """One transition as rows. `before` is the head that the decision was made on; `session` is set to begin one.

    Without `run_status` the run keeps the status that it has, and with it `completed_at`.
    """

    team_id: UUID
    session_id: UUID
    actor: str
    now: datetime
    before: Head
    after: Head
    events: Sequence[Event]
    session: NewSession | None = None
    observed: Mapping[str, str] | None = None
    run_id: UUID | None = None
    run: NewRun | None = None
    run_status: RunStatus | None = None
    completed_at: datetime | None = None
    tip_node_id: UUID | None = None
    nodes: Sequence[NewNode] = ()
    attempts: Sequence[NewAttempt] = ()
    outputs: Sequence[NewOutput] = ()
    gaps: Sequence[NewGap] = ()
    questions: Sequence[NewQuestion] = ()
    handles: Sequence[NewHandle] = ()
    closings: Sequence[Closing] = ()
    # The node that an answer led to.
    closed_by: UUID | None = None
    # What the audit log tells of it beside the answers: each action with its target.
    audited: Sequence[tuple[str, str]] = ()
    moved: NewTip | None = None

    @property
    def announcements(self) -> tuple[Announcement, ...]:
        """What is told to whoever wants notices of the team, if the transition is written."""
        return tuple(_announced(self))


# A run that comes to one of these is told of; one that stays there is not told of again.
_TOLD_STATUS = {
    "waiting": NoticeKind.RUN_WAITING,
    "blocked": NoticeKind.RUN_BLOCKED,
    "paused": NoticeKind.RUN_PAUSED,
    "complete": NoticeKind.RUN_COMPLETED,
    "complete_with_gaps": NoticeKind.RUN_COMPLETED,
    "rejected": NoticeKind.RUN_REJECTED,
    "cancelled": NoticeKind.RUN_CANCELLED,
}


def _announced(plan: Append) -> Iterator[Announcement]:
    """Questions that an agent passes on are no news: it shows them itself."""
    if plan.run is not None:
        yield Announcement(kind=NoticeKind.RUN_STARTED, about=plan.run.run_id)
    kind = _TOLD_STATUS.get(plan.run_status.value) if plan.run_status is not None else None
    if kind is not None and plan.run_id is not None and plan.run_status is not None and plan.events:
        yield Announcement(kind=kind, about=plan.events[-1].event_id, status=plan.run_status.value)
    for question in plan.questions:
        if question.shown.authority is Authority.HUMAN:
            yield Announcement(
                kind=NoticeKind.CHECKPOINT_ASKED, about=question.request_id, request_id=question.request_id
            )
    for closing in plan.closings:
        if closing.state is CheckpointState.ANSWERED and closing.authority is Authority.HUMAN:
            yield Announcement(kind=NoticeKind.CHECKPOINT_ANSWERED, about=closing.request, request_id=closing.request)
