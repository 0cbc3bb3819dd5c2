"""The questions of an activity that is handed over whole: which there are, under which key, and which are still owed."""

from collections.abc import Iterator, Mapping
from typing import Any

from sessions_app.engine import checkpoints
from sessions_app.engine.checkpoints import Shown
from sessions_app.engine.state import Snapshot
from workflows_app.engine import aiming, conditions, placeholders, walker
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    Confirmation,
    ConfirmationKind,
    Gate,
    Loop,
    Parallel,
    Program,
    Step,
    walk_items,
)

# An item that may be confirmed by a person.
_Confirmed = Step | Parallel | Loop


def on_entry(*, program: Program, activity: Activity, snapshot: Snapshot, due_ms: int | None) -> tuple[Shown, ...]:
    """What is asked when the activity is entered: each checkpoint that it requires, and each approval that holds."""
    asked = [
        checkpoints.shown_of(
            checkpoint,
            instance=instance_of(snapshot, checkpoint.id),
            scope=snapshot.variables,
            default_due_ms=due_ms,
        )
        for checkpoint in activity.checkpoints
        if checkpoint.required
    ]
    needed = [
        _approval(item, snapshot, instance_of(snapshot, item.id), due_ms)
        for item in _to_approve(program, activity, snapshot.variables)
    ]
    return (*asked, *needed)


def on_demand(
    *, program: Program, activity: Activity, snapshot: Snapshot, name: str, due_ms: int | None
) -> Shown | None:
    """The question of that name; None when the activity has none. In a loop each round has its own."""
    instance = next_instance(activity, snapshot, name)
    checkpoint = checkpoint_named(activity, name)
    if checkpoint is not None:
        return checkpoints.shown_of(checkpoint, instance=instance, scope=snapshot.variables, default_due_ms=due_ms)
    item = next((item for item in _to_approve(program, activity, snapshot.variables) if item.id == name), None)
    return None if item is None else _approval(item, snapshot, instance, due_ms)


def checkpoint_named(activity: Activity, name: str) -> Checkpoint | None:
    return next((checkpoint for checkpoint in activity.checkpoints if checkpoint.id == name), None)


def names_of(*, program: Program, activity: Activity, variables: Mapping[str, Any]) -> tuple[str, ...]:
    """Everything that can be asked in the activity."""
    declared = (checkpoint.id for checkpoint in activity.checkpoints)
    return (*declared, *(item.id for item in _to_approve(program, activity, variables)))


def instance_of(snapshot: Snapshot, name: str) -> str:
    position = snapshot.position
    return f"{position.activity}@{position.visit}::{name}"


def next_instance(activity: Activity, snapshot: Snapshot, name: str) -> str:
    """What was answered outside loops stays answered for the visit; within one, the next round asks again."""
    first = instance_of(snapshot, name)
    if first not in snapshot.answers or not _is_repeated(activity, name):
        return first
    return f"{first}#{_count(snapshot, first) + 1}"


def latest_answer(snapshot: Snapshot, name: str) -> str | None:
    """What was answered last in this visit; None when nothing was, empty where a condition dismissed the question."""
    first = instance_of(snapshot, name)
    count = _count(snapshot, first)
    return snapshot.answers[first if count == 1 else f"{first}#{count}"] if count else None


def _count(snapshot: Snapshot, first: str) -> int:
    return sum(key == first or key.startswith(f"{first}#") for key in snapshot.answers)


def is_settled(activity: Activity, snapshot: Snapshot, name: str) -> bool:
    """Whether asking once more asks nothing new."""
    return latest_answer(snapshot, name) is not None and not _is_repeated(activity, name)


def gates_of(activity: Activity, name: str) -> tuple[str, ...]:
    """The items at the top of the activity that stand for the checkpoint."""
    return tuple(item.id for item in activity.body if isinstance(item, Gate) and item.checkpoint == name)


def unapproved(*, program: Program, activity: Activity, item: Step | Parallel, snapshot: Snapshot) -> tuple[str, ...]:
    """What a person must approve before the step counts as done: itself, or a loop around it."""
    scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)
    around: tuple[_Confirmed, ...] = (item, *aiming.loops_around(activity, item.id))
    return tuple(
        each.id
        for each in around
        if _asks_a_person(program, each.confirmation, scope) and latest_answer(snapshot, each.id) is None
    )


def unasked(
    *, program: Program, activity: Activity, snapshot: Snapshot, listed: frozenset[str]
) -> tuple[Checkpoint, ...]:
    """Checkpoints that stop the work, whose turn came with what is listed as done, and that nobody was asked."""
    due = {gate.checkpoint for gate in _gates(activity) if _came(activity, gate, listed)}
    return tuple(
        checkpoint
        for checkpoint in activity.checkpoints
        if checkpoint.id in due
        and checkpoint.required
        and checkpoint.blocking
        and latest_answer(snapshot, checkpoint.id) is None
        and conditions.evaluate(checkpoint.condition, variables=snapshot.variables, mode=program.conditions)
    )


def _gates(activity: Activity) -> Iterator[Gate]:
    return (item for item in walk_items(activity.body) if isinstance(item, Gate))


def _came(activity: Activity, gate: Gate, listed: frozenset[str]) -> bool:
    if gate.step:
        return gate.step in listed
    loops = aiming.loops_around(activity, gate.id)
    return not loops or any(item.id in listed for item in walk_items(loops[-1].body))


def _is_repeated(activity: Activity, name: str) -> bool:
    gates = [gate for gate in _gates(activity) if gate.checkpoint == name]
    return any(aiming.is_within_loop(activity, each) for each in (*(gate.id for gate in gates), name))


def _to_approve(program: Program, activity: Activity, variables: Mapping[str, Any]) -> Iterator[_Confirmed]:
    for item in walk_items(activity.body):
        if not isinstance(item, Gate) and _asks_a_person(program, item.confirmation, variables):
            yield item


def _asks_a_person(program: Program, confirmation: Confirmation | None, variables: Mapping[str, Any]) -> bool:
    if confirmation is None or confirmation.confirms is not ConfirmationKind.HUMAN_APPROVAL:
        return False
    return conditions.evaluate(confirmation.condition, variables=variables, mode=program.conditions)


def _approval(item: _Confirmed, snapshot: Snapshot, instance: str, due_ms: int | None) -> Shown:
    said = (item.prompt if isinstance(item, Step) else "") or item.title or item.id
    return checkpoints.approval_of(
        item_id=item.id,
        title=item.title or item.id,
        message=placeholders.render(said, variables=snapshot.variables),
        instance=instance,
        due_ms=due_ms,
    )
