"""Two branches of a run, or two runs of a workflow, step by step. Neither is wrong, so neither is red or green."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse
from django.utils.safestring import SafeString

from sessions_app.admin import artifacts, graph as drawn, naming, showing, states
from sessions_app.admin.compared_notes import compared_html
from sessions_app.admin.graph import GraphFacts
from sessions_app.admin.places import places_of
from sessions_app.engine import comparing
from sessions_app.engine.comparing import Pair, PathDifference
from sessions_app.engine.log import NodeKind
from sessions_app.engine.runs import STOPPED
from sessions_app.engine.values import OutputValue
from sessions_app.selectors.run_graph import Graph, GraphNode, outputs_of_way, read_graph
from sessions_app.services.people.forking import FORKED_IN
from teams_app import selectors
from teams_app.admin.parts import State
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.times import ago_words
from workflows_app.selectors.programs import load_program

_NOT_READ = "(left out here: there is too much to compare)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One way: its nodes after the common one, and what was handed in at each."""

    name: str
    graph: Graph
    facts: GraphFacts
    nodes: Sequence[GraphNode]
    outputs: Mapping[UUID, Sequence[OutputValue]]
    state: State | None
    url: str

    @property
    def is_preferred(self) -> bool:
        """Whether the run stands at the end of this way."""
        return bool(self.nodes) and self.nodes[-1].id == self.graph.run.tip_node_id

    @property
    def end(self) -> str:
        return to_text(Prefix.NODE, self.nodes[-1].id) if self.nodes else ""

    @property
    def blocked(self) -> int:
        """Attempts after which a person was asked are none."""
        return sum(node.kind is NodeKind.BLOCKED_ATTEMPT and not drawn.waits_for_person(node) for node in self.nodes)

    @property
    def lasted_s(self) -> float:
        return (self.nodes[-1].created_at - self.nodes[0].created_at).total_seconds() if self.nodes else 0.0

    @property
    def agents(self) -> str:
        names = dict.fromkeys(self.facts.names.get(node.by, "") for node in self.nodes)
        return ", ".join(name for name in names if name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A step on one way."""

    url: str
    sub: str
    notes: SafeString
    lasted_s: float | None
    shape: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    title: str
    where: str
    one: Cell | None
    other: Cell | None
    values: Sequence[PathDifference]
    is_same: bool


def tips_of(graph: Graph) -> list[UUID]:
    """The ends of all branches, the preferred first, then those made last."""
    parents = {node.parent_id for node in graph.nodes if node.kind is not NodeKind.BOOKMARK}
    ends = [node for node in graph.nodes if node.id not in parents and node.kind is not NodeKind.BOOKMARK]
    ends.sort(key=lambda node: (node.id != graph.run.tip_node_id, -node.event_index))
    return [node.id for node in ends]


def way_to(graph: Graph, tip: UUID) -> list[GraphNode]:
    by_id = {node.id: node for node in graph.nodes}
    found: list[GraphNode] = []
    at = by_id.get(tip)
    while at is not None and len(found) <= len(by_id):
        found.append(at)
        at = by_id.get(at.parent_id) if at.parent_id else None
    return found[::-1]


def common(one: Sequence[GraphNode], other: Sequence[GraphNode]) -> int:
    """How many nodes both ways begin with."""
    count = 0
    for first, second in zip(one, other, strict=False):
        if first.id != second.id:
            break
        count += 1
    return count


def bands(one: Side, other: Side, *, everything: bool) -> list[Band]:
    words, values = comparing.WordComparison(), comparing.ValueComparison()
    found = [_band(pair, one, other, words, values) for pair in comparing.align(_keys(one), _keys(other))]
    return [band for band in found if everything or not band.is_same]


def side(
    *,
    name: str,
    graph: Graph,
    facts: GraphFacts,
    nodes: Sequence[GraphNode],
    outputs: Sequence[OutputValue],
    now: datetime,
) -> Side:
    """A branch is told by what was handed in on the way to its own nodes."""
    own = {node.id for node in nodes}
    by_node: dict[UUID, list[OutputValue]] = {}
    for output in outputs:
        if output.to_node_id in own and output.node_id is not None:
            by_node.setdefault(output.node_id, []).append(output)
    tip = nodes[-1] if nodes else None
    shape = drawn.shape_of(tip, facts) if tip else ""
    if tip is None:
        state = None
    elif shape in {"waiting", "overdue"}:
        state = states.WAITING
    elif tip.id == graph.run.tip_node_id:
        state = states.run_state(graph.run.status, last_activity_at=graph.run.last_activity_at, now=now)
    else:
        state = State(shape="blocked", word="Blocked") if shape == "blocked" else states.IDLE
    return Side(
        name=name,
        graph=graph,
        facts=facts,
        nodes=nodes,
        outputs=by_node,
        state=state,
        url=showing.node_url(graph.run.id, tip.id) if tip else showing.run_url(graph.run.id),
    )


def _keys(side: Side) -> list[str]:
    return [f"{node.pending_key} {node.kind.value}" for node in side.nodes]


def _band(
    pair: Pair, one: Side, other: Side, words: comparing.WordComparison, compared: comparing.ValueComparison
) -> Band:
    first = one.nodes[pair.one] if pair.one is not None else None
    second = other.nodes[pair.other] if pair.other is not None else None
    texts = (_notes(one, first), _notes(other, second))
    parts = words.difference(*texts)
    digests = (_digests(one, first), _digests(other, second))
    values: list[PathDifference] = []
    if first and second and digests[0] != digests[1]:
        values = compared.difference(_handed_in(one, first, digests[1]), _handed_in(other, second, digests[0]))
    named = first or second
    differ = _differ(one, first, other, second, says_the_same=digests[0] == digests[1])
    is_same = first is not None and second is not None and not differ
    where = "in both" if first and second else f"only in {one.name if first else other.name}"
    if first and second:
        where += f", {differ}" if differ else ", the same"
    return Band(
        title=drawn.title_with_item(named, one.facts if first else other.facts) if named else "",
        where=where,
        one=_cell(one, first, pair.one, compared_html(parts[0], lane=1)),
        other=_cell(other, second, pair.other, compared_html(parts[1], lane=2)),
        values=values,
        is_same=is_same,
    )


def _differ(one: Side, first: GraphNode | None, other: Side, second: GraphNode | None, *, says_the_same: bool) -> str:
    """In which the two sides of a step differ, in words; empty where they say the same."""
    answers = _answer(one, first) != _answer(other, second)
    if says_the_same:
        return "answers differ" if answers else ""
    return "answers, notes or outputs differ" if answers else "notes or outputs differ"


def _answer(side: Side, node: GraphNode | None) -> tuple[str, str, str] | None:
    """What was answered there, by whom, and why."""
    question = side.facts.questions.get(node.id) if node else None
    return None if question is None else (question.option_id, question.answered_by, question.reason)


def _cell(side: Side, node: GraphNode | None, place: int | None, notes: SafeString) -> Cell | None:
    if node is None or place is None:
        return None
    following = side.nodes[place + 1] if place + 1 < len(side.nodes) else None
    return Cell(
        url=showing.node_url(side.graph.run.id, node.id),
        sub=_sub(side, node, has_notes=bool(notes), is_last=following is None),
        notes=notes,
        lasted_s=(following.created_at - node.created_at).total_seconds() if following else None,
        shape=drawn.shape_of(node, side.facts),
    )


def _sub(side: Side, node: GraphNode, *, has_notes: bool, is_last: bool) -> str:
    """What stands below says more than how the notes begin; of a step that is not done there are none."""
    if node.id in side.facts.questions or node.kind is not NodeKind.STEP:
        return drawn.sub_of(node, side.facts)
    if has_notes:
        return "Open the step"
    if is_last and not drawn.is_end(node):
        return f"Not finished, given to the agent {ago_words(node.created_at, now=side.facts.now)}"
    return drawn.sub_of(node, side.facts)


def _notes(side: Side, node: GraphNode | None) -> str:
    handed_in = side.outputs.get(node.id, ()) if node else ()
    return "\n\n".join(output.body or _NOT_READ for output in handed_in if artifacts.is_notes(output))


def _handed_in(side: Side, node: GraphNode, beside: Collection[tuple[str, str]]) -> dict[str, str]:
    """What is not on the other side too, by its kind, as JSON; empty where it was not read."""
    handed_in = [each for each in side.outputs.get(node.id, ()) if not artifacts.is_notes(each)]
    return {each.artifact_kind or "artifact": each.body for each in handed_in if _digest(each) not in beside}


def _digests(side: Side, node: GraphNode | None) -> list[tuple[str, str]]:
    """Also of what was not read."""
    return sorted(map(_digest, side.outputs.get(node.id, ()))) if node else []


def _digest(output: OutputValue) -> tuple[str, str]:
    return ("notes" if artifacts.is_notes(output) else f"artifact {output.artifact_kind}", output.sha256)


def context_of(*, one: Side, other: Side, base: GraphNode | None, shared: int, everything: bool) -> dict[str, Any]:
    return {
        "one": one,
        "other": other,
        "base": drawn.title_with_item(base, one.facts) if base else "",
        "base_url": showing.node_url(one.graph.run.id, base.id) if base else "",
        "shared": shared,
        "bands": bands(one, other, everything=everything),
        "everything": everything,
        "run_name": naming.run_name(
            goal=one.graph.run.goal,
            name=one.graph.run.name,
            session_title=one.graph.session.title,
            workflow_title=one.graph.run.workflow_title,
        ),
        "run_url": showing.run_url(one.graph.run.id),
    }


def read_pair(*, actor: Actor, run_id: UUID, asked: Mapping[str, str], now: datetime) -> dict[str, Any] | None:
    """What the page shows; None where there are no two ways to compare."""
    graph = read_graph(actor=actor, run_id=run_id)
    other_id = from_text(Prefix.RUN, asked.get("other", "")[:64])
    everything = asked.get("show") == "everything"
    if other_id is not None:
        return _two_runs(actor, graph, read_graph(actor=actor, run_id=other_id), everything=everything, now=now)
    tips = tips_of(graph)
    chosen = [from_text(Prefix.NODE, asked.get(name, "")[:64]) for name in ("a", "b")]
    one = chosen[0] if chosen[0] in tips else tips[0] if tips else None
    other = chosen[1] if chosen[1] in tips else next((tip for tip in tips if tip != one), None)
    if one is None or other is None:
        return None
    ways = (way_to(graph, one), way_to(graph, other))
    shared = common(*ways)
    facts = _facts(actor, (graph,), now)[0]
    outputs = outputs_of_way(
        actor=actor, run_id=graph.run.id, node_ids=[node.id for way in ways for node in way[shared:]]
    )
    # What the common node was finished with differs, and stands with it.
    begin = max(0, shared - 1)
    sides = [
        side(name=f"Tip {tips.index(tip) + 1}", graph=graph, facts=facts, nodes=way[begin:], outputs=outputs, now=now)
        for tip, way in zip((one, other), ways, strict=True)
    ]
    a, b = to_text(Prefix.NODE, one), to_text(Prefix.NODE, other)
    return {
        **context_of(
            one=sides[0], other=sides[1], base=ways[0][begin] if shared else None, shared=begin, everything=everything
        ),
        "title": "Compare two branches",
        "sides": sides,
        "preferable": _preferable(graph, sides),
        "tips": [(to_text(Prefix.NODE, tip), f"Tip {place}") for place, tip in enumerate(tips, start=1)],
        "a": a,
        "b": b,
        **_urls({"a": a, "b": b}, {"a": b, "b": a}, everything=everything),
    }


def _preferable(graph: Graph, sides: Sequence[Side]) -> Side | None:
    """The other way than the run stands on, where it can be moved there."""
    is_open = graph.run.dialect in FORKED_IN and graph.run.status not in STOPPED
    return next((each for each in reversed(sides) if is_open and not each.is_preferred), None)


def _two_runs(actor: Actor, one: Graph, other: Graph, *, everything: bool, now: datetime) -> dict[str, Any]:
    facts = _facts(actor, (one, other), now)
    sides = []
    for graph, known in zip((one, other), facts, strict=True):
        way = way_to(graph, graph.run.tip_node_id)
        outputs = outputs_of_way(actor=actor, run_id=graph.run.id, node_ids=[node.id for node in way])
        name = naming.run_name(
            goal=graph.run.goal,
            name=graph.run.name,
            session_title=graph.session.title,
            workflow_title=graph.run.workflow_title,
        )
        sides.append(side(name=name, graph=graph, facts=known, nodes=way, outputs=outputs, now=now))
    named = {"other": to_text(Prefix.RUN, other.run.id)}
    return {
        **context_of(one=sides[0], other=sides[1], base=None, shared=0, everything=everything),
        "title": "Compare two runs",
        "sides": sides,
        "tips": [],
        **_urls(named, named, everything=everything),
        "swap_url": f"{reverse('admin:run_compare', args=(other.run.id,))}"
        f"?{urlencode({'other': to_text(Prefix.RUN, one.run.id)})}",
    }


def _urls(asked: Mapping[str, str], swapped: Mapping[str, str], *, everything: bool) -> dict[str, str]:
    whole = {"show": "everything"}
    return {
        "differences_url": f"?{urlencode(asked)}",
        "everything_url": f"?{urlencode({**asked, **whole})}",
        "swap_url": f"?{urlencode({**swapped, **(whole if everything else {})})}",
    }


def _facts(actor: Actor, graphs: Sequence[Graph], now: datetime) -> list[GraphFacts]:
    ids = {node.by for graph in graphs for node in graph.nodes} - {""}
    ids |= {question.answered_by for graph in graphs for question in graph.questions} - {""}
    names = selectors.name_actors(actor=actor, ids=ids)
    return [
        drawn.facts_of(
            graph=graph,
            names=names,
            places=places_of(program=load_program(graph.run.workflow_hash), state=graph.tip_state),
            actor_id=actor.id,
            now=now,
        )
        for graph in graphs
    ]
