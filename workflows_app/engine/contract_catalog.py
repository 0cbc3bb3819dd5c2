"""The contracts that every workflow may ask for. Each is a JSON Schema, and an example that satisfies it.

Examples are short: they are what an agent is shown when it handed in something else, and that text has 1024 bytes. Agents copy
them, so none says more than is known, and what stops a run says so.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from workflows_app.engine.program import Contract

Schema = dict[str, Any]

CONFIDENCE: Final = ("high", "medium", "low")
DIVERGENCE_REASONS: Final = (
    "missing_user_context",
    "capability_unavailable",
    "efficiency_skip",
    "safety_stop",
    "policy_constraint",
)
GAP_DETAILS: Final = (
    "needs_user_secret_or_token",
    "needs_user_account_access",
    "needs_user_artifact",
    "needs_user_choice",
    "needs_user_approval",
    "needs_user_environment_action",
    "missing_required_output",
    "invalid_required_output",
    "missing_required_notes",
    "assessment_followup_required",
    "required_capability_unavailable",
    "required_capability_unknown",
    "invariant_violation",
    "storage_corruption_detected",
    "evaluation_error",
)
POWERS: Final = (
    "Counter-Positioning",
    "Switching Costs",
    "Network Economies",
    "Scale Economies",
    "Cornered Resource",
    "Process Power",
    "Branding",
    "None_Imitable",
)
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$"
_UUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_LOOP_ID = r"^[a-z0-9_-]+(\.[a-z0-9_-]+)*$"


def _text(most: int | None = None, *, least: int = 1) -> Schema:
    bounds = {"minLength": least} if least else {}
    return {"type": "string", **bounds, **({} if most is None else {"maxLength": most})}


def _one_of(*values: str) -> Schema:
    return {"enum": list(values)}


def _whole(most: int | None = None) -> Schema:
    return {"type": "integer", "minimum": 0, **({} if most is None else {"maximum": most})}


def _some(items: Schema, most: int | None = None, *, least: int = 0) -> Schema:
    bounds = {"minItems": least} if least else {}
    return {"type": "array", "items": items, **bounds, **({} if most is None else {"maxItems": most})}


def _strict(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return _open(required, optional) | {"additionalProperties": False}


def _open(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def _contract(
    name: str,
    summary: str,
    required: Mapping[str, Schema],
    optional: Mapping[str, Schema] | None = None,
    *,
    example: Mapping[str, Any],
    version: int | None = None,
    rules: Mapping[str, Any] | None = None,
) -> tuple[str, Contract]:
    """A strict artifact of kind `wr.<name>`; `rules` are keywords that look at several of its keys."""
    kind = f"wr.{name}"
    head: dict[str, Schema] = {"kind": {"const": kind}}
    said: dict[str, Any] = {"kind": kind}
    if version is not None:
        head["version"] = {"const": version}
        said["version"] = version
    schema = _strict({**head, **required}, optional) | dict(rules or {})
    contract = Contract(artifact_kind=kind, schema=schema, example={**said, **example}, summary=summary)
    return f"wr.contracts.{name}", contract


_LINE = _text(200)

_LOOP_CONTROL = _contract(
    "loop_control",
    "Whether the loop around this step runs another round.",
    {"decision": _one_of("continue", "stop")},
    {
        "loopId": _text(64) | {"pattern": _LOOP_ID},
        "metadata": _strict(
            {},
            {
                "reason": _text(1024, least=0),
                "issuesFound": _whole(),
                "iterationIndex": _whole(),
                "confidence": _whole(100),
            },
        ),
    },
    example={"decision": "continue", "metadata": {"issuesFound": 2, "reason": "Two findings are still open."}},
)

_ASSESSMENT = _contract(
    "assessment",
    "A level for each dimension of an assessment that the workflow declares.",
    {
        "dimensions": {
            "type": "object",
            "minProperties": 1,
            "propertyNames": _text(64),
            "additionalProperties": {
                "anyOf": [_text(64), _strict({"level": _text(64)}, {"rationale": _text(512)})],
            },
        },
    },
    {"assessmentId": _text(64), "summary": _text(1024, least=0)},
    example={
        "assessmentId": "readiness",
        "dimensions": {"coverage": {"level": "high", "rationale": "Each acceptance criterion has a test."}},
    },
)

_COORDINATOR_SIGNAL = _contract(
    "coordinator_signal",
    "A word from the agent to whoever coordinates it.",
    {
        "signalKind": _one_of("progress", "finding", "data_needed", "approval_needed", "blocked"),
        "payload": {"type": "object"},
    },
    {"sessionId": _text(256)},
    example={"signalKind": "finding", "payload": {"summary": "The cache is never invalidated."}},
)

_REVIEW_VERDICT = _contract(
    "review_verdict",
    "The verdict of a review, with its findings.",
    {
        "verdict": _one_of("clean", "minor", "blocking"),
        "confidence": _one_of(*CONFIDENCE),
        "findings": _some(
            _open(
                {"severity": _one_of("critical", "major", "minor", "nit"), "summary": _text()},
                {
                    "findingCategory": _one_of(
                        "correctness", "security", "architecture", "ux", "performance", "testing", "style"
                    ),
                },
            ),
        ),
        "summary": _text(),
    },
    example={
        "verdict": "minor",
        "confidence": "high",
        "findings": [{"severity": "minor", "summary": "The retry has no upper bound.", "file": "client.py"}],
        "summary": "Sound but for an unbounded retry.",
    },
)

_DISCOVERY_HANDOFF = _contract(
    "discovery_handoff",
    "What discovery settled, for whoever shapes the work next.",
    {
        "selectedDirection": _text(),
        "designDocPath": _text(least=0),
        "confidenceBand": _one_of(*CONFIDENCE),
        "keyInvariants": _some(_LINE, 12),
    },
    {
        "rejectedDirections": _some(_strict({"direction": _LINE, "reason": _text(300)}), 5),
        "implementationConstraints": _some(_LINE, 8),
        "keyCodebaseLocations": _some(_strict({"path": _text(300), "relevance": _text(150)}), 10),
        "selectionTier": _one_of("strong_recommendation", "provisional_recommendation", "insufficient_signal"),
    },
    version=1,
    example={
        "selectedDirection": "Keep one queue and add a retry budget per job.",
        "designDocPath": "docs/retry-budget.md",
        "confidenceBand": "medium",
        "keyInvariants": ["A job is never run twice at once."],
    },
)

_SHAPING_HANDOFF = _contract(
    "shaping_handoff",
    "A shaped piece of work: what to build, within what bounds.",
    {
        "pitchPath": _text(),
        "selectedShape": _LINE,
        "appetite": _text(100),
        "keyConstraints": _some(_LINE, 8),
        "rabbitHoles": _some(_LINE, 6),
        "outOfScope": _some(_LINE, 6),
        "validationChecklist": _some(_LINE, 10),
    },
    version=1,
    example={
        "pitchPath": "docs/pitch.md",
        "selectedShape": "A retry budget column, read by the worker.",
        "appetite": "Two days",
        "keyConstraints": ["No new service."],
        "rabbitHoles": ["Priorities between queues."],
        "outOfScope": ["A screen for the budget."],
        "validationChecklist": ["A job over its budget is parked."],
    },
)

_CODING_HANDOFF = _contract(
    "coding_handoff",
    "What was built and why, for whoever reviews it.",
    {
        "keyDecisions": _some(_LINE, 8),
        "knownLimitations": _some(_LINE, 6),
        "testsAdded": _some(_LINE, 10),
        "filesChanged": _some(_text(300), 20),
    },
    {
        "branchName": _text(),
        "correctedAssumptions": _some(_strict({"assumed": _LINE, "actual": _LINE}), 6),
    },
    version=1,
    example={
        "branchName": "retry-budget",
        "keyDecisions": ["The budget is a column: the worker reads the row anyway."],
        "knownLimitations": ["Budgets are not shown anywhere yet."],
        "testsAdded": ["tests/test_retry_budget.py"],
        "filesChanged": ["worker.py", "models.py"],
    },
)

_GATE_VERDICT = _contract(
    "gate_verdict",
    "Whether gated work may go on, and why.",
    {
        "verdict": _one_of("approved", "rejected", "uncertain"),
        "confidence": _one_of(*CONFIDENCE),
        "rationale": _text(least=20),
    },
    version=1,
    example={
        "verdict": "approved",
        "confidence": "high",
        "rationale": "All four acceptance criteria are shown by a passing test.",
    },
)

_DIFFERENTIATION_HANDOFF = _contract(
    "differentiation_handoff",
    "What sets a product apart, with its evidence, for whoever shapes the work next.",
    {
        "schemaVersion": {"const": "1.0.0"},
        "generatedAt": _text() | {"pattern": _MOMENT},
        "evidenceFreshness": _open(
            {"oldestCapturedAt": _text() | {"pattern": _MOMENT}, "newestCapturedAt": _text() | {"pattern": _MOMENT}},
        ),
        "validationChecklist": _some(_LINE, 10),
        "shapingHandoff": _open(
            {
                "rawIdea": _text(),
                "problem": _text(),
                "baseline": _text(),
                "appetiteHint": _one_of("small_batch", "big_batch"),
                "noGosHints": _some(_text(least=0)),
                "constraints": _open(
                    {
                        "teamSize": {"type": "integer", "minimum": 1},
                        "technicalCapabilities": _some(_text(least=0), least=1),
                    },
                    {"exclusions": _some(_text(least=0))},
                ),
                "evidenceTopK": _some(_text() | {"pattern": _UUID}, 10),
                "defensibilityClaim": _open({"power": _one_of(*POWERS), "cannibalization": _text(least=0)}),
            },
        ),
    },
    version=1,
    example={
        "schemaVersion": "1.0.0",
        "generatedAt": "2026-05-01T09:00:00Z",
        "evidenceFreshness": {
            "oldestCapturedAt": "2026-04-01T09:00:00Z",
            "newestCapturedAt": "2026-04-30T09:00:00Z",
        },
        "validationChecklist": ["Setup takes under a minute."],
        "shapingHandoff": {
            "rawIdea": "Import by link",
            "problem": "Copying by hand loses an hour.",
            "baseline": "A spreadsheet.",
            "appetiteHint": "small_batch",
            "noGosHints": [],
            "constraints": {"teamSize": 2, "technicalCapabilities": ["Django"], "exclusions": []},
            "evidenceTopK": [],
            "defensibilityClaim": {"power": "Switching Costs", "cannibalization": "None."},
        },
    },
)

_CAPABILITY_OBSERVATION = _contract(
    "capability_observation",
    "Whether the agent has a capability, and how it knows.",
    {
        "capability": _one_of("delegation", "web_browsing"),
        "status": _one_of("available", "unavailable", "unknown"),
    },
    {
        "provenance": _one_of("probe_step", "attempted_use", "manual_claim"),
        "detail": _text(512),
        "failureCode": _one_of("tool_missing", "tool_error", "policy_blocked", "unknown"),
    },
    # An attempt that failed says how; nothing else has a failure to report.
    rules={
        "if": {
            "properties": {"provenance": {"const": "attempted_use"}, "status": {"const": "unavailable"}},
            "required": ["provenance"],
        },
        "then": {"required": ["failureCode"]},
        "else": {"not": {"required": ["failureCode"]}},
    },
    example={
        "capability": "web_browsing",
        "status": "unknown",
        "provenance": "manual_claim",
        "detail": "Status is what you found. Where the workflow needs it, all but available stops the run.",
    },
)

_WORKFLOW_DIVERGENCE = _contract(
    "workflow_divergence",
    "That the agent did other than it was told, on purpose.",
    {"reason": _one_of(*DIVERGENCE_REASONS), "summary": _text(512)},
    {"relatedStepId": _text(256)},
    example={"reason": "efficiency_skip", "summary": "The suite was run once for both changes."},
)

_VERIFICATION_REPORT = _contract(
    "verification_report",
    "What was checked, how, and what came out: evidence instead of a claim.",
    {
        "outcome": _one_of("passed", "failed", "partial"),
        "checks": _some(
            _strict(
                {"name": _LINE, "result": _one_of("passed", "failed", "skipped"), "evidence": _text(1024)},
                {"command": _text(512)},
            ),
            30,
            least=1,
        ),
    },
    {"summary": _text(1024)},
    example={
        "outcome": "passed",
        "checks": [
            {
                "name": "Unit tests",
                "command": "pytest -q",
                "result": "passed",
                "evidence": "214 passed in 6.1s",
            },
        ],
    },
)

_GAPS = _contract(
    "gaps",
    "What is missing, so that nobody takes the work for more than it is.",
    {
        "gaps": _some(
            _strict(
                {"detail": _one_of(*GAP_DETAILS), "summary": _text(512)},
                {"severity": _one_of("info", "warning", "critical"), "contextKey": _text(128)},
            ),
            20,
            least=1,
        ),
    },
    example={
        "gaps": [
            {
                "detail": "needs_user_choice",
                "severity": "info",
                "summary": "What is missing. What only the user can give stops the run if you call it critical.",
                "contextKey": "invoice_layout",
            },
        ],
    },
)

BUILT_IN: Final[Mapping[str, Contract]] = MappingProxyType(
    dict(
        (
            _LOOP_CONTROL,
            _ASSESSMENT,
            _COORDINATOR_SIGNAL,
            _REVIEW_VERDICT,
            _DISCOVERY_HANDOFF,
            _SHAPING_HANDOFF,
            _CODING_HANDOFF,
            _GATE_VERDICT,
            _DIFFERENTIATION_HANDOFF,
            _CAPABILITY_OBSERVATION,
            _WORKFLOW_DIVERGENCE,
            _VERIFICATION_REPORT,
            _GAPS,
        ),
    ),
)
