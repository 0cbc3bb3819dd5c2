"""Turns JSON values into typed bodies, and says what is wrong in words that name the next move.

Every door uses it for what it is sent: a field that the type does not have is refused, with the field that was meant.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from teams_app.engine.closest import closest
from teams_app.engine.errors import InvalidInputError

T = TypeVar("T")
Query = TypeVar("Query", bound=msgspec.Struct)

# What somebody sent comes back in the refusal, and not at any length.
_SHOWN_CHARACTERS = 200
_MOST_SHOWN = 40
_PLACE = re.compile(r" - at `(?:key in )?(\$[^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(.*)`$")
_MISSING = re.compile(r"^Object missing required field `(.*)`$")
# What may be wrong with a word of a closed set.
_OF_WORDS = ("Invalid enum value", "Invalid value", "Expected `str`")
_ITEM = re.compile(r"\[[^\[\]]*\]")
_NAME = re.compile(r"\.([^.\[]+)")


def read_shape(value: Any, shape: type[T]) -> T:
    """The value as `shape`, or InvalidInputError."""
    return _converted(value, shape, strict=True)


def read_query(given: Mapping[str, str], shape: type[Query]) -> Query:
    """As `read_shape`, with numbers, flags and moments from text. No `null`, and no number for a moment: whoever sent it meant something."""
    read = _converted(given, shape, strict=False)
    for field in msgspec.structs.fields(shape):
        text, found = given.get(field.encode_name), getattr(read, field.name)
        if text is not None and (found is None or (isinstance(found, datetime) and ":" not in text)):
            raise _refusal(f"Invalid value {text[:_SHOWN_CHARACTERS]!r} - at `$.{field.encode_name}`", shape)
    return read


def _converted(value: Any, shape: type[T], *, strict: bool) -> T:
    try:
        return msgspec.convert(value, shape, strict=strict)
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
        words = _words_at(shape, path) if problem.startswith(_OF_WORDS) else []
        said, meant = problem[:_SHOWN_CHARACTERS], _one_of(words) or f"Correct {path}."
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


def _one_of(words: list[str]) -> str:
    more = ", …" if len(words) > _MOST_SHOWN else ""
    return f"Send one of: {', '.join(words[:_MOST_SHOWN])}{more}." if words else ""


def _words_at(shape: Any, path: str) -> list[str]:
    """The words of the closed set that is wanted at this place; none where anything else may stand there too."""
    types = [shape]
    # Our own types stand no deeper in each other; a name that somebody sent may look like many.
    for name in islice(_NAME.findall(_ITEM.sub("", path)), _MOST_SHOWN):
        structs = [part for part in _parts(types) if isinstance(part, type) and issubclass(part, msgspec.Struct)]
        fields = (field for struct in structs for field in msgspec.structs.fields(struct))
        types = list({id(field.type): field.type for field in fields if field.encode_name == name}.values())
    leaves = [part for part in _parts(types) if get_origin(part) is Literal or not (get_args(part) or _is_told(part))]
    words = [_words(leaf) for leaf in leaves if leaf is not type(None)]
    return sorted({word for some in words for word in some}) if all(words) else []


def _words(leaf: Any) -> list[str]:
    if get_origin(leaf) is Literal:
        return [str(word) for word in get_args(leaf)]
    return [str(word.value) for word in leaf] if isinstance(leaf, type) and issubclass(leaf, Enum) else []


def _parts(types: Iterable[Any]) -> Iterator[Any]:
    """Each with all that it is made of: the members of a union, the items of a list, the values of an object."""
    for each in types:
        yield each
        if get_origin(each) is not Literal:
            yield from _parts(get_args(each)[1 if get_origin(each) is dict else 0 :])


def _is_told(part: Any) -> bool:
    """What stands beside a type and says more of it."""
    return isinstance(part, msgspec.Meta)


def _field_names(shape: Any) -> set[str]:
    """The names of the type and of every type inside it: enough to guess what was meant."""
    if isinstance(shape, type) and issubclass(shape, msgspec.Struct):
        names: set[str] = set()
        for field in msgspec.structs.fields(shape):
            names |= {field.encode_name} | _field_names(field.type)
        return names
    return {name for part in get_args(shape) for name in _field_names(part)}
