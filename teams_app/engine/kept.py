"""What callers send and the house keeps: their words, without the keys that slipped into them.

A log cannot be changed later, so a key that was written into notes would stay there for good.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.redaction import hide_keys, holds_own_key, may_hold_keys

_SHOWN_CHARACTERS = 100
_MOST_TOLD = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """`hidden` are the places where something was taken out."""

    value: Any
    hidden: tuple[str, ...] = ()


def read_kept(value: Any) -> Kept:
    """The value with keys of others hidden. Raises InvalidInputError for one of ours: it is to be revoked, not hidden."""
    if not _is_worth_a_look(value):
        return Kept(value=value)
    hidden: list[str] = []
    return Kept(value=_read(value, "", hidden), hidden=tuple(dict.fromkeys(hidden))[:_MOST_TOLD])


def _is_worth_a_look(value: Any) -> bool:
    try:
        return may_hold_keys(orjson.dumps(value, default=str).decode())
    except TypeError:
        # A number beyond 64 bits, say: nothing may hide behind one.
        return True


def _read(value: Any, path: str, hidden: list[str]) -> Any:
    match value:
        case str():
            return _text(value, path, hidden)
        case Mapping():
            return {
                _text(str(key), path, hidden): _read(inner, f"{path}.{key}", hidden) for key, inner in value.items()
            }
        case list() | tuple():
            return [_read(inner, f"{path}[{place}]", hidden) for place, inner in enumerate(value)]
        case _:
            return value


def _text(text: str, path: str, hidden: list[str]) -> str:
    if holds_own_key(text):
        raise _own_key(hide_keys(path.removeprefix("."))[:_SHOWN_CHARACTERS])
    said = hide_keys(text)
    if said != text:
        hidden.append(hide_keys(path.removeprefix("."))[:_SHOWN_CHARACTERS])
    return said


def _own_key(path: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path or 'The body'} holds a key of Workrail. Nothing was done.",
        suggestion="Leave the key out: it belongs in the Authorization header alone. An owner of the team should revoke it and "
        "issue another, because it has been written where it can be read.",
        details={"validationErrors": [{"path": path, "message": "It holds a key of Workrail."}]},
    )
