"""JSON-RPC as text: what a line or a body holds, and how an answer is written. Nothing here knows what is asked."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from teams_app.engine.redaction import hide_keys
from workrail_site.json_rpc import RPC_WORDS, RpcCode
from workrail_site.mcp.doubled_keys import check_keys

Json = dict[str, Any]


# Whole numbers beyond what is held exactly would be answered under another id.
_LEAST, _MOST = -(2**63), 2**64 - 1
_ESCAPED_SURROGATE = b"\\ud"
_METHOD_CHARACTERS = 100
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
# No whole number of 64 bits is longer.
_DIGITS = 20


class LargeNumberError(ValueError):
    """`request_id` is the id of the message that holds it."""

    def __init__(self, request_id: object = None) -> None:
        super().__init__("The body holds a number beyond 1.7e308, which is more than any reader of JSON has to hold.")
        self.request_id = request_id


class RpcError(Exception):
    """An error of JSON-RPC, as it is written. Without a message it has the one that belongs to the code."""

    def __init__(self, code: int, data: Any = None, *, message: str = "") -> None:
        super().__init__(code, data)
        self.code = code
        self.message = message or RPC_WORDS[RpcCode(code)]
        self.data = data

    def as_json(self) -> Json:
        return {"code": self.code, "message": self.message, **({} if self.data is None else {"data": self.data})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`id` is None for a notification, which is never answered."""

    id: str | int | None
    method: str
    params: Mapping[str, Any]
    body: Json


def read_json(data: bytes) -> Any:
    """Half of a surrogate pair is read as it stands. Raises ValueError for what is no JSON in UTF-8, LargeNumberError and
    DoubledKeyError.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if is_whole(data):
            _refuse_large_number(error)
            raise
        value = _read_in_halves(data)
    check_keys(data, value)
    return value


def is_whole(data: bytes) -> bool:
    """Whether it cannot hold half of a surrogate pair, or holds none."""
    return _ESCAPED_SURROGATE not in data.lower() or _is_read(data)


def is_id(value: object) -> bool:
    """An id that is answered as it came: with half a character in it that cannot be."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
        return True
    return isinstance(value, int) and not isinstance(value, bool)


def is_method(name: str) -> bool:
    """Whether it can be one at all. What is longer, or holds a key of somebody's, is answered without a word of it."""
    return len(name) <= _METHOD_CHARACTERS and hide_keys(name) == name


def parse(data: bytes) -> Any:
    """Raises RpcError for what is no JSON, LargeNumberError and DoubledKeyError."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        _refuse_large_number(error)
        raise RpcError(RpcCode.PARSE_ERROR, {"details": "Unexpected token in JSON"}) from None
    check_keys(data, value)
    return value


def request_of(message: Any) -> Request | None:
    """None for an answer to something that nobody here asked. Raises RpcError for what is no message."""
    if not isinstance(message, dict):
        raise _invalid("a message is an object")
    if message.get("jsonrpc") != "2.0":
        raise _invalid('jsonrpc must be "2.0"')
    if "method" not in message and ("result" in message or "error" in message):
        return None
    if not isinstance(message.get("method"), str):
        raise _invalid("method must be a string")
    if "id" in message and usable_id(message) is None:
        raise _invalid("id must be a string or a whole number")
    if not is_method(message["method"]):
        raise RpcError(RpcCode.METHOD_NOT_FOUND, {"details": "no method has such a name"})
    params = message.get("params")
    if not isinstance(params, dict | None):
        raise RpcError(RpcCode.INVALID_PARAMS, {"details": "params must be an object"})
    return Request(id=usable_id(message), method=message["method"], params=params or {}, body=message)


def usable_id(message: Any) -> str | int | None:
    """The id of a message that is not right may still be right."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str | int) and is_id(found) else None


def refusal_to(message: Any, error: RpcError) -> Json | None:
    """The answer to what `request_of` has refused. None for a notification: only of what is no message its sender is told."""
    if isinstance(message, dict) and "id" not in message and error.code != RpcCode.INVALID_REQUEST:
        return None
    return failed(usable_id(message), error)


def answered(request_id: str | int | None, result: Any) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failed(request_id: str | int | None, error: RpcError) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "error": error.as_json()}


def written(message: Json | list[Json]) -> bytes:
    """One line: JSON has no line ends of its own."""
    return orjson.dumps(message)


def _read_in_halves(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8"), parse_int=_number, parse_float=_fraction, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError from error


def _is_read(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def _number(text: str) -> int | float:
    """As what is whole is read: beyond 64 bits it is no whole number any more."""
    number = int(text) if len(text) <= _DIGITS else _MOST + 1
    return number if _LEAST <= number <= _MOST else _fraction(text)


def _fraction(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise LargeNumberError
    return number


def _refuse_large_number(error: orjson.JSONDecodeError) -> None:
    """Raises LargeNumberError where nothing else is wrong: what is read no further is named by its id all the same."""
    found = _NUMBER.match(error.doc, error.pos)
    if found is None or math.isfinite(float(found[0])):
        return
    try:
        message = json.loads(error.doc, parse_int=_number_or_none, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return
    raise LargeNumberError(message.get("id") if isinstance(message, dict) else None)


def _number_or_none(text: str) -> int | float | None:
    try:
        return _number(text)
    except LargeNumberError:
        return None


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _invalid(details: str) -> RpcError:
    return RpcError(RpcCode.INVALID_REQUEST, {"details": details})
