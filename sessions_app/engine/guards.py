"""Where people have to be asked in a run whose activities are handed over: what a call leaves out, and what it walks around.

The server goes the same way in thought as a run that is led would go, and looks whom it would have stopped for.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import approvals, obligations, settling, ways
from sessions_app.engine.handover_refusals import StepNotDoneError
from sessions_app.engine.judging import judge
from sessions_app.engine.prompts import rounds_at
from sessions_app.engine.reasons import Gap
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Snapshot
from sessions_app.engine.submissions import NOTHING
from workflows_app.engine import aiming, conditions, walker
from workflows_app.engine.people import activity_asks, names_read
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    ConfirmationKind,
    Gate,
    Item,
    Parallel,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.walks import Position

# Items that are passed in thought by one call; a loop that never ends on its own comes near it.
_MOST_ITEMS = 2_000
# Steps of an activity that are done in thought for what they set; what more rounds of a loop set is not known.
_MOST_STEPS = 500
# And of all activities that one call goes through in thought.
_MOST_STEPS_IN_ALL = 4_000
# How often an activity is gone through in thought, each time with other variables.
_MOST_VISITS = 8
_PASSED = "~"


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
) -> Passage:
    """`position` has nothing pending that is still to be done, or what is pending there is passed over as well. Where an
    answer leads elsewhere, what stands behind its question is left undone, and what stands before it is not. Of the steps
    that are `told` of something is said, in whatever order and for however many rounds.
    """
    found = Passage(told=frozenset(told))
    activity = program.activity(position.activity)
    if activity is None or not demands(activity):
        return found
    left_at = led_from(activity=activity, snapshot=snapshot)
    met = set[str]()
    for at in _ahead(program, snapshot, position):
        if until is None and left_at is not None and _is_reached(activity, at, left_at):
            break
        if until is not None and _is_there(activity, at, position, until):
            break
        met.add(at.pending)
        _meet(found, program, activity, snapshot, at)
    for at in _before_in_rounds(program, snapshot, position, until) if until is not None else ():
        if at.pending not in met:
            met.add(at.pending)
            _meet(found, program, activity, snapshot, at)
    return found


def _is_there(activity: Activity, at: Position, position: Position, until: Position) -> bool:
    """Whoever goes back to what stands before a loop is done with the loop, and so has all of it behind."""
    if position.frames and _place(activity, until) < _place(activity, position):
        return _place(activity, at) > _place(activity, position)
    return at.pending == until.pending or _place(activity, at) > _place(activity, until)


def _before_in_rounds(program: Program, snapshot: Snapshot, position: Position, until: Position) -> Iterator[Position]:
    """What stands before the item in the rounds that it is told of, also where a run which is led would have no such round."""
    for depth, frame in enumerate(until.frames):
        outside = until.frames[:depth]
        here = position.frames[depth] if position.frames[:depth] == outside and depth < len(position.frames) else None
        is_same = here is not None and (here.loop, here.iteration) == (frame.loop, frame.iteration)
        entrance = replace(frame, index=here.index if here is not None and is_same else 0)
        start = replace(until, frames=(*outside, entrance), pending="", pending_item="")
        for at in _ahead(program, snapshot, start):
            around = at.frames[depth : depth + 1]
            if not around or (around[0].loop, around[0].iteration) != (frame.loop, frame.iteration):
                break
            if around[0].index >= frame.index:
                break
            yield at


def led_from(*, activity: Activity, snapshot: Snapshot) -> Gate | None:
    """The first question of the activity whose answer in this visit leads where the run goes. None when no answer leads
    anywhere, or only one to a question that has no place in the order of work.
    """
    leading = {checkpoint.id for checkpoint in _leading(activity, snapshot)}
    items = walk_items(activity.body)
    return next((item for item in items if isinstance(item, Gate) and item.checkpoint in leading), None)


def is_led_by_person(*, activity: Activity, snapshot: Snapshot) -> bool:
    """Whether a person's answer in this visit leads where the run goes."""
    return any(checkpoint.human for checkpoint in _leading(activity, snapshot))


def _leading(activity: Activity, snapshot: Snapshot) -> Iterator[Checkpoint]:
    """The checkpoints whose answer in this visit leads where the run goes."""
    for checkpoint in activity.checkpoints if snapshot.led_to else ():
        answers = _answers(snapshot, checkpoint.id)
        effects = (option.effect for option in checkpoint.options if option.id in answers)
        if any(effect is not None and effect.transition_to == snapshot.led_to for effect in effects):
            yield checkpoint


def _is_reached(activity: Activity, at: Position, gate: Gate) -> bool:
    if at.pending_item == gate.id:
        return True
    place = next(index for index, item in enumerate(activity.body) if any(each is gate for each in walk_items((item,))))
    return _place(activity, at) > place


def _place(activity: Activity, position: Position) -> int:
    """Which item of the activity it is, or stands in. How often a loop is gone through the agent tells."""
    top = position.frames[0].loop if position.frames else position.pending_item
    return next((index for index, item in enumerate(activity.body) if item.id == top), len(activity.body))


def _ahead(program: Program, snapshot: Snapshot, position: Position) -> Iterator[Position]:
    """The items that a run which is led would come to in this visit."""
    at = position
    for _ in range(_MOST_ITEMS):
        if walker.item_at(program, at) is None:
            at = walker.look_ahead(program=program, position=at, variables=snapshot.variables)
        if at.complete or (at.activity, at.visit) != (position.activity, position.visit):
            return
        yield at
        at = walker.look_ahead(program=program, position=aiming.past(at), variables=snapshot.variables)


def _meet(found: Passage, program: Program, activity: Activity, snapshot: Snapshot, at: Position) -> None:
    item = walker.item_at(program, at)
    match item:
        case Gate():
            checkpoint = next((each for each in activity.checkpoints if each.id == item.checkpoint), None)
            if checkpoint is None or not checkpoint.human:
                return
            used = found.used.get(item.checkpoint, _used(snapshot, item.checkpoint))
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


def demands(activity: Activity) -> bool:
    """Whether anything in it asks for more than some words or other."""
    return activity_asks(activity) or any(
        item.contract is not None
        or obligations.judges_notes(item)
        or (isinstance(item, Step) and (item.assessments or item.probes is not None))
        for item in walk_items(activity.body)
        if isinstance(item, Step | Parallel)
    )


def _key(snapshot: Snapshot, checkpoint: str) -> str:
    return f"{snapshot.position.activity}@{snapshot.position.visit}::{checkpoint}"


def _answers(snapshot: Snapshot, checkpoint: str) -> list[str]:
    """What was answered in this visit, in each round that asked; empty where a condition dismissed the question."""
    first = _key(snapshot, checkpoint)
    return [said for key, said in snapshot.answers.items() if key == first or key.startswith(f"{first}#")]


def _given(snapshot: Snapshot, checkpoint: str) -> int:
    """How often it was answered in this visit. Where a condition dismissed it that holds when its turn comes, it is asked."""
    return sum(bool(said) for said in _answers(snapshot, checkpoint))


def _used(snapshot: Snapshot, checkpoint: str) -> int:
    return int(snapshot.answers.get(f"{_key(snapshot, checkpoint)}{_PASSED}", "0"))


def with_used(snapshot: Snapshot, passed: Passage) -> Snapshot:
    """The answers that the passage has used are not used again by the next round."""
    if not passed.used:
        return snapshot
    noted = {f"{_key(snapshot, name)}{_PASSED}": str(count) for name, count in passed.used.items()}
    return replace(snapshot, answers={**snapshot.answers, **noted})


# Around


@dataclass(frozen=True, slots=True, kw_only=True)
class Evasion:
    """What a move would get around: activities in which people are asked or more than words is demanded. `unset` are the
    variables that would not be as the way there leaves them, where those activities are passed by what they say.
    """

    guarding: tuple[str, ...]
    unset: tuple[str, ...] = ()


def evaded(*, program: Program, snapshot: Snapshot, target: str) -> Evasion | None:
    """What the run would get around by going to the target."""
    variables = _on_leaving(program=program, snapshot=snapshot)
    passed_over = walker.left_out(program=program, position=snapshot.position, variables=variables)
    asking = {each.id for each in program.activities if demands(each) and each.id not in passed_over}
    if not asking:
        return None
    beginnings = {program.initial_activity, *leads_to(program=program, snapshot=snapshot)}
    reached = _reached(program, beginnings, asking | passed_over, asking, variables)
    ends = walker.end_names(program)
    if target in reached:
        read = _read_from(program, target, asking)
        unset = _unset(read, reached[target], _as_it_leaves(program=program, snapshot=snapshot))
        return Evasion(guarding=tuple(sorted(asking)), unset=unset) if unset else None
    if target in ends and not ends.isdisjoint(reached):
        return None
    return Evasion(guarding=tuple(sorted(reached.keys() & asking)) or tuple(sorted(asking)))


def _unset(read: set[str], possible: list[dict[str, Any]], variables: dict[str, Any]) -> tuple[str, ...]:
    """The variables that no way to there leaves so."""
    differing = [{name for name in read if found.get(name) != variables.get(name)} for found in possible]
    return tuple(sorted(min(differing, key=len, default=())))


def _read_from(program: Program, target: str, asking: set[str]) -> set[str]:
    """What the ways from there on read, and what is read in the activities in which somebody is asked."""
    onward = _onward(program, target)
    return {name for activity in onward for name in names_read(activity, asks=activity.id in asking)}


def _onward(program: Program, target: str) -> Iterator[Activity]:
    """The activity, and all that it may lead to."""
    seen, waiting = {target}, [target]
    while waiting:
        activity = program.activity(waiting.pop())
        if activity is None:
            continue
        yield activity
        following = set(ways.valid_targets(program, activity)) - seen
        seen |= following
        waiting.extend(sorted(following))


def leads_to(*, program: Program, snapshot: Snapshot) -> tuple[str, ...]:
    """Where the run goes next as things stand."""
    here = program.activity(snapshot.position.activity)
    if snapshot.led_to:
        return (snapshot.led_to,)
    if here is None:
        return (program.initial_activity,)
    return ways.open_targets(program=program, activity=here, variables=_at_the_end(program=program, snapshot=snapshot))


def _on_leaving(*, program: Program, snapshot: Snapshot) -> dict[str, Any]:
    here, variables = program.activity(snapshot.position.activity), _at_the_end(program=program, snapshot=snapshot)
    return variables if here is None else ways.on_leaving(program=program, activity=here, variables=variables)


def _as_it_leaves(*, program: Program, snapshot: Snapshot) -> dict[str, Any]:
    """The variables when the run moves on as it is, with what is left undone left undone."""
    here, variables = program.activity(snapshot.position.activity), dict(snapshot.variables)
    if here is None:
        return variables | walker.set_by_modes(program=program, variables=variables)
    return ways.on_leaving(program=program, activity=here, variables=variables)


def _at_the_end(*, program: Program, snapshot: Snapshot) -> dict[str, Any]:
    """The variables when what is left of the activity is done, or when the run begins. An answer that leads elsewhere leaves
    it undone.
    """
    here, variables = program.activity(snapshot.position.activity), dict(snapshot.variables)
    if here is None:
        return variables | walker.set_by_modes(program=program, variables=variables)
    if snapshot.led_to:
        return variables
    return _with_steps(program, snapshot.position, variables, iter(range(_MOST_STEPS)))


def _with_steps(program: Program, position: Position, variables: dict[str, Any], left: Iterator[int]) -> dict[str, Any]:
    """With what the steps that must be done set, whoever leaves them out: as a run that is led goes through the activity."""
    activity = program.activity(position.activity)
    if activity is None or not any(isinstance(item, Step) and item.actions for item in walk_items(activity.body)):
        return variables
    at = position
    for _ in islice(left, _MOST_STEPS):
        if walker.item_at(program, at) is None:
            at = walker.look_ahead(program=program, position=at, variables=variables)
        if at.complete or (at.activity, at.visit) != (position.activity, position.visit):
            break
        item = walker.item_at(program, at)
        if isinstance(item, Step) and item.required:
            scope = walker.scope_at(program=program, position=at, variables=variables)
            variables = variables | settling.set_by_actions(program=program, item=item, variables=scope)
        at = walker.look_ahead(program=program, position=aiming.past(at), variables=variables)
    return variables


def _reached(
    program: Program, beginnings: set[str], standing: set[str], asking: set[str], variables: dict[str, Any]
) -> dict[str, list[dict[str, Any]]]:
    """What can be come to without passing through an activity in which somebody is asked, and the variables as they are then.
    What the activities on the way set is set, save in those that stand: those are left out, or nobody passes through them.
    """
    reached: dict[str, list[dict[str, Any]]] = {}
    waiting = [(target, variables) for target in sorted(beginnings)]
    left = iter(range(_MOST_STEPS_IN_ALL))
    while waiting:
        target, found = waiting.pop()
        tried = reached.setdefault(target, [])
        if found in tried or len(tried) >= _MOST_VISITS:
            continue
        tried.append(found)
        activity = program.activity(target)
        if activity is None or target in asking:
            continue
        if target not in standing:
            entered = walker.set_by(program=program, actions=activity.entry_actions, variables=found)
            fresh = Position(activity=target, visits={target: 1})
            found = _with_steps(program, fresh, found | entered, left)
        targets = ways.open_targets(program=program, activity=activity, variables=found)
        if target not in standing:
            found = ways.on_leaving(program=program, activity=activity, variables=found)
        waiting.extend((each, found) for each in targets)
    return reached
