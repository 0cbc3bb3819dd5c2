"""What the tables keep beside the log, as a function of the log alone: a rebuild gives the same rows."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never
from uuid import UUID

import orjson
from msgspec.structs import replace

from sessions_app.engine.checkpoints import UNANSWERED, CheckpointState
from sessions_app.engine.decisions import Outcome, PreferenceSource
from sessions_app.engine.log import EventKind, NodeKind
from sessions_app.engine.reasons import GapSeverity
from sessions_app.engine.runs import ObservationKey, OutputChannel, RunStatus, StopKind, status_of
from sessions_app.engine.session_tokens import Handle, handle_from
from sessions_app.engine.state import Preferences
from teams_app.engine.ids import Prefix, from_text
from workflows_app.engine import canonical
from workflows_app.engine.program import Autonomy, RiskPolicy

_ACTIVE = frozenset(
    {
        EventKind.NODE_CREATED,
        EventKind.NODE_OUTPUT_APPENDED,
        EventKind.ADVANCE_RECORDED,
        EventKind.GAP_RECORDED,
        EventKind.BRANCH_PREFERRED,
    },
)


@dataclass(slots=True, kw_only=True)
class ProjectedNode:
    node_id: UUID
    kind: NodeKind
    parent_id: UUID | None
    event_index: int
    created_ms: int
    snapshot: str
    pending: str
    autonomy: str
    risk_policy: str
    asked: frozenset[UUID] = frozenset()
    stop: StopKind | None = None
    edge_kind: str = ""
    edge_cause: str = ""
    last_activity: int = 0

    @property
    def completes(self) -> bool:
        return self.kind is NodeKind.STEP and not self.pending


@dataclass(slots=True, kw_only=True)
class OutputView:
    """`to_node_id` is the node that the same call made; `superseded` tells that a later one took its place."""

    output_id: UUID
    run_id: UUID | None
    node_id: UUID | None
    to_node_id: UUID | None
    channel: OutputChannel
    body: str
    sha256: str
    artifact_kind: str
    supersedes: UUID | None
    event_index: int
    created_ms: int
    superseded: bool = False


@dataclass(slots=True, kw_only=True)
class GapView:
    gap_id: UUID
    node_id: UUID | None
    severity: GapSeverity
    category: str
    detail: str
    summary: str
    event_index: int
    created_ms: int
    resolved_by: UUID | None = None

    @property
    def stands(self) -> bool:
        return self.severity is GapSeverity.CRITICAL and self.resolved_by is None


@dataclass(slots=True, kw_only=True)
class QuestionView:
    """A question that waited for a person. The claim of it is not told by the log."""

    request_id: UUID
    shown: Mapping[str, Any]
    event_index: int
    presented_ms: int
    state: CheckpointState = CheckpointState.OPEN
    answered_ms: int | None = None
    answered_by: str = ""
    answered_as: str = ""
    option_id: str = ""
    reason: str = ""
    door: str = ""
    to_node_id: UUID | None = None

    @property
    def due_ms(self) -> int | None:
        return self.presented_ms + self.shown["dueMs"] if "dueMs" in self.shown else None


@dataclass(slots=True, kw_only=True)
class ProjectedRun:
    run_id: UUID
    workflow_id: str
    workflow_title: str
    workflow_hash: str
    goal: str
    started_ms: int
    last_activity_ms: int
    name: str = ""
    nodes: dict[UUID, ProjectedNode] = field(default_factory=dict)
    outputs: list[OutputView] = field(default_factory=list)
    gaps: list[GapView] = field(default_factory=list)
    questions: dict[UUID, QuestionView] = field(default_factory=dict)
    capabilities: dict[str, str] = field(default_factory=dict)
    # Who, as the log tells, had it never stop: as a choice for the run, or for the session before it began.
    waived_by: set[str] = field(default_factory=set)

    @property
    def tip(self) -> ProjectedNode | None:
        """The leaf whose branch was last worked on; of equals the one made last. Bookmarks are no leaves."""
        steps = [node for node in self.nodes.values() if node.kind is not NodeKind.BOOKMARK]
        parents = {node.parent_id for node in steps}
        leaves = [node for node in steps if node.node_id not in parents]
        return max(leaves, key=lambda leaf: (self._activity(leaf), leaf.event_index), default=None)

    @property
    def status(self) -> RunStatus:
        tip = self.tip
        if tip is None:
            return RunStatus.IN_PROGRESS
        return status_of(
            stop=tip.stop,
            has_questions=bool(tip.asked),
            is_blocked=tip.kind is NodeKind.BLOCKED_ATTEMPT,
            is_complete=tip.completes,
            has_gaps=any(gap.stands for gap in self.gaps),
        )

    @property
    def completed_ms(self) -> int | None:
        tip = self.tip
        return tip.created_ms if tip is not None and tip.completes else None

    def state_of(self, question: QuestionView) -> CheckpointState:
        """A question that nobody answered is open where the run stands, and withdrawn everywhere else."""
        if question.state not in UNANSWERED:
            return question.state
        tip = self.tip
        here = tip is not None and question.request_id in tip.asked
        return CheckpointState.OPEN if here else CheckpointState.WITHDRAWN

    def _activity(self, leaf: ProjectedNode) -> int:
        latest = leaf.last_activity
        at = leaf.parent_id
        while at is not None and (node := self.nodes.get(at)) is not None:
            latest = max(latest, node.last_activity)
            at = node.parent_id
        return latest


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleView:
    """A holder of a session token."""

    handle: Handle
    event_index: int
    created_ms: int


@dataclass(slots=True, kw_only=True)
class ProjectedSession:
    """`baseline` is None where the log does not tell it: sessions of an earlier release began without saying theirs."""

    title: str = ""
    parent_id: UUID | None = None
    baseline: Preferences | None = None
    event_count: int = 0
    observed: dict[ObservationKey, str] = field(default_factory=dict)
    runs: dict[UUID, ProjectedRun] = field(default_factory=dict)
    outputs: list[OutputView] = field(default_factory=list)
    handles: dict[UUID, HandleView] = field(default_factory=dict)

    def every_output(self) -> Iterator[OutputView]:
        """Those of the session itself and of its runs."""
        yield from self.outputs
        for run in self.runs.values():
            yield from run.outputs


def project(bodies: Iterable[bytes]) -> ProjectedSession:
    """Fold a session's events, in order, into what they amount to."""
    view = ProjectedSession()
    for body in bodies:
        fold(view, orjson.loads(body))
    return view


def fold(view: ProjectedSession, event: Mapping[str, Any]) -> None:
    """Take one more event, in order."""
    kind = EventKind(event["kind"])
    data = event["data"]
    view.event_count += 1
    run_id = _scope(event, "runId", Prefix.RUN)
    match kind:
        case EventKind.SESSION_CREATED:
            view.title = data["title"]
            view.parent_id = from_text(Prefix.SESSION, data.get("parentSessionId", ""))
            view.baseline = _preferences(data["preferences"]) if "preferences" in data else None
        case EventKind.NAME_GIVEN:
            _fold_name(view, data)
        case EventKind.OBSERVATION_RECORDED:
            view.observed[ObservationKey(data["key"])] = data["value"]
        case EventKind.PREFERENCES_CHANGED if run_id is None:
            view.baseline = _chosen(data, before=view.baseline)
        case EventKind.NODE_OUTPUT_APPENDED if run_id is None:
            view.outputs.append(_output(event, run_id=None, to_node_id=None))
        case EventKind.RUN_STARTED if run_id is not None:
            view.runs[run_id] = _begun(event, run_id, view.baseline)
        case EventKind.HANDLE_ISSUED if run_id is not None:
            _fold_handle(view, event, run_id)
        case of_run if run_id is not None and run_id in view.runs:
            _fold_run(view.runs[run_id], of_run, event)
        case _:
            # Of a run that never began: the checks of the log tell of it.
            pass


def _fold_name(view: ProjectedSession, data: Mapping[str, Any]) -> None:
    run_id = from_text(Prefix.RUN, data.get("runId", ""))
    if run_id is None:
        view.title = data["title"]
    elif run_id in view.runs:
        view.runs[run_id].name = data["title"]


def _begun(event: Mapping[str, Any], run_id: UUID, baseline: Preferences | None) -> ProjectedRun:
    data = event["data"]
    return ProjectedRun(
        run_id=run_id,
        workflow_id=data["workflowId"],
        workflow_title=data.get("title", ""),
        workflow_hash=data["workflowHash"],
        goal=data["goal"],
        started_ms=event["timestampMs"],
        last_activity_ms=event["timestampMs"],
        waived_by={baseline.waived_by} if baseline and baseline.waived_by else set(),
    )


def _fold_handle(view: ProjectedSession, event: Mapping[str, Any], run_id: UUID) -> None:
    session_id = from_text(Prefix.SESSION, event["sessionId"])
    handle = handle_from(event["data"], session_id=session_id, run_id=run_id) if session_id else None
    if run_id in view.runs:
        # Whoever joins a run has come to it then.
        view.runs[run_id].last_activity_ms = event["timestampMs"]
    if handle is not None:
        view.handles[handle.id] = HandleView(
            handle=handle, event_index=event["eventIndex"], created_ms=event["timestampMs"]
        )


def _fold_run(run: ProjectedRun, kind: EventKind, event: Mapping[str, Any]) -> None:  # noqa: C901, PLR0912  one case for each kind
    run.last_activity_ms = event["timestampMs"]
    node_id = _scope(event, "nodeId", Prefix.NODE)
    data = event["data"]
    match kind:
        case EventKind.NODE_CREATED:
            if node_id is not None:
                run.nodes[node_id] = _node(event, node_id)
        case EventKind.EDGE_CREATED:
            _join(run, data)
        case EventKind.NODE_OUTPUT_APPENDED:
            _fold_output(run, event)
        case EventKind.GAP_RECORDED:
            _fold_gap(run, event)
        case EventKind.CHECKPOINT_PRESENTED:
            if node_id is not None:
                _fold_question(run, event, node_id)
        case EventKind.CHECKPOINT_ANSWERED:
            if "request" in data:
                _fold_answer(run, event)
        case EventKind.CAPABILITY_OBSERVED:
            run.capabilities[data["capability"]] = data["status"]
        case EventKind.PREFERENCES_CHANGED:
            run.waived_by |= _waivers(data)
        case (
            EventKind.ADVANCE_RECORDED
            | EventKind.VALIDATION_PERFORMED
            | EventKind.ASSESSMENT_RECORDED
            | EventKind.ASSESSMENT_CONSEQUENCE_APPLIED
            | EventKind.CONTEXT_SET
            | EventKind.DIVERGENCE_RECORDED
            | EventKind.DECISION_TRACE_APPENDED
            | EventKind.ACTIVITY_ENTERED
            | EventKind.RUN_COMPLETED
            | EventKind.RUN_STOPPED
            | EventKind.RUN_RESUMED
            | EventKind.BRANCH_PREFERRED
        ):
            # What they change stands in the snapshot of the node that they come with.
            pass
        case (
            EventKind.SESSION_CREATED
            | EventKind.NAME_GIVEN
            | EventKind.OBSERVATION_RECORDED
            | EventKind.RUN_STARTED
            | EventKind.HANDLE_ISSUED
        ):
            # Told of the session, above.
            pass
        case _:
            assert_never(kind)
    if kind in _ACTIVE and node_id in run.nodes and not _resolves(data) and not _tells_an_answer(data):
        run.nodes[node_id].last_activity = event["eventIndex"]


def _fold_output(run: ProjectedRun, event: Mapping[str, Any]) -> None:
    output = _output(event, run_id=run.run_id, to_node_id=next(reversed(run.nodes), None))
    for earlier in run.outputs if output.supersedes else ():
        earlier.superseded = earlier.superseded or earlier.output_id == output.supersedes
    run.outputs.append(output)


def _node(event: Mapping[str, Any], node_id: UUID) -> ProjectedNode:
    data = event["data"]
    return ProjectedNode(
        node_id=node_id,
        kind=NodeKind(data["nodeKind"]),
        parent_id=from_text(Prefix.NODE, data["parentNodeId"] or ""),
        event_index=event["eventIndex"],
        created_ms=event["timestampMs"],
        snapshot=data["snapshotRef"],
        pending=data["pending"],
        autonomy=data["preferences"]["autonomy"],
        risk_policy=data["preferences"]["riskPolicy"],
        asked=_asked(data.get("asked", [])),
        stop=StopKind(data["stopped"]) if "stopped" in data else None,
    )


def _asked(named: str | list[str]) -> frozenset[UUID]:
    """Logs of an earlier version name one question without a list."""
    found = (from_text(Prefix.CHECKPOINT, name) for name in ([named] if isinstance(named, str) else named))
    return frozenset(request for request in found if request is not None)


def _join(run: ProjectedRun, data: Mapping[str, Any]) -> None:
    made = from_text(Prefix.NODE, data["toNodeId"])
    if made in run.nodes:
        run.nodes[made].edge_kind = data["edgeKind"]
        run.nodes[made].edge_cause = data["cause"]["kind"]


def _output(event: Mapping[str, Any], *, run_id: UUID | None, to_node_id: UUID | None) -> OutputView:
    data = event["data"]
    payload = data["payload"]
    body = output_body(payload)
    return OutputView(
        output_id=_named(data["outputId"]),
        run_id=run_id,
        node_id=_scope(event, "nodeId", Prefix.NODE),
        to_node_id=to_node_id,
        channel=OutputChannel(data["outputChannel"]),
        body=body,
        sha256=canonical.digest(body.encode()),
        artifact_kind=payload.get("artifactKind", ""),
        supersedes=_named(data["supersedesOutputId"]) if "supersedesOutputId" in data else None,
        event_index=event["eventIndex"],
        created_ms=event["timestampMs"],
    )


def output_body(payload: Mapping[str, Any]) -> str:
    """The text of an output, as its row has it."""
    notes = payload.get("notesMarkdown")
    return canonical.canonical_bytes(payload["content"]).decode() if notes is None else str(notes)


def _fold_question(run: ProjectedRun, event: Mapping[str, Any], node_id: UUID) -> None:
    data = event["data"]
    replaced = run.questions.get(from_text(Prefix.CHECKPOINT, data.get("replaces", "")) or node_id)
    if replaced is not None and replaced.state in UNANSWERED:
        replaced.state = CheckpointState.STALE
    request_id = from_text(Prefix.CHECKPOINT, data.get("request", "")) or node_id
    run.questions[request_id] = QuestionView(
        request_id=request_id, shown=data, event_index=event["eventIndex"], presented_ms=event["timestampMs"]
    )


def _fold_answer(run: ProjectedRun, event: Mapping[str, Any]) -> None:
    """The first answer is the one that counts here; another one on another branch stands in the log."""
    data = event["data"]
    request_id = from_text(Prefix.CHECKPOINT, data["request"])
    question = run.questions.get(request_id) if request_id else None
    if question is None or question.state not in UNANSWERED:
        return
    question.state = CheckpointState.ANSWERED
    question.answered_ms = event["timestampMs"]
    question.answered_by = data.get("actor", "")
    question.answered_as = data["authority"]
    question.option_id = data["optionId"]
    question.reason = data.get("reason", "")
    question.door = data.get("door", "")
    question.to_node_id = from_text(Prefix.NODE, data["toNodeId"])


def _fold_gap(run: ProjectedRun, event: Mapping[str, Any]) -> None:
    data = event["data"]
    gap = GapView(
        gap_id=_named(data["gapId"]),
        node_id=_scope(event, "nodeId", Prefix.NODE),
        severity=GapSeverity(data["severity"]),
        category=data["reason"]["category"],
        detail=data["reason"]["detail"],
        summary=data["summary"],
        event_index=event["eventIndex"],
        created_ms=event["timestampMs"],
    )
    if _resolves(data):
        resolved = _named(data["resolution"]["resolvesGapId"])
        for earlier in run.gaps:
            earlier.resolved_by = gap.gap_id if earlier.gap_id == resolved else earlier.resolved_by
    run.gaps.append(gap)


def _resolves(data: Mapping[str, Any]) -> bool:
    return bool(data.get("resolution", {}).get("kind") == "resolves")


def _tells_an_answer(data: Mapping[str, Any]) -> bool:
    """An acknowledgement that was told a person's answer does nothing to its branch."""
    return bool(data.get("outcome", {}).get("kind") == Outcome.ANSWERED.value)


def _preferences(said: Mapping[str, str]) -> Preferences:
    return Preferences(
        autonomy=Autonomy(said["autonomy"]),
        risk_policy=RiskPolicy(said["riskPolicy"]),
        waived_by=said.get("waivedBy", ""),
    )


def _chosen(data: Mapping[str, Any], *, before: Preferences | None) -> Preferences:
    """A change tells all that holds behind it. That a person had runs never stop is told by their choice alone."""
    effective = _preferences(data["effective"])
    known = _waivers(data) | ({before.waived_by} if before else set())
    return effective if effective.waived_by in known else replace(effective, waived_by="")


def _waivers(data: Mapping[str, Any]) -> set[str]:
    """Who had a run, or those to come, never stop by this change."""
    if data["source"] != PreferenceSource.USER.value:
        return set()
    return {change["value"] for change in data["delta"] if change["key"] == "waivedBy"}


def _named(name: str) -> UUID:
    """The row behind a name of the log: `gap_<hex>`, `out_recap_<hex>`."""
    return UUID(hex=name.rpartition("_")[2])


def _scope(event: Mapping[str, Any], key: str, prefix: Prefix) -> UUID | None:
    text = event.get("scope", {}).get(key)
    return from_text(prefix, text) if text else None
