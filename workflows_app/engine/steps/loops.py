"""A loop step: what its rounds are counted by, what decides on another one, and what would make it run for ever or never."""

from typing import Any

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Condition, Item, Loop, LoopKind, Parallel, Step
from workflows_app.engine.steps import gates
from workflows_app.engine.steps.findings import shown
from workflows_app.engine.steps.scope import Build, StepScope

LOOP_CONTROL = "wr.contracts.loop_control"
LOOP_CONTROL_KIND = "wr.loop_control"
_CONDITIONAL = frozenset({LoopKind.WHILE, LoopKind.UNTIL})


def build_loop(
    build: Build, scope: StepScope, raw: dict[str, Any], body: tuple[Item, ...], *, loop_id: str, path: str
) -> Loop:
    config = raw["loop"]
    kind = LoopKind(config["type"])
    place = f"{path}.loop"
    contract, contract_loop = _decision(build, scope, config, body, place) if kind in _CONDITIONAL else ("", "")
    if contract_loop:
        build.decided.append((loop_id, contract_loop, f"{place}.conditionSource.loopId", scope))
    loop = Loop(
        id=loop_id,
        title=raw["title"],
        loops=kind,
        body=body,
        max_iterations=config["maxIterations"],
        condition=None if contract or kind not in _CONDITIONAL else _condition(build, scope, config, place),
        decision_contract=contract,
        decision_loop_id=contract_loop or (raw["id"] if contract and scope.prefix else ""),
        count=_count(build, scope, config["count"], place) if kind is LoopKind.FOR else None,
        items=_variable(build, scope, config["items"], f"{place}.items") if kind is LoopKind.FOR_EACH else (),
        iteration_variable=config.get("iterationVar", ""),
        item_variable=config.get("itemVar", "") if kind is LoopKind.FOR_EACH else "",
        index_variable=config.get("indexVar", "") if kind is LoopKind.FOR_EACH else "",
        run_condition=build.condition(scope, raw.get("runCondition"), f"{path}.runCondition"),
        confirmation=gates.confirmation(build, scope, raw, path),
    )
    _report_rounds(scope, loop, place)
    return loop


def _decision(
    build: Build, scope: StepScope, config: dict[str, Any], body: tuple[Item, ...], path: str
) -> tuple[str, str]:
    """The contract that decides, and the loop it must speak of: said by the author, else found in the body."""
    source = config.get("conditionSource", {})
    if source.get("kind") == "context_variable":
        return "", ""
    reference = source.get("contractRef", "")
    if reference and not _is_loop_control(build, scope, reference, f"{path}.conditionSource.contractRef"):
        return "", ""
    if not reference and any(_hands_in(item, LOOP_CONTROL) for item in body):
        reference = LOOP_CONTROL
    if not reference:
        if "condition" not in config and not source and "contracts" not in build.unresolved:
            message = f"A `{config.get('type')}` loop needs `condition` or `conditionSource`."
            scope.findings.error(ProblemCode.MISSING_KEY, f"{path}.condition", message)
        return "", ""
    # What a step hands in nobody knows where its contract is none.
    if "contracts" not in build.unresolved:
        _report_decision(scope, config, body, reference, path)
    return reference, source.get("loopId", "")


def _is_loop_control(build: Build, scope: StepScope, reference: str, path: str) -> bool:
    contract = build.contract(scope, reference, path)
    if contract is None:
        return False
    if contract.artifact_kind != LOOP_CONTROL_KIND:
        message = f"The contract {shown(reference)} carries no decision on a loop."
        scope.findings.error(ProblemCode.BAD_LOOP, path, message, f"Use {LOOP_CONTROL!r}.")
        return False
    return True


def _report_decision(
    scope: StepScope, config: dict[str, Any], body: tuple[Item, ...], reference: str, path: str
) -> None:
    if "condition" in config:
        message = "The loop-control artifact decides alone, so `condition` is not looked at."
        scope.findings.warn(ProblemCode.CONFLICTING_KEYS, f"{path}.condition", message)
    if body and not any(_hands_in(item, reference) for item in body):
        message = "No step of the body hands in the decision, so the loop goes on to its limit and fails there."
        advice = f"Let the last step of the body ask for {reference!r}."
        scope.findings.warn(ProblemCode.BAD_LOOP, path, message, advice)
    elif body and not _hands_in(body[-1], reference):
        message = "The decision is taken from the step just completed, and the last step of the body hands in none."
        scope.findings.warn(ProblemCode.BAD_LOOP, path, message, "Move the step that decides to the end of the body.")


def _condition(build: Build, scope: StepScope, config: dict[str, Any], path: str) -> Condition | None:
    source = config.get("conditionSource", {})
    if "condition" in source:
        return build.condition(scope, source["condition"], f"{path}.conditionSource.condition")
    return build.condition(scope, config.get("condition"), f"{path}.condition")


def _count(build: Build, scope: StepScope, count: int | str, path: str) -> int | tuple[str, ...]:
    return _variable(build, scope, count, f"{path}.count") if isinstance(count, str) else count


def _variable(build: Build, scope: StepScope, name: str, path: str) -> tuple[str, ...]:
    segments = tuple(name.split("."))
    if not all(segment.strip() for segment in segments):
        scope.findings.error(ProblemCode.BAD_VALUE, path, f"{shown(name)} names no variable.")
        return ()
    build.variables.append((segments, path, scope.findings))
    return segments


def _report_rounds(scope: StepScope, loop: Loop, path: str) -> None:
    if not isinstance(loop.count, int):
        return
    if loop.count == 0:
        message = "The loop has no rounds, so its steps are never reached."
        scope.findings.warn(ProblemCode.UNREACHABLE, f"{path}.count", message)
    if loop.count > loop.max_iterations:
        message = f"{loop.count} rounds are asked for and {loop.max_iterations} allowed, so the loop always fails."
        scope.findings.warn(ProblemCode.BAD_LOOP, f"{path}.maxIterations", message)


def _hands_in(item: Item, reference: str) -> bool:
    return isinstance(item, Step | Parallel) and item.contract is not None and item.contract.contract == reference
