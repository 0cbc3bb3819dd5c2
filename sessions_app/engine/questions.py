"""The questions of an activity that is handed over whole: which there are, under which key, and which are still owed."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import checkpoints, guards
from sessions_app.engine.checkpoints import Shown
from sessions_app.engine.journal import Journal
from sessions_app.engine.state import OpenQuestion, Snapshot
from sessions_app.engine.steering_refusals import CheckpointNotFoundError
from teams_app.engine.errors import WorkrailError
from workflows_app.engine import aiming, conditions
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Checkpoint, Gate, Loop, Program, walk_items
from workflows_app.engine.walker import LookAhead


def on_entry(*, ahead: LookAhead, activity: Activity, snapshot: Snapshot, due_ms: int | None) -> tuple[Shown, ...]:
    """What is asked when the activity is entered: each checkpoint that it requires or that is for a person."""
    return tuple(
        _shown(ahead, activity, snapshot, checkpoint, instance=instance_of(snapshot, checkpoint.id), due_ms=due_ms)
        for checkpoint in activity.checkpoints
        if checkpoint.required or checkpoint.human
    )


def on_demand(
    *, ahead: LookAhead, activity: Activity, snapshot: Snapshot, name: str, due_ms: int | None
) -> Shown | None:
    """The question of that name; None when the activity has none. In a loop each round has its own."""
    instance = next_instance(activity, snapshot, name)
    checkpoint = checkpoint_named(activity, name)
    if checkpoint is None:
        return None
    return _shown(ahead, activity, snapshot, checkpoint, instance=instance, due_ms=due_ms)


def _shown(
    ahead: LookAhead,
    activity: Activity,
    snapshot: Snapshot,
    checkpoint: Checkpoint,
    *,
    instance: str,
    due_ms: int | None,
) -> Shown:
    """In a loop it is asked in the words of its round, as far as what is recorded tells which round that is."""
    scope: Mapping[str, Any] = snapshot.variables
    if _is_repeated(activity, checkpoint.id):
        number = instance.removeprefix(instance_of(snapshot, checkpoint.id)).removeprefix("#")
        scope = guards.scope_of_round(
            ahead=ahead, activity=activity, snapshot=snapshot, name=checkpoint.id, number=int(number or 1)
        )
    return checkpoints.shown_of(checkpoint, instance=instance, scope=scope, default_due_ms=due_ms)


def in_words_of_now(*, journal: Journal, program: Program, snapshot: Snapshot) -> Snapshot:
    """What is open, asked anew where it reads otherwise with the variables of now: nobody answers what they were not shown."""
    ahead = LookAhead(program)
    read = [(each, _shown_again(ahead, snapshot, each, journal.place.due_ms)) for each in snapshot.questions]
    asked = tuple(
        each
        if shown is None or shown.digest == each.digest
        else replace(journal.present(shown, in_place_of=each), is_owed=each.is_owed)
        for each, shown in read
    )
    return replace(snapshot, questions=asked)


def with_owed(
    *, journal: Journal, program: Program, before: Snapshot, after: Snapshot, name: str
) -> tuple[Snapshot, tuple[str, ...]]:
    """After an answer to the question of that name, with the people asked whom the work comes to before it and whom nobody would
    ask any more by what the answer has set: it was told out of turn. Gives their questions as well.
    """
    activity = program.activity(before.position.activity)
    if activity is None:
        return after, ()
    ahead = LookAhead(program)
    owed, asked = _lifted(program, activity, before, after, name), list(after.questions)
    for each in owed:
        open_ = after.question_named(each)
        if open_ is None:
            shown = on_demand(ahead=ahead, activity=activity, snapshot=after, name=each, due_ms=journal.place.due_ms)
            asked += [replace(journal.present(shown), is_owed=True)] if shown else []
        else:
            asked[asked.index(open_)] = replace(open_, is_owed=True)
    return replace(after, questions=tuple(asked)), owed


def with_shown_owed(*, program: Program, before: Snapshot, after: Snapshot) -> Snapshot:
    """What was asked of a person while its condition held is answered, whatever a run that was waited for has given back since."""
    activity = program.activity(before.position.activity) if before.is_handed_over else None
    conditions_of = {each.id: each.condition for each in activity.checkpoints} if activity else {}

    def is_owed(asked: OpenQuestion) -> bool:
        condition = conditions_of.get(asked.checkpoint)
        return asked.human and conditions.evaluate(condition, variables=before.variables, mode=program.conditions)

    asked = tuple(replace(each, is_owed=each.is_owed or is_owed(each)) for each in after.questions)
    return replace(after, questions=asked) if activity else after


def _lifted(program: Program, activity: Activity, before: Snapshot, after: Snapshot, name: str) -> tuple[str, ...]:
    """A question without a place in the order of work is raised whenever the agent likes, and lifts what it lifts."""
    gate = next((each.id for each in _gates(activity) if each.checkpoint == name), "")
    until = aiming.aim(program=program, position=before.position, item_id=gate) if gate else None
    if until is None:
        return ()
    left_out = [
        guards.passage(
            program=program,
            snapshot=replace(before, variables=each.variables),
            position=before.position,
            until=until,
            ahead=LookAhead(program),
        ).left_out
        for each in (before, after)
    ]
    return tuple(dict.fromkeys(each for each in left_out[0] if each not in left_out[1]))


def _shown_again(ahead: LookAhead, snapshot: Snapshot, asked: OpenQuestion, due_ms: int | None) -> Shown | None:
    """As it would be asked now; None where nobody knows."""
    program = ahead.program
    if snapshot.work is not None and asked.instance == snapshot.position.pending:
        return checkpoints.approval_at(program=program, snapshot=snapshot, due_ms=due_ms)
    activity = program.activity(snapshot.position.activity)
    checkpoint = checkpoint_named(activity, asked.checkpoint) if activity else None
    if activity is None or checkpoint is None:
        return None
    shown = _shown(ahead, activity, snapshot, checkpoint, instance=asked.instance, due_ms=due_ms)
    return None if ahead.is_spent else shown


def checkpoint_named(activity: Activity, name: str) -> Checkpoint | None:
    return next((checkpoint for checkpoint in activity.checkpoints if checkpoint.id == name), None)


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


def comes_later(activity: Activity, snapshot: Snapshot, name: str, *, than: str) -> bool:
    """Whether the work comes to the last answer to this question behind the other one, which is open."""
    order, rounds = in_order_of_work(activity), (0, 0)
    around = [_loops_of(activity, each)[:1] for each in (name, than)]
    if around[0] and around[0] == around[1]:
        rounds = (_count(snapshot, instance_of(snapshot, name)), _count(snapshot, instance_of(snapshot, than)) + 1)
    return (rounds[0], order.index(name)) > (rounds[1], order.index(than))


def is_settled(activity: Activity, snapshot: Snapshot, name: str) -> bool:
    """Whether asking once more asks nothing new. A person may be asked though a condition dismissed the question before."""
    said, checkpoint = latest_answer(snapshot, name), checkpoint_named(activity, name)
    if said is None or checkpoint is None or _is_repeated(activity, name):
        return False
    return bool(said) or not checkpoint.human


def in_order_of_work(activity: Activity) -> list[str]:
    """The checkpoints in the order in which the work comes to them; those that it does not come to stand behind."""
    met = [gate.checkpoint for gate in _gates(activity)]
    return list(dict.fromkeys((*met, *(checkpoint.id for checkpoint in activity.checkpoints))))


def gates_of(activity: Activity, name: str) -> tuple[str, ...]:
    """The items at the top of the activity that stand for the checkpoint."""
    return tuple(item.id for item in activity.body if isinstance(item, Gate) and item.checkpoint == name)


def unknown_checkpoint(program: Program, activity: Activity, snapshot: Snapshot, name: str) -> WorkrailError:
    """The approval of a step is asked when its work is told of, and not before."""
    if name in guards.to_approve(program=program, activity=activity, variables=snapshot.variables):
        return CheckpointNotFoundError(
            f"Step {name!r} is approved by a person once its work is told of; it cannot be asked before.",
            suggestion="Tell of it in the manifest, and go on when they have approved.",
        )
    known = [checkpoint.id for checkpoint in activity.checkpoints]
    return CheckpointNotFoundError(
        f"Checkpoint not found: {name} in activity {activity.id}. It has: {', '.join(known) or 'none'}.",
        suggestion=did_you_mean(name, known) or "Use the id that the activity's definition gives.",
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


def _loops_of(activity: Activity, name: str) -> tuple[Loop, ...]:
    gate = next((gate for gate in _gates(activity) if gate.checkpoint == name), None)
    return () if gate is None else aiming.loops_around(activity, gate.id)


def _is_repeated(activity: Activity, name: str) -> bool:
    gates = [gate for gate in _gates(activity) if gate.checkpoint == name]
    return any(aiming.is_within_loop(activity, each) for each in (*(gate.id for gate in gates), name))
