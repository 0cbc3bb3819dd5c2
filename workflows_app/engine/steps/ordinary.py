"""An ordinary step: its prompt put together, its gates read, its functions found."""

from typing import Any

from workflows_app.engine.canonical import digest
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import (
    Audit,
    Capability,
    ContractUse,
    Fragment,
    ModelTier,
    ProvenanceKind,
    Step,
    Verification,
)
from workflows_app.engine.steps import functions, gates, prompts, refs, templates, tokens
from workflows_app.engine.steps.features import FEATURES
from workflows_app.engine.steps.findings import shown
from workflows_app.engine.steps.scope import Build, StepScope

_DIGESTS = {
    **{name: digest(text.encode()) for name, text in refs.TEXTS.items()},
    **{
        name: digest("\n".join((*feature.constraints, *feature.procedure, *feature.verify)).encode())
        for name, feature in FEATURES.items()
    },
}


def build_step(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> Step:
    step_id = build.claim(scope, raw["id"], path)
    raw = tokens.fill(build, scope, raw, path=path, at=step_id)
    capability = templates.probed_capability(scope, raw, path) if "templateCall" in raw else None
    prompt = prompts.probe(capability) if capability else _prompt(build, scope, raw, path, step_id)
    gate = gates.of_step(build, scope, raw, path, prompt=prompt)
    contract = _probe_contract(build, scope, path) if capability else gate.contract
    shown_functions, calls = functions.used(build, scope, raw, path)
    audit, verification = checks(raw)
    step = Step(
        id=step_id,
        title=raw["title"],
        prompt=prompts.with_checks(prompt, verification=verification, audit=audit),
        agent_role=raw.get("agentRole", scope.agent_role),
        guidance=(*scope.guidance, *raw.get("guidance", ()), *gate.hints),
        fragments=(*scope.fragments, *fragments(build, scope, raw, path)),
        run_condition=build.condition(scope, raw.get("runCondition"), f"{path}.runCondition"),
        confirmation=gates.confirmation(build, scope, raw, path),
        contract=contract,
        validation=None if capability else gate.validation,
        assessments=() if capability else gate.assessments,
        consequences=() if capability else gate.consequences,
        notes_required=contract is None and not raw.get("notesOptional", scope.notes_optional),
        ask_for_files=raw.get("askForFiles", False),
        model_tier=tier(raw) or scope.model_tier,
        functions=(*scope.shared_functions, *shown_functions),
        function_calls=calls,
        audit=audit,
        verification=verification,
        probes=capability,
    )
    if capability:
        build.came_from(step_id, ProvenanceKind.PROBE, templates.PROBE)
        _report_second_gate(scope, gate, path)
    build.grow(_chars_of(step), path)
    return step


def probe_step(build: Build, scope: StepScope, capability: Capability) -> Step:
    """The step that a required capability puts before all others. Its id has a dot, which those of authors have not."""
    step_id = build.claim(scope, f"wr-probe.{capability}", f"capabilities.{capability}")
    build.came_from(step_id, ProvenanceKind.PROBE, templates.PROBE)
    return Step(
        id=step_id,
        title=f"Check the capability {capability}",
        prompt=prompts.probe(capability),
        contract=_probe_contract(build, scope, f"capabilities.{capability}"),
        notes_required=False,
        probes=capability,
    )


def fragments(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> tuple[Fragment, ...]:
    found: dict[str, Fragment] = {}
    for index, fragment in enumerate(raw.get("promptFragments", ())):
        place = f"{path}.promptFragments[{index}]"
        name = fragment["id"]
        if name in found:
            message = f"The fragment id {shown(name)} stands twice in this step."
            scope.findings.error(ProblemCode.DUPLICATE_ID, f"{place}.id", message)
        when = build.condition(scope, fragment.get("when"), f"{place}.when")
        found[name] = Fragment(id=name, text=fragment["text"], when=when)
    return tuple(found.values())


def checks(raw: dict[str, Any]) -> tuple[Audit | None, Verification | None]:
    audit, check = raw.get("audit"), raw.get("verification")
    return (
        None if audit is None else Audit(prompt=audit.get("prompt", ""), rubric=tuple(audit.get("rubric", ()))),
        None if check is None else Verification(command=check.get("command", ""), prompt=check.get("prompt", "")),
    )


def tier(raw: dict[str, Any]) -> ModelTier | None:
    return ModelTier(raw["modelTier"]) if "modelTier" in raw else None


def _prompt(build: Build, scope: StepScope, raw: dict[str, Any], path: str, step_id: str) -> str:
    blocks = raw.get("promptBlocks")
    if blocks is None:
        return str(raw.get("prompt", ""))
    if not any(blocks.values()):
        scope.findings.error(ProblemCode.TOO_SHORT, f"{path}.promptBlocks", "The blocks say nothing.", "Write a goal.")
    for reference, place in prompts.refs_in(blocks):
        _use_reference(build, scope, reference, f"{path}.promptBlocks.{place}", step_id)
    for feature in scope.features:
        build.used_features.add(feature)
        build.came_from(step_id, ProvenanceKind.FEATURE, feature, _DIGESTS[feature])
    return prompts.from_blocks(blocks, features=scope.features)


def _use_reference(build: Build, scope: StepScope, reference: str, path: str, step_id: str) -> None:
    if reference in refs.TEXTS:
        build.came_from(step_id, ProvenanceKind.REF, reference, _DIGESTS[reference])
        return
    message = f"There is no reference {shown(reference)}."
    scope.findings.unknown(ProblemCode.UNKNOWN_REF, path, message, word=reference, known=refs.TEXTS)


def _probe_contract(build: Build, scope: StepScope, path: str) -> ContractUse:
    build.contract(scope, templates.CAPABILITY_CONTRACT, path)
    return ContractUse(contract=templates.CAPABILITY_CONTRACT)


def _report_second_gate(scope: StepScope, gate: gates.Gates, path: str) -> None:
    if gate.decides:
        message = "A probe is decided by its capability observation; no other gate can stand on it."
        scope.findings.error(ProblemCode.CONFLICTING_KEYS, f"{path}.templateCall", message)


def _chars_of(step: Step) -> int:
    return (
        len(step.prompt)
        + len(step.agent_role)
        + sum(map(len, step.guidance))
        + sum(len(fragment.text) for fragment in step.fragments)
        + functions.chars_of(step.functions)
    )
