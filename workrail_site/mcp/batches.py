"""Several messages in one request, which receivers of the revision 2025-03-26 must take: answered in their order."""

from typing import Any

import orjson
from mcp.server import Server

from workflows_app.engine.canonical import has_more_values
from workrail_site.bodies import Scope, Send
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.envelopes import MOST_VALUES, NoMessageError, message_in, refuse_message, unreadable
from workrail_site.mcp.exchange import answer_one
from workrail_site.mcp.messages import Json, RpcError, failed, is_whole, refusal_to, request_of
from workrail_site.mcp.revisions import BATCHES, VERSION_HEADER

MAX_MESSAGES = 100
_ACCEPTED = 202
_OK = 200
_HEADERS = [(b"content-type", b"application/json")]


def is_batch(scope: Scope) -> bool:
    """Of that revision, which has no header to say so: a client that says nothing is taken to speak it."""
    if scope["method"] != "POST" or scope["workrail.body"].lstrip()[:1] != b"[":
        return False
    said = next((value for name, value in scope["headers"] if name == VERSION_HEADER), BATCHES.encode())
    return bool(said == BATCHES.encode())


def messages_in(body: bytes) -> int:
    """How many messages of a batch are answered at most; one, for what is no batch, or is not read at all. Counted as they will
    be read.
    """
    if body.lstrip()[:1] != b"[" or has_more_values(body, MOST_VALUES):
        return 1
    try:
        return min(len(orjson.loads(body)), MAX_MESSAGES)
    except orjson.JSONDecodeError:
        return 1


async def answer_batch(*, server: Server[Any], scope: Scope, send: Send) -> None:
    try:
        messages = _messages_of(scope)
    except ValueError as error:
        await refuse_message(unreadable(error), send=send)
        return
    if not 0 < len(messages) <= MAX_MESSAGES:
        words = f"A batch has 1 to {MAX_MESSAGES} messages."
        await refuse_message(NoMessageError(RpcCode.INVALID_REQUEST, words), send=send)
        return
    answers = [said for message in messages if (said := await _answer(server, message)) is not None]
    await _send(send, _OK if answers else _ACCEPTED, answers)


def _messages_of(scope: Scope) -> list[Any]:
    """Raises ValueError for what is no JSON: half a character in an id could not be answered."""
    if not is_whole(scope["workrail.body"]):
        raise ValueError
    found: list[Any] = message_in(scope)
    return found


async def _answer(server: Server[Any], message: Any) -> Json | None:
    try:
        request = request_of(message)
        if request is None or request.id is None:
            return None
        if request.method == "initialize":
            return failed(request.id, RpcError(RpcCode.INVALID_REQUEST, {"details": "initialize is never in a batch"}))
        return await answer_one(
            server=server, request_id=request.id, method=request.method, params=dict(request.params), version=BATCHES
        )
    except RpcError as error:
        return refusal_to(message, error)


async def _send(send: Send, status: int, said: Json | list[Json]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": orjson.dumps(said) if said else b""})
