"""What the pending item asks to be handed in, and what is wrong with what was."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sessions_app.engine.reasons import (
    TABLE,
    Detail,
    Gap,
    GapCategory,
    GapSeverity,
    Reason,
    contract_pointer,
    step_pointer,
)
from sessions_app.engine.state import (
    CapabilityObservation,
    CapabilityProvenance,
    CapabilityStatus,
    Pointer,
    PointerKind,
    Snapshot,
)
from workflows_app.engine import canonical, contracts, validation, walker
from workflows_app.engine.program import (
    Assessment,
    Capability,
    CapabilityNeed,
    Checkpoint,
    Contract,
    Gate,
    Loop,
    Option,
    Parallel,
    Program,
    Step,
)

MAX_ARTIFACTS = 20
MAX_ARTIFACT_BYTES = 64 * 1024
ASSESSMENT_KIND = "wr.assessment"
CAPABILITY_KIND = "wr.capability_observation"
DIVERGENCE_KIND = "wr.workflow_divergence"
GAPS_KIND = "wr.gaps"
ANSWER_KIND = "wr.checkpoint_answer"
_SIDE_CONTRACTS = {
    CAPABILITY_KIND: "wr.contracts.capability_observation",
    DIVERGENCE_KIND: "wr.contracts.workflow_divergence",
    GAPS_KIND: "wr.contracts.gaps",
}

Artifact = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What an agent hands in with an acknowledgement. Artifacts are JSON objects with a `kind`."""

    notes: str = ""
    artifacts: tuple[Artifact, ...] = ()
    context: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """One assessment as handed in: level and rationale by dimension, and how the level was matched."""

    assessment: str
    levels: Mapping[str, str]
    rationales: Mapping[str, str]
    normalized: frozenset[str]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A consequence that holds: which dimension stands at which level, and what follows."""

    assessment: str
    dimension: str
    level: str
    guidance: str


@dataclass(slots=True, kw_only=True)
class Findings:
    """Everything that one submission says, sorted: what stops, what is told, what is learnt."""

    reasons: list[Reason] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    suggestions: list[str] = field(default_factory=list)
    graded: list[Graded] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)
    capabilities: dict[Capability, CapabilityObservation] = field(default_factory=dict)
    observations: list[Artifact] = field(default_factory=list)
    divergences: list[Artifact] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    answer: Option | None = None
    followup: str = ""


def examine(*, program: Program, snapshot: Snapshot, submission: Submission, variables: Mapping[str, Any]) -> Findings:
    """Judge a submission against the pending item. Nothing here decides whether the run stops."""
    findings = Findings()
    item = walker.item_at(program, snapshot.position)
    _side_artifacts(findings, submission)
    match item:
        case Gate():
            _gate(findings, program, snapshot, item, submission)
        case Step() | Parallel():
            _outputs(findings, program, snapshot, item, submission=submission, variables=variables)
            _notes(findings, item, submission)
            if isinstance(item, Step):
                _capability(findings, program, item)
        case None:
            pass
    return findings


def requirements(*, program: Program, item: Step | Parallel) -> tuple[str, ...]:
    """What must be handed in for this item, in words, before it is failed."""
    said: list[str] = []
    if item.contract is not None and item.contract.required:
        contract = program.contracts[item.contract.contract]
        said.append(f"An artifact of kind {contract.artifact_kind} in output.artifacts ({item.contract.contract}).")
    elif isinstance(item, Step) and item.assessments:
        said.extend(_assessment_words(program, item))
    elif isinstance(item, Step) and item.validation is not None:
        said.extend(validation.requirements(item.validation))
    if needs_notes(item):
        said.append("Notes in output.notesMarkdown: what was done, what was found, what is next.")
    return tuple(said)


def needs_notes(item: Step | Parallel) -> bool:
    return item.notes_required and item.contract is None


def _assessment_words(program: Program, item: Step) -> Iterator[str]:
    for assessment in _assessments_of(program, item):
        dimensions = "; ".join(f"{d.id}: {' | '.join(d.levels)}" for d in assessment.dimensions)
        yield f"An artifact of kind {ASSESSMENT_KIND} with assessmentId {assessment.id} ({dimensions})."


def _assessments_of(program: Program, item: Step) -> tuple[Assessment, ...]:
    known = {assessment.id: assessment for assessment in program.assessments}
    return tuple(known[ref] for ref in item.assessments if ref in known)


# Artifacts that any step may hand in


def _side_artifacts(findings: Findings, submission: Submission) -> None:
    for artifact in submission.artifacts:
        kind = artifact.get("kind")
        contract_id = _SIDE_CONTRACTS.get(kind) if isinstance(kind, str) else None
        if contract_id is None:
            continue
        issues = contracts.check_artifact(contracts.BUILT_IN[contract_id], artifact)
        if issues:
            findings.reasons.append(_invalid(contract_id, contracts.BUILT_IN[contract_id], issues))
            findings.issues.extend(issues)
        else:
            _learn(findings, artifact)


def _learn(findings: Findings, artifact: Artifact) -> None:
    if artifact["kind"] == CAPABILITY_KIND:
        observation = CapabilityObservation(
            status=CapabilityStatus(artifact["status"]),
            provenance=CapabilityProvenance(artifact.get("provenance", CapabilityProvenance.MANUAL_CLAIM)),
        )
        findings.capabilities[Capability(artifact["capability"])] = observation
        findings.observations.append(artifact)
    elif artifact["kind"] == DIVERGENCE_KIND:
        findings.divergences.append(artifact)
    else:
        _reported_gaps(findings, artifact)


def _reported_gaps(findings: Findings, artifact: Artifact) -> None:
    """A gap that only a user can close, and that the agent calls critical, is a reason; any other is disclosed."""
    for said in artifact["gaps"]:
        detail = Detail(said["detail"])
        row = TABLE[detail]
        severity = GapSeverity(said.get("severity", GapSeverity.WARNING))
        if row.category is GapCategory.USER_ONLY_DEPENDENCY and severity is GapSeverity.CRITICAL:
            pointer = Pointer(kind=PointerKind.CONTEXT_KEY, name=said.get("contextKey", detail.value))
            findings.reasons.append(
                Reason(
                    detail=detail,
                    pointer=pointer,
                    message=said["summary"],
                    fix="Ask the user, then retry with what they gave you in context or output.",
                ),
            )
        else:
            findings.gaps.append(
                Gap(severity=severity, category=row.category, detail=detail, summary=said["summary"]),
            )


# Contracts, assessments, validation: the first that a step has is the one that counts


def _outputs(
    findings: Findings,
    program: Program,
    snapshot: Snapshot,
    item: Step | Parallel,
    *,
    submission: Submission,
    variables: Mapping[str, Any],
) -> None:
    if item.contract is not None:
        _contract(findings, program, snapshot, item, submission)
    elif isinstance(item, Step) and item.assessments:
        _assess(findings, program, item, submission)
    elif isinstance(item, Step) and item.validation is not None and submission.notes.strip():
        issues = validation.check_notes(
            item.validation, notes=submission.notes, variables=variables, mode=program.conditions
        )
        findings.issues.extend(issues)
        if issues:
            findings.reasons.append(
                Reason(
                    detail=Detail.INVALID_REQUIRED_OUTPUT,
                    pointer=step_pointer(item.id),
                    message=f"The notes do not meet the step's requirements: {' '.join(issues)}",
                    fix="Do what the requirement asks, then retry with notes that show it.",
                ),
            )


def _contract(
    findings: Findings, program: Program, snapshot: Snapshot, item: Step | Parallel, submission: Submission
) -> None:
    use = item.contract
    if use is None:
        return
    contract = program.contracts[use.contract]
    offered = [artifact for artifact in submission.artifacts if artifact.get("kind") == contract.artifact_kind]
    if not offered:
        if use.required:
            findings.reasons.append(_missing(use.contract, contract))
        return
    issues = [issue for artifact in offered for issue in contracts.check_artifact(contract, artifact)]
    if contract.artifact_kind == walker.LOOP_CONTROL_KIND:
        issues.extend(_wrong_loop(program, snapshot, offered))
    if issues:
        findings.issues.extend(issues)
        findings.reasons.append(_invalid(use.contract, contract, tuple(issues)))


def _wrong_loop(program: Program, snapshot: Snapshot, offered: list[Artifact]) -> list[str]:
    activity = program.activity(snapshot.position.activity)
    loops: tuple[Loop, ...] = walker.loops_at(activity, snapshot.position.frames) if activity else ()
    if not loops:
        return []
    known = {name for loop in loops for name in (loop.id, loop.decision_loop_id) if name}
    return [
        f"loopId is {artifact['loopId']!r}; this step decides loop {loops[-1].id!r}."
        for artifact in offered
        if artifact.get("loopId") is not None and artifact["loopId"] not in known
    ]


def _missing(contract_id: str, contract: Contract) -> Reason:
    return Reason(
        detail=Detail.MISSING_REQUIRED_OUTPUT,
        pointer=contract_pointer(contract_id),
        message=f"The step asks for an artifact of kind {contract.artifact_kind} and none was handed in.",
        fix=f"Retry with output.artifacts holding for example {_example(contract)}",
    )


def _invalid(contract_id: str, contract: Contract, issues: tuple[str, ...]) -> Reason:
    return Reason(
        detail=Detail.INVALID_REQUIRED_OUTPUT,
        pointer=contract_pointer(contract_id),
        message=f"The artifact of kind {contract.artifact_kind} does not fit its contract: {' '.join(issues[:5])}",
        fix=f"Mend it and retry. A valid one: {_example(contract)}",
    )


def _example(contract: Contract) -> str:
    return canonical.canonical_bytes(contract.example).decode("utf-8")


def _assess(findings: Findings, program: Program, item: Step, submission: Submission) -> None:
    offered = [artifact for artifact in submission.artifacts if artifact.get("kind") == ASSESSMENT_KIND]
    definitions = _assessments_of(program, item)
    for definition in definitions:
        named = [a for a in offered if a.get("assessmentId") == definition.id]
        unnamed = [a for a in offered if a.get("assessmentId") is None] if len(definitions) == 1 else []
        found = [*named, *unnamed]
        if found:
            _grade(findings, definition, found[0])
        else:
            pointer = Pointer(
                kind=PointerKind.ASSESSMENT_DIMENSION, name=definition.id, part=definition.dimensions[0].id
            )
            words = "; ".join(f"{d.id}: {' | '.join(d.levels)}" for d in definition.dimensions)
            findings.reasons.append(
                Reason(
                    detail=Detail.MISSING_REQUIRED_OUTPUT,
                    pointer=pointer,
                    message=f"The assessment {definition.id} was not handed in.",
                    fix=f"Retry with an artifact of kind {ASSESSMENT_KIND}, assessmentId {definition.id}, dimensions {words}.",
                ),
            )
    _consequences(findings, item)


def _grade(findings: Findings, definition: Assessment, artifact: Artifact) -> None:
    given = artifact.get("dimensions")
    said: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    levels: dict[str, str] = {}
    rationales: dict[str, str] = {}
    normalized: set[str] = set()
    for dimension in definition.dimensions:
        value = said.get(dimension.id)
        level = value.get("level") if isinstance(value, Mapping) else value
        match = _level(dimension.levels, level)
        if match is None:
            if dimension.required or value is not None:
                _bad_dimension(findings, definition, dimension.id, dimension.levels, missing=value is None)
            continue
        levels[dimension.id] = match
        if match != level:
            normalized.add(dimension.id)
        if isinstance(value, Mapping) and isinstance(value.get("rationale"), str):
            rationales[dimension.id] = value["rationale"]
    for unknown in sorted(set(said) - {dimension.id for dimension in definition.dimensions}):
        findings.suggestions.append(
            f"The assessment {definition.id} has no dimension {unknown!r}; it was not recorded."
        )
    summary = artifact.get("summary")
    findings.graded.append(
        Graded(
            assessment=definition.id,
            levels=levels,
            rationales=rationales,
            normalized=frozenset(normalized),
            summary=summary if isinstance(summary, str) else "",
        ),
    )


def _level(levels: tuple[str, ...], given: object) -> str | None:
    if not isinstance(given, str):
        return None
    if given in levels:
        return given
    folded = given.strip().lower()
    return next((level for level in levels if level.lower() == folded), None)


def _bad_dimension(
    findings: Findings, definition: Assessment, dimension: str, levels: tuple[str, ...], *, missing: bool
) -> None:
    words = " | ".join(levels)
    what = "is missing" if missing else "is at no known level"
    findings.reasons.append(
        Reason(
            detail=Detail.MISSING_REQUIRED_OUTPUT if missing else Detail.INVALID_REQUIRED_OUTPUT,
            pointer=Pointer(kind=PointerKind.ASSESSMENT_DIMENSION, name=definition.id, part=dimension),
            message=f"Dimension {dimension} of assessment {definition.id} {what}.",
            fix=f"Give it one of: {words}.",
        ),
    )


def _consequences(findings: Findings, item: Step) -> None:
    for consequence in item.consequences:
        for graded in findings.graded:
            if consequence.assessment and consequence.assessment != graded.assessment:
                continue
            for dimension, level in graded.levels.items():
                if level != consequence.level:
                    continue
                findings.applied.append(
                    Applied(
                        assessment=graded.assessment, dimension=dimension, level=level, guidance=consequence.guidance
                    ),
                )
                findings.followup = consequence.guidance
                findings.reasons.append(
                    Reason(
                        detail=Detail.ASSESSMENT_FOLLOWUP_REQUIRED,
                        pointer=Pointer(kind=PointerKind.ASSESSMENT_DIMENSION, name=graded.assessment, part=dimension),
                        message=f"{dimension} stands at {level}, which asks for a follow-up before the step is done.",
                        fix=consequence.guidance,
                    ),
                )


def _notes(findings: Findings, item: Step | Parallel, submission: Submission) -> None:
    if needs_notes(item) and not submission.notes.strip():
        findings.reasons.append(
            Reason(
                detail=Detail.MISSING_REQUIRED_NOTES,
                pointer=step_pointer(item.id),
                message="The step was acknowledged without notes.",
                fix="Retry with the tokens of nextCall and output.notesMarkdown: what was done, found, and is next.",
            ),
        )


def _capability(findings: Findings, program: Program, item: Step) -> None:
    """A probe step is done when it says what it saw; a required capability that is not there is a reason."""
    if item.probes is None:
        return
    seen = findings.capabilities.get(item.probes)
    if seen is None or program.capabilities.get(item.probes) is not CapabilityNeed.REQUIRED:
        return
    pointer = Pointer(kind=PointerKind.CAPABILITY, name=item.probes.value)
    if seen.status is CapabilityStatus.UNAVAILABLE:
        findings.reasons.append(
            Reason(
                detail=Detail.REQUIRED_CAPABILITY_UNAVAILABLE,
                pointer=pointer,
                message=f"The workflow needs {item.probes.value} and the probe found it unavailable.",
                fix="Ask the user to give you a tool for it or to hand over the material, then probe again and retry.",
            ),
        )
    elif seen.status is CapabilityStatus.UNKNOWN:
        findings.reasons.append(
            Reason(
                detail=Detail.REQUIRED_CAPABILITY_UNKNOWN,
                pointer=pointer,
                message=f"The workflow needs {item.probes.value} and the probe did not settle whether it is there.",
                fix="Try it once for real, then retry with status available or unavailable.",
            ),
        )


# Checkpoints that a rail agent relays


def checkpoint_of(program: Program, snapshot: Snapshot, gate: Gate) -> Checkpoint | None:
    activity = program.activity(snapshot.position.activity)
    if activity is None:
        return None
    return next((checkpoint for checkpoint in activity.checkpoints if checkpoint.id == gate.checkpoint), None)


def _gate(findings: Findings, program: Program, snapshot: Snapshot, gate: Gate, submission: Submission) -> None:
    checkpoint = checkpoint_of(program, snapshot, gate)
    if checkpoint is None:
        return
    options = {option.id: option for option in checkpoint.options}
    said = [artifact.get("optionId") for artifact in submission.artifacts if artifact.get("kind") == ANSWER_KIND]
    chosen = options.get(said[-1]) if said and isinstance(said[-1], str) else None
    if checkpoint.human or chosen is None:
        findings.reasons.append(_unanswered(checkpoint, bool(said)))
        findings.answer = options.get(checkpoint.default_option)
    else:
        findings.answer = chosen


def _unanswered(checkpoint: Checkpoint, said: bool) -> Reason:  # noqa: FBT001  tells which of two sentences
    words = ", ".join(option.id for option in checkpoint.options)
    if checkpoint.human:
        message, fix = (
            f"Checkpoint {checkpoint.id} is answered by a signed-in person only.",
            "Ask your user to answer it in the Studio, then retry.",
        )
    else:
        message = (
            f"The answer names no option of checkpoint {checkpoint.id}."
            if said
            else f"Checkpoint {checkpoint.id} waits for the user's answer."
        )
        fix = (
            f'Show the question to the user, then retry with an artifact {{"kind": "{ANSWER_KIND}", '
            f'"optionId": "…"}}; options: {words}.'
        )
    return Reason(
        detail=Detail.NEEDS_USER_APPROVAL if checkpoint.human else Detail.NEEDS_USER_CHOICE,
        pointer=step_pointer(checkpoint.id),
        message=message,
        fix=fix,
    )
