"""Views of Django that do what tools do, and know nothing of MCP.

Each admits the key, takes the request off its limits, calls the same tool or service, leaves the same trace, and answers JSON.
"""

import os
from collections.abc import Callable
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone

from sessions_app.engine.submissions import Submission
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.runs import advance_run
from teams_app.engine.actors import Actor, Door
from workrail_site import admission
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.mcp.calling import Caller, TracedCall, calls_as
from workrail_site.mcp.toolsets import all_servers
from workrail_site.wsgi_in_asgi import ACTOR

START, ADVANCE, TRIVIAL = "bare/start", "bare/advance", "bare/trivial"
TRIVIAL_TOOL = ("navigation", "health_check")

Work = Callable[[Actor, dict[str, Any]], tuple[dict[str, Any], bytes]]


def _view(dialect: str, tool: str, work: Work) -> Callable[[HttpRequest], HttpResponse]:
    def view(request: HttpRequest) -> HttpResponse:
        key = admission.read_bearer(request.headers["Authorization"])
        actor = admission.admit_bearer(text=key, door=Door.MCP, now=timezone.now())
        request.META[ACTOR] = actor
        calls_as(Caller(actor=actor))
        given = orjson.loads(request.body)
        traced = TracedCall(dialect=dialect, tool=tool, given=given)
        value, data = work(actor, given)
        traced.ended(reply=value)
        return HttpResponse(data, content_type="application/json")

    return view


def _trivial(_actor: Actor, given: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    dialect, name = TRIVIAL_TOOL
    tool = next(each for each in all_servers()[dialect].tools() if each.name == name)
    reply = tool.method(**given)
    return reply.value, orjson.dumps(reply.value)


def _start(actor: Actor, given: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    beginning = Beginning(workflow_id=given["workflowId"], goal=given["goal"])
    reply = start_run(actor=actor, beginning=beginning, now=timezone.now(), entropy=os.urandom, speech=RAIL)
    return reply.value, reply.data


def _advance(actor: Actor, given: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    reply = advance_run(
        actor=actor,
        state_token=given["stateToken"],
        ack_token=given["ackToken"],
        submission=Submission(notes=given["output"]["notesMarkdown"]),
        now=timezone.now(),
        entropy=os.urandom,
        speech=RAIL,
    )
    return reply.value, reply.data


def _alive(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(b"ok")


urlpatterns = [
    path("healthz", _alive),
    path(TRIVIAL, _view(*TRIVIAL_TOOL, _trivial)),
    path(START, _view("rail", "start_workflow", _start)),
    path(ADVANCE, _view("rail", "continue_workflow", _advance)),
]
