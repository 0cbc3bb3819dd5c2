"""Calls of the REST API by key, on the shortest way: the same endpoints, and of Django only what such a call needs.

Sessions, forms, messages, pages and static files are for people. A program that brings a key is answered without them, by the
same table of addresses, the same authentication, parser, endpoint, refusals, trace and line in the log. Whatever is not
exactly such a call goes to Django, which answers it in the same words; tests compare the two.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from io import BytesIO
from typing import IO, Any, cast

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import close_old_connections
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.urls import ResolverMatch, resolve
from django.utils.module_loading import import_string
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.views import APIView

from teams_app.api.endpoints import operation_of
from teams_app.engine.actors import Actor
from teams_app.engine.errors import WorkrailError
from workrail_site.rate_headers import RateLimitHeaders
from workrail_site.request_context import RequestContext
from workrail_site.rest import KeyOrSession, StrictJsonParser, handle_exception
from workrail_site.rest_tracing import TraceCalls
from workrail_site.wsgi_in_asgi import BODY_TOO_LARGE, BODY_TOO_SLOW, Environ

_ROOT = "/api/v1/"
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_MOST_PATHS = 1_000
# What Django's own way puts on every answer, whoever asks.
_OF_EVERY_ANSWER = (
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
)
_SETTINGS_OF_VIEWS = ("dispatch", "initial", "authentication_classes", "permission_classes", "throttle_classes")

Application = Callable[[Environ, Any], Iterable[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """An endpoint as its address and method name it."""

    match: ResolverMatch
    view: type[APIView]
    handler: Callable[..., HttpResponseBase]
    allow: str


class RestDirect:
    """A WSGI application before Django's own."""

    def __init__(self, django: WSGIHandler) -> None:
        self._django = django
        self._parser = StrictJsonParser()
        self._traced = TraceCalls(self._endpoint)
        self.answer = RequestContext(_Headers(RateLimitHeaders(self._answered)))

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        request = direct_request(environ)
        if request is None:
            return cast("Iterable[bytes]", self._django(environ, start_response))
        # As Django does before each of its own requests; it does so after them when the answer is closed.
        close_old_connections()
        response = self.answer(request)
        response._handler_class = type(self._django)  # type: ignore[attr-defined]  # noqa: SLF001  as WSGIHandler leaves it
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return cast("Iterable[bytes]", response)

    def _answered(self, request: HttpRequest) -> HttpResponseBase:
        """Whatever fails around the endpoint is told in the same form: Django, which would see to that, is not asked."""
        try:
            return self._traced(request)
        except Exception as error:  # noqa: BLE001  as in the endpoint
            return handle_exception(error, {"request": DirectRequest(request, parser=self._parser)})

    def _endpoint(self, request: HttpRequest) -> HttpResponseBase:
        target: _Target = request.direct_target  # type: ignore[attr-defined]  # set where the request is made
        direct = DirectRequest(request, parser=self._parser)
        view = target.view()
        view.request = cast("Request", direct)
        try:
            direct.authenticate()
            response = target.handler(view, direct, **target.match.kwargs)
        except Exception as error:  # noqa: BLE001  as the framework does: whatever fails becomes a row of the table of errors
            response = handle_exception(error, {"request": direct, "view": view})
        response["Allow"] = target.allow
        return response


class SaidHeaders:
    """The headers of a request by their names, each looked up when it is asked for: Django's own reads all of them first."""

    __slots__ = ("_environ",)

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self._environ = environ

    def get(self, name: str, default: str | None = None) -> str | None:
        found: str | None = self._environ.get(_key_of(name), default)
        return found

    def __contains__(self, name: str) -> bool:
        return _key_of(name) in self._environ

    def __getitem__(self, name: str) -> str:
        return str(self._environ[_key_of(name)])


@cache
def _key_of(name: str) -> str:
    """Only ever asked with names of ours. The two of the body have no prefix in an environ."""
    key = name.upper().replace("-", "_")
    return key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"


class DirectRequest:
    """What endpoints, authentication and refusals ask of the framework's request."""

    def __init__(self, request: HttpRequest, *, parser: BaseParser) -> None:
        self._request = request
        self._parser = parser
        self._data: Any = None
        self.META = request.META
        self.method = request.method
        self.headers = SaidHeaders(request.META)
        self.auth: Actor | None = None

    def authenticate(self) -> None:
        found = KeyOrSession().authenticate(cast("Request", self))
        if found is not None:
            # Where the framework leaves it, for whoever stands outside the endpoint.
            self.auth = found[1]
            self._request.auth = self.auth  # type: ignore[attr-defined]

    @property
    def query_params(self) -> QueryDict:
        return self._request.GET

    @property
    def data(self) -> Any:
        if self._data is None:
            has_body = int(self.META.get("CONTENT_LENGTH") or 0) > 0
            self._data = self._parser.parse(cast("IO[Any]", self._request)) if has_body else {}
        return self._data


class _Headers:
    """Puts on an answer what the pages' middlewares would, without asking them each time."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        for name, value in _headers_of_every_answer(is_secure=request.is_secure()).items():
            response.headers.setdefault(name, value)
        if not response.streaming and not response.has_header("Content-Length"):
            response.headers["Content-Length"] = str(len(cast("HttpResponse", response).content))
        return response


@lru_cache
def _headers_of_every_answer(*, is_secure: bool) -> Mapping[str, str]:
    """Asked once of the middlewares themselves, so that a setting which changes them changes this."""
    request = WSGIRequest(_environ_of_nobody(is_secure=is_secure))
    response = HttpResponse()
    for name in _OF_EVERY_ANSWER:
        response = import_string(name)(_answering(response))(request)
    return {name: value for name, value in response.items() if name not in {"Content-Type", "Content-Length"}}


def _answering(response: HttpResponse) -> Callable[[HttpRequest], HttpResponse]:
    return lambda _request: response


def _environ_of_nobody(*, is_secure: bool) -> Environ:
    scheme = "https" if is_secure else "http"
    forwarded: tuple[str, str] | None = getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    return {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": f"{_ROOT}whoami",
        "wsgi.url_scheme": scheme,
        "wsgi.input": BytesIO(),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "443" if is_secure else "80",
        **({forwarded[0]: forwarded[1]} if forwarded and is_secure else {}),
    }


def direct_request(environ: Environ) -> WSGIRequest | None:
    """None for what is not plainly a call of the API by key: that is Django's to answer, or to refuse."""
    path: str = environ["PATH_INFO"]
    if not path.startswith(_ROOT) or "HTTP_AUTHORIZATION" not in environ or environ["REQUEST_METHOD"] not in _METHODS:
        return None
    # With a cookie there may be a session that has ended, whose cookie is to be taken back.
    if environ.get("HTTP_COOKIE") or not path.isascii():
        return None
    if BODY_TOO_LARGE in environ or BODY_TOO_SLOW in environ or not _is_json(environ):
        return None
    target = _target(path, environ["REQUEST_METHOD"])
    if target is None:
        return None
    request = WSGIRequest(environ)
    if not _is_served(request):
        return None
    request.resolver_match = target.match
    request.direct_target = target  # type: ignore[attr-defined]  # for the endpoint, behind the middlewares
    return request


def _is_json(environ: Environ) -> bool:
    kind: str = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    return kind == StrictJsonParser.media_type or (not kind and environ.get("CONTENT_LENGTH", "") in {"", "0"})


def _is_served(request: WSGIRequest) -> bool:
    """By a host of ours, and not in the clear where that is refused."""
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        return False
    try:
        return bool(request.get_host())
    except DisallowedHost:
        return False


@lru_cache(maxsize=_MOST_PATHS)
def _target(path: str, method: str) -> _Target | None:
    """Addresses without an id in them are few, and asked for again and again; those with one come and go."""
    try:
        match = resolve(path)
    except (Http404, WorkrailError):
        return None
    view = getattr(match.func, "cls", None)
    if (
        view is None
        or not issubclass(view, APIView)
        or getattr(match.func, "view_initkwargs", None)
        or not _is_usual(view)
    ):
        return None
    handler = getattr(view, method.lower(), None)
    if handler is None or operation_of(handler) is None:
        return None
    return _Target(match=match, view=view, handler=handler, allow=_allowed(view))


def _allowed(view: type[APIView]) -> str:
    """Where there is GET there is HEAD, which Django sees to when it makes a view."""
    said = [method.upper() for method in view.http_method_names if hasattr(view, method) or method == "head"]
    return ", ".join(method for method in said if method != "HEAD" or hasattr(view, "get"))


def _is_usual(view: type[APIView]) -> bool:
    """A view with ways of its own is called in Django's way. Parsers beside JSON's do no harm: the body is JSON."""
    return all(getattr(view, name) is getattr(APIView, name) for name in _SETTINGS_OF_VIEWS) and (
        StrictJsonParser in view.parser_classes
    )
