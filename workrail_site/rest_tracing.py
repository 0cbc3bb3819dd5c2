"""Hands each call of runs, sessions and checkpoints by REST to the trace when it has ended, as the door of MCP does."""

import re
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from sessions_app.engine.runs import Dialect
from teams_app.engine.actors import Actor
from traces_app.services.recording import record_call
from workrail_site.openapi import operation_id
from workrail_site.rest import PARSED_BODY, REFUSED_WITH

_ROOT = "api/v1/"
_PLACES = frozenset({"runs", "sessions", "checkpoints", "nodes", "gaps"})
# Reading the trace is not part of the work that the trace tells of, and neither is asking every second whether it goes on.
_READS = frozenset({"trace", "timeline", "version", "stream"})
_SAFE = frozenset({"GET", "HEAD"})
# A part of a path as Django writes it, and as the OpenAPI document does.
_PART = re.compile(r"<(?:\w+:)?(\w+)>")
_AS_IN_DOCUMENT = r"{\1}"


class TraceCalls:
    """The innermost middleware: what it measures is the endpoint. Calls of nobody leave no trace."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began_ns = time.perf_counter_ns()
        response = self._get_response(request)
        match = request.resolver_match
        tool = traced_tool(method=request.method or "", route=match.route) if match else None
        actor = getattr(request, "auth", None)
        if match is not None and tool is not None and isinstance(actor, Actor):
            record_call(
                actor=actor,
                # REST drives runs by the services of the rail's tools.
                dialect=Dialect.RAIL,
                tool=tool,
                arguments=_arguments(request, match.kwargs),
                reply=_reply(request, response),
                error_code=request.META.get(REFUSED_WITH, ""),
                ended_ns=time.time_ns(),
                duration_ns=time.perf_counter_ns() - began_ns,
            )
        return response


@cache
def traced_tool(*, method: str, route: str) -> str | None:
    """What a call is called in the trace, the same as in the OpenAPI document; None for what leaves no trace."""
    words = route.removeprefix(_ROOT).split("/")
    if not route.startswith(_ROOT) or words[0] not in _PLACES or words[-1] in _READS:
        return None
    return operation_id(method=method, path=f"/{_PART.sub(_AS_IN_DOCUMENT, route)}")


def _arguments(request: HttpRequest, path: Mapping[str, Any]) -> dict[str, Any]:
    """Of the path, the query and the body: no two of them share a name."""
    body = request.META.get(PARSED_BODY)
    return {**(body if isinstance(body, dict) else {}), **_query(request), **path}


def _query(request: HttpRequest) -> dict[str, str]:
    """What cannot be read was refused by the endpoint, or is nothing to it."""
    try:
        return request.GET.dict()
    except SuspiciousOperation:
        return {}


def _reply(request: HttpRequest, response: HttpResponseBase) -> bytes | None:
    """What was read says nothing of where the call belongs that its path does not say."""
    if request.method in _SAFE or REFUSED_WITH in request.META or not isinstance(response, HttpResponse):
        return None
    return response.content
