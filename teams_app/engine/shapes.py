"""Turns JSON values into typed bodies, and says what is wrong in words that name the next move.

Every door uses it for what it is sent: a field that the type does not have is refused, with the field that was meant.
"""

import re
from typing import Any, TypeVar, get_args

import msgspec

from teams_app.engine.closest import closest
from teams_app.engine.errors import InvalidInputError

T = TypeVar("T")

# What somebody sent comes back in the refusal, and not at any length.
_SHOWN_CHARACTERS = 200
_PLACE = re.compile(r" - at `(?:key in )?(\$[^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$")
_MISSING = re.compile(r"^Object missing required field `(.*)`$")


def read_shape(value: Any, shape: type[T], *, lenient: bool = False) -> T:
    """The value as `shape`, or InvalidInputError. `lenient` reads numbers and flags from text, as a query needs."""
    try:
        return msgspec.convert(value, shape, strict=not lenient)
    except msgspec.ValidationError as error:
        raise _refusal(str(error), shape) from None


def _refusal(text: str, shape: type[Any]) -> InvalidInputError:
    place = _PLACE.search(text)
    problem = _PLACE.sub("", text)
    path = (place.group(1) if place else "$")[:_SHOWN_CHARACTERS]
    unknown, missing = _UNKNOWN.match(problem), _MISSING.match(problem)
    named = unknown or missing
    name = named.group(1)[:_SHOWN_CHARACTERS] if named else ""
    at = ".".join(filter(None, [path.removeprefix("$").removeprefix("."), name])) or "$"
    details = {
        "path": path,
        "problem": problem[:_SHOWN_CHARACTERS],
        "validationErrors": [{"path": at, "message": problem[:_SHOWN_CHARACTERS]}],
    }
    if unknown:
        said, meant = f"There is no field {name!r} here", _did_you_mean(unknown.group(1), sorted(_field_names(shape)))
    elif missing:
        said, meant = f"The field {name!r} is missing", f"Send {name!r}."
    else:
        said, meant = problem[:_SHOWN_CHARACTERS], f"Correct {path}."
    return InvalidInputError(f"{said}{_where(path)}.", suggestion=meant, details=details)


def _where(path: str) -> str:
    return "" if path == "$" else f" (at {path})"


def _did_you_mean(name: str, known: list[str]) -> str:
    close = closest(name, known)
    if close is not None:
        return f"Did you mean {close!r}?"
    if known:
        return f"Leave it out. The fields are: {', '.join(known)}."
    return "Leave it out. This takes no fields."


def _field_names(shape: Any) -> set[str]:
    """The names of the type and of every type inside it: enough to guess what was meant."""
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        names: set[str] = set()
        for field in msgspec.structs.fields(shape):
            names |= {field.encode_name} | _field_names(field.type)
        return names
    return {name for part in get_args(shape) for name in _field_names(part)}
