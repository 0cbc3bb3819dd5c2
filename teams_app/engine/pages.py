"""Long lists in pages. A cursor is opaque, signed, and good only for the list and the team that it was made for."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from teams_app.engine.errors import InvalidInputError

T = TypeVar("T")
Row = TypeVar("Row")
Shown = TypeVar("Shown")

DEFAULT_LIMIT = 50
MAX_LIMIT = 200

_MARK = "cur1."
_MAC_BYTES = 12
_MAX_CHARACTERS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """`after` is the position of the last item that was seen, in the words of the selector that gave it."""

    after: str | None = None
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    items: Sequence[T]
    next_position: str | None = None

    def map(self, shown: Callable[[T], Shown]) -> "Page[Shown]":
        return Page(items=tuple(shown(item) for item in self.items), next_position=self.next_position)


def cut_page(
    *,
    rows: Iterable[Row],
    limit: int,
    value_of: Callable[[Row], T],
    position_of: Callable[[Row], str],
) -> Page[T]:
    """Rows are asked for one beyond the limit: the one more only says that there is a next page."""
    found = list(rows)
    shown = found[:limit]
    return Page(
        items=tuple(value_of(row) for row in shown),
        next_position=position_of(shown[-1]) if len(found) > limit else None,
    )


def encode_cursor(*, key: bytes, purpose: str, position: str) -> str:
    body = position.encode()
    return _MARK + base64.urlsafe_b64encode(_mac(key, purpose, body) + body).decode("ascii").rstrip("=")


def decode_cursor(*, keys: Sequence[bytes], purpose: str, cursor: str) -> str:
    """The position, when the cursor was signed with one of the keys for this purpose."""
    raw = _raw(cursor)
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if len(mac) == _MAC_BYTES and any(hmac.compare_digest(mac, _mac(key, purpose, body)) for key in keys):
        return body.decode()
    raise InvalidInputError(
        "The cursor is not one that this list gave.",
        suggestion="Send the nextCursor of the page before, unchanged, or begin without a cursor.",
    )


def _mac(key: bytes, purpose: str, body: bytes) -> bytes:
    return hmac.digest(key, b"workrail cursor\0" + purpose.encode() + b"\0" + body, hashlib.sha256)[:_MAC_BYTES]


def _raw(cursor: str) -> bytes:
    if not cursor.startswith(_MARK) or len(cursor) > _MAX_CHARACTERS or not cursor.isascii():
        return b""
    text = cursor.removeprefix(_MARK)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        return b""
