"""What the tables keep beside the log, as a function of the log alone: a rebuild gives the same rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import orjson

from sessions_app.engine.log import EventKind, NodeKind
from sessions_app.engine.runs import ObservationKey, RunStatus
from teams_app.engine.ids import Prefix, from_text

_ACTIVE = frozenset(
    {EventKind.NODE_CREATED, EventKind.NODE_OUTPUT_APPENDED, EventKind.ADVANCE_RECORDED, EventKind.GAP_RECORDED},
)


@dataclass(slots=True, kw_only=True)
class NodeView:
    node_id: UUID
    kind: NodeKind
    parent_id: UUID | None
    event_index: int
    snapshot: str
    pending: str
    completed: bool = False
    last_activity: int = 0


@dataclass(slots=True, kw_only=True)
class OutputView:
    output: str
    node_id: UUID | None
    channel: str
    payload: Mapping[str, Any]
    event_index: int
    superseded: bool = False


@dataclass(slots=True, kw_only=True)
class GapView:
    gap: str
    node_id: UUID | None
    severity: str
    category: str
    detail: str
    summary: str
    event_index: int


@dataclass(slots=True, kw_only=True)
class RunView:
    run_id: UUID
    workflow_id: str
    workflow_hash: str
    goal: str
    started_ms: int
    last_activity_ms: int
    nodes: dict[UUID, NodeView] = field(default_factory=dict)
    outputs: list[OutputView] = field(default_factory=list)
    gaps: list[GapView] = field(default_factory=list)
    capabilities: dict[str, str] = field(default_factory=dict)

    @property
    def tip(self) -> NodeView | None:
        """The leaf whose branch was last worked on; of equals the one made last. Bookmarks are no leaves."""
        steps = [node for node in self.nodes.values() if node.kind is not NodeKind.CHECKPOINT]
        parents = {node.parent_id for node in steps}
        leaves = [node for node in steps if node.node_id not in parents]
        return max(leaves, key=lambda leaf: (self._activity(leaf), leaf.event_index), default=None)

    @property
    def status(self) -> RunStatus:
        tip = self.tip
        if tip is None:
            return RunStatus.IN_PROGRESS
        if tip.kind is NodeKind.BLOCKED_ATTEMPT:
            return RunStatus.BLOCKED
        if not tip.completed:
            return RunStatus.IN_PROGRESS
        critical = any(gap.severity == "critical" for gap in self.gaps)
        return RunStatus.COMPLETE_WITH_GAPS if critical else RunStatus.COMPLETE

    def _activity(self, leaf: NodeView) -> int:
        latest = leaf.last_activity
        at = leaf.parent_id
        while at is not None and (node := self.nodes.get(at)) is not None:
            latest = max(latest, node.last_activity)
            at = node.parent_id
        return latest


@dataclass(slots=True, kw_only=True)
class SessionView:
    title: str = ""
    event_count: int = 0
    observed: dict[ObservationKey, str] = field(default_factory=dict)
    runs: dict[UUID, RunView] = field(default_factory=dict)
    outputs: list[OutputView] = field(default_factory=list)


def project(bodies: Iterable[bytes]) -> SessionView:
    """Fold a session's events, in order, into what they amount to."""
    view = SessionView()
    for body in bodies:
        _fold(view, orjson.loads(body))
    return view


def _fold(view: SessionView, event: Mapping[str, Any]) -> None:
    kind = EventKind(event["kind"])
    data = event["data"]
    view.event_count += 1
    run_id = _scope(event, "runId", Prefix.RUN)
    match kind:
        case EventKind.SESSION_CREATED:
            view.title = data["title"]
        case EventKind.OBSERVATION_RECORDED:
            view.observed[ObservationKey(data["key"])] = data["value"]
        case EventKind.RUN_STARTED if run_id is not None:
            view.runs[run_id] = RunView(
                run_id=run_id,
                workflow_id=data["workflowId"],
                workflow_hash=data["workflowHash"],
                goal=data["goal"],
                started_ms=event["timestampMs"],
                last_activity_ms=event["timestampMs"],
            )
        case EventKind.NODE_OUTPUT_APPENDED if run_id is None:
            view.outputs.append(_output(event))
        case _ if run_id is not None and run_id in view.runs:
            _fold_run(view.runs[run_id], kind, event)
        case _:
            pass


def _fold_run(run: RunView, kind: EventKind, event: Mapping[str, Any]) -> None:
    run.last_activity_ms = max(run.last_activity_ms, event["timestampMs"])
    node_id = _scope(event, "nodeId", Prefix.NODE)
    data = event["data"]
    match kind:
        case EventKind.NODE_CREATED if node_id is not None:
            run.nodes[node_id] = NodeView(
                node_id=node_id,
                kind=NodeKind(data["nodeKind"]),
                parent_id=from_text(Prefix.NODE, data["parentNodeId"] or ""),
                event_index=event["eventIndex"],
                snapshot=data["snapshotRef"],
                pending=data["pending"],
                completed=_completes(data),
            )
        case EventKind.NODE_OUTPUT_APPENDED:
            output = _output(event)
            for earlier in run.outputs:
                earlier.superseded = earlier.superseded or earlier.output == data.get("supersedesOutputId")
            run.outputs.append(output)
        case EventKind.GAP_RECORDED:
            run.gaps.append(_gap(event))
        case EventKind.CAPABILITY_OBSERVED:
            run.capabilities[data["capability"]] = data["status"]
        case _:
            pass
    if kind in _ACTIVE and node_id is not None and node_id in run.nodes:
        run.nodes[node_id].last_activity = event["eventIndex"]


def _completes(data: Mapping[str, Any]) -> bool:
    return (data["nodeKind"], data["pending"]) == (NodeKind.STEP.value, "")


def _output(event: Mapping[str, Any]) -> OutputView:
    data = event["data"]
    return OutputView(
        output=data["outputId"],
        node_id=_scope(event, "nodeId", Prefix.NODE),
        channel=data["outputChannel"],
        payload=data["payload"],
        event_index=event["eventIndex"],
    )


def _gap(event: Mapping[str, Any]) -> GapView:
    data = event["data"]
    return GapView(
        gap=data["gapId"],
        node_id=_scope(event, "nodeId", Prefix.NODE),
        severity=data["severity"],
        category=data["reason"]["category"],
        detail=data["reason"]["detail"],
        summary=data["summary"],
        event_index=event["eventIndex"],
    )


def _scope(event: Mapping[str, Any], key: str, prefix: Prefix) -> UUID | None:
    text = event.get("scope", {}).get(key)
    return from_text(prefix, text) if text else None
