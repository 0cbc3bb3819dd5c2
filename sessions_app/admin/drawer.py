"""The drawer of a node: why this step, what the agent was given, what it handed in, and what came next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from django.utils.safestring import SafeString

from sessions_app.admin import artifacts, filled_values, graph as drawn, naming, showing, states
from sessions_app.admin.event_words import reason_words
from sessions_app.admin.graph import GraphFacts, View
from sessions_app.engine import prompts
from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.log import EventKind, NodeKind
from sessions_app.engine.state import Blocked, Snapshot
from sessions_app.engine.values import EventValue, OutputValue
from sessions_app.selectors.run_graph import Graph, GraphNode
from teams_app.admin.parts import Tab
from teams_app.engine.ids import Prefix, from_text, to_text
from workflows_app.engine.program import Program

_MOST_WHY = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnAnswer:
    word: str
    how: str
    reason: str
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawer:
    title: str
    step: str
    shape: str
    by: str
    is_by_person: bool
    public_id: str
    lasted_s: float | None
    at: Any
    mode: str
    part: str
    tabs: Sequence[Tab]
    why: Sequence[str]
    prompt: SafeString | None
    prompt_text: str
    notes: Sequence[artifacts.ShownNotes]
    outputs: Sequence[artifacts.ShownArtifact]
    blocked: Blocked | None
    gaps: Sequence[showing.ShownGap]
    question_url: str
    answer: DrawnAnswer | None
    following: Sequence[tuple[str, str, str]]
    variables: SafeString | None
    events: Sequence[showing.ShownEvent]
    close_url: str
    newer_url: str
    older_url: str


def open_drawer(
    *,
    graph: Graph,
    view: View,
    facts: GraphFacts,
    part: str,
    program: Program,
    outputs: Sequence[OutputValue],
    events: Sequence[EventValue],
) -> Drawer | None:
    node, state = graph.chosen, graph.state
    if node is None or state is None:
        return None
    children = [child for child in graph.nodes if child.parent_id == node.id]
    pending = prompts.pending_of(program=program, snapshot=state)
    newer, older = _neighbours(graph, node)
    return Drawer(
        title=drawn.title_with_item(node, facts),
        step=facts.places.of_step(node.pending_key),
        shape=drawn.shape_of(node, facts),
        by=facts.names.get(node.by, ""),
        is_by_person=from_text(Prefix.PERSON, node.by) is not None or _is_preferred(events),
        public_id=to_text(Prefix.NODE, node.id),
        lasted_s=(children[0].created_at - node.created_at).total_seconds() if children else None,
        at=node.created_at,
        mode=states.mode(*node.mode),
        part=part,
        tabs=_tabs(view, part, state, events),
        why=_why(events, node, facts),
        prompt=filled_values.prompt_html(program=program, snapshot=state) if pending and pending.prompt else None,
        prompt_text=pending.prompt if pending else "",
        notes=[artifacts.shown_notes(each) for each in outputs if artifacts.is_notes(each)],
        outputs=[artifacts.shown_artifact(each) for each in outputs if not artifacts.is_notes(each)],
        # What waits for a person is told by its question.
        blocked=None if node.id in facts.questions else state.blocked,
        gaps=[showing.shown_gap(gap) for gap in graph.gaps if gap.node_id == node.id],
        question_url=showing.checkpoint_url(node.id) if node.id in facts.questions else "",
        answer=_answer(node, facts),
        following=[_following(child, view, facts) for child in children],
        variables=artifacts.json_html(dict(state.variables)) if state.variables else None,
        events=[showing.shown_event(event, facts.places) for event in events],
        close_url=view.url(node=""),
        newer_url=view.url(node=newer),
        older_url=view.url(node=older),
    )


def _tabs(view: View, part: str, state: Snapshot, events: Sequence[EventValue]) -> list[Tab]:
    return [
        Tab(label="Step", url=view.url(), is_here=part not in {"variables", "events", "calls"}),
        Tab(
            label="Variables",
            url=view.url(part="variables"),
            is_here=part == "variables",
            count=len(state.variables),
        ),
        Tab(label="Events", url=view.url(part="events"), is_here=part == "events", count=len(events)),
    ]


def _why(events: Sequence[EventValue], node: GraphNode, facts: GraphFacts) -> list[str]:
    """What the log says of how the run came here; to a bookmark it did not come."""
    if node.kind is NodeKind.BOOKMARK:
        return []
    entries: list[Mapping[str, Any]] = []
    for event in events:
        if event.kind is EventKind.DECISION_TRACE_APPENDED:
            entries += orjson.loads(event.body)["data"].get("entries", ())
    known = {node.pending_key: drawn.title_with_item(node, facts)} if node.pending_key else {}
    found = (reason_words(entry, facts.places, known) for entry in entries)
    return [text for text in found if text][:_MOST_WHY]


def _is_preferred(events: Sequence[EventValue]) -> bool:
    return any(event.kind is EventKind.BRANCH_PREFERRED for event in events)


def _answer(node: GraphNode, facts: GraphFacts) -> DrawnAnswer | None:
    question = facts.questions.get(node.id)
    if question is None or question.state is not CheckpointState.ANSWERED:
        return None
    state = states.question_state(state=question.state, option_id=question.option_id, is_overdue=False)
    is_verdict = question.option_id in states.VERDICTS
    return DrawnAnswer(
        word=state.word if is_verdict else naming.option_label(question) or state.word,
        how=naming.how_answered(question, facts.names.get(question.answered_by, "somebody who has left")),
        reason=question.reason,
        at=question.answered_at,
    )


def _following(child: GraphNode, view: View, facts: GraphFacts) -> tuple[str, str, str]:
    return drawn.shape_of(child, facts), drawn.title_of(child), view.url(node=to_text(Prefix.NODE, child.id))


def _neighbours(graph: Graph, node: GraphNode) -> tuple[str, str]:
    ids = [each.id for each in graph.nodes]
    at = ids.index(node.id)
    return _text(ids[at + 1]) if at + 1 < len(ids) else "", _text(ids[at - 1]) if at else ""


def _text(node_id: UUID) -> str:
    return to_text(Prefix.NODE, node_id)
