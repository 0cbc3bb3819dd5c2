"""Server-sent events for the pages of the Studio: a page is told that what it shows has moved on, and fetches it again.

One task asks the database once in a second for all viewers of this process, and only while there are any. A viewer holds
a queue and an open answer: no thread, no connection to the database. What a run looks like
now is drawn once for all who look at the same part of it in the same role, and sent to them; whoever looks at anything else
fetches their page themselves.
"""

import asyncio
import json
import re
import signal
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import connection

from sessions_app.selectors.heads import versions_of
from teams_app.engine.seats import Seat
from teams_app.selectors import seats_left
from workrail_site.bodies import Message, Receive, Scope, Send
from workrail_site.parties import credential_of, session_of
from workrail_site.wsgi_in_asgi import TAKEN_WITHIN_SECONDS, AsgiApplication

PATH = "/studio/live/"
# By REST a stream stands beside the version that it tells of.
_REST = re.compile(r"(/api/v1/(?:runs/[^/]+|checkpoints)/)stream/?")
_WATCH_PATH = "/studio/watch/"
_FORWARDED = 200
_READS = frozenset({"GET", "HEAD"})
_LET_OUT = frozenset({401, 403, 404})
# That too many ask at once passes within seconds: whoever wants to watch waits for it, which costs no thread.
_CROWDED = frozenset({429, 503})
_SOON_S = 5
MOST_ASKED = 15
AGAIN_S = 0.5
TICK_S = 1.0
HEARTBEAT_S = 15.0
# Who may watch is asked anew by whoever comes back.
LONGEST_S = 600.0
# Of a page that is drawn for it: what it is sent is more than that something has changed.
LONGEST_DRAWN_S = 300.0
MOST_VIEWERS = 1_000
# Of one key, token or sign-in: whoever opens more polls, and the others still find a place.
MOST_OF_ONE = 50
# Longer addresses of a page, and larger pages, are fetched by whoever looks at them.
_MOST_SEARCH_CHARACTERS = 300
_MOST_SENT_BYTES = 200_000
_MOST_DRAWN = 200
_NOT_PASSED_ON = frozenset({b"if-none-match", b"accept-encoding", b"last-event-id", b"x-workrail-live"})

_STREAM: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"cache-control", b"no-store"),
        # A proxy that collects answers would keep events back.
        (b"x-accel-buffering", b"no"),
    ],
}

ReadVersions = Callable[[frozenset[UUID], frozenset[UUID]], Awaitable[dict[UUID, str]]]
ReadSeats = Callable[[frozenset[Seat]], Awaitable[frozenset[Seat]]]


@dataclass(eq=False, slots=True)
class Viewer:
    """`version` is what its page has been told last. `shown` is the page where it may be drawn for several at once, by its path,
    its query and the group of those who see the same. `seat` is what a person has been let in by, which may end while they look.
    """

    kind: str
    watched: UUID
    version: str
    holder: bytes = b""
    shown: tuple[str, str, str] | None = None
    seat: Seat | None = None
    is_out: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class _End:
    """Whether this process was told to end. The server below lets every answer come to its own end first, and keeps everybody else
    out meanwhile: of a stream that would be minutes.
    """

    def __init__(self) -> None:
        self.is_near = False
        self._listens = False

    def listen(self) -> None:
        """Beside whoever hears the signals already, which is the server below. Where nobody does, the process ends by itself."""
        if self._listens or threading.current_thread() is not threading.main_thread():
            return
        self._listens = True
        for number in (signal.SIGTERM, signal.SIGINT):
            before = signal.getsignal(number)
            if callable(before):
                signal.signal(number, partial(self._hear, before))

    def _hear(self, before: Callable[[int, FrameType | None], Any], number: int, frame: FrameType | None) -> None:
        self.is_near = True
        before(number, frame)


end = _End()


class Watch:
    """Knows who watches what, and reads how far each of that has come: one query for a tick, whoever watches, and where
    something has moved on another one, of who may still hear of it.
    """

    def __init__(self, *, read: ReadVersions, still: ReadSeats | None = None, tick_s: float = TICK_S) -> None:
        self._read = read
        self._still = still or read_seats
        self._tick_s = tick_s
        self._viewers: set[Viewer] = set()
        self._coming: Counter[bytes] = Counter()
        self._task: asyncio.Task[None] | None = None
        self.ticks = 0

    def is_full_for(self, holder: bytes) -> bool:
        seated = sum(each.holder == holder for each in self._viewers) + self._coming[holder]
        return len(self._viewers) + self._coming.total() >= MOST_VIEWERS or seated >= MOST_OF_ONE

    @contextmanager
    def expect(self, holder: bytes) -> Iterator[None]:
        """Keeps a place for whoever is being asked about."""
        self._coming[holder] += 1
        try:
            yield
        finally:
            self._coming[holder] -= 1
            # Adding nothing leaves out those of whom none is left.
            self._coming += Counter()

    def join(self, viewer: Viewer) -> None:
        self._viewers.add(viewer)
        end.listen()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())

    def leave(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)

    async def _look(self) -> None:
        """Ends with its last viewer; the next one begins it again."""
        while self._viewers:
            await asyncio.sleep(self._tick_s)
            if end.is_near:
                for viewer in self._viewers:
                    viewer.is_out = True
                    viewer.changed.set()
            elif self._viewers:
                await self._tick()

    async def _tick(self) -> None:
        self.ticks += 1
        watched = {
            kind: frozenset(each.watched for each in self._viewers if each.kind == kind) for kind in ("session", "team")
        }
        try:
            versions = await self._read(watched["session"], watched["team"])
            moved = [each for each in self._viewers if versions.get(each.watched, each.version) != each.version]
            still = await self._seats_of(moved)
        except Exception:  # noqa: BLE001  the database may be away for a while; the next tick asks again
            return
        for viewer in moved:
            viewer.version = versions[viewer.watched]
            viewer.is_out = viewer.seat is not None and viewer.seat not in still
            viewer.changed.set()

    async def _seats_of(self, viewers: Iterable[Viewer]) -> frozenset[Seat]:
        asked = frozenset(each.seat for each in viewers if each.seat is not None)
        return await self._still(asked) if asked else asked


class Live:
    """The stream itself. Django says who may watch: its answer is asked for as any page would be."""

    def __init__(self, *, django: AsgiApplication, watch: Watch | None = None) -> None:
        self._django = django
        self._watch = watch or Watch(read=read_versions)
        self._drawn: dict[tuple[str, str, str], tuple[str, asyncio.Task[str]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        by_rest = _REST.fullmatch(str(scope["path"]))
        is_page = str(scope["path"]).startswith(PATH)
        holder = credential_of(scope)
        if not is_page and (by_rest is None or scope["method"] not in _READS or self._watch.is_full_for(holder)):
            await self._django(scope, receive, send)
            return
        search = str(scope["query_string"], "latin-1")
        watching = f"{by_rest[1]}version" if by_rest else _WATCH_PATH + str(scope["path"]).removeprefix(PATH)
        if by_rest:
            parts = await self._ask(scope, watching, search)
        elif scope["method"] != "GET" or self._watch.is_full_for(holder):
            await _turn_away(send)
            return
        else:
            with self._watch.expect(holder):
                parts = await self._ask_until_there_is_room(scope, watching, holder)
        status, body = int(parts[0]["status"]), b"".join(part.get("body", b"") for part in parts[1:])
        if by_rest and status != _FORWARDED:
            # A program is told why, in the words of REST.
            for part in parts:
                await send(part)
            return
        if by_rest and scope["method"] == "HEAD":
            await send(_STREAM)
            await send({"type": "http.response.body", "body": b""})
            return
        if status != _FORWARDED or self._watch.is_full_for(holder):
            await _turn_away(send)
            return
        told = json.loads(body)
        viewer = Viewer(
            kind=told["kind"],
            watched=UUID(told["watched"]),
            version=told["version"],
            holder=holder,
            shown=_shown(scope, told),
            seat=Seat.told(told["seat"], session_key=session_of(scope)) if "seat" in told else None,
        )
        await _start(send)
        last = dict(scope["headers"]).get(b"last-event-id", b"").decode("latin-1")
        if last and last != viewer.version:
            viewer.changed.set()
        self._watch.join(viewer)
        try:
            # Also where whoever asked takes nothing of what is sent.
            async with asyncio.timeout(LONGEST_S + HEARTBEAT_S):
                draw = (
                    partial(self._asked_again, scope, watching, search)
                    if by_rest
                    else partial(self._draw, viewer, scope)
                )
                await _stream(viewer, receive, send, draw)
        except TimeoutError:
            return
        finally:
            self._watch.leave(viewer)

    async def _ask_until_there_is_room(self, scope: Scope, path: str, holder: bytes) -> list[Message]:
        """All who open a page at once are let in one after the other. Each asks again at a moment of its own."""
        parts = await self._ask(scope, path, "")
        for _ in range(MOST_ASKED - 1):
            if not _has_room_soon(parts[0]):
                break
            await asyncio.sleep(AGAIN_S * (1 + holder[0] / 256))
            parts = await self._ask(scope, path, "")
        return parts

    async def _asked_again(self, scope: Scope, path: str, search: str) -> str | None:
        """A program comes with a key or a token, which may have ended since: None where it is not let in any more."""
        (start, *_body) = await self._ask(scope, path, search)
        return None if start["status"] in _LET_OUT else ""

    async def _draw(self, viewer: Viewer, scope: Scope) -> str:
        """The parts of the viewer's page as they are now, drawn once for all who see the same; empty where they cannot be sent."""
        if viewer.shown is None:
            return ""
        version, task = self._drawn.get(viewer.shown, ("", None))
        if task is None or version != viewer.version:
            task = asyncio.create_task(self._parts(scope, *viewer.shown[:2]))
            self._drawn.pop(viewer.shown, None)
            self._drawn[viewer.shown] = (viewer.version, task)
            if len(self._drawn) > _MOST_DRAWN:
                del self._drawn[next(iter(self._drawn))]
        # Whoever leaves does not take it from the others.
        return await asyncio.shield(task)

    async def _parts(self, scope: Scope, path: str, search: str) -> str:
        parts = await self._ask(scope, path, search, (b"x-workrail-live", b"shared"))
        body = b"".join(part.get("body", b"") for part in parts[1:])
        is_sent = parts[0]["status"] == _FORWARDED and len(body) <= _MOST_SENT_BYTES
        return body.decode("utf-8", "replace") if is_sent else ""

    async def _ask(self, scope: Scope, path: str, search: str, *more: tuple[bytes, bytes]) -> list[Message]:
        parts: list[Message] = []

        came = False

        async def no_body() -> Message:
            nonlocal came
            if came:
                await asyncio.Event().wait()
            came = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def keep(message: Message) -> None:
            parts.append(message)

        asked = {
            **scope,
            "path": path,
            "raw_path": path.encode(),
            "query_string": search.encode("latin-1"),
            "headers": [*(each for each in scope["headers"] if each[0] not in _NOT_PASSED_ON), *more],
        }
        await self._django(asked, no_body, keep)
        return parts


async def read_versions(sessions: frozenset[UUID], teams: frozenset[UUID]) -> dict[UUID, str]:
    return await sync_to_async(_read_and_let_go, thread_sensitive=True)(sessions, teams)


async def read_seats(asked: frozenset[Seat]) -> frozenset[Seat]:
    return await sync_to_async(_ask_and_let_go, thread_sensitive=True)(asked)


def _ask_and_let_go(asked: frozenset[Seat]) -> frozenset[Seat]:
    try:
        return seats_left(asked=asked)
    finally:
        connection.close_if_unusable_or_obsolete()


def _read_and_let_go(sessions: frozenset[UUID], teams: frozenset[UUID]) -> dict[UUID, str]:
    """In one thread for all ticks. A connection that broke is not kept."""
    try:
        return versions_of(sessions=sessions, teams=teams)
    finally:
        connection.close_if_unusable_or_obsolete()


def _shown(scope: Scope, told: dict[str, str]) -> tuple[str, str, str] | None:
    """Only what Django says may be drawn for several, in the view of it that the page asks for."""
    asked = parse_qs(str(scope["query_string"], "latin-1"), keep_blank_values=True).get("search")
    search = asked[-1].removeprefix("?") if asked else ""
    if not asked or not told.get("page") or len(search) > _MOST_SEARCH_CHARACTERS or not search.isascii():
        return None
    return told["page"], search, told["group"]


def _has_room_soon(start: Message) -> bool:
    """Whether it is refused since too many ask in this moment, rather than since this one has asked too much."""
    wait = dict(start["headers"]).get(b"retry-after", b"")
    return start["status"] in _CROWDED and wait.isdigit() and int(wait) <= _SOON_S


async def _turn_away(send: Send) -> None:
    """204 tells a browser not to come back; its page polls instead."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _start(send: Send) -> None:
    await send(_STREAM)
    await send({"type": "http.response.body", "body": b"retry: 3000\n\n", "more_body": True})


async def _stream(viewer: Viewer, receive: Receive, send: Send, draw: Callable[[], Awaitable[str | None]]) -> None:
    """Until the browser leaves, the time is up, or `draw` says that whoever looks is out."""
    loop = asyncio.get_running_loop()
    end = loop.time() + (LONGEST_S if viewer.shown is None else LONGEST_DRAWN_S)
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        while loop.time() < end and not gone.done():
            changed = asyncio.ensure_future(viewer.changed.wait())
            done, _ = await asyncio.wait({gone, changed}, timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
            if gone in done:
                changed.cancel()
                return
            if changed in done:
                viewer.changed.clear()
                if viewer.is_out:
                    break
                version, drawn = viewer.version, await draw()
                if drawn is None:
                    break
                told = f"event: parts\ndata: {json.dumps(drawn)}" if drawn else f"event: changed\ndata: {version}"
                await _send_event(send, f"id: {version}\n{told}\n\n")
            else:
                changed.cancel()
                await _send_event(send, ": still here\n\n")
        await send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()


async def _send_event(send: Send, text: str) -> None:
    """Raises TimeoutError where nobody takes it."""
    async with asyncio.timeout(TAKEN_WITHIN_SECONDS):
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
