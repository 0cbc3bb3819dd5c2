"""What the endpoints of this app answer."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from sessions_app.engine.drafts import gap_name
from sessions_app.engine.log import EdgeCause, EdgeKind, EventKind, NodeKind
from sessions_app.engine.outputs import output_name
from sessions_app.engine.reasons import Detail, GapCategory, GapSeverity
from sessions_app.engine.resume import Confidence, Why
from sessions_app.engine.runs import AttemptKind, Dialect, NextIntent, OutputChannel, RunStatus, StopKind
from sessions_app.engine.state import Preferences
from sessions_app.engine.tree import Tree, TreeLine
from sessions_app.engine.values import (
    AttemptValue,
    EventValue,
    GapValue,
    NodeDetail,
    NodeValue,
    OutputValue,
    RunDetail,
    RunValue,
    SessionValue,
)
from teams_app.api.endpoints import Shape
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.program import Autonomy, RiskPolicy

Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class PreferencesAnswer(Shape, frozen=True):
    """`waivedBy` is there only where a person has waived the approvals that would be asked for."""

    autonomy: Autonomy
    risk_policy: RiskPolicy
    waived_by: str | msgspec.UnsetType = msgspec.UNSET

    @staticmethod
    def of(value: Preferences) -> "PreferencesAnswer":
        waived_by = value.waived_by or msgspec.UNSET
        return PreferencesAnswer(autonomy=value.autonomy, risk_policy=value.risk_policy, waived_by=waived_by)


class SessionRef(Shape, frozen=True):
    session_id: str
    run_id: str


class SessionAnswer(Shape, frozen=True):
    """`runs` counts them by status; `headDigest` is that of the last event."""

    id: str
    title: str
    parent: str | None
    git_branch: str
    git_head_sha: str
    repository: str
    ticket: str
    preferences: PreferencesAnswer
    runs: dict[RunStatus, int]
    event_count: int
    head_digest: str
    created_by: str
    created_at: Moment
    last_activity_at: Moment

    @staticmethod
    def of(value: SessionValue) -> "SessionAnswer":
        return SessionAnswer.taken(
            value,
            id=to_text(Prefix.SESSION, value.id),
            parent=None if value.parent_id is None else to_text(Prefix.SESSION, value.parent_id),
            preferences=PreferencesAnswer.of(value.preferences),
            runs=dict(value.runs),
        )


class RunAnswer(Shape, frozen=True):
    """`name` is what a person has called it, empty where nobody has; `tip` is the node to go on from."""

    id: str
    session: str
    workflow_id: str
    workflow_title: str
    workflow_hash: str
    dialect: Dialect
    goal: str
    name: str
    status: RunStatus
    tip: str
    created_by: str
    started_at: Moment
    last_activity_at: Moment
    completed_at: Moment | None

    @staticmethod
    def of(value: RunValue) -> "RunAnswer":
        return RunAnswer.taken(
            value,
            id=to_text(Prefix.RUN, value.id),
            session=to_text(Prefix.SESSION, value.session_id),
            tip=to_text(Prefix.NODE, value.tip_node_id),
        )


class NodeAnswer(Shape, frozen=True):
    """`pending` is the key of the item at hand there, empty at the end of a run."""

    id: str
    run: str
    parent: str | None
    kind: NodeKind
    edge_kind: EdgeKind | None
    edge_cause: EdgeCause | None
    pending: str
    pending_title: str
    preferences: PreferencesAnswer
    snapshot: str
    event_index: int
    created_at: Moment

    @staticmethod
    def of(value: NodeValue) -> "NodeAnswer":
        return NodeAnswer.taken(
            value,
            id=to_text(Prefix.NODE, value.id),
            run=to_text(Prefix.RUN, value.run_id),
            parent=None if value.parent_id is None else to_text(Prefix.NODE, value.parent_id),
            pending=value.pending_key,
            preferences=PreferencesAnswer.of(value.preferences),
            snapshot=value.snapshot_digest,
        )


class RunDetailAnswer(Shape, frozen=True):
    """`openGaps` counts by severity those that nothing has closed."""

    run: RunAnswer
    session: SessionAnswer
    tip: NodeAnswer
    open_gaps: dict[GapSeverity, int]

    @staticmethod
    def of(value: RunDetail) -> "RunDetailAnswer":
        return RunDetailAnswer(
            run=RunAnswer.of(value.run),
            session=SessionAnswer.of(value.session),
            tip=NodeAnswer.of(value.tip),
            open_gaps=dict(value.open_gaps),
        )


class TreeLineAnswer(Shape, frozen=True):
    """`depth` counts the forks at which the node branched off; `isOnWay` tells that it leads to the tip."""

    node: NodeAnswer
    depth: int
    branches: int
    is_tip: bool
    is_on_way: bool

    @staticmethod
    def of(value: TreeLine) -> "TreeLineAnswer":
        return TreeLineAnswer.taken(value, node=NodeAnswer.of(value.node))


class TreeAnswer(Shape, frozen=True):
    """A parent before its children. `before` leads to the older nodes, when there are any."""

    lines: list[TreeLineAnswer]
    before: int | None

    @staticmethod
    def of(value: Tree) -> "TreeAnswer":
        return TreeAnswer(lines=[TreeLineAnswer.of(line) for line in value.lines], before=value.before)


class AttemptAnswer(Shape, frozen=True):
    """`to` is the node that it made."""

    id: str
    kind: AttemptKind
    to: str
    actor: str
    event_index: int
    created_at: Moment

    @staticmethod
    def of(value: AttemptValue) -> "AttemptAnswer":
        return AttemptAnswer.taken(
            value, id=to_text(Prefix.ATTEMPT, value.id), to=to_text(Prefix.NODE, value.to_node_id)
        )


class OutputAnswer(Shape, frozen=True):
    """Notes are Markdown, an artifact is canonical JSON, both in `body`; `sha256` is that of its bytes."""

    id: str
    node: str | None
    to: str | None
    channel: OutputChannel
    artifact_kind: str
    body: str
    sha256: str
    supersedes: str | None
    is_superseded: bool
    event_index: int
    created_at: Moment

    @staticmethod
    def of(value: OutputValue) -> "OutputAnswer":
        earlier = value.supersedes_id
        return OutputAnswer.taken(
            value,
            id=output_name(channel=value.channel, output_id=value.id),
            node=None if value.node_id is None else to_text(Prefix.NODE, value.node_id),
            to=None if value.to_node_id is None else to_text(Prefix.NODE, value.to_node_id),
            supersedes=None if earlier is None else output_name(channel=value.channel, output_id=earlier),
        )


class RunGapAnswer(Shape, frozen=True):
    """`resolvedBy` is the entry that closed it; one that only closes another says so by `closes`."""

    id: str
    node: str
    severity: GapSeverity
    category: GapCategory
    detail: Detail
    summary: str
    resolved_by: str | None
    closes: bool
    event_index: int
    created_at: Moment

    @staticmethod
    def of(value: GapValue) -> "RunGapAnswer":
        return RunGapAnswer.taken(
            value,
            id=gap_name(value.id),
            node=to_text(Prefix.NODE, value.node_id),
            resolved_by=None if value.resolved_by_id is None else gap_name(value.resolved_by_id),
        )


class EventAnswer(Shape, frozen=True):
    """`event` are the canonical bytes as they are stored; their SHA-256 is `digest`."""

    index: int
    id: str
    kind: EventKind
    run: str | None
    node: str | None
    digest: str
    created_at: Moment
    event: msgspec.Raw

    @staticmethod
    def of(value: EventValue) -> "EventAnswer":
        return EventAnswer.taken(
            value,
            id=to_text(Prefix.EVENT, value.event_id),
            run=None if value.run_id is None else to_text(Prefix.RUN, value.run_id),
            node=None if value.node_id is None else to_text(Prefix.NODE, value.node_id),
            event=msgspec.Raw(value.body),
        )


class NodeDetailAnswer(Shape, frozen=True):
    """`blockers` are why it is blocked; `more` names the lists of which only the first are here."""

    node: NodeAnswer
    run: RunAnswer
    children: list[NodeAnswer]
    attempts: list[AttemptAnswer]
    outputs: list[OutputAnswer]
    gaps: list[RunGapAnswer]
    blockers: list[dict[str, Any]]
    retryable: bool | None
    context: dict[str, Any]
    capabilities: dict[str, dict[str, str]]
    more: list[str]

    @staticmethod
    def of(value: NodeDetail) -> "NodeDetailAnswer":
        blocked = value.blocked
        return NodeDetailAnswer(
            node=NodeAnswer.of(value.node),
            run=RunAnswer.of(value.run),
            children=[NodeAnswer.of(child) for child in value.children],
            attempts=[AttemptAnswer.of(attempt) for attempt in value.attempts],
            outputs=[OutputAnswer.of(output) for output in value.outputs],
            gaps=[RunGapAnswer.of(gap) for gap in value.gaps],
            blockers=[blocker.as_json() for blocker in blocked.blockers] if blocked else [],
            retryable=blocked.retryable if blocked else None,
            context=dict(value.context),
            capabilities={
                capability.value: {"status": seen.status.value, "provenance": seen.provenance.value}
                for capability, seen in value.capabilities.items()
            },
            more=sorted(value.more),
        )


# Replies, which are handed on as they were recorded; these types only describe them.


class NextCallAnswer(Shape, frozen=True):
    """The next call of the rail's tool; by REST it is POST /api/v1/runs/continue with `params` as the body."""

    tool: str
    params: dict[str, Any]


class WarningAnswer(Shape, frozen=True):
    code: str
    message: str


class WorkflowRef(Shape, frozen=True):
    id: str
    title: str
    workflow_hash: str


class PersonsAnswer(Shape, frozen=True):
    """What a person answered to the question before this step."""

    checkpoint_id: str
    option_id: str
    label: str
    authority: str
    reason: str | msgspec.UnsetType = msgspec.UNSET


class AskedOfPersonAnswer(Shape, frozen=True):
    """A question that only a signed-in person answers, and the address of its page."""

    checkpoint_id: str
    answer_at: str


class StoppedAnswer(Shape, frozen=True):
    """That a person has stopped the run, and why; `by` is their id."""

    kind: StopKind
    reason: str
    by: str


class MovedElsewhereAnswer(Shape, frozen=True):
    """Why no acknowledgement moves the run, and what does. `waitsFor` are the runs that it waits for."""

    code: str
    message: str
    suggestion: str
    waits_for: list[str] | msgspec.UnsetType = msgspec.UNSET


class ReplyAnswer(Shape, frozen=True):
    """What an agent is answered. `pending` is null at the end of a run; `blockers` come with kind `blocked`.

    Tokens that are of no use where the run stands are left out, and so is whatever a reply has nothing to say of.
    """

    kind: str
    state_token: str
    pending: dict[str, Any] | None
    is_complete: bool
    session: SessionRef
    preferences: PreferencesAnswer
    next_intent: NextIntent
    next_call: NextCallAnswer | None
    warnings: list[WarningAnswer]
    workflow: WorkflowRef
    ack_token: str | msgspec.UnsetType = msgspec.UNSET
    checkpoint_token: str | msgspec.UnsetType = msgspec.UNSET
    recorded: bool | msgspec.UnsetType = msgspec.UNSET
    goal: str | msgspec.UnsetType = msgspec.UNSET
    waits_for_person: list[AskedOfPersonAnswer] | msgspec.UnsetType = msgspec.UNSET
    stopped: StoppedAnswer | msgspec.UnsetType = msgspec.UNSET
    moved_elsewhere: MovedElsewhereAnswer | msgspec.UnsetType = msgspec.UNSET
    answered: PersonsAnswer | msgspec.UnsetType = msgspec.UNSET
    recap: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    branch: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    step_context: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    preconditions: list[str] | msgspec.UnsetType = msgspec.UNSET
    clarification_prompts: list[str] | msgspec.UnsetType = msgspec.UNSET
    references: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    blockers: list[dict[str, Any]] | msgspec.UnsetType = msgspec.UNSET
    retryable: bool | msgspec.UnsetType = msgspec.UNSET
    retry_by: str | msgspec.UnsetType = msgspec.UNSET
    validation: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    assessment_followup: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    recorded_before: str | msgspec.UnsetType = msgspec.UNSET


class NotedSession(Shape, frozen=True):
    session_id: str


class SessionReplyAnswer(Shape, frozen=True):
    """What a session without a run is answered: the token for the next note."""

    kind: str
    session: NotedSession
    session_token: str
    next_call: NextCallAnswer
    preferences: PreferencesAnswer | msgspec.UnsetType = msgspec.UNSET
    recorded_before: str | msgspec.UnsetType = msgspec.UNSET


class CandidateAnswer(Shape, frozen=True):
    """`isComplete`: nothing is to be done in it any more. `stopped` is there only of a run that a person has stopped."""

    session_id: str
    run_id: str
    workflow_id: str
    session_title: str
    git_branch: str | None
    state_token: str
    snippet: str
    confidence: Confidence
    match_explanation: str
    why_matched: list[Why]
    pending_step_id: str | None
    is_complete: bool
    last_modified_ms: int
    next_call: NextCallAnswer
    stopped: StopKind | msgspec.UnsetType = msgspec.UNSET


class NotedSessionAnswer(Shape, frozen=True):
    """A session in which no workflow has begun: `sessionToken` writes its next note."""

    session_id: str
    session_title: str
    git_branch: str | None
    ticket: str | None
    snippet: str
    last_modified_ms: int
    session_token: str
    next_call: NextCallAnswer


class ResumeAnswer(Shape, frozen=True):
    """`totalEligible` counts the team's runs, no further than where `totalEligibleIsBounded` is true. `foundNothing` says that
    the candidates are merely the latest. `sessions` are there only if some fit that have no run.
    """

    candidates: list[CandidateAnswer]
    total_eligible: int
    total_eligible_is_bounded: bool
    found_nothing: bool | msgspec.UnsetType = msgspec.UNSET
    sessions: list[NotedSessionAnswer] | msgspec.UnsetType = msgspec.UNSET
