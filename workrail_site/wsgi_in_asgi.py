"""Serves a WSGI application from an ASGI server, in threads.

The body is read here, within its limit, before a thread is taken, and an answer that is complete goes out in one piece:
two changes of thread for a request, where a bridge that streams everything needs eight.
"""

import asyncio
import contextvars
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from typing import Any, Protocol

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]
Environ = dict[str, Any]

BODY_TOO_LARGE = "workrail.body_too_large"


class WsgiApplication(Protocol):
    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]: ...


class _TooLargeError(Exception):
    """The body goes beyond the limit."""


class _ClientGoneError(Exception):
    """The client left before it had sent its request."""


class WsgiInAsgi:
    """A body beyond the limit is not read: the application gets none, and the mark BODY_TOO_LARGE in its environ."""

    def __init__(self, application: WsgiApplication, *, threads: int, max_body_bytes: int) -> None:
        self._application = application
        self._max_body_bytes = max_body_bytes
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="wsgi")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._answer(scope, receive, send)
            case "lifespan":
                await _live(receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            environ = _environ(scope, await _read_body(scope, receive, self._max_body_bytes))
        except _ClientGoneError:
            return
        except _TooLargeError:
            environ = {**_environ(scope, b""), BODY_TOO_LARGE: True}
        loop = asyncio.get_running_loop()
        reply = _Reply(send=send, loop=loop)
        run = partial(contextvars.copy_context().run, _run, self._application, environ, reply)
        rest = await loop.run_in_executor(self._threads, run)
        if not reply.began:
            await send(reply.start)
        await send({"type": "http.response.body", "body": rest})


class _Reply:
    """What `start_response` was told, and the way out for an answer that comes in pieces."""

    def __init__(self, *, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self.start: Message = {}
        self.began = False
        self._send = send
        self._loop = loop

    def begin(self, status: str, headers: list[tuple[str, str]], _error: object = None) -> None:
        self.start = {
            "type": "http.response.start",
            "status": int(status[:3]),
            # Django writes a blank before a cookie, which belongs to the line and not to the value.
            "headers": [(name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers],
        }

    def pass_on(self, chunk: bytes) -> None:
        """From the thread; waits until the server has taken the piece."""
        if not self.began:
            self.began = True
            self._wait_for(self.start)
        self._wait_for({"type": "http.response.body", "body": chunk, "more_body": True})

    def _wait_for(self, message: Message) -> None:
        async def hand_over() -> None:
            await self._send(message)

        asyncio.run_coroutine_threadsafe(hand_over(), self._loop).result()


def _run(application: WsgiApplication, environ: Environ, reply: _Reply) -> bytes:
    """In a thread. What is complete comes back; what Django marks as streaming has been passed on when this ends."""
    answer = application(environ, reply.begin)
    try:
        if not getattr(answer, "streaming", False):
            return b"".join(answer)
        for chunk in answer:
            reply.pass_on(chunk)
        return b""
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()


async def _read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    if _declared_length(scope) > limit:
        raise _TooLargeError
    parts: list[bytes] = []
    length = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _ClientGoneError
        part = message.get("body", b"")
        length += len(part)
        if length > limit:
            raise _TooLargeError
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _declared_length(scope: Scope) -> int:
    given = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    return int(given) if given.isdigit() else 0


def _environ(scope: Scope, body: bytes) -> Environ:
    host, port = scope.get("server") or ("localhost", 80)
    client = scope.get("client") or ("", 0)
    return {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode("utf-8", "surrogateescape").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **_headers(scope),
        "CONTENT_LENGTH": str(len(body)),
    }


def _headers(scope: Scope) -> Environ:
    found: Environ = {}
    for raw_name, raw_value in scope["headers"]:
        # X_Forwarded_For would pass for X-Forwarded-For: a name with an underscore is left out.
        if b"_" in raw_name:
            continue
        name = raw_name.decode("latin-1").upper().replace("-", "_")
        name = name if name == "CONTENT_TYPE" else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        between = "; " if name == "HTTP_COOKIE" else ","
        found[name] = f"{found[name]}{between}{value}" if name in found else value
    return found


async def _live(receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})
