"""Which schema version a step workflow is written for; conditions compare strictly in the first and leniently after it.

The document's own `$schema` decides, then what the source says. Without either, a document is 0.3.0 as soon as anything in it
needs that: an id with a namespace or `_`, a key or operator that 0.0.1 does not have, a longer prompt. What is left is valid
as the first release wrote it, and is read as such.
"""

import re
from collections.abc import Iterator
from typing import Any

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.source import StepsSchema
from workflows_app.engine.steps import schema
from workflows_app.engine.steps.findings import StepFindings, shown

_VERSION = re.compile(r"(?<![\d.])\d+\.\d+\.\d+(?!\.?\d)")
_LATER_OPERATORS = frozenset({"contains", "startsWith", "endsWith", "matches", "in", "exists", "notExists"})
_KNOWN = tuple(StepsSchema)


def schema_of(*, document: dict[str, Any], hint: StepsSchema | None, findings: StepFindings) -> StepsSchema:
    return _declared(document, findings) or hint or (StepsSchema.V0_3_0 if _is_later(document) else StepsSchema.V0_0_1)


def _declared(document: dict[str, Any], findings: StepFindings) -> StepsSchema | None:
    said = document.get("$schema")
    if not isinstance(said, str):
        return None
    numbers = _VERSION.findall(said[-256:])
    if not numbers:
        message = f"{shown(said)} names no version of the schema, so the version is found by what the document uses."
        findings.warn(ProblemCode.IGNORED_FIELD, "$schema", message, f"Name one of {', '.join(_KNOWN)}.")
        return None
    if numbers[-1] not in _KNOWN:
        message = f"Schema version {numbers[-1]} is not known."
        findings.unknown(ProblemCode.BAD_VALUE, "$schema", message, word=numbers[-1], known=_KNOWN)
        return StepsSchema.V0_3_0
    return StepsSchema(numbers[-1])


def _is_later(document: dict[str, Any]) -> bool:
    """True when something known to 0.3.0 stands in the document that 0.0.1 does not know."""
    workflow_id = document.get("id")
    if isinstance(workflow_id, str) and ("." in workflow_id or "_" in workflow_id):
        return True
    if any(key in document for key in schema.LATER_WORKFLOW_KEYS):
        return True
    return any(_is_later_step(step) for step in _dicts(document.get("steps")))


def _is_later_step(step: dict[str, Any]) -> bool:
    prompt = step.get("prompt")
    return (
        any(key in step for key in schema.LATER_STEP_KEYS)
        or isinstance(step.get("requireConfirmation"), dict)
        or (isinstance(prompt, str) and len(prompt) > schema.FIRST_PROMPT_CHARS)
        or any(not _LATER_OPERATORS.isdisjoint(node) for node in _conditions(step))
    )


def _conditions(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    rules = step.get("validationCriteria")
    waiting = [step.get("runCondition"), *(rule.get("condition") for rule in _dicts(rules))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += [node.get("not"), *_dicts(node.get("and")), *_dicts(node.get("or"))]


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
