"""Reads the body of a request from an ASGI server: so many bytes at most, and not at any slowness."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

# A client has so many seconds before anything is expected of it, and then sends at least so many bytes in each: every
# connection that trickles is memory and a place in the server.
PATIENCE_SECONDS = 15.0
LEAST_BYTES_PER_SECOND = 64 * 1024


class BodyTooLargeError(Exception):
    """The body goes beyond the limit."""


class BodyTooSlowError(Exception):
    """The body came too slowly."""


class ClientGoneError(Exception):
    """The client left before it had sent its request, or what came was no body of HTTP: servers tell both alike."""


def _pass_on(_count: int) -> None:
    """Nobody counts."""


async def read_body(
    receive: Receive,
    *,
    max_bytes: int,
    patience_seconds: float = PATIENCE_SECONDS,
    take: Callable[[int], None] = _pass_on,
) -> bytes:
    """`take` hears of each part before it is kept, and may refuse it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    parts: list[bytes] = []
    length = 0
    more = True
    while more:
        due = began + patience_seconds + length / LEAST_BYTES_PER_SECOND
        message = await _next(receive, due - loop.time())
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        part = message.get("body", b"")
        length += len(part)
        if length > max_bytes:
            raise BodyTooLargeError
        take(len(part))
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


async def _next(receive: Receive, seconds: float) -> Message:
    try:
        async with asyncio.timeout(seconds):
            return await receive()
    except TimeoutError:
        raise BodyTooSlowError from None
