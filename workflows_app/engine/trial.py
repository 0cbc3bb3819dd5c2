"""A walk that an author asks for: what may be handed in, and what of it the workflow does not have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import conditions
from workflows_app.engine.program import Activity, Checkpoint, Condition, Gate, Loop, Program, walk_items
from workflows_app.engine.simulate import wrong_answers

_MOST_TOLD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialQuestion:
    """A question of the workflow, by the id under which it is answered, with its options: id and label."""

    item_id: str
    title: str
    options: tuple[tuple[str, str], ...]


def questions_of(program: Program) -> tuple[TrialQuestion, ...]:
    return tuple(
        TrialQuestion(
            item_id=gate.id,
            title=checkpoint.name or checkpoint.id,
            options=tuple((option.id, option.label or option.id) for option in checkpoint.options),
        )
        for activity in program.activities
        for gate, checkpoint in _gates(activity)
    )


def deciding_variables(program: Program) -> tuple[str, ...]:
    """The variables that decide which way a walk takes, in the order in which the source names them first."""
    found: dict[str, None] = {}
    for condition in _conditions(program):
        found |= dict.fromkeys(sorted(name.partition(".")[0] for name in conditions.variables_of(condition)))
    for loop in _loops(program):
        found |= {path[0]: None for path in (loop.items, loop.count) if isinstance(path, tuple) and path}
    return tuple(found)


def check_answers(*, program: Program, answers: Mapping[str, Any]) -> None:
    """Refuses answers that the workflow does not have: another item, round, option or part."""
    wrong = wrong_answers(program=program, answers=answers)
    if wrong:
        raise InvalidInputError(" ".join(wrong[:_MOST_TOLD]), suggestion="Correct these answers, or leave them out.")


def _gates(activity: Activity) -> Iterator[tuple[Gate, Checkpoint]]:
    declared = {checkpoint.id: checkpoint for checkpoint in activity.checkpoints}
    for item in walk_items(activity.body):
        if isinstance(item, Gate) and item.checkpoint in declared:
            yield item, declared[item.checkpoint]


def _loops(program: Program) -> Iterator[Loop]:
    items = (item for activity in program.activities for item in walk_items(activity.body))
    return (item for item in items if isinstance(item, Loop))


def _conditions(program: Program) -> Iterator[Condition]:
    for activity in program.activities:
        for item in walk_items(activity.body):
            if not isinstance(item, Gate) and item.run_condition is not None:
                yield item.run_condition
            if isinstance(item, Loop):
                yield from (each for each in (item.condition, item.break_condition) if each is not None)
        yield from (each.condition for each in activity.checkpoints if each.condition is not None)
        for decision in activity.decisions:
            yield from (each.condition for each in decision.branches if each.condition is not None)
        yield from (each.condition for each in activity.transitions if each.condition is not None)
