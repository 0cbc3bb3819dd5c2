"""What the trace knows of a run, on the page of the run: its calls, the calls at a node, and how it went over time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse

from sessions_app.admin.graph import View
from sessions_app.admin.places import ShownPlaces, places_of
from sessions_app.admin.runs import RunAdmin
from sessions_app.selectors.run_graph import Graph, GraphNode
from teams_app.admin.parts import State, Tab
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.times import length_words
from traces_app.admin.models import OUTCOMES
from traces_app.engine.calls import TraceCall
from traces_app.engine.drawing import draw, told
from traces_app.engine.timeline import Lane, Span
from traces_app.selectors.traces import calls_between
from traces_app.services.reading import read_newest_of_run, read_run_timeline
from workflows_app.selectors.programs import load_program

_SHOWN_CALLS = 100
_CALLS_OF_NODE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    call: TraceCall
    url: str
    state: State
    at: str
    lasted: str


class TracedRunAdmin(RunAdmin):
    def further_parts(self, actor: Actor) -> Sequence[tuple[str, str]]:
        return (("timeline", "Timeline"), ("calls", "Calls")) if actor.may(Permission.READ_TRACES) else ()

    def further_part(self, request: HttpRequest, actor: Actor, graph: Graph, part: str) -> Mapping[str, Any]:
        places, run_id = places_of(program=load_program(graph.run.workflow_hash), state=None), graph.run.id
        if part == "timeline":
            return _timeline(actor, graph, places)
        before = _uuid(request.GET.get("before", ""))
        found = read_newest_of_run(actor=actor, run_id=run_id, limit=_SHOWN_CALLS, before=before)
        older = f"?tab=calls&before={found.calls[0].id}" if found.count > len(found.calls) else ""
        return {
            "part_template": "studio/run_calls.html",
            "calls": shown_calls(reversed(found.calls), places),
            "older_calls": older,
            "newest_calls": "?tab=calls" if before else "",
        }

    def beside_node(self, actor: Actor, graph: Graph, view: View, part: str) -> Mapping[str, Any]:
        node = graph.chosen
        if node is None or not actor.may(Permission.READ_TRACES):
            return {}
        tab = Tab(label="Calls", url=view.url(part="calls"), is_here=part == "calls")
        return {
            "calls_tab": tab,
            "calls": shown_calls(_calls_at(actor, graph, node), ShownPlaces()) if tab.is_here else (),
        }


def shown_calls(calls: Iterable[TraceCall], places: ShownPlaces) -> list[ShownCall]:
    """Steps by their titles, as far as `places` knows them."""
    return [
        ShownCall(
            call=call,
            url=reverse("admin:traces_app_traceevent_change", args=(call.id,)),
            state=OUTCOMES[call.outcome],
            at=places.title(_step_of(call) or call.activity),
            lasted=f"{call.duration_us / 1000:,.0f} ms" if call.duration_us < 1_000_000 else _seconds(call),
        )
        for call in calls
    ]


def _step_of(call: TraceCall) -> str:
    """Empty between the steps of an activity."""
    last = call.step_key.rpartition("::")[2]
    return "" if "@" in last else last


def _calls_at(actor: Actor, graph: Graph, node: GraphNode) -> Iterable[TraceCall]:
    """Those that were made while the run stood there."""
    found = calls_between(
        actor=actor,
        run_id=graph.run.id,
        since=node.created_at,
        until=_left_at(graph, node),
        limit=_CALLS_OF_NODE,
    )
    return [call for call in found if not node.pending_key or call.step_key in {"", node.pending_key}]


def _seconds(call: TraceCall) -> str:
    return length_words(call.duration_us / 1_000_000)


def _left_at(graph: Graph, node: GraphNode) -> Any:
    """When the run was last moved on from the node; None while it stands there."""
    return max((child.created_at for child in graph.nodes if child.parent_id == node.id), default=None)


def _timeline(actor: Actor, graph: Graph, places: ShownPlaces) -> Mapping[str, Any]:
    run = graph.run
    read = read_run_timeline(actor=actor, run_id=run.id)
    timeline = replace(read, lanes=[_titled(lane, run.workflow_title, places) for lane in read.lanes])
    return {
        "part_template": "studio/run_timeline.html",
        "timeline": timeline,
        "drawing": draw(timeline),
        "spans": [row for lane in timeline.lanes for row in _rows(lane)],
    }


def _titled(lane: Lane, workflow_title: str, places: ShownPlaces) -> Lane:
    """The trace knows ids, people know titles."""
    spans = [replace(span, label=places.title(span.label) or "Start") for span in lane.spans]
    return replace(lane, workflow_id=workflow_title if lane.run_id else "", spans=spans)


def _rows(lane: Lane) -> list[dict[str, Any]]:
    """A row for each activity or step, in the order in which they began; the picture shows how they took turns."""
    found: dict[str, list[Span]] = {}
    for span in lane.spans:
        found.setdefault(span.label, []).append(span)
    return [
        {
            "label": label,
            "times": len(spans),
            "started_at": spans[0].started_at,
            "lasted": told(sum((span.duration for span in spans), timedelta())),
            "busy_ms": f"{sum(span.busy_us for span in spans) / 1000:,.0f}",
            "calls": sum(span.calls for span in spans),
            "warnings": sum(span.warnings for span in spans),
            "refusals": sum(span.refusals for span in spans),
            "failures": sum(span.failures for span in spans),
        }
        for label, spans in found.items()
    ]


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
