"""What comes next for a client that keeps its own place: it says which steps are done, and nothing is remembered here.

A step is named by its key: its id, and inside loops and activities also the round (`fix@1::apply`). The answer for the same
completed steps and the same context is always the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from workflows_app.engine import walker
from workflows_app.engine.program import Activity, Checkpoint, Effect, Gate, Loop, Parallel, Program, Step, walk_items
from workflows_app.engine.rounds import Round, rounds_around
from workflows_app.engine.walks import Failure, Position, Walk

Work = Step | Parallel | Gate


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """The item that is next, as its scope sees it. No item: the walk is complete, or `failure` says why it cannot go on; then
    the key is that of the loop which it is about, where the walk stands in that loop.
    """

    key: str = ""
    item: Work | None = None
    activity: Activity | None = None
    scope: Mapping[str, Any]
    failure: Failure | None = None
    # Of the loops around the item, outermost first.
    rounds: tuple[Round, ...] = ()


def find_next(*, program: Program, completed: Sequence[str], context: Mapping[str, Any]) -> Ahead:
    """Walks over what is completed. A loop whose key is among it is left, whatever decides about its rounds; one whose bare id is,
    in every round of the loops around it.
    """
    done = frozenset(completed)
    variables = {**_defaults(program), **context}
    walk = walker.start(program=program, variables=variables)
    variables |= walk.assigned
    while walk.failure is None and not walk.position.complete:
        finished = _finished(program, walk.position, done)
        if finished is None:
            return _ahead(program, walk.position, variables)
        walk = _past(program, finished, variables)
    return Ahead(key=_loop_of(program, walk), scope=variables, failure=walk.failure)


def unknown_steps(*, program: Program, named: Iterable[str]) -> tuple[str, ...]:
    """Those of the names that the program has no step or loop for, whatever their round."""
    known = frozenset(step_ids(program))
    return tuple(name for name in named if name.rpartition("::")[2] not in known)


def step_ids(program: Program) -> tuple[str, ...]:
    return tuple(item.id for activity in program.activities for item in walk_items(activity.body))


def find_item(*, program: Program, step_id: str) -> Work | None:
    """The item behind a key or an id; of several activities that have it, the one that the key names."""
    place, _, item_id = step_id.rpartition("::")
    activity_id = place.partition("/")[0].partition("@")[0]
    activities = sorted(program.activities, key=lambda activity: activity.id != activity_id)
    items = (item for activity in activities for item in walk_items(activity.body))
    return next((item for item in items if item.id == item_id and not isinstance(item, Loop)), None)


def checkpoint_of(activity: Activity | None, gate: Gate) -> Checkpoint | None:
    return next((each for each in (activity.checkpoints if activity else ()) if each.id == gate.checkpoint), None)


def _finished(program: Program, position: Position, done: frozenset[str]) -> Position | None:
    """The position whose pending item counts as done: the item at hand, or the outermost loop around it that is left."""
    for depth, frame in enumerate(position.frames):
        if not done.isdisjoint((frame.loop, _key_of_loop(program, position, depth))):
            return replace(position, frames=position.frames[:depth], pending_item=frame.loop)
    return position if position.pending in done else None


def _key_of_loop(program: Program, position: Position, depth: int) -> str:
    """As those of steps: with the round in which it stands."""
    around = replace(position, frames=position.frames[:depth])
    return walker.instance_key(program=program, position=around, item_id=position.frames[depth].loop)


def _loop_of(program: Program, walk: Walk) -> str:
    """The key of the loop for which the walk cannot go on; empty where it stands in none."""
    if walk.failure is None:
        return ""
    loops = [frame.loop for frame in walk.position.frames]
    named = walk.failure.item
    return _key_of_loop(program, walk.position, loops.index(named)) if named in loops else ""


def _past(program: Program, position: Position, variables: dict[str, Any]) -> Walk:
    """What is set on the way is put among the variables: a copy for each step would cost as much as all of them."""
    item = walker.item_at(program, position)
    effect = _effect(program, position, item, variables)
    scope = walker.scope_at(program=program, position=position, variables=variables)
    variables |= walker.set_by_option(effect=effect, variables=scope)
    position = walker.skip(position, effect.skip_activities)
    if isinstance(item, Step):
        variables |= walker.set_by(program=program, actions=item.actions, variables=scope)
    if effect.transition_to:
        walk = walker.enter_activity(
            program=program, position=position, activity_id=effect.transition_to, variables=variables
        )
    else:
        walk = walker.complete_pending(program=program, position=position, variables=variables)
    variables |= walk.assigned
    return walk


def _effect(program: Program, position: Position, item: Work | None, variables: Mapping[str, Any]) -> Effect:
    """Of the option that the context names under the checkpoint's id."""
    if not isinstance(item, Gate):
        return Effect()
    checkpoint = checkpoint_of(program.activity(position.activity), item)
    chosen = variables.get(item.checkpoint)
    options = checkpoint.options if checkpoint else ()
    found = next((option for option in options if option.id == chosen), None)
    return (found and found.effect) or Effect()


def _ahead(program: Program, position: Position, variables: Mapping[str, Any]) -> Ahead:
    return Ahead(
        key=position.pending,
        item=walker.item_at(program, position),
        activity=program.activity(position.activity),
        scope=walker.scope_at(program=program, position=position, variables=variables),
        rounds=rounds_around(program=program, position=position, variables=variables),
    )


def _defaults(program: Program) -> dict[str, Any]:
    return {variable.name: variable.default for variable in program.variables if variable.has_default}
