"""Reads the body of a request from an ASGI server: so many bytes at most, and not at any slowness. What is left of it when the
answer is there is let pass, so that whoever still sends hears the answer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

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
        message = await _next(receive, _due(began, length, patience_seconds) - loop.time())
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


def replaying(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then whatever the client does next."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


class HeardOut:
    """`receive` and `send` of one request that has a body.

    A server that answers before it has the whole body ends the connection with its answer, and does not say so: what the client
    still sends, or its next call, meets a closed one. So an answer waits for the body, of which nothing is kept, as long as
    one that is wanted is waited for. Where that is too long, too much, or not asked for, the answer says that the connection ends.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, *, most_bytes: int) -> None:
        self._receive, self._send = receive, send
        self._is_by_1 = str(scope["http_version"]).startswith("1")
        headers = dict(scope["headers"])
        # Whoever waits to be asked for the body has not sent it.
        self._is_passing = b"expect" not in headers and _length_in(headers) <= most_bytes
        self._most_bytes = most_bytes
        self._began = asyncio.get_running_loop().time()
        self._length = 0
        self._is_whole = self._is_gone = False
        self._hearing = 0

    async def receive(self) -> Message:
        self._hearing += 1
        try:
            message = await self._receive()
        finally:
            self._hearing -= 1
        self._length += len(message.get("body", b""))
        self._is_gone = self._is_gone or message["type"] == "http.disconnect"
        self._is_whole = self._is_whole or not (self._is_gone or message.get("more_body", False))
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._is_whole:
            await self._let_pass()
            if self._is_by_1 and not self._is_whole:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await self._send(message)

    async def _let_pass(self) -> None:
        clock = asyncio.get_running_loop().time
        with suppress(BodyTooSlowError):
            while self._is_passing and not (self._is_whole or self._is_gone or self._hearing):
                await _next(self.receive, _due(self._began, self._length, PATIENCE_SECONDS) - clock())
                self._is_passing = self._length <= self._most_bytes


def has_body(scope: Scope) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def declared_length(scope: Scope) -> int:
    return _length_in(dict(scope["headers"]))


def _length_in(headers: Mapping[bytes, bytes]) -> int:
    given = headers.get(b"content-length", b"")
    return int(given) if given.isdigit() else 0


def _due(began: float, length: int, patience_seconds: float) -> float:
    return began + patience_seconds + length / LEAST_BYTES_PER_SECOND


async def _next(receive: Receive, seconds: float) -> Message:
    try:
        async with asyncio.timeout(seconds):
            return await receive()
    except TimeoutError:
        raise BodyTooSlowError from None
