"""What finishing a step sets and demands; and variables that an answer has set, which are not the agent's to overwrite before the
transition that reads them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sessions_app.engine.state import Snapshot
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import conditions, demands, walker, walks
from workflows_app.engine.people import kept_for_people, left_to_people, names_of_questions, set_by_others
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    Condition,
    Effect,
    Gate,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.variables import Names, is_about
from workflows_app.engine.walks import Failure, Position

_MOST_NAMED = 20


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
    left = Names(_left_to_agent(program, snapshot, variables, item)) if snapshot.settled else ()
    held = [name for name in snapshot.settled if name not in left]
    refuse_changed(held, before=snapshot.variables, variables=variables)


def not_agents(program: Program, snapshot: Snapshot) -> tuple[str, ...]:
    """The variables of which no word of an agent adds a part: what an answer has set, and what only people say."""
    return tuple(sorted({*snapshot.settled, *kept_for_people(program)}))


def refuse_presumed(
    program: Program, *, before: Mapping[str, Any], contexts: Iterable[Mapping[str, Any] | None]
) -> None:
    """Nobody says before people are asked what only their answers set, where that says whether they are. `contexts` are all that
    an agent sends in a call, and null takes a variable away.
    """
    said = [context for context in contexts if context]
    kept = kept_for_people(program) if said else ()
    if not kept:
        return
    among = Names(kept)
    held = {name: value for name, value in before.items() if is_about(name, among)}
    changed = sorted({name for each in said for name in _changed(among, before=held, variables={**held, **each})})
    if changed:
        raise _set_by_answer(
            f"Only people's answers set {_named(changed)}, and whether they are asked goes by that.",
            "Leave these keys out of context, and make the same call again: the person is asked when the run comes to it.",
            changed,
        )


def refuse_changed(held: Sequence[str], *, before: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
    """`held` are the variables that an answer has set, `before` with the values that it gave them."""
    changed = _changed(Names(held), before=before, variables=variables) if held else []
    if changed:
        raise _set_by_answer(
            f"An answer has set {_named(changed)}, or chose not to; nobody but whoever answers changes that before the run goes by it.",
            "Leave these keys out of context, and make the same call again.",
            changed,
        )


def _set_by_answer(message: str, suggestion: str, keys: Sequence[str]) -> InvalidInputError:
    details = {"reason": "SET_BY_ANSWER", "keys": list(keys[:_MOST_NAMED])}
    return InvalidInputError(message, suggestion=suggestion, details=details)


def _named(keys: Sequence[str]) -> str:
    """Of a variable that is held somebody may send any number of parts."""
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return f"{', '.join(keys[:_MOST_NAMED])}{more}"


def _changed(held: Names, *, before: Mapping[str, Any], variables: Mapping[str, Any]) -> list[str]:
    names = sorted(before.keys() | variables.keys())
    return [name for name in names if changes_held(name, held, before=before, variables=variables)]


def changes_held(name: str, held: Names, *, before: Mapping[str, Any], variables: Mapping[str, Any]) -> bool:
    """Whether the variable of that name is another one than before, where an answer has set it or a part of it."""
    paths = [(name,)] if name in held else [tuple(each.split(".")) for each in held.parts_of(name)]
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
    if not context:
        return claimed
    names, others = Names(left_to_people(program)), Names(answered)
    said = (name for name in context if is_about(name, names) and name not in others)
    return tuple(sorted({*claimed, *said}))


def is_held(name: str, settled: Iterable[str]) -> bool:
    """Whether a variable of that name is read in the place of one that an answer has set: it is that one, or is named like a part
    of it, which is found before the part.
    """
    return any(name == each or name.startswith(f"{each}.") for each in settled)


def _left_to_agent(program: Program, snapshot: Snapshot, variables: Mapping[str, Any], item: object) -> frozenset[str]:
    """By what the item says as the answer has left the variables."""
    actions = [each for each in item.actions if each.leaves_open] if isinstance(item, Step) else []
    if not actions:
        return frozenset()
    among = Names(snapshot.settled)
    held = {name: value for name, value in snapshot.variables.items() if name in among}
    others = {name: value for name, value in variables.items() if name not in among}
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
    asked, others = names_of_questions(program), set_by_others(program)
    held = [name for name in held if conditions.root_of(name) not in asked or is_about(name, others)]
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
