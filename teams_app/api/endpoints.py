"""What every REST endpoint of the house has in common: typed values in, a typed answer out.

A method of a DRF view under `@operation` is called with what its parameters are named for: `call` (who, when, and
where a list continues), `body` and `query` (msgspec structs), and the parts of the path. A method that answers a
`Page` takes `limit` and `cursor`, which arrive in `call.page`; one that answers a `Download` sends a file. The annotations are the only description of the
endpoint: the OpenAPI document is made from them.
"""

import functools
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, Self, TypeVar, get_args, get_origin
from uuid import UUID

import msgspec
from django.conf import settings
from django.http import HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.http import content_disposition_header
from rest_framework.request import Request

from teams_app.api.conditional import check_match, is_seen, tag_of
from teams_app.api.named import begin_once
from teams_app.api.replica import read_lagging
from teams_app.engine.actors import Actor
from teams_app.engine.errors import InvalidInputError, NotFoundError, UnauthenticatedError
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.named_requests import REQUEST_KEY, read_name
from teams_app.engine.pages import DEFAULT_LIMIT, MAX_LIMIT, Page, PageRequest, decode_cursor, encode_cursor
from teams_app.engine.redaction import read_kept, refuse_own_keys
from teams_app.engine.shapes import read_query, read_shape
from teams_app.services.unchanged import change_unchanged

T = TypeVar("T")

_HANDED_IN = frozenset({"self", "call", "body", "query"})
_IF_MATCH = "If-Match"
_READS = frozenset({"GET", "HEAD"})
# Of operations that begin something, now or in a while.
_BEGINS = frozenset({201, 202})
_NOT_KEPT = {"Cache-Control": "no-store"}
# Where a request keeps the places of which a key was taken out, for the answer to tell.
HIDDEN_IN = "workrail.hidden_in"


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """The base of every body, query and answer: camelCase on the wire, unknown fields refused."""

    @classmethod
    def taken(cls, value: object, /, **told: Any) -> Self:
        """Each field is told, or what the value has under the same name."""
        return cls(**{name: getattr(value, name) for name in cls.__struct_fields__ if name not in told}, **told)


class PageQuery(Shape, frozen=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    cursor: str | None = None


class Listing(Shape, Generic[T], frozen=True):
    items: list[T]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """An answer that is a file and not JSON. What comes in pieces is sent as it comes."""

    data: bytes | Iterable[bytes]
    media_type: str
    filename: str


class Nothing(Shape, frozen=True):
    """The body of an operation that takes none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    actor: Actor
    now: datetime
    page: PageRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What is known of an endpoint before it is called."""

    summary: str
    status: int
    body: type[Any] | None
    query: type[Any]
    asks_for_query: bool
    answer: Any
    path: tuple[str, ...]
    # The media types of a Download.
    files: tuple[str, ...]
    handler: Callable[..., object]
    # Those that the handler reads itself.
    headers: tuple[str, ...]

    @property
    def is_begun_once(self) -> bool:
        """Whether the same Idempotency-Key is answered the same, and begins nothing again. Who reads the header sees to it."""
        return self.status in _BEGINS and REQUEST_KEY not in self.headers

    @property
    def item(self) -> Any | None:
        """The type of one item, when the answer is a page."""
        return get_args(self.answer)[0] if is_page(self.answer) else None


def operation(
    *,
    summary: str,
    status: int = 200,
    answer: Any = None,
    files: tuple[str, ...] = (),
    headers: tuple[str, ...] = (),
) -> Callable[[Callable[..., object]], Callable[..., HttpResponseBase]]:
    """`answer` describes what a handler answers that hands on JSON as it was recorded, as `msgspec.Raw`;
    `files` names the media types of a `Download`, `headers` those that the handler reads itself.
    """

    def decorate(handler: Callable[..., object]) -> Callable[..., HttpResponseBase]:
        described = _describe(handler, summary=summary, status=status, answer=answer, files=files, headers=headers)
        # Who asks was found on the primary; only the list itself may be a moment old.
        read = read_lagging if handler.__name__ == "get" and is_page(described.answer) else _at_once

        @functools.wraps(handler)
        def run(view: object, request: Request, **path: str) -> HttpResponseBase:
            check = _check_of_seen(view, described, request, path)
            _refuse_keys_in_path(path, is_kept=request.method == "PUT")
            given = _arguments(described, type(view).__qualname__, request)

            def act() -> object:
                if check is None:
                    return read(handler, view, **given, **path)
                return change_unchanged(check=check, change=lambda: handler(view, **given, **path))

            name = read_name(request.headers.get(REQUEST_KEY, "")) if described.is_begun_once else ""
            if not name:
                return _answer(act(), described, type(view).__qualname__, request)
            once = begin_once(
                actor=actor_of(request),
                name=name,
                place=f"{request.method} {request.META['PATH_INFO']}?{request.META.get('QUERY_STRING', '')}",
                body=request.data,
                now=timezone.now(),
                begin=lambda: msgspec.json.encode(act()),
            )
            return _answer(msgspec.Raw(once), described, type(view).__qualname__, request)

        run.__dict__["operation"] = described
        return run

    return decorate


def _at_once(handler: Callable[..., object], *arguments: object, **named: object) -> object:
    return handler(*arguments, **named)


def operation_of(handler: object) -> Operation | None:
    found = getattr(handler, "operation", None)
    return found if isinstance(found, Operation) else None


def is_page(answer: object) -> bool:
    return get_origin(answer) is Page


def read_id(*, prefix: Prefix, text: str) -> UUID:
    """The id in a path; one that cannot be an id is the same as one that does not exist."""
    value = from_text(prefix, text)
    if value is None:
        raise NotFoundError(
            "There is no such row in your team.",
            suggestion=f"Ids here begin with {prefix.value}_; list them to find the right one.",
        )
    return value


def actor_of(request: Request) -> Actor:
    if isinstance(request.auth, Actor):
        return request.auth
    raise UnauthenticatedError("Nobody is signed in.", suggestion="Send Authorization: Bearer wr_key_… or sign in.")


def represented_by(view: object) -> tuple[object, Operation] | None:
    """The operation that reads what the others of a view change: its own, or that of the view which it names in
    `represents`. None where there is none, or where a list is read.
    """
    named = getattr(view, "represents", None)
    reader = view if named is None else named()
    found = operation_of(getattr(reader, "get", None))
    if found is None or is_page(found.answer) or found.answer is Download:
        return None
    return reader, found


def holds_seen(view: object, described: Operation) -> bool:
    """Whether If-Match is held against how the thing stands. Who reads the header is left to do so."""
    return _IF_MATCH not in described.headers and represented_by(view) is not None


def _check_of_seen(
    view: object, described: Operation, request: Request, path: dict[str, str]
) -> Callable[[], None] | None:
    """What is to be asked with the change: whether the thing stands as If-Match says. None where nothing is said."""
    if_match = request.headers.get(_IF_MATCH)
    if if_match is None or request.method in _READS or _IF_MATCH in described.headers:
        return None
    found = represented_by(view)
    if found is None:
        raise InvalidInputError("If-Match is not held at this address.", suggestion="Leave the header out.")
    reader, reading = found
    given: dict[str, object] = {"call": Call(actor=actor_of(request), now=timezone.now(), page=PageRequest())}
    if reading.asks_for_query:
        given["query"] = read_shape({}, reading.query)

    def check() -> None:
        value = reading.handler(reader, **given, **{name: path[name] for name in reading.path})
        check_match(_tag(value, msgspec.json.encode(value)), if_match)

    return check


def _tag(value: object, body: bytes) -> str:
    return tag_of(body, stem=getattr(value, "numbered", ""))


def _describe(
    handler: Callable[..., object],
    *,
    summary: str,
    status: int,
    answer: Any,
    files: tuple[str, ...],
    headers: tuple[str, ...],
) -> Operation:
    signature = inspect.signature(handler)
    given = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return Operation(
        summary=summary,
        status=status,
        body=given.get("body"),
        query=given.get("query", PageQuery if is_page(signature.return_annotation) else Nothing),
        asks_for_query="query" in given,
        answer=signature.return_annotation if answer is None else answer,
        path=tuple(name for name in given if name not in _HANDED_IN),
        files=files,
        handler=handler,
        headers=headers,
    )


def _arguments(described: Operation, purpose: str, request: Request) -> dict[str, object]:
    actor = actor_of(request)
    query = read_query(_query_of(request), described.query)
    page = _page_of(query, actor, purpose)
    given: dict[str, object] = {"call": Call(actor=actor, now=timezone.now(), page=page)}
    if described.asks_for_query:
        given["query"] = query
    if described.body is not None:
        given["body"] = read_shape(request.data, described.body)
    elif request.method == "POST":
        read_shape(request.data, Nothing)
    return given


def _refuse_keys_in_path(names: dict[str, str], *, is_kept: bool) -> None:
    """What is put at an address is kept under the names in it, and nobody takes a part of a name out."""
    if names and read_kept(names).hidden and is_kept:
        raise InvalidInputError(
            "The address has what looks like a key, and would be kept.", suggestion="Choose another name."
        )


def _query_of(request: Request) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, values in request.query_params.lists():
        if len(values) > 1:
            raise InvalidInputError(f"The query has {name!r} twice.", suggestion=f"Send {name!r} once.")
        if any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in values[0]):
            raise InvalidInputError(f"The query's {name!r} is not text.", suggestion="Send UTF-8 without U+0000.")
        found[name] = values[0]
    if request.method not in _READS:
        return without_keys(request.META, found)
    refuse_own_keys(found)
    return found


def without_keys(meta: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    """What is said beside a body that is a file, or as a form: it is kept as long as what a body in JSON says. Raises
    InvalidInputError for a key of Workrail.
    """
    kept = read_kept(said)
    meta[HIDDEN_IN] = ", ".join(filter(None, (meta.get(HIDDEN_IN, ""), *map(_in_a_header, kept.hidden))))
    return dict(kept.value)


def _in_a_header(place: str) -> str:
    """As JSON writes it in ASCII: whoever sends a body names its fields as they like, and a header holds no line."""
    return json.dumps(place)[1:-1].replace("\x7f", "\\u007f")


def _page_of(query: object, actor: Actor, purpose: str) -> PageRequest:
    if not isinstance(query, PageQuery):
        return PageRequest()
    if query.cursor is None:
        return PageRequest(limit=query.limit)
    keys = [key for key in (settings.TOKEN_KEY, settings.TOKEN_KEY_PREVIOUS) if key is not None]
    after = decode_cursor(keys=keys, purpose=f"{purpose} {actor.team_id}", cursor=query.cursor)
    return PageRequest(after=after, limit=query.limit)


def _answer(answer: object, described: Operation, purpose: str, request: Request) -> HttpResponseBase:
    if isinstance(answer, Download):
        return _file(answer)
    value: object = answer
    if isinstance(answer, Page):
        value = Listing(items=list(answer.items), next_cursor=_next_cursor(answer, actor_of(request), purpose))
    body = b"" if value is None else msgspec.json.encode(value)
    if request.method not in _READS:
        return HttpResponse(body, content_type="application/json", status=described.status, headers=_NOT_KEPT)
    tag = _tag(value, body)
    # An answer is one actor's: no cache between may keep it, and their own asks before it is used.
    headers = {"Cache-Control": "private, no-cache", "ETag": tag, "Vary": "Authorization, Cookie, Workrail-Team"}
    if is_seen(tag, request.headers.get("If-None-Match")):
        return HttpResponseNotModified(headers=headers)
    return HttpResponse(body, content_type="application/json", status=described.status, headers=headers)


def _file(download: Download) -> HttpResponseBase:
    disposition = content_disposition_header(as_attachment=True, filename=download.filename)
    headers = {"Cache-Control": "no-store", "Content-Disposition": disposition or "attachment"}
    answer = HttpResponse if isinstance(download.data, bytes) else StreamingHttpResponse
    return answer(download.data, content_type=download.media_type, headers=headers)


def _next_cursor(page: Page[Any], actor: Actor, purpose: str) -> str | None:
    if page.next_position is None:
        return None
    return encode_cursor(key=settings.TOKEN_KEY, purpose=f"{purpose} {actor.team_id}", position=page.next_position)
