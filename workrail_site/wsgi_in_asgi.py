"""Serves a WSGI application from an ASGI server, in threads.

The body is read here, within its limits, before a thread is taken, and an answer that is complete goes out in one piece:
two changes of thread for a request, where a bridge that streams everything needs eight.
"""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from io import BytesIO
from typing import Any, Protocol

from teams_app.engine.errors import WorkrailError
from workrail_site import early
from workrail_site.bodies import (
    BodyTooLargeError,
    BodyTooSlowError,
    ClientGoneError,
    Message,
    Receive,
    Scope,
    Send,
    declared_length,
    read_body,
)
from workrail_site.errors import broken_off
from workrail_site.held_bodies import HeldBodies
from workrail_site.lanes import MOST_WAITING_OF_ALL, REFUSAL_SECONDS, ThreadLanes

AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]
Environ = dict[str, Any]
# Stops what the thread that asked for it is waiting for, from another thread.
Stop = Callable[[], None]

BODY_TOO_LARGE = "workrail.body_too_large"
BODY_TOO_SLOW = "workrail.body_too_slow"
# Under this key of its environ the application leaves who was admitted.
ACTOR = "workrail.actor"
# A request that takes longer is watched: does its client still wait for the answer?
WATCHED_AFTER_SECONDS = 0.25
# What nobody has taken in so long is not waited for.
TAKEN_WITHIN_SECONDS = 30.0
_TOO_MANY = 429
# So many of the largest bodies a process holds at once: of one party, and of all.
_BODIES_OF_ONE, _BODIES = 4, 16
_SAFE = frozenset({"GET", "HEAD"})


class WsgiApplication(Protocol):
    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]: ...


class WaitingParties(Protocol):
    def of(self, scope: Scope) -> str: ...

    def learn(self, scope: Scope, actor: object) -> None: ...


class _Everybody:
    def of(self, scope: Scope) -> str:  # noqa: ARG002  the protocol's signature
        return "everybody"

    def learn(self, scope: Scope, actor: object) -> None:
        """All are one."""


class WsgiInAsgi:
    """A body beyond its limits is not read: the application gets none, and the mark of why in its environ.

    `apart` are paths with a thread of their own, which no crowd can take. `stopper` is called in the thread of a request
    that only reads; what it returns is called when the client has left.
    """

    def __init__(
        self,
        application: WsgiApplication,
        *,
        threads: int,
        max_body_bytes: int,
        parties: WaitingParties | None = None,
        apart: frozenset[str] = frozenset(),
        stopper: Callable[[], Stop] | None = None,
    ) -> None:
        self._application = application
        self._max_body_bytes = max_body_bytes
        self._held = HeldBodies(most_of_one=_BODIES_OF_ONE * max_body_bytes, most_of_all=_BODIES * max_body_bytes)
        self._parties = parties or _Everybody()
        self._apart = apart
        self._stopper = stopper
        self._lanes = ThreadLanes(threads=threads, name="wsgi")
        self._lane_apart = ThreadLanes(threads=1, name="wsgi-apart")
        # Whoever takes a piece now and then holds none of the threads that others need.
        self._lane_of_pieces = ThreadLanes(threads=1, name="wsgi-pieces", most_waiting=MOST_WAITING_OF_ALL)

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
            with self._held.held_for(self._parties.of(scope)) as take:
                await self._serve(scope, receive, send, await self._environ(scope, receive, take))
        except ClientGoneError:
            await _refuse(scope, broken_off(), send)
        except WorkrailError as error:
            await _refuse(scope, error, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, environ: Environ) -> None:
        reply = _Reply(stopper=self._stopper)
        lanes = self._lane_apart if scope["path"] in self._apart else self._lanes
        work = partial(_run, self._application, environ, reply)
        body = await _watched(lanes.run(self._parties.of(scope), work), scope, receive, reply)
        self._parties.learn(scope, environ.get(ACTOR))
        if reply.start.get("status") == _TOO_MANY:
            await asyncio.sleep(REFUSAL_SECONDS)
        await send(reply.start)
        if reply.pieces is not None:
            await self._pass_on(reply.pieces, scope, receive, send)
        await send({"type": "http.response.body", "body": body})

    async def _pass_on(self, answer: Iterable[bytes], scope: Scope, receive: Receive, send: Send) -> None:
        """Piece by piece, as they are taken. A thread makes each, and waits for nobody."""
        run = partial(self._lane_of_pieces.run, self._parties.of(scope))
        pieces, gone = iter(answer), asyncio.ensure_future(_left(receive))
        try:
            while not gone.done() and (piece := await run(partial(next, pieces, None))) is not None:
                async with asyncio.timeout(TAKEN_WITHIN_SECONDS):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        except (TimeoutError, WorkrailError) as error:
            raise BrokenOffError from error
        finally:
            gone.cancel()
            await run(partial(_close, answer))

    async def _environ(self, scope: Scope, receive: Receive, take: Callable[[int], None]) -> Environ:
        if declared_length(scope) > self._max_body_bytes:
            return {**_environ(scope, b""), BODY_TOO_LARGE: True}
        try:
            return _environ(scope, await read_body(receive, max_bytes=self._max_body_bytes, take=take))
        except BodyTooLargeError:
            return {**_environ(scope, b""), BODY_TOO_LARGE: True}
        except BodyTooSlowError:
            return {**_environ(scope, b""), BODY_TOO_SLOW: True}


async def _refuse(scope: Scope, error: WorkrailError, send: Send) -> None:
    for message in early.refusal(scope, error):
        await send(message)


async def _watched(answer: Awaitable[bytes], scope: Scope, receive: Receive, reply: "_Reply") -> bytes:
    """The answer. When it takes long, and only reads, and nobody waits for it any more, it is stopped."""
    if scope["method"] not in _SAFE:
        return await answer
    task = asyncio.ensure_future(answer)
    done, _ = await asyncio.wait({task}, timeout=WATCHED_AFTER_SECONDS)
    if done:
        return task.result()
    gone = asyncio.ensure_future(_left(receive))
    await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
    if gone.done() and not task.done():
        await asyncio.to_thread(reply.stop)
    gone.cancel()
    return await task


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class BrokenOffError(Exception):
    """Whoever asked takes nothing more of an answer in pieces, and has not left either, or the rest of it cannot be had: it ends
    unfinished.
    """


class _Reply:
    """What `start_response` was told. `pieces` is the answer where it comes in pieces."""

    def __init__(self, *, stopper: Callable[[], Stop] | None) -> None:
        self.start: Message = {}
        self.pieces: Iterable[bytes] | None = None
        self._stopper = stopper
        # While a thread holds this, what it waits for belongs to this request and to no later one.
        self._under_way = threading.Lock()
        self._stop: Stop | None = None

    def enter(self) -> None:
        """From the thread, before anything."""
        if self._stopper is not None:
            with self._under_way:
                self._stop = self._stopper()

    def leave(self) -> None:
        with self._under_way:
            self._stop = None

    def stop(self) -> None:
        """From another thread than the one that works."""
        with self._under_way:
            if self._stop is not None:
                self._stop()

    def begin(self, status: str, headers: list[tuple[str, str]], _error: object = None) -> None:
        self.start = {
            "type": "http.response.start",
            "status": int(status[:3]),
            # Django writes a blank before a cookie, which belongs to the line and not to the value.
            "headers": [(name.lower().encode("latin-1"), value.strip().encode("latin-1")) for name, value in headers],
        }


def _run(application: WsgiApplication, environ: Environ, reply: _Reply) -> bytes:
    """In a thread. What is complete comes back; what Django marks as streaming is left in the reply."""
    reply.enter()
    try:
        answer = application(environ, reply.begin)
        if getattr(answer, "streaming", False):
            reply.pieces = answer
            return b""
        try:
            return b"".join(answer)
        finally:
            _close(answer)
    finally:
        reply.leave()


def _close(answer: Iterable[bytes]) -> None:
    close = getattr(answer, "close", None)
    if close is not None:
        close()


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
