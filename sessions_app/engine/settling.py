"""What finishing a step sets and demands; and variables that an answer has set, which are not the agent's to overwrite before the
transition that reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sessions_app.engine.state import Snapshot
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import conditions, demands, placeholders, walker, walks
from workflows_app.engine.people import left_to_people, names_of_questions, set_by_others
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    Condition,
    ConditionMode,
    Effect,
    Gate,
    Program,
    Step,
    Truthy,
    walk_items,
)
from workflows_app.engine.walks import Failure, Position


def set_by_actions(*, program: Program, item: object, variables: Mapping[str, Any]) -> dict[str, Any]:
    """What the `set` actions of a finished step put into the variables."""
    return walker.set_by(program=program, actions=item.actions, variables=variables) if isinstance(item, Step) else {}


def as_set_by_pending(*, program: Program, position: Position, variables: dict[str, Any]) -> dict[str, Any]:
    """The variables when the item at hand is done, if it is a step that must be."""
    item = walker.item_at(program, position)
    if not isinstance(item, Step) or not item.required or not item.actions:
        return variables
    scope = walker.scope_at(program=program, position=position, variables=variables)
    return variables | set_by_actions(program=program, item=item, variables=scope)


def unmet_by(*, program: Program, item: object, variables: Mapping[str, Any]) -> tuple[Failure, ...]:
    """What the `validate` actions of a finished step demand and do not find."""
    if not isinstance(item, Step) or not item.actions:
        return ()
    return demands.unmet(program=program, actions=item.actions, variables=variables, where=item.id)


def refuse_overwritten(
    *, program: Program, snapshot: Snapshot, variables: Mapping[str, Any], item: object = None
) -> None:
    """`variables` are those with what an agent sends when it finishes the item. The same value again overwrites nothing, and
    what a `set` action of the item leaves to the agent is the agent's.
    """
    left = _left_to_agent(program, snapshot, variables, item) if snapshot.settled else frozenset()
    held = [name for name in snapshot.settled if not is_held(name, left)]
    refuse_changed(held, before=snapshot.variables, variables=variables)


def refuse_changed(held: Sequence[str], *, before: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
    """`held` are the variables that an answer has set, `before` with the values that it gave them."""
    names = sorted(before.keys() | variables.keys()) if held else ()
    changed = [name for name in names if changes_held(name, held, before=before, variables=variables)]
    if changed:
        raise InvalidInputError(
            f"An answer has set {', '.join(changed)}, or chose not to; nobody but whoever answers changes that before the run goes by it.",
            suggestion="Leave these keys out of context, and make the same call again.",
            details={"reason": "SET_BY_ANSWER", "keys": changed},
        )


def changes_held(name: str, held: Iterable[str], *, before: Mapping[str, Any], variables: Mapping[str, Any]) -> bool:
    """Whether the variable of that name is another one than before, where an answer has set it or a part of it."""
    paths = [(name,)] if is_held(name, held) else [tuple(each.split(".")) for each in parts_of(name, held)]
    read = ([conditions.lookup(path, variables=found) for found in (variables, before)] for path in paths)
    return any(not conditions.is_same_value(now, then) for now, then in read)


def held_by(checkpoint: Checkpoint, chosen: Effect) -> frozenset[str]:
    """What an answer to the question holds: what it sets, and where a person has chosen, what the options set that they did not
    choose.
    """
    others = (option.effect for option in checkpoint.options) if checkpoint.human else ()
    return frozenset(name for effect in (chosen, *others) if effect is not None for name in effect.set_variable)


def claimed_with(
    program: Program, context: Mapping[str, Any] | None, before: Snapshot | None = None, *, answered: Iterable[str] = ()
) -> tuple[str, ...]:
    """What agents have claimed of people's answers, with these variables; `answered` are set by an answer in another run."""
    claimed = before.claimed if before is not None else ()
    names = left_to_people(program) if context else frozenset()
    roots = {conditions.root_of(name) for name in names}
    said = (name for name in context or () if conditions.root_of(name) in roots and not is_held(name, answered))
    return tuple(sorted({*claimed, *(name for name in said if _is_about(name, names))}))


def as_chosen(*, program: Program, checkpoint: Checkpoint, chosen: Effect, snapshot: Snapshot) -> dict[str, Any]:
    """The variables that a person's answer goes by: where an agent has claimed what another option sets, and the chosen one sets
    nothing of it, that is as it was declared.
    """
    variables, claimed = dict(snapshot.variables), snapshot.claimed
    others = [each.effect for each in checkpoint.options if each.effect is not None and claimed and checkpoint.human]
    for name, value in ((name, value) for effect in others for name, value in effect.set_variable.items()):
        if name in chosen.set_variable or is_held(name, snapshot.settled) or not _is_about(name, claimed):
            continue
        if _says(name, placeholders.resolved(value, variables=variables), variables):
            variables = _as_declared(program, name, variables)
    return variables


def _is_about(name: str, names: Iterable[str]) -> bool:
    """Whether it is one of these variables, a part of one, or has one of them as a part."""
    return is_held(name, names) or bool(parts_of(name, names))


def _says(name: str, value: object, variables: Mapping[str, Any]) -> bool:
    """Whether it is read as that value; what holds says the same as `true`."""
    path = tuple(name.split("."))
    found = conditions.lookup(path, variables=variables)
    if not isinstance(value, bool) or found is conditions.MISSING:
        return conditions.is_same_value(found, value)
    return conditions.evaluate(Truthy(path=path), variables=variables, mode=ConditionMode.STRICT) is value


def _as_declared(program: Program, name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    others = {each: value for each, value in variables.items() if not is_held(each, (name,))}
    declared = next((each for each in program.variables if each.name == name and each.has_default), None)
    if declared is not None:
        return {**others, name: declared.default}
    is_there = conditions.lookup(tuple(name.split(".")), variables=others) is not conditions.MISSING
    return {**others, name: None} if is_there else others


def is_held(name: str, settled: Iterable[str]) -> bool:
    """Whether a variable of that name is read in the place of one that an answer has set: it is that one, or is named like a part
    of it, which is found before the part.
    """
    return any(name == each or name.startswith(f"{each}.") for each in settled)


def parts_of(name: str, settled: Iterable[str]) -> list[str]:
    """What an answer has set of parts of that variable: where it has set nothing by their names, they are read in the variable."""
    return [each for each in settled if each.startswith(f"{name}.")]


def _left_to_agent(program: Program, snapshot: Snapshot, variables: Mapping[str, Any], item: object) -> frozenset[str]:
    """By what the item says as the answer has left the variables."""
    actions = [each for each in item.actions if each.leaves_open] if isinstance(item, Step) else []
    if not actions:
        return frozenset()
    held = {name: value for name, value in snapshot.variables.items() if is_held(name, snapshot.settled)}
    others = {name: value for name, value in variables.items() if not is_held(name, snapshot.settled)}
    scope = walker.scope_at(program=program, position=snapshot.position, variables=others | held)
    return frozenset(
        each.target for each in actions if conditions.evaluate(each.condition, variables=scope, mode=program.conditions)
    )


def settled_after(
    *, program: Program, before: Snapshot, position: Position, names: Iterable[str] = (), is_led: bool
) -> tuple[str, ...]:
    """What is held at the new position, when an answer has set `names`. Leaving an activity whose transitions read a
    variable sets it free; where no transition does, leaving one whose steps do, but not where people are asked by it. Where an answer led out of it (`is_led`) nobody
    has read any of them.
    """
    held = {*before.settled, *names}
    if held and not is_led and _has_left(before.position, position):
        activity = program.activity(before.position.activity)
        held -= _freed_by(program, activity, held) if activity else set()
    return tuple(sorted(held))


def _has_left(before: Position, after: Position) -> bool:
    return (before.activity, before.visit) != (after.activity, after.visit) or after.complete


def _freed_by(program: Program, activity: Activity, held: Iterable[str]) -> set[str]:
    """What its transitions read, and what its steps read where no transition of the workflow does; but for what people alone set, where
    that says if somebody is asked: it is read again in its turn.
    """
    asked = names_of_questions(program) - set_by_others(program)
    held = [name for name in held if conditions.root_of(name) not in asked]
    in_steps = _paths(item.run_condition for item in walk_items(activity.body) if not isinstance(item, Gate))
    in_ways = {path for each in program.activities for path in _paths_of_ways(each)}
    own = _paths_of_ways(activity)
    return {name for name in held if _is_read(name, own) or (_is_read(name, in_steps) and not _is_read(name, in_ways))}


def _paths_of_ways(activity: Activity) -> set[str]:
    return _paths(condition for _, condition in walks.ways(activity))


def _paths(read: Iterable[Condition | None]) -> set[str]:
    return {path for condition in read for path in conditions.variables_of(condition)}


def _is_read(name: str, paths: Iterable[str]) -> bool:
    return any(is_held(path, (name,)) for path in paths)
