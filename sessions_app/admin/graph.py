"""The nodes of a run as rows that say the same as the drawing beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.utils.safestring import SafeString

from sessions_app.admin import naming, showing, states
from sessions_app.admin.lanes import Spot, drawing, lane_class
from sessions_app.admin.places import ShownPlaces
from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.lanes import LaneLine, LanePoint, Lanes, lay_lanes
from sessions_app.engine.log import NodeKind
from sessions_app.engine.state import BlockerCode
from sessions_app.selectors.checkpoints import CheckpointValue
from sessions_app.selectors.evidence import ChildRun
from sessions_app.selectors.run_graph import Graph, GraphNode
from teams_app.admin.parts import State
from teams_app.engine.counting import counted, read_count
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.markdown import plain_words
from teams_app.engine.times import exact_words

MOST_LINES = 250
_SUB_CHARACTERS = 110
_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What of the graph is shown: which order, which nodes, what is unfolded, from which line on, which node is open."""

    oldest_first: bool = False
    only: str = ""
    unfold: str = ""
    start: int = 0
    node: UUID | None = None

    def url(self, **changed: Any) -> str:
        """The same page in another view."""
        now = {
            "order": "oldest" if self.oldest_first else "",
            "show": self.only,
            "unfold": self.unfold,
            "from": str(self.start or ""),
            "node": to_text(Prefix.NODE, self.node) if self.node else "",
        }
        query = {name: text for name, text in {**now, **changed}.items() if text}
        return f"?{urlencode(query)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    url: str
    word: str
    branch: int
    title: str
    sub: str
    at: datetime
    is_here: bool
    is_left: bool
    has_gap: bool
    is_diverged: bool
    tip: int
    tip_class: str
    state: State | None
    branches: int
    unfold_url: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGraph:
    rows: Sequence[Row]
    svg: SafeString
    width: str
    count: int
    tips: int
    older_url: str
    newer_url: str
    has_folds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFacts:
    """What is known of nodes besides themselves, looked up once."""

    names: Mapping[str, str]
    questions: Mapping[UUID, CheckpointValue]
    gaps: frozenset[UUID]
    notes: Mapping[UUID, str]
    modes: Mapping[UUID, tuple[str, str]]
    places: ShownPlaces
    passed: frozenset[UUID]
    children: Mapping[UUID, ChildRun]
    waits: Mapping[UUID, str]
    actor_id: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scene:
    graph: Graph
    by_id: Mapping[UUID, GraphNode]
    lanes: Lanes
    view: View
    facts: GraphFacts


def draw_graph(*, graph: Graph, view: View, facts: GraphFacts) -> ShownGraph:
    nodes = _with_children(graph)
    by_id = {node.id: node for node in nodes}
    tip = graph.run.tip_node_id
    unfolded = None if view.unfold == _ALL else frozenset(filter(None, [from_text(Prefix.NODE, view.unfold)]))
    lanes = lay_lanes(points=[_point(node, facts) for node in nodes], tip=tip, unfolded=unfolded)
    scene = _Scene(graph=graph, by_id=by_id, lanes=lanes, view=view, facts=facts)
    lines = [line for line in lanes.lines if _is_wanted(line, scene)]
    lines = lines if view.oldest_first else lines[::-1]
    shown = lines[view.start : view.start + MOST_LINES]
    rows = {id_: row for row, line in enumerate(shown) for id_ in (line.folded or (line.point,))}
    spots = [_spot(line, scene) for line in shown]
    return ShownGraph(
        rows=[_row(line, scene) for line in shown],
        svg=drawing(lanes=lanes, spots=spots, rows=rows),
        width=f"lanes-{1 + max((branch.lane for branch in lanes.branches), default=0)}",
        count=len(graph.nodes),
        tips=len(lanes.branches),
        older_url=view.url(**{"from": str(view.start + MOST_LINES)}) if len(lines) > view.start + MOST_LINES else "",
        newer_url=view.url(**{"from": str(max(0, view.start - MOST_LINES) or "")}) if view.start else "",
        has_folds=any(line.folded for line in lanes.lines),
    )


def facts_of(
    *, graph: Graph, names: Mapping[str, str], places: ShownPlaces, actor_id: str, now: datetime
) -> GraphFacts:
    """Notes stand with the step that they finished; those of a branch that led aside, with the branch."""
    main = _main_children(graph)
    notes: dict[UUID, str] = {}
    for node in graph.nodes:
        if node.excerpt:
            goes_on = node.parent_id is not None and main.get(node.parent_id) == node.id
            notes[node.parent_id if goes_on and node.parent_id else node.id] = node.excerpt
    return GraphFacts(
        names=names,
        questions={question.id: question for question in graph.questions},
        gaps=frozenset(
            gap.node_id
            for gap in graph.gaps
            if gap.resolved_by_id is None and not gap.closes and not showing.is_unnoted(gap)
        ),
        notes=notes,
        modes={node.id: node.mode for node in graph.nodes},
        places=places,
        passed=frozenset(main),
        children={child.id: child for child in graph.children},
        waits=_waits(graph, main),
        actor_id=actor_id,
        now=now,
    )


def _with_children(graph: Graph) -> list[GraphNode]:
    """A run that was triggered hangs on the node at which this one stood then."""
    found = list(graph.nodes)
    for child in graph.children:
        at = _begun_at(graph, child)
        if at is not None:
            found.append(
                replace(
                    at,
                    id=child.id,
                    parent_id=at.id,
                    kind=NodeKind.BOOKMARK,
                    pending_key="",
                    title=child.title,
                    created_at=child.started_at,
                    excerpt="",
                    blocker=None,
                    is_diverged=False,
                )
            )
    return sorted(found, key=lambda node: node.created_at)


def _begun_at(graph: Graph, child: ChildRun) -> GraphNode | None:
    at = next((node for node in reversed(graph.nodes) if node.created_at <= child.started_at), None)
    return None if at is None or at.kind is NodeKind.BOOKMARK else at


def _waits(graph: Graph, main: Mapping[UUID, UUID]) -> dict[UUID, str]:
    """A step that begins another run and waits for it has a node before, one meanwhile and one afterwards, all with its title."""
    nodes = {node.id: node for node in graph.nodes}
    begun: dict[UUID, list[ChildRun]] = {}
    for child in graph.children:
        if (found := _begun_at(graph, child)) is not None:
            begun.setdefault(found.id, []).append(child)
    said: dict[UUID, str] = {}
    for id_, children in begun.items():
        at = nodes[id_]
        name = f"“{children[0].title}”" if len(children) == 1 else counted(len(children), "run")
        said[id_] = f"{'Waited' if all(child.completed_at for child in children) else 'Waits'} for {name}"
        for other, words in ((at.parent_id, "Began"), (main.get(id_), "Goes on after")):
            if other in nodes and nodes[other].pending_key == at.pending_key:
                said.setdefault(other, f"{words} {name}")
    return said


def shape_of(node: GraphNode, facts: GraphFacts) -> str:
    if node.id in facts.children:
        return "child"
    question = facts.questions.get(node.id)
    if question is not None:
        return states.question_state(
            state=question.state, option_id=question.option_id, is_overdue=question.is_overdue(facts.now)
        ).shape
    if is_end(node):
        return "done"
    if node.kind is NodeKind.BLOCKED_ATTEMPT:
        return "waiting" if waits_for_person(node) else "blocked"
    return states.node_shape(node.kind)


def is_end(node: GraphNode) -> bool:
    return node.kind is NodeKind.STEP and not node.pending_key


def waits_for_person(node: GraphNode) -> bool:
    return bool(node.blocker) and (node.blocker or {}).get("code") == BlockerCode.USER_ONLY_DEPENDENCY.value


def title_of(node: GraphNode) -> str:
    return "The end" if is_end(node) else node.title


def title_with_item(node: GraphNode, facts: GraphFacts) -> str:
    """In a round of a loop with what the round is about, unless its title says it already."""
    title, item = title_of(node), facts.places.item(node.pending_key)
    return f"{title}: {item}" if item and item not in title else title


def _main_children(graph: Graph) -> dict[UUID, UUID]:
    """By its parent, the child that goes straight on."""
    parents = {node.id: node.parent_id for node in graph.nodes}
    way: set[UUID] = set()
    at: UUID | None = graph.run.tip_node_id
    while at is not None and at in parents and at not in way:
        way.add(at)
        at = parents[at]
    found: dict[UUID, UUID] = {}
    for node in graph.nodes:
        if node.parent_id is not None and node.kind is not NodeKind.BOOKMARK and found.get(node.parent_id) not in way:
            found[node.parent_id] = node.id
    return found


def _point(node: GraphNode, facts: GraphFacts) -> LanePoint:
    *outer, _ = node.pending_key.split("::")
    loop, _, number = outer[-1].partition("@") if outer else ("", "", "")
    plain = (
        node.kind is NodeKind.STEP
        and node.parent_id is not None
        and node.id not in facts.questions
        and node.id not in facts.gaps
        and not node.is_diverged
        and bool(node.pending_key)
    )
    return LanePoint(
        id=node.id,
        parent=node.parent_id,
        is_aside=node.kind is NodeKind.BOOKMARK,
        is_plain=plain,
        loop="::".join([*outer[:-1], loop]) if outer else "",
        round=read_count(number) or 0,
    )


def _is_wanted(line: LaneLine, scene: _Scene) -> bool:
    lanes, view, facts = scene.lanes, scene.view, scene.facts
    if view.only == "way":
        return lanes.branch_of[line.point] == lanes.branch_of.get(_tip_of(lanes), 0)
    if view.only == "look":
        shape = shape_of(scene.by_id[line.point], facts)
        return shape in {"blocked", "waiting", "overdue"} or line.point in facts.gaps
    return True


def _tip_of(lanes: Lanes) -> UUID:
    return next(branch.tip for branch in lanes.branches if branch.lane == 0)


def _spot(line: LaneLine, scene: _Scene) -> Spot:
    node, run = scene.by_id[line.point], scene.graph.run
    is_over = run.status.value in states.ENDED
    return Spot(
        node=line.point,
        shape="loop" if line.folded else shape_of(node, scene.facts),
        is_pending=line.point == run.tip_node_id and not is_over,
        is_chosen=scene.view.node in (line.folded or (line.point,)),
    )


def _row(line: LaneLine, scene: _Scene) -> Row:
    by_id, lanes, view, facts, graph = scene.by_id, scene.lanes, scene.view, scene.facts, scene.graph
    node = by_id[line.point]
    place = lanes.branch_of[line.point]
    branch = lanes.branches[place]
    is_tip = branch.tip == line.point and len(lanes.branches) > 1 and node.kind is not NodeKind.BOOKMARK
    shape = "loop" if line.folded else shape_of(node, facts)
    here = branch.lane + 1
    return Row(
        url=showing.run_url(node.id) if node.id in facts.children else view.url(node=to_text(Prefix.NODE, node.id)),
        word="Loop" if line.loop else "Steps" if line.folded else states.shape_word(shape),
        branch=place + 1,
        title=_line_title(line, node, facts),
        sub=_line_sub(line, node, by_id, facts, begins=place > 0 and branch.points[0] == node.id),
        at=node.created_at,
        is_here=view.node in (line.folded or (line.point,)),
        is_left=branch.lane > 0,
        has_gap=node.id in facts.gaps,
        is_diverged=node.is_diverged,
        tip=place + 1 if is_tip else 0,
        tip_class={1: "is-accent", 2: "is-lane-2"}.get(lane_class(here - 1), ""),
        state=_state_at_tip(node, shape, graph, facts) if branch.tip == line.point else None,
        branches=lanes.forks.get(node.id, 0),
        unfold_url=view.url(unfold=to_text(Prefix.NODE, node.id)) if line.folded else "",
        key=str(node.event_index),
    )


def _state_at_tip(node: GraphNode, shape: str, graph: Graph, facts: GraphFacts) -> State | None:
    if shape in {"waiting", "overdue"}:
        return states.WAITING
    if shape == "blocked":
        return State(shape="blocked", word="Blocked")
    if node.id != graph.run.tip_node_id:
        return states.IDLE if not is_end(node) and node.kind is NodeKind.STEP else None
    return states.run_state(graph.run.status, last_activity_at=graph.run.last_activity_at, now=facts.now)


def _line_title(line: LaneLine, node: GraphNode, facts: GraphFacts) -> str:
    if line.loop:
        name = line.loop.rpartition("::")[2]
        return facts.places.loops.get(name, name)
    return f"{len(line.folded)} steps" if line.folded else title_with_item(node, facts)


def _line_sub(
    line: LaneLine, node: GraphNode, by_id: Mapping[UUID, GraphNode], facts: GraphFacts, *, begins: bool
) -> str:
    if line.folded:
        nodes = [by_id[id_] for id_ in line.folded]
        titles = [node.title for node in nodes]
        items = [item for node in nodes if (item := facts.places.item(node.pending_key))]
        first = f"{line.rounds} rounds: " if line.loop else ""
        shown = (items or titles) if line.loop else [titles[0], "…", titles[-1]]
        return naming.cut(first + ", ".join(dict.fromkeys(shown)), characters=_SUB_CHARACTERS)
    by = _name(node.by, facts)
    said = sub_of(node, facts)
    return f"{said} · {by}" if begins and by else said


def sub_of(node: GraphNode, facts: GraphFacts) -> str:
    question = facts.questions.get(node.id)
    if question is not None:
        return _question_sub(question, facts)
    if node.id in facts.children:
        return _child_sub(facts.children[node.id], facts)
    note = naming.cut(plain_words(facts.notes.get(node.id, "")), characters=_SUB_CHARACTERS)
    if node.kind is NodeKind.BOOKMARK:
        by = _name(node.by, facts)
        return f"Bookmark by {by}" if by and not note else note or "Bookmark"
    if node.kind is NodeKind.BLOCKED_ATTEMPT:
        if waits_for_person(node):
            return "Handed in, waits for a person"
        return f"Blocked: {naming.cut(str((node.blocker or {}).get('message', '')), characters=_SUB_CHARACTERS)}"
    parent_mode = facts.modes.get(node.parent_id) if node.parent_id else None
    if parent_mode is not None and parent_mode != node.mode:
        return f"The mode is {states.mode(*node.mode)} from here on"
    if note or node.id in facts.waits:
        return note or facts.waits[node.id]
    return "" if is_end(node) or node.id in facts.passed else "Not finished"


def _child_sub(child: ChildRun, facts: GraphFacts) -> str:
    state = states.run_state(child.status, last_activity_at=facts.now, now=facts.now)
    lasted = ((child.completed_at or facts.now) - child.started_at).total_seconds()
    return f"Child run, {state.word.lower()}{' in' if child.completed_at else ' for'} {exact_words(lasted)}"


def _question_sub(question: CheckpointValue, facts: GraphFacts) -> str:
    state = states.question_state(
        state=question.state, option_id=question.option_id, is_overdue=question.is_overdue(facts.now)
    )
    if question.state is CheckpointState.OPEN:
        return "Waits for a person"
    if question.state is not CheckpointState.ANSWERED:
        return state.word
    who = "you" if question.answered_by == facts.actor_id else _name(question.answered_by, facts)
    verb = state.word if question.option_id in states.VERDICTS else f"Answered {naming.option_label(question)}"
    said = f"{verb} by {who}" if who else verb
    reason = naming.cut(question.reason, characters=70)
    return f"{said}: “{reason}”" if reason else said


def _name(actor_id: str, facts: GraphFacts) -> str:
    return facts.names.get(actor_id, "")
