"""Arguments of a tool: read by its model; what is wrong with them is said so that the next call is right."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from teams_app.engine.closest import closest
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import canonical

_SHOWN_CHARACTERS = 200
_MOST_SHOWN = 12
# Errors that are looked at: enough to know which of the arguments are wrong.
_MOST_READ = 200
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "string": str,
}


def read_arguments(
    *, tool: str, model: type[BaseModel], schema: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Keyword arguments for the tool's method. Null is the same as leaving out.

    Raises InvalidInputError with `validationErrors`, `suggestions` and a `correctTemplate`.
    """
    sent = _sent(schema, given)
    known = {name: value for name, value in sent.items() if name in schema["properties"]}
    unknown = _Unknown.of(sent, schema["properties"])
    try:
        read = model.model_validate(known)
    except ValidationError as error:
        raise _refusal(tool, schema, sent, unknown, _Wrong.of(error)) from None
    if unknown.count:
        raise _refusal(tool, schema, sent, unknown, _Wrong(count=0, errors=[]))
    return {name: getattr(read, name) for name in type(read).model_fields}


def under_own_names(given: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """What was sent under another name of an argument, under its own. Raises InvalidInputError when the two say different things."""
    known = {name: value for name, value in given.items() if name not in renamed}
    for other, own in renamed.items():
        said = given.get(other)
        if said is None:
            continue
        if known.get(own, said) not in (None, said):
            raise InvalidInputError(
                f"{other} is another name of {own}, and the two differ. Send {own} alone.",
                suggestion=f"Send {own} alone.",
                details={"parameter": other},
            )
        known[own] = said
    return known


def _unquoted(schema: Mapping[str, Any], name: str, value: Any) -> Any:
    """Some clients send an object or a list as the text of its JSON, within an object too."""
    node = schema["properties"].get(name, {})
    wanted = node.get("type")
    found = _parsed(value, wanted) if isinstance(value, str) and wanted in {"object", "array"} else value
    if isinstance(found, dict) and node.get("properties"):
        return {key: _unquoted(node, key, each) for key, each in found.items()}
    return found


def _parsed(text: str, wanted: str) -> Any:
    """The text itself where it is not that. Raises UnreadableJsonError for what is JSON and cannot be kept."""
    if canonical.has_more_values(text.encode("utf-8", "surrogatepass"), canonical.MAX_VALUES):
        raise canonical.too_many_values(canonical.MAX_VALUES)
    try:
        parsed = json.loads(text, object_pairs_hook=canonical.object_of)
    except (json.JSONDecodeError, RecursionError):
        return text
    except canonical.UnreadableJsonError:
        raise
    except ValueError:
        raise canonical.number_too_large() from None
    return parsed if isinstance(parsed, dict if wanted == "object" else list) else text


def _sent(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent, when it can be stored."""
    try:
        sent = {name: _unquoted(schema, name, value) for name, value in given.items() if value is not None}
        canonical.check_storable(sent, max_values=canonical.MAX_VALUES)
    except canonical.UnreadableJsonError as error:
        raise InvalidInputError(
            f"The arguments cannot be read. {error.message}",
            suggestion="Send plain JSON values: text without U+0000, finite numbers, little nesting, and a file's path instead of its contents.",
            details={"reason": error.reason},
        ) from None
    return sent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wrong:
    """Values that do not fit: how many, and as many as are worth a word. Of a list of 50,000 wrong items each is one."""

    count: int
    errors: Sequence[ErrorDetails]

    @classmethod
    def of(cls, error: ValidationError) -> "_Wrong":
        return cls(count=error.error_count(), errors=error.errors(include_url=False, include_input=False)[:_MOST_READ])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unknown:
    """Names that the tool does not have: how many, and the first few, each with the one that was probably meant."""

    count: int
    meant: Mapping[str, str | None]

    @classmethod
    def of(cls, sent: Mapping[str, Any], properties: Mapping[str, Any]) -> "_Unknown":
        names = [name for name in sent if name not in properties]
        return cls(count=len(names), meant={name: closest(name, properties) for name in names[:_MOST_SHOWN]})


def _refusal(
    tool: str,
    schema: Mapping[str, Any],
    sent: Mapping[str, Any],
    unknown: _Unknown,
    wrong: _Wrong,
) -> InvalidInputError:
    meant, properties = unknown.meant, schema["properties"]
    issues = [
        {"path": name[:_SHOWN_CHARACTERS], "message": _no_such("argument", near, properties)}
        for name, near in meant.items()
    ]
    # An argument that was only misspelt is not missing as well.
    found = [error for error in wrong.errors if not _is_missing(error) or _path(error["loc"]) not in meant.values()]
    issues.extend({"path": _path(error["loc"]), "message": _words(error, schema)} for error in found[:_MOST_SHOWN])
    count = unknown.count + wrong.count - (len(wrong.errors) - len(found))
    first = f"{issues[0]['path']}: {issues[0]['message']}"
    more = f" ({count - 1} more in details.validationErrors)" if 1 < count <= _MOST_SHOWN else ""
    many = f" ({count - 1} more, the first of them in details.validationErrors)" if count > _MOST_SHOWN else ""
    return InvalidInputError(
        f"{tool} was not called: its arguments are not right. {first}{more}{many}",
        suggestion="Call it again with arguments like details.correctTemplate.",
        details={
            "validationErrors": issues[:_MOST_SHOWN],
            "suggestions": [*_renamings(meant), *_suggestions(found[:_MOST_SHOWN], schema)][:_MOST_SHOWN],
            "correctTemplate": _mended(schema, sent, {_path(error["loc"]) for error in found if _is_known(error)}),
        },
    )


def _no_such(what: str, near: str | None, known: Iterable[str]) -> str:
    listed = ", ".join(known)
    hint = f"Did you mean {near!r}?" if near else f"Known: {listed}." if listed else "There is none to send."
    return f"There is no such {what}. {hint}"


def _renamings(meant: Mapping[str, str | None]) -> list[dict[str, Any]]:
    return [
        {"kind": "unknown_key", "path": name[:_SHOWN_CHARACTERS], "didYouMean": right} for name, right in meant.items()
    ]


def _suggestions(errors: Sequence[ErrorDetails], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for error in errors:
        node = _node_at(schema, error["loc"])
        if _is_missing(error):
            said.append({"kind": "missing_required", "path": _path(error["loc"]), "means": node.get("description", "")})
        elif "enum" in node:
            said.append({"kind": "invalid_enum", "path": _path(error["loc"]), "allowed": node["enum"]})
        elif error["type"] == "extra_forbidden":
            near = closest(str(error["loc"][-1]), _node_at(schema, error["loc"][:-1]).get("properties", {}))
            said.append({"kind": "unknown_key", "path": _path(error["loc"]), "didYouMean": near})
    return said


def _words(error: ErrorDetails, schema: Mapping[str, Any]) -> str:
    node = _node_at(schema, error["loc"])
    if _is_missing(error):
        return "Required, and missing."
    if error["type"] == "extra_forbidden":
        known = _node_at(schema, error["loc"][:-1]).get("properties", {})
        return _no_such("key", closest(str(error["loc"][-1]), known), known)
    if "enum" in node:
        return f"One of: {', '.join(map(str, node['enum']))}."
    return _taken(error["type"], error.get("ctx", {}), node)


def _taken(kind: str, limits: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """What is taken there, in words of ours: the library's speak of its own types and of our classes."""
    match kind:
        case "string_too_long":
            return f"At most {limits['max_length']} characters are taken."
        case "string_too_short":
            return f"At least {limits['min_length']} {'character is' if limits['min_length'] == 1 else 'characters are'} wanted."
        case "too_long":
            return f"At most {limits['max_length']} are taken."
        case "too_short":
            return f"At least {limits['min_length']} are wanted."
        case "greater_than_equal":
            return f"A number of at least {limits['ge']} is wanted."
        case "less_than_equal":
            return f"A number of at most {limits['le']} is wanted."
        case "string_pattern_mismatch":
            return f"This does not match {limits['pattern']}."
        case "value_error":
            return f"{limits['error']}"
        case _:
            return f"This must be {_KINDS.get(node.get('type', ''), 'of another kind')}."


_KINDS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object",
    "string": "text",
}


def _is_known(error: ErrorDetails) -> bool:
    """Whether the place of the error is one of the schema: a missing or an unknown key is none that has a value."""
    return error["type"] not in {"missing", "extra_forbidden"}


def _is_missing(error: ErrorDetails) -> bool:
    return error["type"] == "missing"


def _path(loc: Sequence[int | str]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return path.removeprefix(".")[:_SHOWN_CHARACTERS]


def _node_at(schema: Mapping[str, Any], loc: Sequence[int | str]) -> Mapping[str, Any]:
    node: Mapping[str, Any] = schema
    for part in loc:
        node = node.get("items", {}) if isinstance(part, int) else node.get("properties", {}).get(part, {})
    return node


def _mended(node: Mapping[str, Any], value: Any, wrong: set[str], path: str = "") -> Any:
    """The value as it was probably meant, with a placeholder for what is missing, wrong, or long."""
    if path in wrong:
        return _placeholder(path.rpartition(".")[2], node)
    properties = node.get("properties")
    if isinstance(value, Mapping) and properties is not None:
        named = _rightly_named(value, properties)
        wanted = [name for name in properties if name in named or name in node.get("required", ())]
        return {
            name: _mended(properties[name], named[name], wrong, f"{path}.{name}".removeprefix("."))
            if name in named
            else _placeholder(name, properties[name])
            for name in wanted
        }
    if any(place.startswith(path) for place in wrong):
        return _placeholder(path.rpartition(".")[2], node)
    return value if _is_short(value) else "<as you sent it>"


def _is_short(value: Any) -> bool:
    """Short things are told from long ones without writing the long ones out. A number beyond 64 bits cannot be written at all."""
    if isinstance(value, Sequence | Mapping) and len(value) > _SHOWN_CHARACTERS:
        return False
    return len(str(value)) <= _SHOWN_CHARACTERS and _is_written(value)


def _is_written(value: Any) -> bool:
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


def _rightly_named(value: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """What is known by its name, and of the rest the first few by the name that was probably meant."""
    right = {name: child for name, child in value.items() if name in properties}
    strange = islice(((name, child) for name, child in value.items() if name not in properties), _MOST_SHOWN)
    guessed = {
        near: child
        for name, child in strange
        if (near := closest(name, properties)) and _is_of(properties[near], child)
    }
    return guessed | right


def _is_of(node: Mapping[str, Any], value: Any) -> bool:
    """Whether the value is of the type that the argument has, and one of its values where they are named."""
    if (
        isinstance(value, list)
        and len(value) <= _MOST_SHOWN
        and not all(_is_of(node.get("items", {}), item) for item in value)
    ):
        return False
    wanted = _TYPES.get(node.get("type", ""))
    is_whole = type(value) is not bool or node.get("type") == "boolean"
    return (wanted is None or (isinstance(value, wanted) and is_whole)) and value in node.get("enum", (value,))


def _placeholder(name: str, node: Mapping[str, Any]) -> Any:
    match node:
        case {"enum": [first, *_]}:
            return first
        case {"type": "object", "properties": properties} if properties:
            return {key: _placeholder(key, child) for key, child in properties.items()}
        case {"type": "object"}:
            return {}
        case {"type": "array"}:
            return []
        case {"type": "integer", "minimum": least}:
            return least
        case _:
            return f"<{name}>"
