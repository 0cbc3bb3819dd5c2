"""Typed checks of a JSON document: each takes a value and its path, writes down what is wrong, and gives back what is right.

A check returns the value as later stages may rely on it, or `DROPPED`. A part with a mistake in it is left out whole, so the
stages after it read parts that are complete and typed, and can go on reporting about the rest of the document.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import Any, Final

from teams_app.engine.closest import is_misspelt
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.steps.findings import MAX_SUGGESTIONS, StepFindings, join, shown

DROPPED: Final[Any] = object()
MAX_UNKNOWN_KEYS = 10
# So alike are two keys of which one is misspelt, and so many are looked at.
MISSPELT = 0.75
_MOST_COMPARED = 50

Check = Callable[[Any, str, StepFindings], Any]


# What each check asks for, as JSON Schema says it.
_SCHEMAS: dict[Check, dict[str, Any]] = {}


def said_as(schema: dict[str, Any]) -> Callable[[Check], Check]:
    """The check below asks for what this schema says, as near as a schema can."""

    def saying(check: Check) -> Check:
        _SCHEMAS[check] = schema
        return check

    return saying


def schema_of(check: Check) -> dict[str, Any]:
    """What the check asks for, as JSON Schema; anything, where that is not told."""
    return _SCHEMAS.get(check, {})


def unread(schema: dict[str, Any]) -> Check:
    """A value that another module reads and checks."""

    @said_as(schema)
    def check(value: Any, _path: str, _findings: StepFindings) -> Any:
        return value

    return check


anything = unread({})


def text(
    *,
    least: int = 0,
    most: int | None = None,
    pattern: re.Pattern[str] | None = None,
    wanted: str = "",
    code: ProblemCode = ProblemCode.BAD_VALUE,
) -> Check:
    """Text of so many Unicode characters; `wanted` says in words what `pattern` asks for."""
    bounds = {"minLength": least or None, "maxLength": most, "pattern": f"^(?:{pattern.pattern})$" if pattern else None}

    @said_as({"type": "string", **_given(bounds)})
    def check(value: Any, path: str, findings: StepFindings) -> Any:
        if not isinstance(value, str):
            return _wrong_type(value, path, findings, "text")
        if len(value) < least:
            _too_short(findings, path, _count(len(value), "character"), least=least, most=most)
            return DROPPED
        if most is not None and len(value) > most:
            _too_long(findings, path, _count(len(value), "character"), most=most)
            return DROPPED
        if pattern is not None and pattern.fullmatch(value) is None:
            findings.error(code, path, f"{shown(value)} is not {wanted}.")
            return DROPPED
        return value

    return check


@said_as({"type": "boolean"})
def flag(value: Any, path: str, findings: StepFindings) -> Any:
    return value if isinstance(value, bool) else _wrong_type(value, path, findings, "true or false")


@said_as({"type": ["string", "number", "boolean"]})
def scalar(value: Any, path: str, findings: StepFindings) -> Any:
    if isinstance(value, str | int | float):
        return value
    return _wrong_type(value, path, findings, "text, a number, or true or false")


def whole(*, least: int | None = None, most: int | None = None) -> Check:
    """A whole number within bounds; 3.0 is 3."""

    @said_as({"type": "integer", **_given({"minimum": least, "maximum": most})})
    def check(value: Any, path: str, findings: StepFindings) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return _wrong_type(value, path, findings, "a number")
        if value != int(value):
            findings.error(ProblemCode.BAD_VALUE, path, f"{value} is not a whole number.")
            return DROPPED
        if (least is not None and value < least) or (most is not None and value > most):
            bounds = f"from {least} to {most}" if most is not None else f"of at least {least}"
            findings.error(ProblemCode.BAD_VALUE, path, f"{shown_number(value)} is given; a number {bounds} is wanted.")
            return DROPPED
        return int(value)

    return check


def choice(values: Iterable[str]) -> Check:
    known = tuple(values)

    @said_as({"enum": [str(word) for word in known]})
    def check(value: Any, path: str, findings: StepFindings) -> Any:
        if not isinstance(value, str):
            return _wrong_type(value, path, findings, "text")
        if value not in known:
            message = f"{shown(value)} is not one of {', '.join(known)}."
            findings.unknown(ProblemCode.BAD_VALUE, path, message, word=value, known=known)
            return DROPPED
        return value

    return check


def array(
    item: Check, *, least: int = 0, most: int | None = None, distinct: bool = False, hole: Any = DROPPED
) -> Check:
    """A list; `distinct` refuses the same item twice. A wrong item leaves `hole` in its place, if that is given."""
    bounds = {"minItems": least or None, "maxItems": most, "uniqueItems": distinct or None}

    @said_as({"type": "array", "items": schema_of(item), **_given(bounds)})
    def check(value: Any, path: str, findings: StepFindings) -> Any:
        if not isinstance(value, list):
            return _wrong_type(value, path, findings, "a list")
        if len(value) < least:
            _too_short(findings, path, _count(len(value), "item"), least=least, most=most)
        if most is not None and len(value) > most:
            _too_long(findings, path, _count(len(value), "item"), most=most)
            return DROPPED
        if distinct:
            _refuse_twins(value, path, findings)
        checked = [item(child, f"{path}[{index}]", findings) for index, child in enumerate(value)]
        filled = [hole if child is DROPPED else child for child in checked]
        return [child for child in filled if child is not DROPPED]

    return check


def mapping(value_check: Check) -> Check:
    """An object with keys of the author's choice, read in the order of their names."""

    @said_as({"type": "object", "additionalProperties": schema_of(value_check)})
    def check(value: Any, path: str, findings: StepFindings) -> Any:
        if not isinstance(value, dict):
            return _wrong_type(value, path, findings, "an object")
        checked = {key: value_check(value[key], join(path, key), findings) for key in sorted(value)}
        return {key: child for key, child in checked.items() if child is not DROPPED}

    return check


def record(
    name: str,
    fields: Mapping[str, Check],
    *,
    required: Iterable[str] = (),
    elsewhere: Mapping[str, str] | None = None,
    partial: bool = False,
    is_open: bool = False,
) -> Check:
    """An object of known keys. `elsewhere` explains keys that are not known here but mean something in another place.

    A `partial` one is given on with what is right in it; in an open one nothing else is looked at.
    """
    needed = tuple(required)
    properties = {key: schema_of(field) for key, field in fields.items()}

    @said_as({"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False})
    def check(value: Any, path: str, findings: StepFindings) -> Any:
        if not isinstance(value, dict):
            return _wrong_type(value, path, findings, "an object")
        before = findings.errors
        known = [key for key in fields if key in value]
        checked = {key: fields[key](value[key], f"{path}.{key}" if path else key, findings) for key in known}
        missing = [key for key in needed if key not in value]
        meant = {instead: key for key in missing if (instead := misspelt(value, key, fields, findings))}
        for key in missing:
            if key not in meant.values():
                findings.error(ProblemCode.MISSING_KEY, join(path, key), f"{name} needs the key `{key}`.")
        if len(known) != len(value):
            hints = {**(elsewhere or {}), **{instead: did_mean(key) for instead, key in meant.items()}}
            strays = {key: value[key] for key in meant} if is_open else value
            _report_unknown(name, fields, hints, strays, path, findings=findings)
        if findings.errors != before and not partial:
            return DROPPED
        return {key: child for key, child in checked.items() if child is not DROPPED}

    return check


def misspelt(value: Mapping[str, Any], key: str, known: Collection[str], findings: StepFindings) -> str:
    """The key that stands where this one is missing and is nearly it: that this one is missing is no second mistake."""
    if findings.errors >= MAX_SUGGESTIONS:
        return ""
    unknown = (name for name in islice(value, _MOST_COMPARED) if name not in known)
    return next((name for name in unknown if is_misspelt(name, key, like_enough=MISSPELT)), "")


def did_mean(key: str) -> str:
    return f"Did you mean {key!r}?"


def kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"


def shown_value(value: Any) -> str:
    """Any JSON value in a message: the value if it is a text or a number, else what it is."""
    if isinstance(value, str):
        return shown(value)
    return shown_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else kind_of(value)


def shown_number(value: float) -> str:
    written = str(value) if abs(value) < 10**20 else f"{float(value):.3g}"
    return written.removesuffix(".0")


def _given(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if value is not None}


def _wrong_type(value: Any, path: str, findings: StepFindings, wanted: str) -> Any:
    findings.error(ProblemCode.WRONG_TYPE, path, f"This is {kind_of(value)}; {wanted} is wanted.")
    return DROPPED


def _report_unknown(
    name: str,
    fields: Mapping[str, Check],
    hints: Mapping[str, str],
    value: dict[str, Any],
    path: str,
    *,
    findings: StepFindings,
) -> None:
    keys = sorted(value.keys() - fields.keys())
    for key in keys[:MAX_UNKNOWN_KEYS]:
        message = f"{shown(key)} is not a key of {name[0].lower()}{name[1:]}."
        if key in hints:
            findings.error(ProblemCode.UNKNOWN_KEY, join(path, key), message, hints[key])
        else:
            findings.unknown(ProblemCode.UNKNOWN_KEY, join(path, key), message, word=key, known=fields)
    if len(keys) > MAX_UNKNOWN_KEYS:
        message = f"{len(keys)} keys are unknown here; the first {MAX_UNKNOWN_KEYS} are listed."
        findings.error(ProblemCode.UNKNOWN_KEY, path, message)


def _too_short(findings: StepFindings, path: str, measured: str, *, least: int, most: int | None) -> None:
    bounds = f"{least} to {most} are allowed" if most is not None else f"at least {least} are wanted"
    findings.error(ProblemCode.TOO_SHORT, path, f"This has {measured}; {bounds}.")


def _too_long(findings: StepFindings, path: str, measured: str, *, most: int) -> None:
    findings.error(ProblemCode.TOO_LONG, path, f"This has {measured}; at most {most} are allowed.")


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"


def _refuse_twins(items: list[Any], path: str, findings: StepFindings) -> None:
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        key = item if isinstance(item, str) else json.dumps(item, sort_keys=True)
        earlier = first.setdefault(f"{type(item).__name__}:{key}", index)
        if earlier != index:
            message = f"This is the same as {path}[{earlier}]; each item may stand once."
            findings.error(ProblemCode.BAD_VALUE, f"{path}[{index}]", message)
