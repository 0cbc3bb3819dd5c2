"""Values that a variable of the declared type never has: what is compared with it, and what is put into it."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workflows_app.engine import placeholders
from workflows_app.engine.activities.shape import ActivityPlaces, AuthoredPlace, FolderShape
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.program import (
    Action,
    ActionKind,
    Activity,
    AllOf,
    AnyOf,
    Checkpoint,
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
# The variable that a demand begins with: `plan_approved`, `!ready`, `findings == []`.
_DEMANDED = re.compile(r"[\s!(]*([A-Za-z_][\w-]*)")
_EQUALITY = {Operator.EQUALS, Operator.NOT_EQUALS}


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who uses a variable, as a message calls it, and where that stands."""

    said: str
    place: AuthoredPlace


def is_of_type(value: Any, kind: VariableType) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind is VariableType.BOOLEAN or not isinstance(value, bool))


def mismatches(
    program: Program, activity: Activity, places: ActivityPlaces, untyped: Collection[str]
) -> Iterator[WorkflowProblem]:
    """Each variable once: a comparison that never holds, or always, is hardly meant."""
    return _mismatched(program, _uses(activity, places), untyped)


def mismatches_of_modes(program: Program, workflow: FolderShape, untyped: Collection[str]) -> Iterator[WorkflowProblem]:
    """A mode is on while its variable is true, and gives others their values."""
    uses = [
        (name, value, user_of_mode(program, index, workflow))
        for index, mode in enumerate(program.modes)
        for name, value in ((mode.activation_variable, True), *sorted(mode.defaults.items()))
    ]
    return _mismatched(program, uses, untyped)


def user_of_mode(program: Program, index: int, workflow: FolderShape) -> User:
    return User(said=f"mode {program.modes[index].id!r}", place=workflow.place(f"modes[{index}]"))


def _mismatched(
    program: Program, uses: Iterable[tuple[str, Any, User]], untyped: Collection[str]
) -> Iterator[WorkflowProblem]:
    types = {variable.name: variable.type for variable in program.variables if variable.name not in untyped}
    told: set[tuple[str, str]] = set()
    for name, value, user in uses:
        kind = types.get(name)
        if kind is None or value is None or is_of_type(value, kind) or (name, user.said) in told:
            continue
        told.add((name, user.said))
        yield WorkflowProblem(
            code=ProblemCode.BAD_VALUE,
            message=f"The variable {name[:80]!r} is of the type {kind.value!r}; {user.said} has {shown(value)} for it.",
            severity=Severity.WARNING,
            file=user.place.file,
            path=user.place.path,
            suggestion=_advice(value, kind),
        )


def conditions_of(activity: Activity, places: ActivityPlaces) -> Iterator[tuple[Condition | None, User]]:
    for action, user in _actions(activity, places):
        yield action.condition, user
    for item in walk_items(activity.body):
        if isinstance(item, Step):
            yield item.run_condition, User(said=f"step {item.id!r}", place=places.item(item.id))
        elif isinstance(item, Loop):
            for condition in (item.condition, item.break_condition, item.run_condition):
                yield condition, User(said=f"loop {item.id!r}", place=places.item(item.id))
    for checkpoint in activity.checkpoints:
        yield checkpoint.condition, user_of_checkpoint(checkpoint, places)
    for index, decision in enumerate(activity.decisions):
        user = User(said=f"decision {decision.id!r}", place=places.own(f"decisions[{index}]"))
        yield from ((branch.condition, user) for branch in decision.branches)
    for index, transition in enumerate(activity.transitions):
        key = "exits" if "exit" in transition.extra else f"transitions[{index}]"
        yield transition.condition, User(said=f"the transition to {transition.to!r}", place=places.own(key))


def user_of_checkpoint(checkpoint: Checkpoint, places: ActivityPlaces) -> User:
    return User(said=f"checkpoint {checkpoint.id!r}", place=places.checkpoint(checkpoint.id))


def _uses(activity: Activity, places: ActivityPlaces) -> Iterator[tuple[str, Any, User]]:
    for condition, user in conditions_of(activity, places):
        for compare in _compared(condition):
            yield ".".join(compare.path), compare.value, user
    for action, user in _actions(activity, places):
        if action.action is ActionKind.SET and not _is_template(action.value):
            yield action.target, action.value, user
    for name, value, user in set_by_options(activity, places):
        if not _is_template(value):
            yield name, value, user


def set_by_options(activity: Activity, places: ActivityPlaces) -> Iterator[tuple[str, Any, User]]:
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            said = f"option {option.id!r} of checkpoint {checkpoint.id!r}"
            user = User(said=said, place=places.option(checkpoint.id, option.id))
            for name, value in sorted(option.effect.set_variable.items() if option.effect is not None else ()):
                yield name, value, user


def names_in_actions(activity: Activity, places: ActivityPlaces) -> Iterator[tuple[str, User]]:
    """The variables that its actions set, put into others, demand, or show in their messages."""
    for action, user in _actions(activity, places):
        names: set[str] = {*placeholders.single_names_in(action.message), *placeholders.names_in(action.message)}
        if action.action is ActionKind.SET:
            names |= {action.target, *placeholders.names_of_value(action.value)}
        elif action.action is ActionKind.VALIDATE and (demanded := _DEMANDED.match(action.target)):
            names.add(demanded[1])
        yield from ((name, user) for name in sorted(names))


def _actions(activity: Activity, places: ActivityPlaces) -> Iterator[tuple[Action, User]]:
    said = f"an action of activity {activity.id!r}"
    for key, actions in (("entryActions", activity.entry_actions), ("exitActions", activity.exit_actions)):
        yield from ((each, User(said=said, place=places.own(f"{key}[{at}]"))) for at, each in enumerate(actions))
    for item in walk_items(activity.body):
        if isinstance(item, Step):
            said = f"an action of step {item.id!r}"
            for at, action in enumerate(item.actions):
                yield action, User(said=said, place=places.item(item.id, f"actions[{at}]"))


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


def shown(value: Any) -> str:
    if isinstance(value, str | int | float):
        return repr(value)[:60]
    return "a list" if isinstance(value, list) else "an object"
