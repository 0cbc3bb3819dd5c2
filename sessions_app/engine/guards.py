"""Where people have to be asked in a run whose activities are handed over: what a call leaves out.

The server goes the same way in thought as a run that is led would go, and looks whom it would have stopped for. What is more than it
goes through in thought is not passed by.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import approvals, obligations, settling
from sessions_app.engine.handover_refusals import StepNotDoneError
from sessions_app.engine.judging import judge
from sessions_app.engine.prompts import rounds_at
from sessions_app.engine.reasons import Gap
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Snapshot
from sessions_app.engine.submissions import NOTHING
from workflows_app.engine import aiming, conditions, placeholders, walker
from workflows_app.engine.people import AskedOfPeople, activity_asks, sets_any
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    Condition,
    ConfirmationKind,
    Effect,
    Gate,
    Item,
    Loop,
    Parallel,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.walker import LookAhead
from workflows_app.engine.walks import Position

_PASSED = "~"
# What is come to in thought, and the variables as they are then.
_Met = tuple[Position, dict[str, Any]]


def to_approve(*, program: Program, activity: Activity, variables: Mapping[str, Any]) -> tuple[str, ...]:
    """The steps and loops of the activity that a person approves as things stand."""
    return tuple(item.id for item in walk_items(activity.body) if _needs_approval(program, item, variables))


def _needs_approval(program: Program, item: Item, variables: Mapping[str, Any]) -> bool:
    if isinstance(item, Gate) or item.confirmation is None:
        return False
    confirmation = item.confirmation
    return confirmation.confirms is ConfirmationKind.HUMAN_APPROVAL and conditions.evaluate(
        confirmation.condition, variables=variables, mode=program.conditions
    )


@dataclass(slots=True, kw_only=True)
class Passage:
    """From where the run stands to the item that is aimed at, or out of the activity when none is: who is left out, what the
    program demands of a step and does not get, and which answers of rounds count as used.
    """

    left_out: list[str] = field(default_factory=list)
    lacking: StepNotDoneError | None = None
    gaps: list[Gap] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)
    told: frozenset[str] = frozenset()


def passage(
    *,
    program: Program,
    snapshot: Snapshot,
    position: Position,
    until: Position | None,
    told: Collection[str] = (),
    ahead: LookAhead,
) -> Passage:
    """`position` has nothing pending that is still to be done, or what is pending there is passed over as well. Where an
    answer leads elsewhere, what stands behind its question is left undone, and what stands before it is not. Of the steps
    that are `told` of something is said, in whatever order and for however many rounds. `ahead` is one for all of a call.
    """
    found = Passage(told=frozenset(told))
    activity = program.activity(position.activity)
    if activity is None or not is_guarded(ahead, activity):
        return found
    for at, variables in _on_the_way(ahead, activity, snapshot, position, until):
        here = snapshot if variables is snapshot.variables else replace(snapshot, variables=variables)
        _meet(found, program, activity, here, at)
        if until is not None:
            _set_aside(found, ahead, here, at)
    if ahead.is_spent and not found.left_out and found.lacking is None and not snapshot.preferences.waives_people:
        found.lacking = StepNotDoneError.too_far(activity.id, position.frames[0].loop if position.frames else "")
    return found


def _on_the_way(
    ahead: LookAhead, activity: Activity, snapshot: Snapshot, position: Position, until: Position | None
) -> Iterator[_Met]:
    """Each item once that stands before the one that is aimed at, or before the end."""
    left_at = led_from(activity=activity, snapshot=snapshot)
    met = set[str]()
    for at, variables in _ahead(ahead, activity, snapshot, position):
        if until is None and left_at is not None and _is_reached(activity, at, left_at):
            break
        if until is not None and _is_there(activity, at, position, until):
            break
        met.add(at.pending)
        yield at, variables
    for at, variables in _before_in_rounds(ahead, activity, snapshot, position, until) if until is not None else ():
        if at.pending not in met:
            met.add(at.pending)
            yield at, variables


def comes_to(*, ahead: LookAhead, snapshot: Snapshot, position: Position, item: Position) -> bool:
    """Whether a run that is led would come to the item from there, as things stand."""
    activity = ahead.program.activity(position.activity)
    for at, _ in _ahead(ahead, activity, snapshot, position) if activity else ():
        if at.pending == item.pending or (activity and _is_there(activity, at, position, item)):
            return at.pending == item.pending
    return False


def scope_of_round(
    *, ahead: LookAhead, activity: Activity, snapshot: Snapshot, name: str, number: int
) -> Mapping[str, Any]:
    """The variables as that round sees them which asks the question for the `number`th time; those of the run where a run that is
    led would not come to such a round as things stand.
    """
    left = number - _used(activity, snapshot, name)
    for at, variables in _ahead(ahead, activity, snapshot, snapshot.position):
        item = walker.item_at(ahead.program, at)
        left -= isinstance(item, Gate) and item.checkpoint == name
        if left <= 0:
            return snapshot.variables | walker.loop_variables(program=ahead.program, position=at, variables=variables)
    return snapshot.variables


def _is_there(activity: Activity, at: Position, position: Position, until: Position) -> bool:
    """Whoever goes back to what stands before a loop is done with the loop, and so has all of it behind."""
    if position.frames and _place(activity, until) < _place(activity, position):
        return _place(activity, at) > _place(activity, position)
    return at.pending == until.pending or _place(activity, at) > _place(activity, until)


def _before_in_rounds(
    ahead: LookAhead, activity: Activity, snapshot: Snapshot, position: Position, until: Position
) -> Iterator[_Met]:
    """What stands before the item in the rounds that it is told of, also where a run which is led would have no such round."""
    for depth, frame in enumerate(until.frames):
        outside = until.frames[:depth]
        here = position.frames[depth] if position.frames[:depth] == outside and depth < len(position.frames) else None
        is_same = here is not None and (here.loop, here.iteration) == (frame.loop, frame.iteration)
        entrance = replace(frame, index=here.index if here is not None and is_same else 0)
        start = replace(until, frames=(*outside, entrance), pending="", pending_item="")
        for at, variables in _ahead(ahead, activity, snapshot, start):
            around = at.frames[depth : depth + 1]
            if not around or (around[0].loop, around[0].iteration) != (frame.loop, frame.iteration):
                break
            if around[0].index >= frame.index:
                break
            yield at, variables


def led_from(*, activity: Activity, snapshot: Snapshot) -> Gate | None:
    """The first question of the activity whose answer in this visit leads where the run goes. None when no answer leads
    anywhere, or only one to a question that has no place in the order of work.
    """
    leading = {checkpoint.id for checkpoint in _leading(activity, snapshot)}
    return next((gate for gate in _gates(activity) if gate.checkpoint in leading), None)


def is_come_to(*, activity: Activity, snapshot: Snapshot, name: str) -> bool:
    """Whether the work comes to the question of that name: where an answer leads elsewhere, it does to none behind its own."""
    left_at = led_from(activity=activity, snapshot=snapshot)
    if left_at is None:
        return True
    order = [gate.checkpoint for gate in _gates(activity)]
    return name in order and order.index(name) <= order.index(left_at.checkpoint)


def skipped_by_answers(*, program: Program, activity: Activity, snapshot: Snapshot) -> tuple[str, ...]:
    """The activities that the answers of this visit leave out: those to questions to which the work comes, whenever they were told."""
    return tuple(
        name
        for checkpoint in activity.checkpoints
        for effect in _effects(snapshot, checkpoint)
        if effect.skip_activities
        and is_come_to(activity=activity, snapshot=snapshot, name=checkpoint.id)
        and not is_ruled_out(program=program, activity=activity, snapshot=snapshot, checkpoint=checkpoint)
        for name in effect.skip_activities
    )


def is_ruled_out(*, program: Program, activity: Activity, snapshot: Snapshot, checkpoint: Checkpoint) -> bool:
    """Whether an agent's question is not to be asked by what a person has answered before it, whatever else is found out. What comes
    of such a question is the agent's word against theirs.
    """
    held = () if checkpoint.human else _set_before(activity, snapshot, checkpoint)

    def rules_out(condition: Condition | None) -> bool:
        return conditions.is_ruled_out(
            condition,
            variables=snapshot.variables,
            mode=program.conditions,
            is_known=lambda name: settling.is_held(name, held),
        )

    return bool(held) and all(any(map(rules_out, asked)) for asked in _asked_by(activity, checkpoint))


def _set_before(activity: Activity, snapshot: Snapshot, checkpoint: Checkpoint) -> tuple[str, ...]:
    """What answers have set, but those of this visit that are the agent's own or stand behind the question."""
    order = [gate.checkpoint for gate in _gates(activity)]
    place = order.index(checkpoint.id) if checkpoint.id in order else len(order)
    before = {each.id for each in activity.checkpoints if each.human and each.id in order[:place]}
    others = (each for each in activity.checkpoints if each.id not in before)
    own = {name for each in others for name in set_by_answers(snapshot, each)}
    return tuple(name for name in snapshot.settled if name not in own)


def _asked_by(activity: Activity, checkpoint: Checkpoint) -> Iterator[tuple[Condition | None, ...]]:
    """The conditions at each place where the question is asked: its own, and those of its step and of the loops around it."""
    steps = {item.id: item for item in walk_items(activity.body) if isinstance(item, Step)}
    gates = [gate for gate in _gates(activity) if gate.checkpoint == checkpoint.id]
    for gate in gates:
        step = steps.get(gate.step)
        around = (loop.run_condition for loop in aiming.loops_around(activity, gate.id))
        yield checkpoint.condition, step.run_condition if step else None, *around
    if not gates:
        yield (checkpoint.condition,)


def as_led(*, program: Program, snapshot: Snapshot) -> Snapshot:
    """Led elsewhere by no answer to a question that a person's answer has ruled out."""
    activity = program.activity(snapshot.position.activity)
    if activity is None or not snapshot.led_to:
        return snapshot
    leading = tuple(_leading(activity, snapshot))
    ruled_out = (
        is_ruled_out(program=program, activity=activity, snapshot=snapshot, checkpoint=each) for each in leading
    )
    return replace(snapshot, led_to="") if leading and all(ruled_out) else snapshot


def is_led_by_person(*, activity: Activity, snapshot: Snapshot) -> bool:
    """Whether a person's answer in this visit leads where the run goes."""
    return any(checkpoint.human for checkpoint in _leading(activity, snapshot))


def _leading(activity: Activity, snapshot: Snapshot) -> Iterator[Checkpoint]:
    """The checkpoints whose answer in this visit leads where the run goes."""
    for checkpoint in activity.checkpoints if snapshot.led_to else ():
        if any(effect.transition_to == snapshot.led_to for effect in _effects(snapshot, checkpoint)):
            yield checkpoint


def set_by_answers(snapshot: Snapshot, checkpoint: Checkpoint) -> set[str]:
    """The variables that its answers in this visit have set."""
    return {name for effect in _effects(snapshot, checkpoint) for name in effect.set_variable}


def _effects(snapshot: Snapshot, checkpoint: Checkpoint) -> Iterator[Effect]:
    """Of its answers in this visit."""
    answers = _answers(snapshot, checkpoint.id)
    for option in checkpoint.options:
        if option.id in answers and option.effect is not None:
            yield option.effect


def _gates(activity: Activity) -> Iterator[Gate]:
    return (item for item in walk_items(activity.body) if isinstance(item, Gate))


def _is_reached(activity: Activity, at: Position, gate: Gate) -> bool:
    if at.pending_item == gate.id:
        return True
    place = next(index for index, item in enumerate(activity.body) if any(each is gate for each in walk_items((item,))))
    return _place(activity, at) > place


def _place(activity: Activity, position: Position) -> int:
    """Which item of the activity it is, or stands in. How often a loop is gone through the agent tells."""
    top = position.frames[0].loop if position.frames else position.pending_item
    return next((index for index, item in enumerate(activity.body) if item.id == top), len(activity.body))


def _ahead(ahead: LookAhead, activity: Activity, snapshot: Snapshot, position: Position) -> Iterator[_Met]:
    """The items that a run which is led would come to in this visit, but for loops in which nobody is met, and the variables as they
    would be then: what is left out and must be done sets what it sets.
    """
    idle, variables = _idle_loops(ahead, activity), snapshot.variables
    at = ahead.come_to(past_loops(position, idle), variables)
    while at is not None and not at.complete and (at.activity, at.visit) == (position.activity, position.visit):
        yield at, variables
        variables = settling.as_set_by_pending(program=ahead.program, position=at, variables=variables)
        at = ahead.come_to(aiming.past(at), variables)


def _idle_loops(ahead: LookAhead, activity: Activity) -> frozenset[str]:
    """The loops at the top of the activity in which nobody is asked, nothing but words is demanded and nothing is set that decides who
    is asked: however many rounds they have, none of them is to be looked at.
    """
    asking = AskedOfPeople(activity)
    loops = (item for item in activity.body if isinstance(item, Loop))
    return frozenset(
        loop.id
        for loop in loops
        if not asking.asks(loop) and not any(_is_looked_at(ahead, item) for item in walk_items(loop.body))
    )


def _is_looked_at(ahead: LookAhead, item: Item) -> bool:
    return obligations.is_demanding(ahead.program, item) or _decides(ahead, item)


def _decides(ahead: LookAhead, item: Item) -> bool:
    """Whether the step must be done and sets what may decide if somebody is asked."""
    return isinstance(item, Step) and item.required and bool(item.actions) and sets_any(item, ahead.deciding)


def past_loops(position: Position, loops: frozenset[str]) -> Position:
    """With these loops at the top of the activity done; whoever stands in one of them stands behind it."""
    done = tuple(sorted({*position.done, *loops}))
    if not position.frames or position.frames[0].loop not in loops:
        return replace(position, done=done)
    return replace(position, done=done, frames=(), pending="", pending_item="")


def _meet(found: Passage, program: Program, activity: Activity, snapshot: Snapshot, at: Position) -> None:
    item = walker.item_at(program, at)
    match item:
        case Gate():
            checkpoint = next((each for each in activity.checkpoints if each.id == item.checkpoint), None)
            if checkpoint is None or not checkpoint.human:
                return
            used = found.used.get(item.checkpoint, _used(activity, snapshot, item.checkpoint))
            if _given(snapshot, item.checkpoint) <= used:
                found.left_out.append(item.checkpoint)
            found.used[item.checkpoint] = used + 1
        case Step() | Parallel():
            scope = walker.scope_at(program=program, position=at, variables=snapshot.variables)
            here = _as_at(snapshot, at)
            if approvals.asked_of(program, here, item, scope=scope) is ConfirmationKind.HUMAN_APPROVAL:
                found.left_out.append(item.id)
            else:
                _demand(found, program, here, item)
        case None:
            return


def _set_aside(found: Passage, ahead: LookAhead, snapshot: Snapshot, at: Position) -> None:
    """What a step sets that is passed over is set in thought when the activity is left, where it is the same then as now. Else it
    would be set by nobody, so that it is to be told of in its turn.
    """
    program, variables = ahead.program, snapshot.variables
    item = walker.item_at(program, at)
    if found.lacking is not None or snapshot.preferences.waives_people or not isinstance(item, Step):
        return
    if not _decides(ahead, item) or not (at.frames or _is_by_condition(item)):
        return
    left = settling.as_set_by_pending(program=program, position=at, variables=variables)
    unset = sorted(
        name for name in ahead.deciding if not conditions.is_same_variable(name, variables=variables, others=left)
    )
    if unset:
        found.lacking = StepNotDoneError.unset(item.id, unset, rounds_at(program, _as_at(snapshot, at)))


def _is_by_condition(step: Step) -> bool:
    """Whether what it sets, or that it is done at all, depends on variables."""
    return step.run_condition is not None or any(
        action.condition is not None or placeholders.names_of_value(action.value) for action in step.actions
    )


def _as_at(snapshot: Snapshot, at: Position) -> Snapshot:
    """What was handed in before was for the item at hand, and for no other."""
    if at.pending == snapshot.position.pending:
        return replace(snapshot, position=at)
    return replace(snapshot, position=at, blocked=None, answered=None)


def _demand(found: Passage, program: Program, here: Snapshot, item: Step | Parallel) -> None:
    """What is left out is judged as if nothing had been handed in for it. Notes of it may stand elsewhere in what is told."""
    if item.id in found.told and obligations.judges_notes(item):
        return
    findings = obligations.examine(program=program, snapshot=here, submission=NOTHING, variables=here.variables)
    judged = judge(program=program, item=item, findings=findings, preferences=here.preferences, drive=Drive.HANDED_OVER)
    if judged.stops and found.lacking is None:
        found.lacking = StepNotDoneError.of(item.id, judged.verdict.blockers, rounds_at(program, here))
    found.gaps.extend(judged.verdict.gaps)


def demands(program: Program, activity: Activity) -> bool:
    """Whether anybody is asked in it, or more is demanded than some words or other."""
    return activity_asks(activity) or any(obligations.is_demanding(program, item) for item in walk_items(activity.body))


def is_guarded(ahead: LookAhead, activity: Activity) -> bool:
    """Whether it is looked through for what a call leaves out."""
    return demands(ahead.program, activity) or any(_decides(ahead, item) for item in walk_items(activity.body))


def _key(snapshot: Snapshot, checkpoint: str) -> str:
    return f"{snapshot.position.activity}@{snapshot.position.visit}::{checkpoint}"


def _answers(snapshot: Snapshot, checkpoint: str) -> list[str]:
    """What was answered in this visit, in each round that asked; empty where a condition dismissed the question."""
    first = _key(snapshot, checkpoint)
    return [said for key, said in snapshot.answers.items() if key == first or key.startswith(f"{first}#")]


def _given(snapshot: Snapshot, checkpoint: str) -> int:
    """How often it was answered in this visit. Where a condition dismissed it that holds when its turn comes, it is asked."""
    return sum(bool(said) for said in _answers(snapshot, checkpoint))


def _used(activity: Activity, snapshot: Snapshot, checkpoint: str) -> int:
    """How many answers were needed so far: one for the visit where the question stands outside of loops as well, and was answered."""
    outside = {item.id for item in activity.body if isinstance(item, Gate) and item.checkpoint == checkpoint}
    needed = 0 if outside.isdisjoint(snapshot.position.done) else 1
    return int(snapshot.answers.get(f"{_key(snapshot, checkpoint)}{_PASSED}", needed))


def with_used(snapshot: Snapshot, passed: Passage) -> Snapshot:
    """The answers that the passage has used are not used again by the next round."""
    if not passed.used:
        return snapshot
    noted = {f"{_key(snapshot, name)}{_PASSED}": str(count) for name, count in passed.used.items()}
    return replace(snapshot, answers={**snapshot.answers, **noted})
