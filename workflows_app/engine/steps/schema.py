"""The shapes of both schema versions, as tables of checks.

Keys of our own beyond the published 0.3.0: `$schema`, `agentRole` and `capabilities` of a workflow, `output` of a step,
loops in the body of a loop, and what an agent is told (`agentRole`, `guidance`, functions) on parallel steps.
"""

import re
from typing import Any

from workflows_app.engine.names import ID_PATTERN, MAX_ID_CHARS
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Capability, CapabilityNeed
from workflows_app.engine.steps import parts, shape
from workflows_app.engine.steps.findings import StepFindings, join, shown
from workflows_app.engine.steps.loop_shapes import CONDITION_SOURCE, read_loop
from workflows_app.engine.steps.shape import Check, array, choice, flag, record, text, whole

METRICS_PROFILES = ("coding", "review", "research", "design", "ticket", "none")

_ELSEWHERE = {
    "loop": 'A step with `loop` needs `"type": "loop"`.',
    "body": 'A step with `body` needs `"type": "loop"`.',
    "parallelDelegations": 'A step with `parallelDelegations` needs `"type": "parallel"`.',
}

_STEP_FIELDS: dict[str, Check] = {
    "id": parts.STEP_ID,
    "title": parts.TITLE,
    "prompt": text(least=1, most=8192),
    "promptBlocks": parts.BLOCKS,
    "templateCall": parts.TEMPLATE_CALL,
    "agentRole": parts.ROLE,
    "modelTier": parts.TIER,
    "guidance": parts.TEXTS,
    "askForFiles": flag,
    "hasValidation": flag,
    "requireConfirmation": parts.CONFIRMATION,
    "runCondition": parts.CONDITION,
    "validationCriteria": parts.RULES,
    "outputContract": parts.OUTPUT_CONTRACT,
    "output": parts.OUTPUT,
    "assessmentRefs": array(text(least=1, most=64), least=1, distinct=True),
    "assessmentConsequences": array(parts.CONSEQUENCE, least=1, most=10),
    "notesOptional": flag,
    "functionDefinitions": parts.FUNCTIONS,
    "functionCalls": parts.CALLS,
    "functionReferences": parts.REFERENCES,
    "promptFragments": array(parts.FRAGMENT, least=1),
    "audit": parts.AUDIT,
    "verification": parts.VERIFICATION,
}
_step_keys = record("A step", _STEP_FIELDS, required=("id", "title"), elsewhere=_ELSEWHERE)
_PROMPTS = ("prompt", "promptBlocks", "templateCall")


@shape.said_as({"$ref": "#/$defs/standardStep"})
def _standard_step(value: Any, path: str, findings: StepFindings) -> Any:
    given = [key for key in _PROMPTS if key in value] if isinstance(value, dict) else [""]
    if not given and not any(shape.misspelt(value, key, _STEP_FIELDS, findings) for key in _PROMPTS):
        message = "A step needs `prompt`, `promptBlocks` or `templateCall`."
        findings.error(ProblemCode.MISSING_KEY, f"{path}.prompt", message)
    if len(given) > 1:
        message = f"`{given[0]}` and `{given[1]}` cannot stand in one step; keep one."
        findings.error(ProblemCode.CONFLICTING_KEYS, f"{path}.{given[1]}", message)
    return _step_keys(value, path, findings)


_parallel_step = record(
    "A parallel step",
    {
        "id": parts.STEP_ID,
        "type": choice(("parallel",)),
        "title": parts.TITLE,
        "parallelDelegations": array(parts.DELEGATION, least=1, distinct=True),
        "synthesis": parts.SYNTHESIS,
        "agentRole": parts.ROLE,
        "guidance": parts.TEXTS,
        "functionDefinitions": parts.FUNCTIONS,
        "functionReferences": parts.REFERENCES,
        "requireConfirmation": parts.CONFIRMATION,
        "runCondition": parts.CONDITION,
        "notesOptional": flag,
    },
    required=("id", "type", "title", "parallelDelegations"),
)


@shape.said_as({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/step"}, "minItems": 1}]})
def _body(value: Any, path: str, findings: StepFindings) -> Any:
    """The id of another step, or the steps themselves."""
    if isinstance(value, str):
        return value
    return _body_steps(value, path, findings)


@shape.said_as({"$ref": "#/$defs/step"})
def _any_step(value: Any, path: str, findings: StepFindings) -> Any:
    """A step of any type; of one with a mistake in it only the id is left, which others may refer to."""
    before = findings.errors
    checked = _typed_step(value, path, findings)
    if findings.errors == before:
        return checked
    step_id = value.get("id") if isinstance(value, dict) else None
    return {"id": step_id} if isinstance(step_id, str) else {}


def _typed_step(value: Any, path: str, findings: StepFindings) -> Any:
    kind = value.get("type") if isinstance(value, dict) else None
    match kind:
        case None if isinstance(value, dict) and (instead := _type_otherwise(value, findings)):
            message = f"{shown(instead)} is not a key of a step."
            findings.error(ProblemCode.UNKNOWN_KEY, join(path, instead), message, shape.did_mean("type"))
            return shape.DROPPED
        case None:
            return _standard_step(value, path, findings)
        case "loop":
            return _loop_step(value, path, findings)
        case "parallel":
            return _parallel_step(value, path, findings)
        case _:
            suggestion = "Use `loop` or `parallel`, and leave the key out for an ordinary step."
            findings.error(ProblemCode.BAD_VALUE, f"{path}.type", "This is not a type of step.", suggestion)
            return shape.DROPPED


def _type_otherwise(value: dict[str, Any], findings: StepFindings) -> str:
    """The key that says the type and is not quite called so."""
    instead = shape.misspelt(value, "type", _STEP_FIELDS, findings)
    return instead if value.get(instead) in ("loop", "parallel") else ""


_body_steps = array(_any_step, least=1)
_loop_step = record(
    "A loop step",
    {
        "id": parts.STEP_ID,
        "type": choice(("loop",)),
        "title": parts.TITLE,
        "loop": read_loop,
        "body": _body,
        "functionDefinitions": parts.FUNCTIONS,
        "requireConfirmation": parts.CONFIRMATION,
        "runCondition": parts.CONDITION,
        "notesOptional": flag,
    },
    required=("id", "type", "title", "loop", "body"),
)

_workflow_id = shape.said_as({"type": "string", "minLength": 3, "maxLength": MAX_ID_CHARS, "pattern": ID_PATTERN})(
    text(least=3, most=MAX_ID_CHARS)
)

_WORKFLOW_FIELDS: dict[str, Check] = {
    "$schema": text(),
    "id": _workflow_id,
    "name": parts.TITLE,
    "description": text(least=1, most=512),
    "version": parts.VERSION,
    "modelTier": parts.TIER,
    "agentRole": parts.ROLE,
    "preconditions": parts.LINES,
    "clarificationPrompts": parts.LINES,
    "metaGuidance": parts.LINES,
    "functionDefinitions": array(parts.FUNCTION, distinct=True, hole={}),
    "recommendedPreferences": parts.PREFERENCES,
    "capabilities": record("`capabilities`", dict.fromkeys((c.value for c in Capability), choice(CapabilityNeed))),
    "features": array(text(least=1, most=128), distinct=True, hole=""),
    "assessments": array(parts.ASSESSMENT, distinct=True, hole={}),
    "extensionPoints": array(parts.EXTENSION_POINT, distinct=True, hole={}),
    "references": array(parts.REFERENCE, distinct=True, hole={}),
    "validatedAgainstSpecVersion": whole(least=1),
    "about": text(least=1, most=4096),
    "examples": array(text(least=10, most=120), least=1, most=6, distinct=True),
    "metricsProfile": choice(METRICS_PROFILES),
    "steps": array(_any_step, least=1),
}
_REQUIRED = ("id", "name", "description", "version", "steps")
WORKFLOW_0_3_0 = record("A workflow", _WORKFLOW_FIELDS, required=_REQUIRED, partial=True)

# The keys that 0.0.1 did not have, and those of them that later releases of WorkRail accepted under its number.
FIRST_PROMPT_CHARS = 2048
_FIRST_STEP_KEYS = frozenset(
    {"id", "title", "prompt", "guidance", "askForFiles", "requireConfirmation", "runCondition", "validationCriteria"},
)
_FIRST_WORKFLOW_KEYS = frozenset(
    {"id", "name", "description", "version", "preconditions", "clarificationPrompts", "metaGuidance", "steps"},
)
LATER_STEP_KEYS = frozenset({*_STEP_FIELDS, "type", "loop", "body", "parallelDelegations"}) - _FIRST_STEP_KEYS
LATER_WORKFLOW_KEYS = _WORKFLOW_FIELDS.keys() - _FIRST_WORKFLOW_KEYS - {"$schema"}
_TOLERATED_STEP_KEYS = _FIRST_STEP_KEYS | {"agentRole", "hasValidation", "outputContract"}
_TOLERATED_WORKFLOW_KEYS = _FIRST_WORKFLOW_KEYS | {"$schema", "recommendedPreferences"}
# A namespace as well: a team that imports such a workflow gives it one, and it stays of the schema that it was written for.
_FIRST_ID = re.compile(r"[a-z0-9-]+|[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*")


def _kept(fields: dict[str, Check], keys: frozenset[str]) -> dict[str, Check]:
    return {key: check for key, check in fields.items() if key in keys}


def _newer(fields: dict[str, Check], keys: frozenset[str]) -> dict[str, str]:
    hint = "The key belongs to schema 0.3.0; the document is read as 0.0.1. Say which with `$schema`."
    return dict.fromkeys(fields.keys() - keys, hint)


_first_step = record(
    "A step",
    {**_kept(_STEP_FIELDS, _TOLERATED_STEP_KEYS), "prompt": text(least=1, most=FIRST_PROMPT_CHARS)},
    required=("id", "title", "prompt"),
    elsewhere=_newer(_STEP_FIELDS, _TOLERATED_STEP_KEYS),
)
WORKFLOW_0_0_1 = record(
    "A workflow",
    {
        **_kept(_WORKFLOW_FIELDS, _TOLERATED_WORKFLOW_KEYS),
        "id": text(
            least=3,
            most=64,
            pattern=_FIRST_ID,
            wanted="lower-case letters, digits and `-`, after a namespace and a dot if it has one",
            code=ProblemCode.BAD_ID,
        ),
        "steps": array(_first_step, least=1, hole={}),
    },
    required=_REQUIRED,
    elsewhere=_newer(_WORKFLOW_FIELDS, _TOLERATED_WORKFLOW_KEYS),
    partial=True,
)


def definitions() -> dict[str, Any]:
    """What the schemas of a workflow refer to."""
    one_prompt = [{"required": [key]} for key in _PROMPTS]
    kinds = {"type": {"enum": ["loop", "parallel"]}}
    return {
        "standardStep": {
            **shape.schema_of(_step_keys),
            "oneOf": one_prompt,
            "dependentRequired": {"assessmentConsequences": ["assessmentRefs"]},
        },
        "loopStep": shape.schema_of(_loop_step),
        "parallelStep": shape.schema_of(_parallel_step),
        "step": {
            "if": {"properties": kinds, "required": ["type"]},
            "then": {
                "if": {"properties": {"type": {"const": "loop"}}},
                "then": {"$ref": "#/$defs/loopStep"},
                "else": {"$ref": "#/$defs/parallelStep"},
            },
            "else": {"$ref": "#/$defs/standardStep"},
        },
        "conditionSource": CONDITION_SOURCE,
    }
