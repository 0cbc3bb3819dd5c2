"""The outermost middlewares: a request gets its id, a line in the log when it ends, and a place in the metrics."""

import os
import re
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from teams_app.engine.ids import uuid7
from workrail_site import metrics
from workrail_site.errors import too_large
from workrail_site.refusals import refuse
from workrail_site.wsgi_in_asgi import BODY_TOO_LARGE

log = structlog.get_logger("workrail.request")

_SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestContext:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        request_id = request_id_from(request.headers.get("X-Request-ID", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self._get_response(request)
        response["X-Request-ID"] = request_id
        _tell(request, response.status_code, time.perf_counter() - began)
        return response


class BodyLimit:
    """Answers for a body that the server below did not read, because it was too large."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if BODY_TOO_LARGE not in request.META:
            return self._get_response(request)
        return refuse(request=request, error=too_large(limit_bytes=settings.MAX_UPLOAD_BYTES))


def request_id_from(given: str) -> str:
    """The caller's id, if it can stand in a log line as it is, else one of ours."""
    if _SANE_ID.fullmatch(given):
        return given
    return str(uuid7(unix_ms=int(timezone.now().timestamp() * 1000), random=os.urandom(10)))


def _tell(request: HttpRequest, status: int, seconds: float) -> None:
    is_static = request.path.startswith(settings.STATIC_URL)
    route = request.resolver_match.route if request.resolver_match else "static" if is_static else "unmatched"
    metrics.count_request(method=request.method or "", route=route, status=status, seconds=seconds)
    write = log.debug if is_static or request.path in _QUIET else log.info
    write("request", method=request.method, path=request.path, status=status, duration_ms=round(seconds * 1000, 1))
