"""The shape of a loop's settings, with what each type of loop needs and does not look at."""

from typing import Any

from workflows_app.engine.condition_readers.operands import NUMBER_AS_TEXT, VARIABLE_NAME
from workflows_app.engine.condition_readers.reading import NUMERAL
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.steps import parts
from workflows_app.engine.steps.findings import StepFindings, shown
from workflows_app.engine.steps.shape import choice, record, said_as, schema_of, text, whole

LOOP_TYPES = ("while", "until", "for", "forEach")
MAX_ROUNDS = 1000


MAX_VARIABLE_CHARS = 256
_NAMED = {**VARIABLE_NAME, "minLength": 1, "maxLength": MAX_VARIABLE_CHARS}


@said_as({"anyOf": [{"type": "integer", "minimum": 0, "maximum": MAX_ROUNDS}, {**_NAMED, "not": NUMBER_AS_TEXT}]})
def _rounds(value: Any, path: str, findings: StepFindings) -> Any:
    """The number of rounds of a `for` loop, or the name of the context variable that holds it. No variable is called `3`."""
    if isinstance(value, str) and NUMERAL.fullmatch(value):
        findings.warn(ProblemCode.WRONG_TYPE, path, f"{shown(value)} is read as a number.", "Leave out the quotes.")
        return _round_number(float(value), path, findings)
    return _variable(value, path, findings) if isinstance(value, str) else _round_number(value, path, findings)


_variable = said_as(_NAMED)(text(least=1, most=MAX_VARIABLE_CHARS))
_round_number = whole(least=0, most=MAX_ROUNDS)


@said_as({"$ref": "#/$defs/conditionSource"})
def _condition_source(value: Any, path: str, findings: StepFindings) -> Any:
    by_kind = {"artifact_contract": _artifact_source, "context_variable": _variable_source}
    kind = value.get("kind") if isinstance(value, dict) else None
    return by_kind.get(kind if isinstance(kind, str) else "", _any_source)(value, path, findings)


_source_kind = choice(("artifact_contract", "context_variable"))
_artifact_source = record(
    "A condition source of kind artifact_contract",
    {"kind": _source_kind, "contractRef": text(least=1, most=128), "loopId": text(least=1, most=64)},
    required=("kind", "contractRef"),
)
_variable_source = record(
    "A condition source of kind context_variable",
    {"kind": _source_kind, "condition": parts.CONDITION},
    required=("kind", "condition"),
)
_any_source = record("A condition source", {"kind": _source_kind}, required=("kind",), is_open=True)

_LOOP_NEEDS = {"for": "count", "forEach": "items"}
_KEYS = {
    "type": choice(LOOP_TYPES),
    "condition": parts.CONDITION,
    "items": _variable,
    "count": _rounds,
    "maxIterations": whole(least=1, most=MAX_ROUNDS),
    "iterationVar": parts.IDENTIFIER,
    "itemVar": parts.IDENTIFIER,
    "indexVar": parts.IDENTIFIER,
    "conditionSource": _condition_source,
}
_any_loop = record("A loop", _KEYS, required=("type", "maxIterations"))
_loop_of = {
    kind: record(f"A `{kind}` loop", _KEYS, required=("type", "maxIterations", key))
    for kind, key in _LOOP_NEEDS.items()
}
_LOOP_STRAYS = {
    "while": ("count", "items", "itemVar", "indexVar"),
    "until": ("count", "items", "itemVar", "indexVar"),
    "for": ("condition", "conditionSource", "items", "itemVar", "indexVar"),
    "forEach": ("condition", "conditionSource", "count"),
}


CONDITION_SOURCE = {"anyOf": [schema_of(_artifact_source), schema_of(_variable_source)]}


_NEEDED = [
    {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": {"required": [key]}}
    for kind, key in _LOOP_NEEDS.items()
]


@said_as({**schema_of(_any_loop), "allOf": _NEEDED})
def read_loop(value: Any, path: str, findings: StepFindings) -> Any:
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind in _LOOP_STRAYS:
        for stray in _LOOP_STRAYS[kind]:
            if stray in value:
                message = f"A `{kind}` loop does not look at `{stray}`."
                findings.warn(ProblemCode.IGNORED_FIELD, f"{path}.{stray}", message)
    return _loop_of.get(kind if isinstance(kind, str) else "", _any_loop)(value, path, findings)
