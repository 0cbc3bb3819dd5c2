"""What of a call's arguments may be kept: no secret, no long text, and never more than a few kilobytes.

Whatever comes out is plain JSON that Postgres takes: no U+0000, no lone surrogate, no number that JSON lacks.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from teams_app.engine.own_keys import HIDDEN
from teams_app.engine.redaction import bare_name, hide_secrets, is_secret_name

MAX_ARGUMENTS_BYTES = 4096
MAX_TEXT_CHARACTERS = 200
MAX_NOTES_CHARACTERS = 80
_MAX_NAME_CHARACTERS = 64
_LONGEST_NAME = 200
_MAX_FIELDS = 32
_MAX_ITEMS = 16
_MAX_LEVELS = 6
# What is kept is cut from so many times its length; a secret that this cuts in two is known by its beginning.
_LOOKED_AT_TIMES = 3
_LARGEST_WHOLE = 2**53

# In the arguments of a tool these are no names of rows.
_SECRET_WHOLE_NAMES = frozenset({"key", "keys"})
_LONG_NAMES = frozenset({"notes", "notesmarkdown", "output", "prompt", "summary", "rationale", "content"})
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff]")


def redact_arguments(*, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the trace keeps them. Never raises; what is too much even so is told by its names alone."""
    kept = _mapping(arguments, 0)
    if len(orjson.dumps(kept)) <= MAX_ARGUMENTS_BYTES:
        return kept
    return {name: _kind(value) for name, value in kept.items()}


def redact_text(*, text: str, max_characters: int) -> str:
    """One text without what looks like a secret, cut with a word on how long it was."""
    looked_at = text[: _LOOKED_AT_TIMES * max_characters]
    if not looked_at.isascii() or "\x00" in looked_at:
        looked_at = _INVISIBLE.sub("", _UNSTORABLE.sub("\ufffd", looked_at))
    looked_at = hide_secrets(looked_at)
    if len(looked_at) <= max_characters and len(text) <= _LOOKED_AT_TIMES * max_characters:
        return looked_at
    return f"{looked_at[:max_characters]}… ({len(text)} characters)"


def _mapping(value: Mapping[str, Any], level: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, inner in list(value.items())[:_MAX_FIELDS]:
        name = _name(str(key)[:_LONGEST_NAME])
        kept[name.kept] = _field(name, inner, level)
    if len(value) > _MAX_FIELDS:
        kept["…"] = f"{len(value) - _MAX_FIELDS} more"
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    kept: str
    is_secret: bool
    is_long: bool


@lru_cache(maxsize=1024)
def _name(name: str) -> _Name:
    """The same few names come with every call."""
    bare = bare_name(name)
    return _Name(
        kept=redact_text(text=name, max_characters=_MAX_NAME_CHARACTERS),
        is_secret=bare in _SECRET_WHOLE_NAMES or is_secret_name(name),
        is_long=bare in _LONG_NAMES,
    )


def _field(name: _Name, value: Any, level: int) -> Any:
    if name.is_secret and value is not None and not isinstance(value, bool):
        return [HIDDEN] * min(len(value), _MAX_ITEMS) if isinstance(value, list) else HIDDEN
    return _value(value, level, MAX_NOTES_CHARACTERS if name.is_long else MAX_TEXT_CHARACTERS)


def _value(value: Any, level: int, max_characters: int) -> Any:
    match value:
        case None | bool():
            return value
        case str():
            return redact_text(text=value, max_characters=max_characters)
        case int() | float():
            return _number(value)
        case Mapping() if level < _MAX_LEVELS:
            return _mapping(value, level + 1)
        case list() | tuple() if level < _MAX_LEVELS:
            items = [_value(item, level + 1, max_characters) for item in value[:_MAX_ITEMS]]
            return [*items, f"… {len(value) - _MAX_ITEMS} more"] if len(value) > _MAX_ITEMS else items
        case _:
            return f"[{type(value).__name__}]"


def _number(value: float) -> float | str:
    """Beyond 2^53 as text; an infinity and what is no number at all as their names."""
    if -_LARGEST_WHOLE <= value <= _LARGEST_WHOLE:
        return value
    return "[number]" if isinstance(value, int) and value.bit_length() > 256 else str(value)


def _kind(value: Any) -> Any:
    match value:
        case str() if len(value) > MAX_NOTES_CHARACTERS:
            return f"[text of {len(value)} characters]"
        case Mapping():
            return f"[object of {len(value)} fields]"
        case list():
            return f"[list of {len(value)}]"
        case _:
            return value
