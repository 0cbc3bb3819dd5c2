"""Calls to addresses that a team has named. They reach the Internet, and nothing behind our own walls.

The name is resolved once, within the same time as all else, every address of it is judged, and the connection goes to one of those: a second look-up by a
library could be told another address. Redirects are not followed, and answers are read no further than their first line.
"""

import json
import re
import socket
import ssl
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.conf import settings

from teams_app.engine.webhooks import Target, are_public
from teams_app.services.timely import Timely

TOTAL_SECONDS = 10.0
_lookups: Timely[list[str]] = Timely(most=16)
_MOST_STATUS_BYTES = 4096
_MOST_HEAD_BYTES = 16 * 1024
_OK = 200
_JSON_TYPE = re.compile(rb"\r\ncontent-type:\s*application/(?:[\w.+-]+\+)?json\b", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})[ \r]")


class NotDeliveredError(Exception):
    """The other side has not taken it. The message is for the owners of the team."""


def post_json(*, target: Target, body: bytes, headers: Mapping[str, str]) -> None:
    """Returns when the other side has answered with 2xx; whatever else happens is a NotDeliveredError."""
    until = time.monotonic() + TOTAL_SECONDS
    try:
        status = _exchange(target, _request(target, body, headers), until)
    except OSError as error:
        raise NotDeliveredError(f"{target.authority} cannot be reached: {_reason(error)}.") from error
    if status // 100 != 2:
        raise NotDeliveredError(f"{target.authority} answered {status or 'something that is not HTTP'}.")


def fetch_json(*, target: Target, max_bytes: int) -> dict[str, Any]:
    """The JSON object at an address that a stranger has named; whatever else is there is a NotDeliveredError."""
    until = time.monotonic() + TOTAL_SECONDS
    # HTTP/1.0: an answer in one piece, that ends where the connection does.
    request = f"GET {target.path} HTTP/1.0\r\nHost: {target.authority}\r\nAccept: application/json\r\nUser-Agent: Workrail\r\n\r\n"
    try:
        heard = _whole(target, request.encode("ascii"), until, max_bytes + _MOST_HEAD_BYTES)
    except OSError as error:
        raise NotDeliveredError(f"{target.authority} cannot be reached: {_reason(error)}.") from error
    return _json_in(heard, target, max_bytes)


def _whole(target: Target, request: bytes, until: float, most: int) -> bytes:
    with _connected(target, until) as raw:
        raw.settimeout(_left(until))
        with ssl.create_default_context().wrap_socket(raw, server_hostname=target.host) as secured:
            secured.settimeout(_left(until))
            secured.sendall(request)
            heard = b""
            while len(heard) <= most:
                secured.settimeout(_left(until))
                more = secured.recv(_MOST_STATUS_BYTES)
                if not more:
                    break
                heard += more
            return heard


def _json_in(heard: bytes, target: Target, max_bytes: int) -> dict[str, Any]:
    head, _, body = heard.partition(b"\r\n\r\n")
    found = _STATUS.match(head + b"\r\n")
    if not found or int(found[1]) != _OK:
        raise NotDeliveredError(
            f"{target.authority} answered {int(found[1]) if found else 'something that is not HTTP'}."
        )
    if not _JSON_TYPE.search(head) or len(body) > max_bytes:
        raise NotDeliveredError(f"{target.authority} did not answer with a JSON document of at most {max_bytes} bytes.")
    try:
        value = json.loads(body, object_pairs_hook=_object_of)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NotDeliveredError(f"{target.authority} did not answer with a JSON object.")
    return value


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Whoever else reads the document may go by the other one of two."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _request(target: Target, body: bytes, headers: Mapping[str, str]) -> bytes:
    own = {
        "Host": target.authority,
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "User-Agent": "Workrail",
        "Connection": "close",
    }
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in {**own, **headers}.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def _exchange(target: Target, request: bytes, until: float) -> int:
    with _connected(target, until) as raw:
        raw.settimeout(_left(until))
        with ssl.create_default_context().wrap_socket(raw, server_hostname=target.host) as secured:
            secured.settimeout(_left(until))
            secured.sendall(request)
            return _status(secured, until)


def _connected(target: Target, until: float) -> socket.socket:
    failure = OSError("it has no address")
    for address in _addresses(target, until):
        try:
            return socket.create_connection((address, target.port), timeout=_left(until))
        except OSError as error:
            failure = error
    raise failure


def _addresses(target: Target, until: float) -> list[str]:
    addresses = list(dict.fromkeys(_resolved(target, until)))
    if target.host not in settings.WEBHOOK_PRIVATE_HOSTS and not are_public(addresses):
        raise NotDeliveredError(f"{target.host} has an address that is not one of the Internet.")
    return addresses


def _resolved(target: Target, until: float) -> list[str]:
    """Within the time that is left: a server of names that answers nothing keeps the caller no longer."""
    return _lookups.run(partial(_look_up, target), seconds=_left(until))


def _look_up(target: Target) -> list[str]:
    found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    return [str(where[4][0]) for where in found]


def _status(secured: ssl.SSLSocket, until: float) -> int:
    """The number in the first line; 0 when there is none."""
    heard = b""
    while b"\r\n" not in heard and len(heard) < _MOST_STATUS_BYTES:
        secured.settimeout(_left(until))
        more = secured.recv(_MOST_STATUS_BYTES)
        if not more:
            break
        heard += more
    found = _STATUS.match(heard)
    return int(found[1]) if found else 0


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _reason(error: OSError) -> str:
    match error:
        case TimeoutError():
            return "it took too long"
        case ssl.SSLCertVerificationError():
            return f"its certificate does not verify ({error.verify_message})"
        case ssl.SSLError():
            return "TLS failed"
        case socket.gaierror():
            return "its name does not resolve"
        case _:
            return error.strerror or str(error) or type(error).__name__
