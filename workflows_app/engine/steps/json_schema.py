"""The JSON Schema of step workflows, made of the checks that read them: for editors, which tell of mistakes while one types."""

from typing import Any

from workflows_app.engine.program import ConfirmationKind, Operator
from workflows_app.engine.steps import schema, shape

_CONDITION: dict[str, Any] = {"$ref": "#/$defs/condition"}
_LIST = {"type": "array", "items": _CONDITION}


def steps_schema() -> dict[str, Any]:
    """Of schema version 0.3.0, which is what is written today."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A workflow of steps, 0.3.0",
        **shape.schema_of(schema.WORKFLOW_0_3_0),
        "$defs": {
            **schema.definitions(),
            "condition": {
                "type": ["object", "null"],
                "properties": {
                    "var": {"type": "string"},
                    "and": _LIST,
                    "or": _LIST,
                    "not": _CONDITION,
                    **{operator.value: {} for operator in Operator},
                },
                "additionalProperties": False,
            },
            "confirmation": {"anyOf": [{"type": "boolean"}, _CONDITION, _named_confirmation()]},
            "validation": {"anyOf": [{"type": "array", "items": _rules()}, _rules()]},
            "rules": _rules(),
        },
    }


def _named_confirmation() -> dict[str, Any]:
    kinds = [ConfirmationKind.COORDINATOR_EVAL.value, ConfirmationKind.HUMAN_APPROVAL.value]
    properties = {"kind": {"enum": kinds}, "condition": _CONDITION}
    return {"type": "object", "properties": properties, "required": ["kind"], "additionalProperties": False}


def _rules() -> dict[str, Any]:
    inner = {"$ref": "#/$defs/rules"}
    compositions = {
        "and": {"type": "array", "items": inner},
        "or": {"type": "array", "items": inner},
        "not": inner,
        "condition": _CONDITION,
        "message": {"type": "string"},
    }
    composed = {"type": "object", "properties": compositions, "additionalProperties": False}
    return {"anyOf": [{"$ref": "#/$defs/rule"}, composed]}
