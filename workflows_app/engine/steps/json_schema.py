"""The JSON Schema of step workflows, made of the checks that read them: for editors, which tell of mistakes while one types."""

from collections.abc import Iterator
from typing import Any

from workflows_app.engine.condition_readers.operands import OPERANDS, VARIABLE_NAME
from workflows_app.engine.program import ConfirmationKind, Operator
from workflows_app.engine.steps import parts, schema, shape
from workflows_app.engine.steps.rules import KEYS_OF

_CONDITION: dict[str, Any] = {"$ref": "#/$defs/condition"}
_INNER: dict[str, Any] = {"$ref": "#/$defs/innerCondition"}
_CONDITIONS = {"type": "array", "items": _INNER}


def steps_schema() -> dict[str, Any]:
    """Of schema version 0.3.0, which is what is written today."""
    return _whole("A workflow of steps, 0.3.0", schema.WORKFLOW_0_3_0)


def first_steps_schema() -> dict[str, Any]:
    """Of schema version 0.0.1. The compiler lets keys of later versions pass there, with a warning; an editor marks them."""
    return _whole("A workflow of steps, 0.0.1", schema.WORKFLOW_0_0_1)


def _whole(title: str, workflow: shape.Check) -> dict[str, Any]:
    """With the definitions that it refers to."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **shape.schema_of(workflow),
    }
    known = _definitions()
    used: dict[str, Any] = {}
    waiting = list(_references(document))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used[name] = known[name]
            waiting.extend(_references(known[name]))
    return {**document, "$defs": {name: known[name] for name in known if name in used}}


def _references(part: Any) -> Iterator[str]:
    for key, value in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
        if key == "$ref":
            yield value.removeprefix("#/$defs/")
        else:
            yield from _references(value)


def _definitions() -> dict[str, Any]:
    return {
        **schema.definitions(),
        "condition": {"anyOf": [{"type": "null"}, _INNER]},
        "innerCondition": _inner_condition(),
        "confirmation": {"anyOf": [{"type": "boolean"}, _CONDITION, _named_confirmation()]},
        "validation": {"anyOf": [{"type": "array", "items": _rules()}, _rules()]},
        "rules": _rules(),
        "rule": _rule(),
    }


def _named_confirmation() -> dict[str, Any]:
    kinds = [ConfirmationKind.COORDINATOR_EVAL.value, ConfirmationKind.HUMAN_APPROVAL.value]
    properties = {"kind": {"enum": kinds}, "condition": _CONDITION}
    return {"type": "object", "properties": properties, "required": ["kind"], "additionalProperties": False}


def _inner_condition() -> dict[str, Any]:
    """Of several operators in one object the first counts, and nobody looks at the others."""
    operands = {operator.value: operand for operators, operand in OPERANDS for operator in sorted(operators)}
    logical = {"and": _CONDITIONS, "or": _CONDITIONS, "not": _INNER}
    return {
        "type": "object",
        "properties": {
            "var": VARIABLE_NAME,
            **{word: {} for word in (*logical, *map(str, Operator))},
        },
        "additionalProperties": False,
        "if": {"required": ["var"]},
        "then": {"if": {"maxProperties": 2}, "then": {"properties": operands}},
        "else": {
            "anyOf": [{"maxProperties": 0}, *({"required": [word]} for word in logical)],
            "if": {"maxProperties": 1},
            "then": {"properties": logical},
        },
    }


def _rules() -> dict[str, Any]:
    inner = {"$ref": "#/$defs/rules"}
    several = {"type": "array", "items": inner, "minItems": 1}
    composed = {
        "type": "object",
        "properties": {"and": several, "or": several, "not": inner},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    return {"anyOf": [{"$ref": "#/$defs/rule"}, composed]}


def _rule() -> dict[str, Any]:
    """What each type of rule cannot do without."""
    needs = {kind: [{"required": [key]} for key in sorted(keys - {"flags"})] for kind, keys in KEYS_OF.items()}
    typed = [
        {"if": {"properties": {"type": {"const": kind.value}}}, "then": {"anyOf": needed}}
        for kind, needed in needs.items()
    ]
    return {**shape.schema_of(parts.RULE), "allOf": typed}
