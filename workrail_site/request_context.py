"""The outermost middlewares: a request gets its id, a line in the log when it ends, and a place in the metrics."""

import time
from collections.abc import Callable, Iterable, Iterator

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from teams_app.api.endpoints import HIDDEN_IN
from teams_app.engine.errors import WorkrailError
from teams_app.services.row_scope import NOBODY, RowScope, row_scope, within_scope
from workrail_site import metrics
from workrail_site.errors import too_large, too_slow
from workrail_site.refusals import database_refusal, refuse, said_of_method
from workrail_site.request_ids import request_id_from
from workrail_site.request_line import tell_request
from workrail_site.wsgi_in_asgi import BODY_TOO_LARGE, BODY_TOO_SLOW

MOST_BYTES_OF_STRANGERS = 64 * 1024
_FORMS = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})
_REST = "/api/v1/"
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestContext:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        request_id = request_id_from(request.META.get("HTTP_X_REQUEST_ID", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = _answer_in_scope(self._get_response, request)
        response["X-Request-ID"] = request_id
        if request.META.get(HIDDEN_IN):
            response["Workrail-Redacted"] = request.META[HIDDEN_IN]
        _tell(request, response.status_code, time.perf_counter() - began)
        return response


def _answer_in_scope(get_response: Callable[[HttpRequest], HttpResponseBase], request: HttpRequest) -> HttpResponseBase:
    """No row is shown before somebody is known, and none after the answer; what is sent in pieces is read in the scope
    in which it was begun.
    """
    with within_scope(NOBODY):
        response = get_response(request)
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = _read_in_scope(response.streaming_content, row_scope())  # type: ignore[arg-type]
        return response


def _read_in_scope(pieces: Iterable[bytes], scope: RowScope | None) -> Iterator[bytes]:
    waiting = iter(pieces)
    while True:
        with within_scope(scope):
            piece = next(waiting, None)
        if piece is None:
            return
        yield piece


class Refusals:
    """A refusal that no page has caught is a page of its own, and so is a database that kept it waiting: neither is a defect."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return said_of_method(request, self._get_response(request))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        error = exception if isinstance(exception, WorkrailError) else database_refusal(exception)
        return None if error is None else refuse(request=request, error=error)


class BodyLimit:
    """Answers for a body that the server below did not read, because it was too large or came too slowly."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if BODY_TOO_LARGE in request.META:
            return refuse(request=request, error=too_large(limit_bytes=settings.MAX_UPLOAD_BYTES))
        if BODY_TOO_SLOW in request.META:
            return refuse(request=request, error=too_slow())
        return self._get_response(request)


class FormsOfStrangers:
    """Forms are read by Python, part by part, before a page asks who sends them: whoever has not signed in sends short ones."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_large = int(request.META.get("CONTENT_LENGTH") or 0) > MOST_BYTES_OF_STRANGERS
        if is_large and request.content_type in _FORMS and not _is_asked_who(request):
            error = too_large(limit_bytes=MOST_BYTES_OF_STRANGERS, suggestion="Send less, or sign in first.")
            return refuse(request=request, error=error)
        return self._get_response(request)


def _is_asked_who(request: HttpRequest) -> bool:
    """Signed in; or a program, whose key REST looks at before it reads the form."""
    is_program = request.path.startswith(_REST) and "Authorization" in request.headers
    return is_program or request.user.is_authenticated


def _tell(request: HttpRequest, status: int, seconds: float) -> None:
    is_static = request.path.startswith(settings.STATIC_URL)
    route = request.resolver_match.route if request.resolver_match else "static" if is_static else "unmatched"
    metrics.count_request(method=request.method or "", route=route, status=status, seconds=seconds)
    tell_request(
        method=request.method or "",
        path=request.path,
        status=status,
        seconds=seconds,
        is_quiet=is_static or request.path in _QUIET,
    )
