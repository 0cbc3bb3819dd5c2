"""The page of a run: what it waits for, where the time went, its graph, and the drawer of a node."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.http import HttpRequest

from sessions_app.admin import drawer, graph as drawn, naming, showing, states
from sessions_app.admin.graph import GraphFacts, View
from sessions_app.admin.places import places_of
from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.log import NodeKind
from sessions_app.engine.reasons import GapSeverity
from sessions_app.selectors.checkpoints import CheckpointValue
from sessions_app.selectors.run_graph import Graph, GraphNode, events_of_node, outputs_at
from teams_app.admin.parts import Tab
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, from_text, to_text
from workflows_app.selectors.programs import load_program

_WIDTH, _COLUMNS = 640, 320
_LONGEST_START = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStretch:
    kind: str
    x: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Where the time of the preferred way went: stretches of a bar, and their sums in words."""

    stretches: Sequence[RunStretch]
    sums: Sequence[tuple[str, str, float]]
    total_s: float


_KINDS = (("done", "agent worked"), ("wait", "people were asked"), ("none", "idle"), ("stop", "blocked"))


def view_of(request: HttpRequest) -> View:
    start = request.GET.get("from", "")
    return View(
        oldest_first=request.GET.get("order") == "oldest",
        only=request.GET.get("show", "") if request.GET.get("show") in {"way", "look"} else "",
        unfold=request.GET.get("unfold", "")[:64],
        start=min(int(start), _LONGEST_START) if start.isascii() and start.isdigit() and len(start) < 7 else 0,
        node=from_text(Prefix.NODE, request.GET.get("node", "")[:64]),
    )


def actor_ids(graph: Graph) -> set[str]:
    ids = {graph.run.created_by} | {node.by for node in graph.nodes}
    ids |= {each for question in graph.questions for each in (question.answered_by, question.claimed_by)}
    return ids - {""}


def context_of(
    *, actor: Actor, graph: Graph, view: View, part: str, names: dict[str, str], now: datetime, reader_id: str
) -> dict[str, Any]:
    """`reader_id` is who is “you” on the page; nobody, where it is drawn for several."""
    program = load_program(graph.run.workflow_hash)
    places = places_of(program=program, state=graph.tip_state)
    facts = drawn.facts_of(graph=graph, names=names, places=places, actor_id=reader_id, now=now)
    opened = _drawer(actor, graph, view, part=part, facts=facts) if graph.chosen is not None else None
    run = graph.run
    waiting = [question for question in graph.questions if question.state is CheckpointState.OPEN]
    open_gaps = [
        gap for gap in graph.gaps if gap.resolved_by_id is None and not gap.closes and not showing.is_unnoted(gap)
    ]
    return {
        "run": run,
        "public_id": to_text(Prefix.RUN, run.id),
        "name": naming.run_name(
            goal=run.goal, name=run.name, session_title=graph.session.title, workflow_title=run.workflow_title
        ),
        "state": states.run_state(run.status, last_activity_at=run.last_activity_at, now=now, waits=bool(waiting)),
        "agent": names.get(run.created_by, ""),
        "session": graph.session,
        "session_url": showing.session_url(graph.session.id),
        "parent_url": showing.run_url(graph.parent_run) if graph.parent_run else "",
        "children": [
            (states.run_state(child.status, last_activity_at=now, now=now), child.title, showing.run_url(child.id))
            for child in graph.children
        ],
        "waiting": [_waiting(question) for question in waiting[:3]],
        "blocker": _blocker(graph) if not waiting else None,
        "spent": spent(graph, facts),
        "graph": drawn.draw_graph(graph=graph, view=view, facts=facts),
        "view": view,
        "orders": _switch(view, "order", (("", "Newest first"), ("oldest", "Oldest first"))),
        "shows": _switch(view, "show", (("", "All branches"), ("way", "This way only"), ("look", "Needs a look"))),
        "unfold_all_url": view.url(unfold="all"),
        "fold_url": view.url(unfold=""),
        "drawer": opened,
        "open_gaps": len(open_gaps),
        "step_now": places.of_step(_tip(graph).pending_key) if graph.nodes else "",
        "mode_now": states.mode(*_tip(graph).mode) if graph.nodes else "",
        "is_over": run.status.value in states.ENDED,
    }


def tabs(graph: Graph, here: str, *, open_gaps: int, further: Sequence[tuple[str, str]] = ()) -> list[Tab]:
    """`further` are parts that other apps know of: how it went, after the graph, and the rest at the end."""
    base = showing.run_url(graph.run.id)
    known = [Tab(label=label, url=f"{base}?tab={slug}", is_here=here == slug) for slug, label in further]
    before, after = known[:1], known[1:]
    return [
        Tab(label="Graph", url=base, is_here=here == "graph"),
        *before,
        Tab(label="Gaps", url=f"{base}?tab=gaps", is_here=here == "gaps", count=open_gaps or None),
        Tab(label="Events", url=f"{base}?tab=events", is_here=here == "events", count=graph.session.event_count),
        *after,
    ]


def gap_rows(graph: Graph) -> list[tuple[showing.ShownGap, bool, str]]:
    """Gaps that something closed are told too; the entries that closed them are not gaps."""
    order = list(GapSeverity)
    found = sorted((gap for gap in graph.gaps if not gap.closes), key=lambda gap: order.index(gap.severity))
    base = showing.run_url(graph.run.id)
    return [
        (showing.shown_gap(gap), gap.resolved_by_id is None, f"{base}?node={to_text(Prefix.NODE, gap.node_id)}")
        for gap in found
    ]


def spent(graph: Graph, facts: GraphFacts) -> Spent | None:
    """Of the way to the tip: what each step took, by what it waited for."""
    way = _way(graph)
    if len(way) < 2:
        return None
    ends = [node.created_at for node in way[1:]]
    is_over = graph.run.status.value in states.ENDED
    ends.append(way[-1].created_at if is_over else facts.now)
    lengths = [
        (_kind(node, end, facts), max(0.0, (end - node.created_at).total_seconds()))
        for node, end in zip(way, ends, strict=True)
    ]
    total = sum(seconds for _, seconds in lengths)
    if total <= 0:
        return None
    sums = [(kind, word, sum(s for k, s in lengths if k == kind)) for kind, word in _KINDS]
    return Spent(stretches=_bar(lengths, total), sums=[each for each in sums if each[2] >= 1], total_s=total)


def _bar(lengths: Sequence[tuple[str, float]], total: float) -> list[RunStretch]:
    """In columns. What is thinner than a column waits until its kind has earned one, so that the bar says what the sums say."""
    earned: dict[str, float] = {}
    kinds: list[str] = []
    passed = 0.0
    for kind, seconds in lengths:
        left = seconds
        while left > 0:
            taken = min(left, (len(kinds) + 1) * total / _COLUMNS - passed)
            earned[kind] = earned.get(kind, 0.0) + taken
            left, passed = left - taken, passed + taken
            if left > 0 or passed >= total:
                kinds.append(max(earned, key=earned.__getitem__))
                earned[kinds[-1]] -= total / _COLUMNS
    width = _WIDTH / len(kinds)
    found: list[RunStretch] = []
    for kind, columns in groupby(kinds):
        x = found[-1].x + found[-1].width if found else 0.0
        found.append(RunStretch(kind=kind, x=round(x, 1), width=round(width * len(list(columns)), 1)))
    return found


def _kind(node: GraphNode, end: datetime, facts: GraphFacts) -> str:
    if node.id in facts.questions or drawn.waits_for_person(node):
        return "wait"
    if node.kind is NodeKind.BLOCKED_ATTEMPT:
        return "stop"
    return "none" if end - node.created_at > states.IDLE_AFTER else "done"


def _way(graph: Graph) -> list[GraphNode]:
    by_id = {node.id: node for node in graph.nodes}
    found: list[GraphNode] = []
    at = by_id.get(graph.run.tip_node_id)
    while at is not None and len(found) < len(by_id):
        found.append(at)
        at = by_id.get(at.parent_id) if at.parent_id else None
    return found[::-1]


def _tip(graph: Graph) -> GraphNode:
    return next((node for node in graph.nodes if node.id == graph.run.tip_node_id), graph.nodes[-1])


def _drawer(actor: Actor, graph: Graph, view: View, *, part: str, facts: GraphFacts) -> drawer.Drawer | None:
    node = graph.chosen
    if node is None:
        return None
    return drawer.open_drawer(
        graph=graph,
        view=view,
        facts=facts,
        part=part,
        program=load_program(graph.run.workflow_hash),
        outputs=() if part else outputs_at(actor=actor, node=node, run_id=graph.run.id),
        events=events_of_node(actor=actor, graph=graph, node=node),
    )


def _waiting(question: CheckpointValue) -> tuple[CheckpointValue, str, str]:
    return question, naming.question_name(question), showing.checkpoint_url(question.id)


def _blocker(graph: Graph) -> tuple[str, str, str] | None:
    tip = _tip(graph)
    if tip.kind is not NodeKind.BLOCKED_ATTEMPT or not tip.blocker:
        return None
    return tip.title, str(tip.blocker.get("message", "")), showing.node_url(graph.run.id, tip.id)


def _switch(view: View, name: str, choices: Sequence[tuple[str, str]]) -> list[Tab]:
    now = {"order": "oldest" if view.oldest_first else "", "show": view.only}[name]
    return [Tab(label=label, url=view.url(**{name: value}), is_here=now == value) for value, label in choices]
