"""The one way in to every MCP address: host, origin, body and key are checked here, before the SDK sees anything.

A refusal at the door is an HTTP status with a JSON-RPC error as its body, which clients show to their users.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import msgspec
import structlog
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from teams_app.engine.actors import USUAL_SCOPES, Actor, Door as Entrance
from teams_app.engine.errors import (
    ForbiddenError,
    InvalidInputError,
    RateLimitedError,
    UnauthenticatedError,
    WorkrailError,
)
from teams_app.services.row_scope import NOBODY, enter_scope
from workrail_site import admission, metrics
from workrail_site.bodies import (
    BodyTooLargeError,
    BodyTooSlowError,
    ClientGoneError,
    Message,
    Receive,
    Scope,
    Send,
    read_body,
    replaying,
)
from workrail_site.errors import (
    ERRORS,
    MethodNotAllowedError,
    PayloadTooLargeError,
    broken_off,
    retry_after_seconds,
    too_slow,
)
from workrail_site.header_budget import find_excess
from workrail_site.held_bodies import HeldBodies
from workrail_site.lanes import REFUSAL_SECONDS
from workrail_site.mcp.answers import protocol_error, refusal_of
from workrail_site.mcp.batches import messages_in
from workrail_site.mcp.calling import Caller, calls_as
from workrail_site.mcp.envelopes import LONG_BYTES
from workrail_site.mcp.workers import Workers
from workrail_site.oauth import addresses
from workrail_site.parties import Parties, party_of
from workrail_site.request_ids import request_id_from
from workrail_site.request_line import tell_request
from workrail_site.wsgi_in_asgi import AsgiApplication

REPLY_HEADER = "workrail-reply"
# By them it is decided who is let in, and how a message is read.
_DECISIVE = frozenset({
    "authorization", "content-type", "host", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id", "origin",
    REPLY_HEADER,
})  # fmt: skip
TEXT_ONLY = "text"
_BOTH = "both"
_UNAUTHORIZED = 401
_NO_STATUS = 0
# So many of the largest bodies a process holds at once: of one team, and of all.
_BODIES_OF_ONE, _BODIES = 64, 256
_USUAL_SCOPES = " ".join(scope.value for scope in USUAL_SCOPES)

Headers = Mapping[str, str]


class AdmittingDoor:
    def __init__(self, application: AsgiApplication, *, workers: Workers) -> None:
        self._application = application
        self._workers = workers
        self._parties = Parties()
        self._held = HeldBodies(
            most_of_one=_BODIES_OF_ONE * settings.MAX_BODY_BYTES, most_of_all=_BODIES * settings.MAX_BODY_BYTES
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        began = time.perf_counter()
        headers = _headers_of(scope)
        request_id = request_id_from(headers.get("x-request-id", ""))
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        enter_scope(NOBODY)
        answer = _Answer(send, request_id)
        try:
            await self._admit(scope, headers, receive, answer)
        except Exception as error:  # noqa: BLE001  the outermost: what fails is a refusal, logged when it is a defect
            refusal = refusal_of(error)
            if isinstance(refusal, RateLimitedError):
                await asyncio.sleep(REFUSAL_SECONDS)
            await _refuse(refusal, answer, _challenge(scope, headers))
        finally:
            _tell(scope, answer.status, time.perf_counter() - began)

    async def _admit(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        actor = await self._caller_of(scope, headers)
        structlog.contextvars.bind_contextvars(actor=actor.id, door=actor.door.value)
        calls_as(Caller(actor=actor, text_only=headers.get(REPLY_HEADER) == TEXT_ONLY))
        with self._held.held_for(party_of(actor)) as take:
            body = await _read_body(receive, take)
            more = await self._messages_in(body, party_of(actor)) - 1
            if more > 0:
                charge = partial(admission.charge_more, actor=actor, requests=more, now=timezone.now())
                await self._workers.run(charge, party=party_of(actor))
            scope["workrail.actor"], scope["workrail.body"] = actor, body
            await self._application(scope, replaying(body, receive), send)

    async def _messages_in(self, body: bytes, party: str) -> int:
        if len(body) <= LONG_BYTES:
            return messages_in(body)
        return await self._workers.run(partial(messages_in, body), party=party)

    async def _caller_of(self, scope: Scope, headers: Headers) -> Actor:
        excess = find_excess(scope)
        if excess is not None:
            raise excess
        _check_once(scope, headers)
        _check_host(headers)
        _check_origin(scope, headers)
        _check_transport(scope, headers)
        _check_reply_form(headers)
        header = headers.get("authorization")
        if addresses.is_under(str(scope["path"])):
            return await self._signed_on(scope, headers, header)
        if header is None:
            raise UnauthenticatedError(
                "This address asks for an agent key, and the request brings none.",
                suggestion="Send Authorization: Bearer wr_key_… with every request. An owner of the team issues keys.",
            )
        key, now = admission.read_bearer(header), timezone.now()
        known = admission.admit_remembered_key(text=key, door=Entrance.MCP, now=now)
        if known is not None:
            return known
        admit = partial(admission.admit_key, text=key, door=Entrance.MCP, now=now)
        actor = await self._workers.run(admit, party=self._parties.of(scope))
        self._parties.learn(scope, actor)
        return actor

    async def _signed_on(self, scope: Scope, headers: Headers, header: str | None) -> Actor:
        if header is None:
            raise UnauthenticatedError(
                "This address asks for a token of a client that has signed on, and the request brings none.",
                suggestion="Sign on as the header WWW-Authenticate says, or use an agent key under /mcp.",
            )
        resource = addresses.resource_at(base=_base(scope, headers), path=str(scope["path"]))
        admit = partial(
            admission.admit_client, text=admission.read_bearer(header), resource=resource, now=timezone.now()
        )
        actor = await self._workers.run(admit, party=self._parties.of(scope))
        self._parties.learn(scope, actor)
        return actor


class _Answer:
    """`send`, which knows the status afterwards and puts on the answer what every answer carries."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._headers = ((b"x-request-id", request_id.encode("ascii")), (b"x-content-type-options", b"nosniff"))
        self.status = _NO_STATUS

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
        await self._send(message)


async def _read_body(receive: Receive, take: Callable[[int], None]) -> bytes:
    try:
        return await read_body(receive, max_bytes=settings.MAX_BODY_BYTES, take=take)
    except BodyTooSlowError:
        raise too_slow() from None
    except ClientGoneError:
        raise broken_off() from None
    except BodyTooLargeError:
        raise PayloadTooLargeError(
            f"The request has more than {settings.MAX_BODY_BYTES} bytes.",
            suggestion="Send less at once: keep large material in the workspace and pass its path.",
            details={"maxBytes": settings.MAX_BODY_BYTES},
        ) from None


def _headers_of(scope: Scope) -> Headers:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _check_once(scope: Scope, headers: Headers) -> None:
    """Of two that decide, whoever stands before this server may have gone by the other one."""
    if len(headers) == len(scope["headers"]):
        return
    names = [name.decode("latin-1").lower() for name, _value in scope["headers"]]
    twice = sorted(name for name in _DECISIVE if names.count(name) > 1)
    if twice:
        raise InvalidInputError(f"The header {twice[0]} stands twice.", suggestion="Send it once.")


def _check_host(headers: Headers) -> None:
    """Against a page whose name was rebound to this address: it comes under a name that is not ours."""
    domain, _port = split_domain_port(headers.get("host", ""))
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        raise InvalidInputError(
            "The Host header names no host that is served here.",
            suggestion="Use the host name that this server was set up with (WORKRAIL_ALLOWED_HOSTS).",
        )


def _check_origin(scope: Scope, headers: Headers) -> None:
    """Only a browser sends an origin, and a page that we did not serve has no business here."""
    origin = headers.get("origin")
    if origin is None or origin in settings.CSRF_TRUSTED_ORIGINS:
        return
    parts = urlsplit(origin)
    if parts.scheme == _scheme_of(scope, headers) and parts.netloc == headers.get("host"):
        return
    raise ForbiddenError(
        "Requests from pages of other sites are refused here.",
        suggestion="Name the site in WORKRAIL_TRUSTED_ORIGINS if it is yours.",
    )


def _check_transport(scope: Scope, headers: Headers) -> None:
    if settings.SECURE_SSL_REDIRECT and _scheme_of(scope, headers) != "https":
        raise ForbiddenError(
            "A key must not travel in the clear.",
            suggestion="Use the https address. Behind a proxy that ends TLS, set WORKRAIL_BEHIND_PROXY.",
        )


def _check_reply_form(headers: Headers) -> None:
    if headers.get(REPLY_HEADER, _BOTH) not in {TEXT_ONLY, _BOTH}:
        raise InvalidInputError(
            f"There is no such form of replies as {headers[REPLY_HEADER][:40]!r}.",
            suggestion=f"Send Workrail-Reply: {TEXT_ONLY}, or leave the header out.",
        )


def _scheme_of(scope: Scope, headers: Headers) -> str:
    proxy: tuple[str, str] | None = getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    if proxy is None:
        return str(scope.get("scheme", "http"))
    name, secure = proxy
    said = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower(), "")
    return "https" if said.partition(",")[0].strip() == secure else "http"


def _base(scope: Scope, headers: Headers) -> str:
    return addresses.base_of(scheme=_scheme_of(scope, headers), host=headers.get("host", ""))


def _challenge(scope: Scope, headers: Headers) -> bytes:
    """No metadata address where keys are used: a client that is told of OAuth leaves out the key that it was given."""
    path = str(scope["path"])
    if not addresses.is_under(path):
        return b'Bearer realm="workrail"'
    where = addresses.metadata_of(base=_base(scope, headers), path=path)
    wrong = ', error="invalid_token"' if "authorization" in headers else ""
    return f'Bearer realm="workrail", resource_metadata="{where}", scope="{_USUAL_SCOPES}"{wrong}'.encode("latin-1")


async def _refuse(error: WorkrailError, send: _Answer, challenge: bytes) -> None:
    if send.status != _NO_STATUS:
        # The answer is on its way; what is left is the line in the log.
        return
    row = ERRORS[error.code]
    fault = protocol_error(error)
    body: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": fault.code, "message": fault.message, "data": fault.data},
    }
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    if row.status == _UNAUTHORIZED:
        headers.append((b"www-authenticate", challenge))
    if isinstance(error, MethodNotAllowedError):
        headers.append((b"allow", ", ".join(error.details["allow"]).encode("ascii")))
    seconds = retry_after_seconds(error)
    if seconds is not None:
        headers.append((b"retry-after", str(seconds).encode("ascii")))
    await send({"type": "http.response.start", "status": row.status, "headers": headers})
    await send({"type": "http.response.body", "body": msgspec.json.encode(body)})


def _tell(scope: Scope, status: int, seconds: float) -> None:
    method, path = str(scope["method"]), str(scope["path"])
    metrics.count_request(method=method, route=scope.get("workrail.route", "mcp"), status=status, seconds=seconds)
    tell_request(method=method, path=path, status=status, seconds=seconds)
