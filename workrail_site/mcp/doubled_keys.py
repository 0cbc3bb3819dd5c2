"""JSON in which an object names a key twice. Of two that read it each may go by another one, so it is refused before it decides
anything.
"""

import json
from collections import Counter
from typing import Any

import orjson

from teams_app.engine.redaction import shown_without_keys
from workflows_app.engine.canonical import without_strings

_ESCAPED_COLONS = (b"\\u003a", b"\\u003A")
_SHOWN_CHARACTERS = 80


class DoubledKeyError(ValueError):
    """`request_id` is what a message has under that name, where it has it once."""

    def __init__(self, key: str, request_id: object) -> None:
        super().__init__(f"The key {shown_without_keys(key, most=_SHOWN_CHARACTERS)!r} stands twice in one object.")
        self.request_id = request_id


def check_keys(data: bytes, value: Any) -> None:
    """`value` is what `data` was read as, by a reader that keeps the last of two. Raises DoubledKeyError."""
    if not _is_kept_whole(value, data) and _pairs_in(data) != _pairs_of(value):
        raise _found_in(data)


def _is_kept_whole(value: Any, data: bytes) -> bool:
    """Told from the text alone. Most clients write as orjson does, or with more blanks; a pair that was lost takes a colon with it,
    and no colon comes from anywhere but its escaped form. False means that this cannot tell.
    """
    try:
        written = orjson.dumps(value)
    except TypeError:
        # Deeper than it writes, or half a character.
        return False
    if written == data.rstrip():
        return True
    return written.count(b":") == data.count(b":") and not any(colon in data for colon in _ESCAPED_COLONS)


def _pairs_in(data: bytes) -> int:
    return without_strings(data).count(b":")


def _pairs_of(value: Any) -> int:
    pairs, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if type(item) is dict:
            pairs += len(item)
            waiting.extend(item.values())
        elif type(item) is list:
            waiting.extend(item)
    return pairs


def _found_in(data: bytes) -> DoubledKeyError:
    """The first of such keys, and the id of the message: of the outermost object, which is read last."""
    doubled: list[str] = []
    outermost: list[tuple[str, Any]] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        outermost[:] = pairs
        name, count = Counter(name for name, _ in pairs).most_common(1)[0] if pairs else ("", 0)
        if count > 1:
            doubled.append(name)

    try:
        json.loads(data, object_pairs_hook=look)
    except RecursionError:
        return DoubledKeyError("", None)
    ids = [value for name, value in outermost if name == "id"] if data.lstrip().startswith(b"{") else []
    return DoubledKeyError(doubled[0] if doubled else "", ids[0] if len(ids) == 1 else None)
