"""What the pending item asks to be handed in, and what is wrong with what was."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from sessions_app.engine import approvals, assessments
from sessions_app.engine.findings import Artifact, Findings
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
from sessions_app.engine.submissions import NOTES_PLACEHOLDER, Submission, not_filled_in
from workflows_app.engine import contracts, validation, walker
from workflows_app.engine.placeholders import Filling
from workflows_app.engine.program import (
    Capability,
    CapabilityNeed,
    Contract,
    ContractUse,
    Gate,
    Item,
    Loop,
    Parallel,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.step_demands import demands_of
from workflows_app.engine.walks import LOOP_CONTROL_KIND

CAPABILITY_KIND = "wr.capability_observation"
DIVERGENCE_KIND = "wr.workflow_divergence"
GAPS_KIND = "wr.gaps"
_SIDE_CONTRACTS = {
    CAPABILITY_KIND: "wr.contracts.capability_observation",
    DIVERGENCE_KIND: "wr.contracts.workflow_divergence",
    GAPS_KIND: "wr.contracts.gaps",
}


def examine(
    *,
    program: Program,
    snapshot: Snapshot,
    submission: Submission,
    variables: Mapping[str, Any],
    by_person: bool = False,
) -> Findings:
    """Judge a submission against the pending item. Nothing here decides whether the run stops.

    `variables` are those with the submission's own context; what a step asked of a person is judged by those before it.
    """
    findings = Findings()
    item = walker.item_at(program, snapshot.position)
    _side_artifacts(findings, program, item, submission)
    match item:
        case Gate():
            checkpoint = approvals.checkpoint_of(program, snapshot, item)
            if checkpoint is not None:
                approvals.answer(findings, checkpoint, submission.artifacts, by_person=by_person)
        case Step() | Parallel():
            _outputs(findings, program, snapshot, item, submission=submission, variables=variables)
            _notes(findings, item, submission)
            _capabilities(findings, program, item)
            scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)
            approvals.approve(findings, program, snapshot, item, scope=scope, by_person=by_person)
        case None:
            pass
    return findings


def requirements(*, program: Program, item: Step | Parallel) -> tuple[str, ...]:
    """What must be handed in for this item, in words, before it is failed."""
    said: list[str] = []
    if item.contract is not None:
        said.append(_contract_words(program, item, item.contract))
    elif isinstance(item, Step) and item.assessments:
        said.extend(f"In output.artifacts: {words}" for words in demands_of(program, item))
    elif isinstance(item, Step) and item.validation is not None:
        said.extend(demands_of(program, item))
    if needs_notes(item):
        said.append("Notes in output.notesMarkdown: what was done, what was found, what is next.")
    if names := left_to_agent(item):
        said.append(f"In context: {', '.join(names)}, as you find or decide.")
    return tuple(said)


def left_to_agent(item: Item) -> tuple[str, ...]:
    """The variables that the step has set and says no value of."""
    actions = item.actions if isinstance(item, Step) else ()
    names = (each.target for each in actions if each.leaves_open and each.condition is None and "." not in each.target)
    return tuple(dict.fromkeys(names))


def needs_notes(item: Step | Parallel) -> bool:
    return item.notes_required and item.contract is None


def is_demanding(program: Program, item: Item) -> bool:
    """Whether it demands an artifact, an assessment or notes that are judged, in every dialect. How a loop goes on is said by
    other words where the server does not lead.
    """
    if not isinstance(item, Step | Parallel):
        return False
    kind = "" if item.contract is None else program.contracts[item.contract.contract].artifact_kind
    return (
        kind not in {"", LOOP_CONTROL_KIND}
        or judges_notes(item)
        or (isinstance(item, Step) and bool(item.assessments or item.probes is not None))
    )


def judges_notes(item: Item | None) -> bool:
    """Whether a program looks at what the notes of the item say, so that they are demanded whoever finds its steps."""
    return isinstance(item, Step) and item.validation is not None and needs_notes(item)


def _contract_words(program: Program, item: Step | Parallel, use: ContractUse) -> str:
    words = contracts.suggest(contracts.asked_of(program, item, use))
    return f"In output.artifacts: {words}" if use.required else f"In output.artifacts, if it applies: {words}"


# Artifacts that any step may hand in


def _side_artifacts(
    findings: Findings, program: Program, item: Step | Parallel | Gate | None, submission: Submission
) -> None:
    asked = None if item is None or isinstance(item, Gate) else item.contract
    for artifact in submission.artifacts:
        kind = artifact.get("kind")
        contract_id = _SIDE_CONTRACTS.get(kind) if isinstance(kind, str) else None
        if contract_id is None:
            continue
        contract = program.contracts.get(contract_id, contracts.BUILT_IN[contract_id])
        issues = contracts.check_artifact(contract, artifact)
        if not issues:
            _learn(findings, artifact)
        elif asked is None or asked.contract != contract_id:
            # What the step itself asks for is judged as that.
            findings.reasons.append(_invalid(contract_id, contract, issues))
            findings.issues.extend(issues)


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
        scope = walker.scope_at(program=program, position=snapshot.position, variables=variables)
        assessments.assess(findings, program, item, submission.artifacts, filling=Filling(scope))
    elif isinstance(item, Step) and item.validation is not None and submission.notes.strip():
        issues = validation.check_notes(
            item.validation, notes=submission.notes, variables=variables, mode=program.conditions
        )
        scope = walker.scope_at(program=program, position=snapshot.position, variables=variables)
        issues = tuple(map(Filling(scope).render, issues))
        findings.issues.extend(issues)
        if issues:
            findings.reasons.append(_invalid_notes(item, issues))


def _contract(
    findings: Findings, program: Program, snapshot: Snapshot, item: Step | Parallel, submission: Submission
) -> None:
    use = item.contract
    if use is None:
        return
    contract, known = contracts.asked_of(program, item, use), program.contracts[use.contract]
    offered = [artifact for artifact in submission.artifacts if artifact.get("kind") == contract.artifact_kind]
    if not offered:
        if use.required:
            findings.reasons.append(_missing(use.contract, contract))
        return
    issues = [issue for artifact in offered for issue in contracts.check_artifact(known, artifact)]
    issues.extend(f"{key}: Its place is not filled in." for artifact in offered for key in not_filled_in(artifact))
    if contract.artifact_kind == LOOP_CONTROL_KIND:
        issues.extend(_wrong_loop(program, snapshot, offered))
    if issues:
        findings.issues.extend(issues)
        findings.reasons.append(_invalid(use.contract, contract, issues))


def _wrong_loop(program: Program, snapshot: Snapshot, offered: Sequence[Artifact]) -> list[str]:
    """A decision names the loop that its step stands in; outside of all loops, one that the workflow has."""
    activity = program.activity(snapshot.position.activity)
    if activity is None:
        return []
    around = walker.loops_at(activity, snapshot.position.frames)
    loops = around or tuple(item for item in walk_items(activity.body) if isinstance(item, Loop))
    known = [name for loop in loops for name in (loop.decision_loop_id, loop.id) if name]
    return [
        f"loopId: {artifact['loopId']!r:.80} is not the loop that this step decides; leave it out, or say {known[-1]!r}."
        for artifact in offered
        if known and artifact.get("loopId") is not None and artifact["loopId"] not in known
    ]


def _missing(contract_id: str, contract: Contract) -> Reason:
    return Reason(
        detail=Detail.MISSING_REQUIRED_OUTPUT,
        pointer=contract_pointer(contract_id),
        message=f"The step asks for an artifact of kind {contract.artifact_kind} and none was handed in.",
        fix=contracts.suggest(contract),
    )


def _invalid(contract_id: str, contract: Contract, issues: Sequence[str]) -> Reason:
    return Reason(
        detail=Detail.INVALID_REQUIRED_OUTPUT,
        pointer=contract_pointer(contract_id),
        message=f"The artifact of kind {contract.artifact_kind} does not fit its contract: {' '.join(issues[:5])}",
        fix=contracts.suggest(contract),
    )


def _invalid_notes(item: Step, issues: Sequence[str]) -> Reason:
    return Reason(
        detail=Detail.INVALID_REQUIRED_OUTPUT,
        pointer=step_pointer(item.id),
        message=f"The notes do not meet the step's requirements: {' '.join(issues)}",
        fix="Do what the requirement asks, then retry with notes that show it.",
    )


def _notes(findings: Findings, item: Step | Parallel, submission: Submission) -> None:
    if needs_notes(item) and submission.notes.strip() in {"", NOTES_PLACEHOLDER}:
        findings.reasons.append(
            Reason(
                detail=Detail.MISSING_REQUIRED_NOTES,
                pointer=step_pointer(item.id),
                message="The step was acknowledged without notes.",
                fix="Retry with notes: what was done, what was found, what is next.",
            ),
        )


# Capabilities


def _capabilities(findings: Findings, program: Program, item: Step | Parallel) -> None:
    """A required capability that is seen not to be there is a reason, and so is a probe that looked at another one."""
    for capability, seen in findings.capabilities.items():
        if program.capabilities.get(capability) is CapabilityNeed.REQUIRED:
            findings.reasons.extend(_lacking(capability, seen.status))
    probed = item.probes if isinstance(item, Step) else None
    if probed is not None and findings.capabilities and probed not in findings.capabilities:
        findings.reasons.append(_other_capability(probed))


def _lacking(capability: Capability, status: CapabilityStatus) -> tuple[Reason, ...]:
    pointer = Pointer(kind=PointerKind.CAPABILITY, name=capability.value)
    match status:
        case CapabilityStatus.AVAILABLE:
            return ()
        case CapabilityStatus.UNAVAILABLE:
            reason = Reason(
                detail=Detail.REQUIRED_CAPABILITY_UNAVAILABLE,
                pointer=pointer,
                message=f"The workflow needs {capability.value}, and it was found to be unavailable.",
                fix="Ask the user for a tool that gives it, or for the material itself; then try it again and retry.",
            )
        case CapabilityStatus.UNKNOWN:
            reason = Reason(
                detail=Detail.REQUIRED_CAPABILITY_UNKNOWN,
                pointer=pointer,
                message=f"The workflow needs {capability.value}, and whether it is there was not settled.",
                fix="Try it once for real, then retry with status available or unavailable.",
            )
        case _:
            assert_never(status)
    return (reason,)


def _other_capability(probed: Capability) -> Reason:
    return Reason(
        detail=Detail.INVALID_REQUIRED_OUTPUT,
        pointer=Pointer(kind=PointerKind.CAPABILITY, name=probed.value),
        message=f"The step asks whether {probed.value} is there, and the observation speaks of another capability.",
        fix=f"Try {probed.value} once, then retry with an artifact of kind {CAPABILITY_KIND} about it.",
    )
