"""What a `validate` action demands. Its target is a name, which must be true or not empty, or a test of one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from workflows_app.engine import conditions, placeholders, walks
from workflows_app.engine.condition_readers.reading import Reading
from workflows_app.engine.condition_readers.when import read_when
from workflows_app.engine.program import (
    Action,
    ActionKind,
    AllOf,
    Compare,
    Condition,
    ConditionMode,
    Loop,
    Not,
    Operator,
    Program,
    Step,
    Truthy,
    walk_items,
)
from workflows_app.engine.walks import Failure

_NAME = r"[A-Za-z_]\w*(?:\.\w+)*"
# What is read here is a text of an author, and short; longer ones are for the agent to read.
_MOST_CHARS = 500
_MOST_READ = 1_000
_PLAIN = re.compile(_NAME, re.ASCII)
_EMPTY = re.compile(rf"({_NAME})\s*(==|!=)\s*\[\s*\]", re.ASCII)
_THERE = re.compile(rf"({_NAME})\s+(exists|notExists|not exists)", re.ASCII)


def unmet(
    *, program: Program, actions: Sequence[Action], variables: Mapping[str, Any], where: str
) -> tuple[Failure, ...]:
    """The demands among these actions that do not hold. One that cannot be read as a test is left to the agent, and so is
    one of names that the workflow neither declares nor sets and nobody has given: they are no variables of the run.
    """
    return tuple(_unmet(program, actions, variables, where))


def _unmet(program: Program, actions: Sequence[Action], variables: Mapping[str, Any], where: str) -> Iterator[Failure]:
    for action in actions:
        wanted = demanded(action.target) if action.action is ActionKind.VALIDATE else None
        if wanted is None or not conditions.evaluate(action.condition, variables=variables, mode=program.conditions):
            continue
        names = _names(wanted)
        if not conditions.evaluate(wanted, variables=variables, mode=program.conditions):
            if not _is_of_the_run(program, names, variables):
                continue
            said = placeholders.render_message(action.message or action.description, variables=variables)
            yield walks.unmet(where, action.target.strip(), said, keys=names)


def _is_of_the_run(program: Program, names: Sequence[str], variables: Mapping[str, Any]) -> bool:
    roots = {name.partition(".")[0] for name in names}
    if not roots.isdisjoint(variables):
        return True
    return not roots.isdisjoint(name.partition(".")[0] for name in _names_of(program))


def _names_of(program: Program) -> Iterator[str]:
    """Every variable that the workflow declares, or that something in it sets."""
    yield from (variable.name for variable in program.variables)
    for mode in program.modes:
        yield from (mode.activation_variable, *mode.defaults)
    for activity in program.activities:
        items = tuple(walk_items(activity.body))
        steps = (item.actions for item in items if isinstance(item, Step))
        actions = chain(activity.entry_actions, activity.exit_actions, *steps)
        yield from (action.target for action in actions if action.action is ActionKind.SET)
        options = (option for checkpoint in activity.checkpoints for option in checkpoint.options)
        yield from (name for option in options if option.effect is not None for name in option.effect.set_variable)
        yield from (item.item_variable for item in items if isinstance(item, Loop))


def _names(wanted: Condition) -> tuple[str, ...]:
    return tuple(sorted(name.removesuffix(".length") for name in conditions.variables_of(wanted)))


@lru_cache(maxsize=_MOST_READ)
def demanded(target: str) -> Condition | None:
    """The test that a target says; None where it says none."""
    text = target.strip()
    if not text or len(text) > _MOST_CHARS:
        return None
    if _PLAIN.fullmatch(text):
        return _given(tuple(text.split(".")))
    if found := _EMPTY.fullmatch(text):
        operator = Operator.EQUALS if found[2] == "==" else Operator.NOT_EQUALS
        return Compare(path=(*found[1].split("."), "length"), operator=operator, value=0)
    if found := _THERE.fullmatch(text):
        operator = Operator.EXISTS if found[2] == "exists" else Operator.NOT_EXISTS
        return Compare(path=tuple(found[1].split(".")), operator=operator)
    reading = Reading(mode=ConditionMode.STRICT)
    wanted = read_when(reading, text, path="target")
    return None if reading.problems else wanted


def _given(path: tuple[str, ...]) -> Condition:
    is_empty = Compare(path=(*path, "length"), operator=Operator.EQUALS, value=0)
    return AllOf(conditions=(Truthy(path=path), Not(condition=is_empty)))
