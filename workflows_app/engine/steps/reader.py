"""WorkRail's JSON workflows, schema 0.0.1 and 0.3.0, read into a program of one activity."""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from workflows_app.engine import canonical, names
from workflows_app.engine.canonical import UnreadableJsonError
from workflows_app.engine.places import lines_of_seconds
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import (
    COMPILER_VERSION,
    Activity,
    Autonomy,
    Capability,
    CapabilityNeed,
    ConditionMode,
    Family,
    Item,
    Program,
    RiskPolicy,
    Step,
    WorkflowKind,
)
from workflows_app.engine.source import Compilation, Library, Source, StepsSchema, Strictness
from workflows_app.engine.steps import (
    declarations,
    functions,
    items,
    lint,
    ordinary,
    schema,
    templates,
    tokens,
    versions,
)
from workflows_app.engine.steps.findings import StepFindings, shown
from workflows_app.engine.steps.scope import Build, StepScope
from workflows_app.engine.unreadable import DOUBLED_ADVICE, advice_on_json, line_of_json

MAX_SOURCE_BYTES = 1024 * 1024
MAX_SOURCE_VALUES = 200_000
ACTIVITY_ID = "main"

# Windows begins a text with it.
_MARK = "\ufeff".encode()
_CODES = {
    "too_large": ProblemCode.TOO_LARGE,
    "too_many_values": ProblemCode.TOO_LARGE,
    "too_deep": ProblemCode.TOO_DEEP,
    "duplicate_key": ProblemCode.DUPLICATE_KEY,
    "nul_character": ProblemCode.BAD_CHARACTER,
    "lone_surrogate": ProblemCode.BAD_CHARACTER,
    "not_a_number": ProblemCode.NOT_A_NUMBER,
}
_SHAPES = {StepsSchema.V0_0_1: schema.WORKFLOW_0_0_1, StepsSchema.V0_3_0: schema.WORKFLOW_0_3_0}
_MODES = {StepsSchema.V0_0_1: ConditionMode.STRICT, StepsSchema.V0_3_0: ConditionMode.LENIENT}
# Every integer of fewer digits is exact in a double.
_LONG_NUMBER = re.compile(rb"\d{16}")
_ROUTINE_NAME = "routine-"

_Member = TypeVar("_Member", bound=StrEnum)


def compile_steps(*, source: Source, library: Library) -> Compilation:
    """The program of a step workflow, or what is wrong with it. Raises nothing, whatever the bytes are."""
    findings = StepFindings()
    data, document = _document(source, findings)
    if document is None:
        return Compilation(program=None, workflow_id="", problems=findings.listed())
    said_id = document.get("id")
    version = versions.schema_of(document=document, hint=source.schema, findings=findings)
    checked = _SHAPES[version](document, "", findings)
    if "id" in checked:
        findings.take(names.check_id(workflow_id=checked["id"], origin=source.origin))
    own = said_id if isinstance(said_id, str) else ""
    build = Build(library=library, findings=findings, workflow_id=own, routine_ids=_routine_ids(library))
    if findings.errors:
        build.left_out.add(document, checked)
    program = _program(build, checked, version, _scope(build, checked, version, source, data))
    lint.report(build, program, checked)
    return Compilation(
        program=None if findings.errors else program,
        workflow_id=own,
        problems=findings.listed(),
    )


# Reading


def _document(source: Source, findings: StepFindings) -> tuple[bytes, dict[str, Any] | None]:
    if len(source.files) != 1:
        code = ProblemCode.UNKNOWN_FILE if source.files else ProblemCode.NO_WORKFLOW
        findings.error(code, "", f"A step workflow is one JSON file; {len(source.files)} are given.")
        return b"", None
    data = next(iter(source.files.values())).removeprefix(_MARK)
    try:
        doubled: list[str] | None = [] if source.strictness is Strictness.LEGACY else None
        read = canonical.loads_strict(data, max_bytes=MAX_SOURCE_BYTES, max_values=MAX_SOURCE_VALUES, doubled=doubled)
        document = _with_kept_numbers(data, read)
    except UnreadableJsonError as error:
        findings.take((_unreadable(error, data),))
        return data, None
    if not isinstance(document, dict):
        findings.error(ProblemCode.WRONG_TYPE, "", "A workflow is a JSON object.")
        return data, None
    findings.take(_told_twice(doubled or (), data))
    return data, document


def _told_twice(doubled: Collection[str], data: bytes) -> Iterator[WorkflowProblem]:
    lines = lines_of_seconds(data.decode(), frozenset(doubled)) if doubled else {}
    for key in dict.fromkeys(doubled):
        yield WorkflowProblem(
            code=ProblemCode.DUPLICATE_KEY,
            message=f"The key {shown(key)} stands twice in one object; the last one counts.",
            severity=Severity.WARNING,
            line=lines.get(key),
            suggestion=DOUBLED_ADVICE,
        )


def _with_kept_numbers(data: bytes, document: Any) -> Any:
    """The document with each number as it will read in the stored program: a double, where no integer is exact."""
    if not _LONG_NUMBER.search(data):
        return document
    try:
        return msgspec.json.decode(canonical.canonical_bytes(document))
    except canonical.NotCanonicalError as error:
        raise UnreadableJsonError("not_a_number", "A number is beyond what JSON readers can hold.") from error


def _unreadable(error: UnreadableJsonError, data: bytes) -> WorkflowProblem:
    code = _CODES.get(error.reason, ProblemCode.UNREADABLE)
    text = data.decode("utf-8", "surrogateescape")
    line, advice = line_of_json(error, text), advice_on_json(error, text)
    return WorkflowProblem(code=code, message=error.message, line=line, suggestion=advice)


def _routine_ids(library: Library) -> frozenset[str]:
    """The names that the routines of the library have, and those that their names in template calls stand for."""
    named = {f"{names.RESERVED_NAMESPACE}.{_ROUTINE_NAME}{name}" for name in library.routines}
    if library.routine_ids is not None:
        return frozenset(named) | library.routine_ids
    named.update(name for name in library.workflow_ids if _kind(name) is WorkflowKind.ROUTINE)
    for document in library.routines.values():
        said = document.get("id") if isinstance(document, dict) else None
        if isinstance(said, str):
            named.add(said)
    return frozenset(named)


# Building


def _scope(build: Build, document: dict[str, Any], version: StepsSchema, source: Source, data: bytes) -> StepScope:
    findings = build.findings
    declarations.enter(build, findings, document)
    scope = StepScope(
        findings=findings,
        mode=_MODES[version],
        tolerant=version is StepsSchema.V0_0_1 or source.strictness is Strictness.LEGACY,
        siblings=templates.siblings(document.get("steps", []), "steps"),
        functions=functions.defined(
            findings, document.get("functionDefinitions", []), path="functionDefinitions", scope_name="workflow"
        ),
        slots=declarations.slots(build, findings, document),
        features=declarations.features(findings, document),
        braces=b"{{" in data or b"\\u007" in data,
    )
    return replace(scope, agent_role=tokens.fill(build, scope, document.get("agentRole", ""), path="agentRole", at=""))


def _program(build: Build, document: dict[str, Any], version: StepsSchema, scope: StepScope) -> Program:
    body = items.build_items(build, scope, document.get("steps", []), "steps")
    functions.report_unused(build, scope, document, "functionDefinitions")
    body = (*_probes(build, scope, body), *body)
    preferences = document.get("recommendedPreferences", {})
    workflow_id = document.get("id", "")
    title = document.get("name", "")
    return Program(
        compiler=COMPILER_VERSION,
        family=Family.STEPS,
        id=workflow_id,
        title=title,
        version=document.get("version", ""),
        conditions=scope.mode,
        activities=(Activity(id=ACTIVITY_ID, title=title, body=body),),
        initial_activity=ACTIVITY_ID,
        kind=_kind(workflow_id),
        schema_version=version.value,
        description=document.get("description", ""),
        about=document.get("about", ""),
        examples=tuple(document.get("examples", ())),
        preconditions=tuple(document.get("preconditions", ())),
        clarification_prompts=tuple(document.get("clarificationPrompts", ())),
        guidance=tuple(tokens.fill(build, scope, document.get("metaGuidance", []), path="metaGuidance", at="")),
        recommended_autonomy=_member(Autonomy, preferences.get("recommendedAutonomy")),
        recommended_risk_policy=_member(RiskPolicy, preferences.get("recommendedRiskPolicy")),
        capabilities=build.capabilities,
        features=scope.features,
        functions=tuple(scope.functions.values()),
        assessments=tuple(build.assessments.values()),
        contracts=build.contracts,
        extension_points=tuple(build.extension_points.values()),
        references=tuple(build.references.values()),
        model_tier=ordinary.tier(document),
        metrics_profile=document.get("metricsProfile", ""),
        provenance=tuple(build.provenance),
    )


def _probes(build: Build, scope: StepScope, body: tuple[Item, ...]) -> tuple[Step, ...]:
    """A probe for each required capability that the author does not probe first of all."""
    probed: set[Capability] = set()
    for item in body:
        if not isinstance(item, Step) or item.probes is None:
            break
        if item.run_condition is None:
            probed.add(item.probes)
    required = {name for name, need in build.capabilities.items() if need is CapabilityNeed.REQUIRED}
    return tuple(ordinary.probe_step(build, scope, capability) for capability in sorted(required - probed))


def _kind(workflow_id: str) -> WorkflowKind:
    name = workflow_id.rpartition(".")[2]
    return WorkflowKind.ROUTINE if name.startswith(_ROUTINE_NAME) else WorkflowKind.WORKFLOW


def _member(members: type[_Member], value: str | None) -> _Member | None:
    return None if value is None else members(value)
