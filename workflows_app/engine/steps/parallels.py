"""A parallel step: work that the agent hands out, told as one prompt."""

from typing import Any

from workflows_app.engine import names
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Delegation, Parallel
from workflows_app.engine.steps import functions, gates, ordinary, prompts, tokens
from workflows_app.engine.steps.findings import shown
from workflows_app.engine.steps.scope import Build, StepScope


def build_parallel(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> Parallel:
    step_id = build.claim(scope, raw["id"], path)
    raw = tokens.fill(build, scope, raw, path=path, at=step_id)
    delegations = tuple(
        _delegation(build, scope, delegation, f"{path}.parallelDelegations[{index}]")
        for index, delegation in enumerate(raw["parallelDelegations"])
    )
    synthesis = raw.get("synthesis", {})
    contract_place = f"{path}.synthesis.outputContract"
    contract = gates.contract_use(build, scope, synthesis.get("outputContract", {}), contract_place)
    shown_functions, _ = functions.used(build, scope, raw, path)
    parallel = Parallel(
        id=step_id,
        title=raw["title"],
        prompt=prompts.parallel(delegations, synthesis=synthesis.get("prompt", "")),
        delegations=delegations,
        synthesis_prompt=synthesis.get("prompt", ""),
        contract=contract,
        run_condition=build.condition(scope, raw.get("runCondition"), f"{path}.runCondition"),
        confirmation=gates.confirmation(build, scope, raw, path),
        notes_required=contract is None and not raw.get("notesOptional", scope.notes_optional),
        agent_role=raw.get("agentRole", scope.agent_role),
        guidance=(*scope.guidance, *raw.get("guidance", ())),
        functions=(*scope.shared_functions, *shown_functions),
    )
    build.grow(2 * len(parallel.prompt) + sum(map(len, parallel.guidance)) + functions.chars_of(shown_functions), path)
    return parallel


def _delegation(build: Build, scope: StepScope, raw: dict[str, Any], path: str) -> Delegation:
    known = build.library.workflow_ids
    workflow = names.sibling_id(raw["workflowId"], own=build.workflow_id, known=known)
    if known and workflow not in known and workflow not in build.routine_ids:
        message = f"The library has no workflow {shown(workflow)}."
        place = f"{path}.workflowId"
        scope.findings.absent(ProblemCode.UNKNOWN_WORKFLOW, place, message, word=workflow, known=known)
    return Delegation(
        workflow=workflow,
        goal=raw.get("goal", ""),
        run_condition=build.condition(scope, raw.get("runCondition"), f"{path}.runCondition"),
        context_mapping=raw.get("contextMapping", {}),
        arguments=raw.get("args", {}),
        model_tier=ordinary.tier(raw),
        allowed_tools=tuple(raw.get("allowedTools", ())),
    )
