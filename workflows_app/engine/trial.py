"""A walk that an author asks for: what may be handed in, and what of it the workflow does not have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import conditions
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Checkpoint, Condition, Gate, Loop, Program, walk_items

_PARTS = frozenset({"context", "artifacts", "option"})


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
    """Refuses an answer that the workflow does not have: another item, another option, another part."""
    items = {item.id for activity in program.activities for item in walk_items(activity.body)}
    options = {each.item_id: {option for option, _ in each.options} for each in questions_of(program)}
    for key, answer in answers.items():
        item_id = key.rpartition("::")[2]
        if item_id not in items:
            raise _unknown(f"The workflow has no step or question {key!r}.", item_id, items)
        if not isinstance(answer, Mapping):
            raise InvalidInputError(
                f"The answer for {key!r} is no object.", suggestion='Write {"option": "…"} or {"context": {…}}.'
            )
        for part in answer:
            if part not in _PARTS:
                raise _unknown(f"An answer has no part {part!r}.", str(part), _PARTS)
        _check_option(key, answer.get("option"), options.get(item_id))


def _check_option(key: str, chosen: object, options: set[str] | None) -> None:
    if chosen is None or (options is not None and chosen in options):
        return
    if options is None:
        raise InvalidInputError(f"{key!r} is no question, so it has no option {chosen!r}.", suggestion="Leave it out.")
    raise _unknown(f"The question {key!r} has no option {chosen!r}.", str(chosen), options)


def _unknown(message: str, word: str, known: set[str] | frozenset[str]) -> InvalidInputError:
    return InvalidInputError(message, suggestion=did_you_mean(word, known) or "Leave it out.")


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
        yield from (each.condition for each in activity.transitions if each.condition is not None)
