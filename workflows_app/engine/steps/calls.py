"""What the caller of a routine asks of the steps that came in its place.

Its condition holds for all of them; its role, guidance, fragments, functions and model are theirs too. Files and function calls
are for the first step. What must be handed in, checked or confirmed stands at the end.
"""

from dataclasses import replace
from typing import Any

from msgspec.structs import replace as changed

from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import Condition, Gate, Item, Loop, Parallel, Step
from workflows_app.engine.steps import functions, gates, ordinary, prompts
from workflows_app.engine.steps.scope import Build, StepScope, both

_FIRST = ("askForFiles", "functionCalls")
_LAST = ("outputContract", "output", "assessmentRefs", "validationCriteria", "audit", "verification")
_GATES = ("requireConfirmation", "outputContract", "assessmentRefs", "validationCriteria")


def shared(build: Build, caller: StepScope, inner: StepScope, raw: dict[str, Any], path: str) -> StepScope:
    """The routine's scope with what the caller gives to each of its steps."""
    shown_functions, _ = functions.used(build, caller, raw, path)
    return replace(
        inner,
        guidance=(*inner.guidance, *raw.get("guidance", ())),
        fragments=(*caller.fragments, *ordinary.fragments(build, caller, raw, path)),
        shared_functions=(*caller.shared_functions, *shown_functions),
        model_tier=ordinary.tier(raw) or caller.model_tier,
    )


def applied(
    build: Build, scope: StepScope, raw: dict[str, Any], items: tuple[Item, ...], path: str
) -> tuple[Item, ...]:
    """The routine's items under the caller's condition, with its wishes for the first and the last of them."""
    condition = build.condition(scope, raw.get("runCondition"), f"{path}.runCondition")
    _report_left_out(scope, raw, items[-1], path)
    bound = [_bound(item, condition, raw["title"]) for item in items]
    bound[0] = _first(build, scope, raw, bound[0], path)
    bound[-1] = _last(build, scope, raw, bound[-1], path)
    return tuple(bound)


def _bound(item: Item, condition: Condition | None, title: str) -> Item:
    """The item under the caller's condition; the caller's title says what the item is part of."""
    match item:
        case Gate():
            return item
        case Parallel():
            return changed(item, run_condition=both(condition, item.run_condition))
        case Step() | Loop():
            return changed(item, run_condition=both(condition, item.run_condition), description=title)


def _first(build: Build, scope: StepScope, raw: dict[str, Any], item: Item, path: str) -> Item:
    if isinstance(item, Step):
        _, calls = functions.used(build, scope, raw, path)
        files = item.ask_for_files or raw.get("askForFiles", False)
        return changed(item, ask_for_files=files, function_calls=(*calls, *item.function_calls))
    _report_no_place(scope, raw, _FIRST, "begins", path)
    return item


def _last(build: Build, scope: StepScope, raw: dict[str, Any], item: Item, path: str) -> Item:
    if isinstance(item, Gate):
        return item
    asked = gates.confirmation(build, scope, raw, path)
    item = changed(item, confirmation=gates.stronger(asked, item.confirmation))
    if not isinstance(item, Step):
        _report_no_place(scope, raw, _LAST, "ends", path)
        return item
    return _checked(raw, _gated(build, scope, raw, item, path))


def _gated(build: Build, scope: StepScope, raw: dict[str, Any], step: Step, path: str) -> Step:
    gate = gates.of_step(build, scope, raw, path)
    step = changed(step, guidance=(*step.guidance, *gate.hints))
    if not gate.decides:
        return step
    if step.contract or step.assessments or step.validation:
        message = f"The last step of the routine, {step.id!r}, has a gate of its own; a second cannot stand on it."
        scope.findings.error(
            ProblemCode.CONFLICTING_KEYS, f"{path}.templateCall", message, "Put the gate on a step after the call."
        )
    return changed(
        step,
        contract=gate.contract,
        validation=gate.validation,
        assessments=gate.assessments,
        consequences=gate.consequences,
        notes_required=step.notes_required and gate.contract is None,
    )


def _checked(raw: dict[str, Any], step: Step) -> Step:
    audit, verification = ordinary.checks(raw)
    return changed(
        step,
        prompt=prompts.with_checks(step.prompt, verification=verification, audit=audit),
        audit=audit or step.audit,
        verification=verification or step.verification,
    )


def _report_left_out(scope: StepScope, raw: dict[str, Any], last: Item, path: str) -> None:
    """What the caller demands of the routine stands on its last step, and goes with it where that is not done."""
    if isinstance(last, Gate) or last.run_condition is None:
        return
    for key in _GATES:
        if raw.get(key):
            message = f"`{key}` stands on {last.id!r}, the last step of the routine, which has a condition: where that does not hold, nobody asks."
            advice = "Put it on a step of its own behind the call."
            scope.findings.warn(ProblemCode.CONFLICTING_KEYS, f"{path}.{key}", message, advice)


def _report_no_place(scope: StepScope, raw: dict[str, Any], keys: tuple[str, ...], verb: str, path: str) -> None:
    for key in keys:
        if key in raw:
            message = f"The routine {verb} with a loop or a parallel step, where `{key}` has no place."
            advice = "Put it on a step of its own beside the call."
            scope.findings.error(ProblemCode.CONFLICTING_KEYS, f"{path}.{key}", message, advice)
