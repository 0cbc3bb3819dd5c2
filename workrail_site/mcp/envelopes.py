"""Is this body one message of JSON-RPC? Asked before the SDK sees it, which answers in the words of its libraries, and takes a
request whose id it cannot read for a notification that nobody waits for.
"""

import json
from typing import Any

import orjson

from teams_app.engine.errors import InvalidInputError
from workrail_site.bodies import Scope
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.answers import protocol_error
from workrail_site.wsgi_in_asgi import Send

_BAD_REQUEST = 400
_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
_SUGGESTION = (
    'Send one object: {"jsonrpc": "2.0", "id": <text or whole number>, "method": "…", "params": {…}}. '
    "Leave the id out of a notification."
)


class NoMessageError(Exception):
    """What is wrong with the body, and the id to answer to, when that is right."""

    def __init__(self, code: RpcCode, words: str, request_id: str | int | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.request_id = request_id


def check_message(body: bytes) -> None:
    """Raises NoMessageError for what is no request, no notification and no answer."""
    message = _parsed(body)
    if not isinstance(message, dict):
        raise NoMessageError(RpcCode.INVALID_REQUEST, "The body is not one JSON object.")
    if "id" in message and not _is_id(message["id"]):
        raise NoMessageError(RpcCode.INVALID_REQUEST, "The id is neither text nor a whole number.")
    fault = _fault_of(message)
    if fault is not None:
        raise NoMessageError(*fault, message.get("id"))


async def refuse_message(error: NoMessageError, *, send: Send) -> None:
    refusal = protocol_error(InvalidInputError(error.words, suggestion=_SUGGESTION), code=error.code)
    told = {"code": refusal.code, "message": refusal.message, "data": refusal.data}
    body = {"jsonrpc": "2.0", "id": error.request_id, "error": told}
    await send({"type": "http.response.start", "status": _BAD_REQUEST, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": orjson.dumps(body)})


async def is_refused(scope: Scope, send: Send) -> bool:
    """Whether the body was no message; whoever sent it has been told then."""
    try:
        check_message(scope["workrail.body"])
    except NoMessageError as error:
        await refuse_message(error, send=send)
        return True
    return False


def _parsed(body: bytes) -> Any:
    """A lone surrogate is no reason to refuse the whole message here: the tool that is called names the argument."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body, parse_constant=int)
    except (ValueError, RecursionError):
        raise NoMessageError(RpcCode.PARSE_ERROR, "The body is not JSON.") from None


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _fault_of(message: dict[str, Any]) -> tuple[RpcCode, str] | None:
    if message.get("jsonrpc") != "2.0":
        return RpcCode.INVALID_REQUEST, 'The body lacks "jsonrpc": "2.0".'
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if not isinstance(message.get("method"), str):
        return RpcCode.INVALID_REQUEST, "The body names no method."
    if not isinstance(message.get("params"), dict | None):
        return RpcCode.INVALID_PARAMS, "The params are not an object."
    return None
