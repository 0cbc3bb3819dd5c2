"""Conditions of activity workflows: `{type: simple, variable, operator, value}`, `and`, `or`, `not`, and `when` lines."""

from collections.abc import Mapping
from typing import Any

from teams_app.engine.closest import is_misspelt
from workflows_app.engine.condition_readers.reading import Reading
from workflows_app.engine.condition_readers.when import read_when
from workflows_app.engine.problems import ProblemCode, WorkflowProblem, did_you_mean
from workflows_app.engine.program import AllOf, AnyOf, Broken, Condition, ConditionMode, Not, Operator

OPERATORS: Mapping[str, Operator] = {
    "==": Operator.EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GT,
    "<": Operator.LT,
    ">=": Operator.GTE,
    "<=": Operator.LTE,
    "exists": Operator.EXISTS,
    "notExists": Operator.NOT_EXISTS,
    "contains": Operator.CONTAINS,
    "startsWith": Operator.STARTS_WITH,
    "endsWith": Operator.ENDS_WITH,
    "matches": Operator.MATCHES,
    "in": Operator.IN,
}
_KEYS = {
    "simple": frozenset({"type", "variable", "operator", "value"}),
    "and": frozenset({"type", "conditions"}),
    "or": frozenset({"type", "conditions"}),
    "not": frozenset({"type", "condition"}),
}
# So alike are two keys of which one is misspelt, and so many are looked at.
_MISSPELT = 0.75
_MOST_COMPARED = 50


def parse_activity_condition(
    value: Any, *, path: str, file: str = ""
) -> tuple[Condition | None, tuple[WorkflowProblem, ...]]:
    """The condition and what is wrong with it. Null says nothing and holds; a text is read as a `when` line."""
    if value is None:
        return None, ()
    reading = Reading(mode=ConditionMode.STRICT, file=file)
    condition = _read(reading, value, path=path, depth=1)
    return condition, tuple(reading.problems)


def _read(reading: Reading, value: Any, *, path: str, depth: int) -> Condition:
    if isinstance(value, str):
        return read_when(reading, value, path=path)
    if over := reading.over_limit(path=path, depth=depth):
        return over
    if not isinstance(value, dict):
        return reading.error(ProblemCode.WRONG_TYPE, "A condition is an object or a line of text.", path=path)
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _KEYS:
        return _unknown_kind(reading, value, path=path)
    if _report_unknown(reading, value, kind, path=path):
        return Broken(reason="The condition cannot be read.")
    if kind == "simple":
        return _read_simple(reading, value, path=path)
    if kind == "not":
        return _read_not(reading, value, path=path, depth=depth)
    return _read_group(reading, value, kind, path=path, depth=depth)


def _unknown_kind(reading: Reading, value: dict[str, Any], *, path: str) -> Broken:
    if "type" not in value:
        suggestion = "Add type: simple, and, or, or not."
        return reading.error(ProblemCode.MISSING_KEY, "The condition has no type.", path=path, suggestion=suggestion)
    return reading.error(
        ProblemCode.BAD_CONDITION,
        f"A condition has no type {value['type']!r:.80}.",
        path=_at(path, "type"),
        suggestion=did_you_mean(str(value["type"])[:80], _KEYS),
    )


def _report_unknown(reading: Reading, value: dict[str, Any], kind: str, *, path: str) -> bool:
    """Whether one of them is a key that is missing, misspelt: that it is missing is no second mistake."""
    missing = _KEYS[kind] - value.keys()
    unknown = sorted(str(key) for key in value if key not in _KEYS[kind])
    for key in unknown:
        reading.error(
            ProblemCode.UNKNOWN_KEY,
            f"A condition of type {kind} has no key {key!r:.80}.",
            path=_at(path, key),
            suggestion=did_you_mean(key[:80], _KEYS[kind]),
        )
    return any(is_misspelt(key, each, like_enough=_MISSPELT) for key in unknown[:_MOST_COMPARED] for each in missing)


def _read_simple(reading: Reading, value: dict[str, Any], *, path: str) -> Condition:
    missing = [key for key in ("variable", "operator") if key not in value]
    if missing:
        return reading.error(ProblemCode.MISSING_KEY, f"The condition has no {missing[0]}.", path=path)
    name = reading.name(value["variable"], path=_at(path, "variable"))
    operator = _operator(reading, value["operator"], path=_at(path, "operator"))
    if name is None or operator is None:
        return Broken(reason="The condition cannot be read.")
    return _read_operand(reading, name, operator, value, path=path)


def _operator(reading: Reading, value: Any, *, path: str) -> Operator | None:
    if isinstance(value, str) and value in OPERATORS:
        return OPERATORS[value]
    reading.error(
        ProblemCode.UNKNOWN_OPERATOR,
        f"A condition has no operator {value!r:.80}.",
        path=path,
        suggestion=_meant(value) or did_you_mean(str(value)[:80], OPERATORS),
    )
    return None


def _meant(value: Any) -> str:
    signs = {
        "=": "==",
        "===": "==",
        "!==": "!=",
        "<>": "!=",
        "=>": ">=",
        "=<": "<=",
        "equals": "==",
        "not_equals": "!=",
    }
    signs |= {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
    return f"Did you mean {signs[value]!r}?" if isinstance(value, str) and value in signs else ""


def _read_operand(
    reading: Reading, name: tuple[str, ...], operator: Operator, value: dict[str, Any], *, path: str
) -> Condition:
    operand = value.get("value")
    here = _at(path, "value")
    if operator in {Operator.EXISTS, Operator.NOT_EXISTS}:
        if operand is not None:
            reading.warning(ProblemCode.IGNORED_FIELD, f"{operator.value!r} looks at no value.", path=here)
    elif "value" not in value:
        return reading.error(
            ProblemCode.MISSING_KEY,
            "The condition has no value to compare with.",
            path=path,
            suggestion="Add a value, or use exists or notExists.",
        )
    elif operator is not Operator.IN and isinstance(operand, dict | list):
        return reading.error(ProblemCode.WRONG_TYPE, "A value is a text, a number, true, false or null.", path=here)
    return reading.compare(name, operator, operand, path=here)


def _read_not(reading: Reading, value: dict[str, Any], *, path: str, depth: int) -> Condition:
    if "condition" not in value:
        return reading.error(ProblemCode.MISSING_KEY, "The condition has no condition to deny.", path=path)
    return Not(condition=_read(reading, value["condition"], path=_at(path, "condition"), depth=depth + 1))


def _read_group(reading: Reading, value: dict[str, Any], kind: str, *, path: str, depth: int) -> Condition:
    here = _at(path, "conditions")
    operand = value.get("conditions")
    if "conditions" not in value:
        return reading.error(ProblemCode.MISSING_KEY, f"The {kind!r} has no conditions.", path=path)
    if not isinstance(operand, list):
        return reading.error(ProblemCode.WRONG_TYPE, f"{kind!r} takes a list of conditions.", path=here)
    if len(operand) < 2:
        reading.error(ProblemCode.TOO_SHORT, f"{kind!r} joins two conditions or more.", path=here)
    parts = tuple(_read(reading, part, path=f"{here}[{index}]", depth=depth + 1) for index, part in enumerate(operand))
    return AllOf(conditions=parts) if kind == "and" else AnyOf(conditions=parts)


def _at(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
