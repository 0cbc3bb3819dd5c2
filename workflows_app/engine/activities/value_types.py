"""Values that a variable of the declared type never has: what is compared with it, and what is put into it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import (
    Action,
    ActionKind,
    Activity,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Loop,
    Not,
    Operator,
    Program,
    Step,
    VariableType,
    walk_items,
)

_TYPES: Mapping[VariableType, type | tuple[type, ...]] = {
    VariableType.STRING: str,
    VariableType.NUMBER: (int, float),
    VariableType.BOOLEAN: bool,
    VariableType.ARRAY: list,
    VariableType.OBJECT: dict,
}
_EQUALITY = {Operator.EQUALS, Operator.NOT_EQUALS}


def is_of_type(value: Any, kind: VariableType) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind is VariableType.BOOLEAN or not isinstance(value, bool))


def mismatches(program: Program, activity: Activity, file: str) -> Iterator[WorkflowProblem]:
    """Each variable once: a comparison that never holds, or always, is hardly meant."""
    return _mismatched(program, _uses(activity), file)


def mismatches_of_modes(program: Program, file: str) -> Iterator[WorkflowProblem]:
    """A mode is on while its variable is true, and gives others their values."""
    uses = [
        (name, value, f"mode {mode.id!r}")
        for mode in program.modes
        for name, value in ((mode.activation_variable, True), *sorted(mode.defaults.items()))
    ]
    return _mismatched(program, uses, file)


def _mismatched(program: Program, uses: Iterable[tuple[str, Any, str]], file: str) -> Iterator[WorkflowProblem]:
    types = {variable.name: variable.type for variable in program.variables}
    told: set[tuple[str, str]] = set()
    for name, value, user in uses:
        kind = types.get(name)
        if kind is None or value is None or is_of_type(value, kind) or (name, user) in told:
            continue
        told.add((name, user))
        yield WorkflowProblem(
            code=ProblemCode.BAD_VALUE,
            message=f"The variable {name[:80]!r} is of the type {kind.value!r}; {user} has {_shown(value)} for it.",
            severity=Severity.WARNING,
            file=file,
            suggestion=_advice(value, kind),
        )


def conditions_of(activity: Activity) -> Iterator[tuple[Condition | None, str]]:
    for action in (*activity.entry_actions, *activity.exit_actions):
        yield action.condition, f"an action of activity {activity.id!r}"
    for item in walk_items(activity.body):
        if isinstance(item, Step):
            yield item.run_condition, f"step {item.id!r}"
            yield from ((action.condition, f"an action of step {item.id!r}") for action in item.actions)
        elif isinstance(item, Loop):
            for condition in (item.condition, item.break_condition, item.run_condition):
                yield condition, f"loop {item.id!r}"
    for checkpoint in activity.checkpoints:
        yield checkpoint.condition, f"checkpoint {checkpoint.id!r}"
    for decision in activity.decisions:
        yield from ((branch.condition, f"decision {decision.id!r}") for branch in decision.branches)
    for transition in activity.transitions:
        yield transition.condition, f"the transition to {transition.to!r}"


def _uses(activity: Activity) -> Iterator[tuple[str, Any, str]]:
    for condition, user in conditions_of(activity):
        for compare in _compared(condition):
            yield ".".join(compare.path), compare.value, user
    for action, user in _actions(activity):
        if action.action is ActionKind.SET and not _is_template(action.value):
            yield action.target, action.value, user
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            for name, value in sorted(option.effect.set_variable.items() if option.effect is not None else ()):
                if not _is_template(value):
                    yield name, value, f"option {option.id!r} of checkpoint {checkpoint.id!r}"


def _actions(activity: Activity) -> Iterator[tuple[Action, str]]:
    for action in (*activity.entry_actions, *activity.exit_actions):
        yield action, f"an action of activity {activity.id!r}"
    for item in walk_items(activity.body):
        if isinstance(item, Step):
            yield from ((action, f"an action of step {item.id!r}") for action in item.actions)


def _compared(condition: Condition | None) -> Iterator[Compare]:
    match condition:
        case Compare() if condition.operator in _EQUALITY:
            yield condition
        case AllOf() | AnyOf():
            for part in condition.conditions:
                yield from _compared(part)
        case Not():
            yield from _compared(condition.condition)
        case _:
            return


def _is_template(value: Any) -> bool:
    return isinstance(value, str) and "{" in value


def _advice(value: Any, kind: VariableType) -> str:
    if isinstance(value, str) and kind in {VariableType.BOOLEAN, VariableType.NUMBER}:
        return "Write it without quotation marks, or declare the variable as text."
    return "Correct the value, or the type that the variable is declared with."


def _shown(value: Any) -> str:
    if isinstance(value, str | int | float):
        return repr(value)[:60]
    return "a list" if isinstance(value, list) else "an object"
