"""The shapes of what stands in steps and beside them: texts, functions, prompts, assessments, delegations."""

import re
from typing import Any

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Autonomy, ModelTier, RiskPolicy, RuleKind
from workflows_app.engine.steps import shape
from workflows_app.engine.steps.findings import StepFindings
from workflows_app.engine.steps.shape import anything, array, choice, flag, mapping, record, scalar, text, unread, whole

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_STEP_ID = re.compile(r"[a-z0-9-]+")
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_CALL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\(\)")
_SLOT = re.compile(r"[a-z][a-z0-9_]*")
_LOWER_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_TOOL = re.compile(r"[a-zA-Z][a-zA-Z0-9_:-]*")

_line = text(least=1, most=256)
LINES = array(_line, distinct=True)
_prompt_text = text(least=1, most=4096)
STEP_ID = text(least=3, most=64, pattern=_STEP_ID, wanted="lower-case letters, digits and `-`", code=ProblemCode.BAD_ID)
IDENTIFIER = text(pattern=_IDENTIFIER, wanted="a name of letters, digits and `_`")
TITLE = text(least=1, most=128)
ROLE = text(least=10, most=1024)
TIER = choice(ModelTier)
VERSION = text(pattern=_SEMVER, wanted="a version like 1.0.0")
TEXTS = array(text())

# Read by the modules that give them their meaning.
CONFIRMATION = unread({"$ref": "#/$defs/confirmation"})
CONDITION = unread({"$ref": "#/$defs/condition"})
RULES = unread({"$ref": "#/$defs/validation"})

OUTPUT_CONTRACT = record(
    "An output contract", {"contractRef": text(least=1, most=128), "required": flag}, required=("contractRef",)
)


@shape.said_as({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
def _hints(value: Any, path: str, findings: StepFindings) -> Any:
    """Guidance for an output, as one text or a list of them."""
    if isinstance(value, str):
        return [value]
    return TEXTS(value, path, findings)


OUTPUT = record("An output", {"contractRef": text(least=1, most=128), "required": flag, "hints": _hints})

_parameter = record(
    "A parameter",
    {
        "name": IDENTIFIER,
        "type": choice(("string", "number", "boolean", "array", "object")),
        "required": flag,
        "description": text(),
        "enum": array(scalar, least=1),
        "default": anything,
    },
    required=("name", "type"),
)
FUNCTION = record(
    "A function definition",
    {
        "name": IDENTIFIER,
        "definition": text(),
        "parameters": array(_parameter),
        "scope": choice(("workflow", "loop", "step")),
    },
    required=("name", "definition"),
)
FUNCTIONS = array(FUNCTION)
CALLS = array(
    record("A function call", {"name": IDENTIFIER, "args": mapping(anything)}, required=("name", "args")),
)
REFERENCES = array(text(pattern=_CALL, wanted="a reference like `name()`"))

_part_kind = choice(("text", "ref"))
_any_part = record("A part of a prompt", {"kind": _part_kind}, required=("kind",), is_open=True)
_PARTS = {
    "text": record("A text part", {"kind": _part_kind, "text": text()}, required=("kind", "text")),
    "ref": record(
        "A reference part", {"kind": _part_kind, "refId": text(least=1, most=128)}, required=("kind", "refId")
    ),
}


@shape.said_as({"anyOf": [shape.schema_of(check) for check in _PARTS.values()]})
def _part(value: Any, path: str, findings: StepFindings) -> Any:
    kind = value.get("kind") if isinstance(value, dict) else None
    check = _PARTS.get(kind, _any_part) if isinstance(kind, str) else _any_part
    return check(value, path, findings)


@shape.said_as({"anyOf": [{"type": "string"}, {"type": "array", "items": shape.schema_of(_part)}]})
def _prompt_value(value: Any, path: str, findings: StepFindings) -> Any:
    """Text, or a list of parts that are text or references."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        message = f"This is {shape.kind_of(value)}; text or a list of parts is wanted."
        findings.error(ProblemCode.WRONG_TYPE, path, message)
        return shape.DROPPED
    return array(_part)(value, path, findings)


_blocks = record(
    "promptBlocks",
    {
        "goal": _prompt_value,
        "constraints": array(_prompt_value),
        "procedure": array(_prompt_value),
        "outputRequired": mapping(text()),
        "verify": array(_prompt_value),
    },
)
BLOCKS = shape.said_as({**shape.schema_of(_blocks), "minProperties": 1})(_blocks)
FRAGMENT = record(
    "A prompt fragment",
    {
        "id": text(least=1, most=64, pattern=_LOWER_NAME, wanted="a lower-case name", code=ProblemCode.BAD_ID),
        "when": CONDITION,
        "text": _prompt_text,
    },
    required=("id", "text"),
)
TEMPLATE_CALL = record(
    "A template call",
    {"templateId": text(least=1, most=128), "args": mapping(anything)},
    required=("templateId",),
)
AUDIT = record("An audit", {"prompt": _prompt_text, "rubric": array(text(least=1), least=1)})
VERIFICATION = record("A verification", {"command": text(least=1, most=1024), "prompt": _prompt_text})
SYNTHESIS = record("A synthesis", {"prompt": _prompt_text, "outputContract": OUTPUT_CONTRACT})

CONSEQUENCE = record(
    "An assessment consequence",
    {
        "when": record(
            "A trigger",
            {"anyEqualsLevel": text(least=1, most=64), "forAssessment": text(least=1, most=128)},
            required=("anyEqualsLevel",),
        ),
        "effect": record(
            "An effect",
            {"kind": choice(("require_followup",)), "guidance": text(least=1, most=512)},
            required=("kind", "guidance"),
        ),
    },
    required=("when", "effect"),
)
ASSESSMENT = record(
    "An assessment",
    {
        "id": text(least=1, most=64),
        "purpose": _line,
        "dimensions": array(
            record(
                "A dimension",
                {
                    "id": text(least=1, most=64),
                    "purpose": _line,
                    "levels": array(text(least=1, most=64), least=2, distinct=True),
                    "required": flag,
                },
                required=("id", "purpose", "levels"),
            ),
            least=1,
        ),
    },
    required=("id", "purpose", "dimensions"),
)
EXTENSION_POINT = record(
    "An extension point",
    {
        "slotId": text(least=2, most=64, pattern=_SLOT, wanted="a lower-case name", code=ProblemCode.BAD_ID),
        "purpose": _line,
        "default": text(least=1, most=128),
        "acceptedKinds": array(choice(("routine", "workflow")), distinct=True),
    },
    required=("slotId", "purpose", "default"),
)
REFERENCE = record(
    "A reference",
    {
        "id": text(least=2, most=64, pattern=_LOWER_NAME, wanted="a lower-case name", code=ProblemCode.BAD_ID),
        "title": TITLE,
        "source": text(least=1, most=512),
        "purpose": text(least=1, most=512),
        "authoritative": flag,
        "resolveFrom": choice(("workspace", "package")),
    },
    required=("id", "title", "source", "purpose", "authoritative"),
)
PREFERENCES = record(
    "Recommended preferences",
    {"recommendedAutonomy": choice(Autonomy), "recommendedRiskPolicy": choice(RiskPolicy)},
)


DELEGATION = record(
    "A delegation",
    {
        "workflowId": text(least=1, most=128),
        "goal": text(),
        "runCondition": CONDITION,
        "contextMapping": mapping(text()),
        "args": mapping(text()),
        "modelTier": TIER,
        "allowedTools": array(text(pattern=_TOOL, wanted="the name of a tool"), least=1),
    },
    required=("workflowId",),
)

# What the rules of `validationCriteria` look like; `rules.py` reads the compositions around them.
RULE = record(
    "A validation rule",
    {
        "type": choice(RuleKind),
        "message": text(),
        "value": text(),
        "pattern": text(),
        "flags": text(),
        "min": whole(least=0),
        "max": whole(least=0),
        "schema": mapping(anything),
        "condition": CONDITION,
    },
    required=("type", "message"),
)
