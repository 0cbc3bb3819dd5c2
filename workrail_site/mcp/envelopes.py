"""Is this body one message of JSON-RPC? Asked before the SDK sees it, which answers in the words of its libraries, and takes a
request whose id it cannot read for a notification that nobody waits for.
"""

import json
from typing import Any

import orjson
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from teams_app.engine.errors import InvalidInputError
from workflows_app.engine.canonical import MAX_VALUES, has_more_values
from workrail_site.bodies import Receive, Scope, Send, replaying
from workrail_site.errors import PayloadTooLargeError
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.answers import protocol_error
from workrail_site.mcp.calling import set_aside
from workrail_site.mcp.doubled_keys import DoubledKeyError
from workrail_site.mcp.messages import Json, LargeNumberError, is_id, is_method, is_whole, read_json
from workrail_site.mcp.revisions import VERSION_HEADER, VERSION_KEY

_BAD_REQUEST = 400
_ACCEPTED = 202
_HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
_READ = "workrail.message"
_CALL = "tools/call"
# Longer bodies are read in a thread, in the turns of their team: others do not wait for it.
LONG_BYTES = 64 * 1024
_MOST_BESIDE = 10_000
# What has more holds more than anybody takes, wherever it stands, and is not read at all: others would wait while it is made.
MOST_VALUES = MAX_VALUES + _MOST_BESIDE
_SUGGESTION = (
    'Send one object: {"jsonrpc": "2.0", "id": <text or whole number>, "method": "…", "params": {…}}. '
    "Leave the id out of a notification."
)


class NoMessageError(Exception):
    """What is wrong with the body, and the id to answer to, when that is right."""

    def __init__(
        self, code: RpcCode, words: str, request_id: str | int | None = None, *, suggestion: str = _SUGGESTION
    ) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.request_id = request_id
        self.suggestion = suggestion


def message_in(scope: Scope) -> Any:
    """What the body says, which is read once. Raises ValueError for what is no JSON, LargeNumberError and DoubledKeyError."""
    if _READ not in scope:
        scope[_READ] = _read(scope["workrail.body"])
    found = scope[_READ]
    if isinstance(found, ValueError):
        raise found
    return found


def read_ahead(scope: Scope) -> None:
    """In a thread, of a long body: others do not wait for it. What is wrong with it is told when it is looked at.

    Raises PayloadTooLargeError for what has too much beside the arguments of a tool, through which the SDK goes piece by piece.
    """
    body = scope["workrail.body"]
    if has_more_values(body, MOST_VALUES):
        raise PayloadTooLargeError(
            f"The body has more than {MOST_VALUES:,} values.",
            suggestion="Send less at once: keep large material in the workspace and pass its path.",
            details={"maxValues": MOST_VALUES},
        )
    if _has_too_much_beside(scope):
        # What is raised is held by who raises it until garbage is looked for, and with it what was read.
        del scope[_READ]
        raise _too_much_beside()


def _has_too_much_beside(scope: Scope) -> bool:
    try:
        found = message_in(scope)
    except ValueError:
        return False
    messages = found if isinstance(found, list) else [found]
    return _has_many_values([_beside_arguments(each) for each in messages], most=_MOST_BESIDE)


def _too_much_beside() -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"The body has more than {_MOST_BESIDE} values beside the arguments of tools.",
        suggestion="Send what is long in the arguments of tools/call.",
        details={"maxValues": _MOST_BESIDE},
    )


def without_arguments(scope: Scope, receive: Receive) -> Receive:
    """`receive` for the SDK: of a long body what stands beside the arguments of a tool, which are set aside for it."""
    message = message_in(scope)
    if len(scope["workrail.body"]) <= LONG_BYTES or message.get("method") != _CALL:
        return receive
    beside = json.dumps({**message, "params": set_aside(message.get("params") or {})}, ensure_ascii=False)
    # Half a character is passed on as it came.
    return replaying(beside.encode("utf-8", "surrogatepass"), receive)


def _beside_arguments(message: Any) -> Any:
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict) or message.get("method") != _CALL:
        return message
    return {**message, "params": {name: value for name, value in params.items() if name != "arguments"}}


def _has_many_values(value: Any, *, most: int) -> bool:
    waiting, seen = [value], 0
    while waiting and seen <= most:
        item = waiting.pop()
        seen += 1
        if isinstance(item, dict | list):
            waiting.extend(item.values() if isinstance(item, dict) else item)
    return seen > most


def unreadable(error: ValueError) -> NoMessageError:
    """What is told of a body that `message_in` does not read."""
    if not isinstance(error, DoubledKeyError | LargeNumberError):
        return NoMessageError(RpcCode.PARSE_ERROR, "The body is not JSON in UTF-8.")
    suggestion = "Send each key once." if isinstance(error, DoubledKeyError) else "Send such a number as text."
    found = error.request_id
    known = found if isinstance(found, str | int) and is_id(found) else None
    return NoMessageError(RpcCode.INVALID_REQUEST, str(error), known, suggestion=suggestion)


def check_message(scope: Scope) -> Json:
    """Raises NoMessageError for what is no request, no notification and no answer."""
    try:
        message = message_in(scope)
    except ValueError as error:
        raise unreadable(error) from None
    if not isinstance(message, dict):
        raise NoMessageError(RpcCode.INVALID_REQUEST, "The body is not one JSON object.")
    if "id" in message and not is_id(message["id"]) and not _is_unnamed_failure(message):
        raise NoMessageError(RpcCode.INVALID_REQUEST, "The id is neither text nor a whole number.")
    fault = _fault_of(message)
    if fault is not None:
        raise NoMessageError(*fault, message.get("id"))
    return message


def is_answer(message: Json) -> bool:
    return "method" not in message


async def refuse_message(error: NoMessageError, *, send: Send) -> None:
    refusal = protocol_error(InvalidInputError(error.words, suggestion=error.suggestion), code=error.code)
    told = {"code": refusal.code, "message": refusal.message, "data": refusal.data}
    body = {"jsonrpc": "2.0", "id": error.request_id, "error": told}
    await send({"type": "http.response.start", "status": _BAD_REQUEST, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": orjson.dumps(body)})


async def read_message(scope: Scope, send: Send) -> Json | None:
    """None when nothing is left to do: the body was no message, and whoever sent it has been told, or it was an answer. This
    server asks nothing of its clients while they wait, so an answer is taken and passed over.
    """
    try:
        message = check_message(scope)
        _check_for_revision(scope, message)
    except NoMessageError as error:
        await refuse_message(error, send=send)
        return None
    if is_answer(message):
        await send({"type": "http.response.start", "status": _ACCEPTED, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        return None
    return message


def _check_for_revision(scope: Scope, message: Json) -> None:
    """Only the call of a tool is passed on with half a character in it, by whoever reads it: the tool names the argument. A
    greeting is read where the revision knows one.
    """
    version = next((value for name, value in scope["headers"] if name == VERSION_HEADER), b"").decode("latin-1")
    is_modern = version in MODERN_PROTOCOL_VERSIONS
    if not is_modern and is_of_another_revision(message, version):
        raise NoMessageError(
            RpcCode.HEADER_MISMATCH,
            "The MCP-Protocol-Version header does not name the revision that params._meta names.",
            message.get("id"),
            suggestion="Send the revision of the metadata in the header, with Mcp-Method and Mcp-Name; or leave the metadata out.",
        )
    if not is_whole(scope["workrail.body"]) and not (is_modern and message.get("method") == "tools/call"):
        raise NoMessageError(RpcCode.PARSE_ERROR, "The body holds half of a surrogate pair.")
    if message.get("method") == "initialize" and "id" in message and not is_modern:
        fault = _fault_of_greeting(message.get("params") or {})
        if fault is not None:
            raise NoMessageError(*fault, message["id"])


def is_of_another_revision(message: Json, version: str) -> bool:
    """Whether its metadata name a revision that its header, which a proxy goes by, does not. A greeting comes without a header."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict) or VERSION_KEY not in meta:
        return False
    return bool(meta[VERSION_KEY] != version) and (bool(version) or message.get("method") != "initialize")


def _fault_of(message: dict[str, Any]) -> tuple[RpcCode, str] | None:
    if message.get("jsonrpc") != "2.0":
        return RpcCode.INVALID_REQUEST, 'The body lacks "jsonrpc": "2.0".'
    if is_answer(message) and ("result" in message or "error" in message):
        return None if _is_whole_answer(message) else (RpcCode.INVALID_REQUEST, "The body is half an answer.")
    if not isinstance(message.get("method"), str):
        return RpcCode.INVALID_REQUEST, "The body names no method."
    if not is_method(message["method"]):
        return RpcCode.METHOD_NOT_FOUND, "No method has such a name."
    if not isinstance(message.get("params"), dict | None):
        return RpcCode.INVALID_PARAMS, "The params are not an object."
    return None


def _fault_of_greeting(params: Json) -> tuple[RpcCode, str] | None:
    for name, kind, what in (
        ("protocolVersion", str, "text"),
        ("capabilities", dict, "an object"),
        ("clientInfo", dict, "an object"),
    ):
        if not isinstance(params.get(name), kind):
            return RpcCode.INVALID_PARAMS, f"params.{name} is required, and is {what}."
    return None


def _read(body: bytes) -> Any:
    try:
        return read_json(body)
    except ValueError as error:
        return error


def _is_whole_answer(message: Json) -> bool:
    """One of a result and an error, to something that has an id."""
    if "result" in message:
        return "error" not in message and "id" in message
    error = message["error"]
    return isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)


def _is_unnamed_failure(message: Json) -> bool:
    """What could not be read cannot be named by whoever answers."""
    return message["id"] is None and is_answer(message) and "error" in message
