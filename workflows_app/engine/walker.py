"""Which item comes next. Position in, position out; nothing here knows of tokens, nodes or replies.

At the top level of an activity the first item that is not done and whose condition holds is next, so a step whose condition
turns true later is still done. Inside a loop a cursor moves forward only. Every loop tests before a round, save doWhile.
A position is bounded by the size of the program, whatever number of rounds it has seen.
"""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as with_facts
from functools import cached_property
from typing import Any, NoReturn, assert_never, cast

from msgspec.structs import replace

from workflows_app.engine import conditions, demands, placeholders, walks
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.people import activity_asks, asks_person, names_that_decide
from workflows_app.engine.program import (
    Action,
    ActionKind,
    Activity,
    AllOf,
    Condition,
    Effect,
    Family,
    Gate,
    Item,
    Loop,
    LoopKind,
    Parallel,
    Program,
    Step,
    WorkflowMode,
)
from workflows_app.engine.walks import LOOP_CONTROL_KIND, Failure, FailureKind, Frame, Note, NoteKind, Position, Walk

_END_WORDS = ("end-workflow", "workflow-end", "__terminal__")
TERMINAL_TARGETS = frozenset(_END_WORDS)
# Items that one call may pass over; only a program of nested loops whose steps are all skipped comes near it.
WALK_BUDGET = 20_000
# Parts of conditions that one call may ask for that, and how much of a condition is told.
PARTS_BUDGET = 200_000
_MOST_TOLD_BYTES = 512

_DECISIONS = ("continue", "stop")

Variables = Mapping[str, Any]


def start(*, program: Program, variables: Variables, press_on: bool = False, past_people: bool = False) -> Walk:
    return enter_activity(
        program=program,
        position=None,
        activity_id=program.initial_activity,
        variables=variables,
        press_on=press_on,
        past_people=past_people,
    )


def complete_pending(
    *,
    program: Program,
    position: Position,
    variables: Variables,
    artifacts: tuple[Mapping[str, Any], ...] = (),
    press_on: bool = False,
    past_people: bool = False,
    by_hand: bool = False,
    by_word: bool = False,
) -> Walk:
    """The pending item is finished and handed in `artifacts`; find the next one.

    With `press_on` nothing stops the walk: a loop that cannot go on is left, and what else has no way out ends the run.
    Only with `past_people` is a loop left so in which a person is asked.
    By hand the walk decides nothing: rounds, loops begun or left and activities entered are other calls. It waits for no
    optional step. With `by_word` a loop is left all the same that the artifacts end.
    """
    walk = _Walker(program, variables, artifacts, press_on=press_on, past_people=past_people, by_hand=by_hand)
    walk.by_word = by_word
    return walk.after_pending(position)


def enter_activity(
    *,
    program: Program,
    position: Position | None,
    activity_id: str,
    variables: Variables,
    press_on: bool = False,
    past_people: bool = False,
    by_hand: bool = False,
) -> Walk:
    """Leave whatever is at hand and enter an activity afresh: nothing of an earlier visit counts as done."""
    walk = _Walker(program, variables, (), press_on=press_on, past_people=past_people, by_hand=by_hand)
    return walk.enter(position, activity_id)


def begin_round(*, program: Program, position: Position, loop_id: str, variables: Variables) -> Walk:
    """By hand: the next round of the loop at hand, or the first of one that stands at the top of the activity.

    When the loop's own test says that there is no further round, the loop is left and the walk goes on behind it.
    """
    return _Walker(program, variables, (), press_on=False, by_hand=True).begin_round(position, loop_id)


def leave_loop(*, program: Program, position: Position, loop_id: str, variables: Variables) -> Walk:
    """By hand: the loop counts as done, however many rounds it has had."""
    return _Walker(program, variables, (), press_on=False, by_hand=True).leave_loop(position, loop_id)


def has_rounds(*, program: Program, position: Position, depth: int, variables: Variables) -> bool:
    """Whether the loop that stands within so many others, at the position, has its round there by its own test; true where its
    test cannot be asked.
    """
    activity, frame = program.activity(position.activity), position.frames[depth]
    if activity is None:
        return False
    walk = _Walker(program, variables, (), press_on=False)
    outside = replace(position, frames=position.frames[:depth], pending="", pending_item="")
    try:
        return walk.has_round(outside, loops_at(activity, position.frames)[depth], frame.iteration)
    except _StopError:
        return True


def passes_over(*, program: Program, position: Position, loop_id: str, variables: Variables) -> bool:
    """Whether a walk that is led would do nothing in the loop that it comes to here: it has no round, or none with a step."""
    here = replace(position, pending="", pending_item="")
    # The loop itself is entered: what stands before it and may be left out would hold up a walk that settles.
    walk = _Walker(program, variables, (), press_on=False).begin_round(here, loop_id)
    if walk.failure is not None:
        return False
    depth, there = len(position.frames), walk.position
    is_same_visit = (there.activity, there.visit) == (position.activity, position.visit) and not there.complete
    return not (is_same_visit and any(frame.loop == loop_id for frame in there.frames[depth:]))


class LookAhead:
    """Walks that are led, in thought, with nothing finished and nothing stopping them. Together they pass over so many items,
    and ask for so many parts of conditions.
    """

    def __init__(self, program: Program, *, budget: int = WALK_BUDGET) -> None:
        self.program = program
        self.budget = budget
        self.looking = conditions.Looking()

    @cached_property
    def deciding(self) -> frozenset[str]:
        """The variables that decide whether somebody is asked."""
        return names_that_decide(self.program)

    @property
    def is_spent(self) -> bool:
        return self.budget < 0

    def come_to(self, position: Position, variables: Variables) -> Position | None:
        """What stands there or else comes next; None when more would have to be passed over, and nobody knows what comes."""
        self.budget -= 1
        if item_at(self.program, position) is not None:
            return None if self.is_spent else position
        walk = _Walker(self.program, variables, (), press_on=True, past_people=True)
        walk.budget, walk.looking = self.budget, self.looking
        found = walk.settle(position)
        gave_up = any(failure.kind is FailureKind.BUDGET for failure in found.passed)
        self.budget = -1 if gave_up else walk.budget
        return None if self.is_spent else found.position


def point_at(*, program: Program, position: Position, item_id: str) -> Position | None:
    """The position at which that item of the activity at hand is pending; None when it is done or not there.

    An item is looked for in the round at hand, then among the undone items of the activity, then in the first round of
    its loops. Conditions are not asked: whoever names an item says that it was its turn.
    """
    activity = program.activity(position.activity)
    if activity is None:
        return None
    for frames in _places_of(activity, position, item_id):
        there = replace(position, frames=frames, pending_item=item_id)
        return replace(there, pending=instance_key(program=program, position=there, item_id=item_id))
    return None


def _places_of(activity: Activity, position: Position, item_id: str) -> Iterator[tuple[Frame, ...]]:
    if position.frames:
        body = body_at(activity, position.frames)
        frame = position.frames[-1]
        yield from (
            (*position.frames[:-1], replace(frame, index=i)) for i, item in enumerate(body) if item.id == item_id
        )
    for item in activity.body:
        if item.id in position.done:
            continue
        if item.id == item_id and not isinstance(item, Loop):
            yield ()
        elif isinstance(item, Loop):
            yield from (
                (Frame(loop=item.id, iteration=0, index=i),) for i, inner in enumerate(item.body) if inner.id == item_id
            )


def skip(position: Position, activities: tuple[str, ...]) -> Position:
    """From here on the run passes over these activities."""
    return replace(position, skipped_activities=tuple(sorted({*position.skipped_activities, *activities})))


def left_out(*, program: Program, position: Position, variables: Variables) -> frozenset[str]:
    """The activities that the run passes over, by a mode or by an option that was chosen."""
    return _Walker(program, variables, (), press_on=False).skipped(position)


def set_by_modes(*, program: Program, variables: Variables) -> dict[str, Any]:
    """What the modes set in which a run begins with these variables."""
    return _Walker(program, variables, (), press_on=False).mode_defaults()


def item_at(program: Program, position: Position) -> Step | Parallel | Gate | None:
    """The pending item itself."""
    activity = program.activity(position.activity)
    if activity is None or not position.pending_item:
        return None
    body = body_at(activity, position.frames)
    found = next((item for item in body if item.id == position.pending_item), None)
    return None if isinstance(found, Loop) else found


def loop_variables(*, program: Program, position: Position, variables: Variables) -> dict[str, Any]:
    """What the loops around the pending item add to the context: round (from 1), item, index (from 0)."""
    activity = program.activity(position.activity)
    if activity is None:
        return {}
    added: dict[str, Any] = {}
    for loop, frame in zip(loops_at(activity, position.frames), position.frames, strict=True):
        added.update(_round_variables(loop, frame.iteration, _over(added, variables)))
    return added


def scope_at(*, program: Program, position: Position, variables: Variables) -> dict[str, Any]:
    """The variables as the pending item sees them."""
    return {**variables, **loop_variables(program=program, position=position, variables=variables)}


def loops_at(activity: Activity, frames: tuple[Frame, ...]) -> tuple[Loop, ...]:
    """The loops that the frames stand in, outermost first."""
    loops: list[Loop] = []
    body = activity.body
    for frame in frames:
        loop = _loop_in(body, frame.loop)
        loops.append(loop)
        body = loop.body
    return tuple(loops)


def _loop_in(body: tuple[Item, ...], loop_id: str) -> Loop:
    for item in body:
        if item.id == loop_id and isinstance(item, Loop):
            return item
    raise ValueError(f"A position stands in the loop {loop_id!r}, which its program does not have.")


def is_eligible(*, program: Program, activity: Activity, item: Item, variables: Variables) -> bool:
    """Whether the item's own condition holds; one without a condition is always its turn."""
    return conditions.evaluate(_condition_of(activity, item), variables=variables, mode=program.conditions)


def waits_for_its_step(item: Item, done: frozenset[str]) -> bool:
    """The question of a step that was passed over is not asked."""
    return isinstance(item, Gate) and bool(item.step) and item.step not in done


def body_at(activity: Activity, frames: tuple[Frame, ...]) -> tuple[Item, ...]:
    loops = loops_at(activity, frames)
    return loops[-1].body if loops else activity.body


def instance_key(*, program: Program, position: Position, item_id: str) -> str:
    """`step`, or `outer@0/inner@2::step`; in activity workflows the visit of the activity is the outermost round."""
    rounds = [f"{frame.loop}@{frame.iteration}" for frame in position.frames]
    if program.family is Family.ACTIVITIES:
        rounds.insert(0, f"{position.activity}@{position.visit}")
    return f"{'/'.join(rounds)}::{item_id}" if rounds else item_id


def at_rest(position: Position) -> Position:
    """Where no item is pending and the run goes on, the visit of the activity is: only a complete run has nothing pending."""
    return replace(position, pending=f"{position.activity}@{position.visit}", pending_item="")


def end_names(program: Program) -> frozenset[str]:
    """The targets that end a run, all but one that is an activity of this workflow."""
    return TERMINAL_TARGETS.difference(activity.id for activity in program.activities)


def end_name(program: Program) -> str:
    """The end as a reply calls it."""
    return next((name for name in _END_WORDS if program.activity(name) is None), _END_WORDS[-1])


def set_by(*, program: Program, actions: Sequence[Action], variables: Variables) -> dict[str, Any]:
    """What `set` actions put into the variables, all at once. One without a value leaves it to the agent."""
    added = {
        action.target: placeholders.resolved(action.value, variables=variables)
        for action in actions
        if action.action is ActionKind.SET
        and action.target
        and (action.value is not None or action.clears)
        and conditions.evaluate(action.condition, variables=variables, mode=program.conditions)
    }
    return conditions.with_dotted(added, variables=variables)


def set_by_option(*, effect: Effect, variables: Variables) -> dict[str, Any]:
    """What a chosen option puts into the variables."""
    added = {name: placeholders.resolved(value, variables=variables) for name, value in effect.set_variable.items()}
    return conditions.with_dotted(added, variables=variables)


class _StopError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class _RestError(Exception):
    """A walk by hand stands here."""

    def __init__(self, position: Position) -> None:
        super().__init__(position.activity)
        self.position = position


class _Walker:
    """One call's work: the notes it takes and the budget it spends."""

    def __init__(
        self,
        program: Program,
        variables: Variables,
        artifacts: tuple[Mapping[str, Any], ...],
        *,
        press_on: bool,
        past_people: bool = False,
        by_hand: bool = False,
    ) -> None:
        self.program = program
        self.variables = variables
        self.artifacts = artifacts
        self.press_on = press_on
        self.past_people = past_people
        self.by_hand = by_hand
        self.assigned: dict[str, Any] = {}
        self.notes: list[Note] = []
        self.passed: list[Failure] = []
        self.budget = WALK_BUDGET
        # Made when a condition is asked; most walks ask none.
        self.looking: conditions.Looking | None = None
        # What is asked before an item, and conditions in words, by their identity: a walk comes by the same ones again.
        self.asked: dict[tuple[int, bool], Condition | None] = {}
        self.told: dict[int, str] = {}
        # The loops around the item that was just completed, and the innermost of them that an artifact decides.
        self.around: frozenset[str] = frozenset()
        self.decides = ""
        self.begins = False
        self.by_word = False

    def after_pending(self, position: Position) -> Walk:
        activity = self.program.activity(position.activity)
        loops = loops_at(activity, position.frames) if activity else ()
        self.around = frozenset(loop.id for loop in loops)
        self.decides = next((loop.id for loop in reversed(loops) if loop.decision_contract), "")

        def move() -> Position:
            if position.frames:
                moved = replace(position, frames=walks.worked_in(position.frames))
            else:
                moved = self._past(position, position.pending_item)
            return self._settle(replace(moved, pending="", pending_item=""))

        return self._walk(position, move)

    def enter(self, position: Position | None, activity_id: str) -> Walk:
        before = position or Position(activity=activity_id)
        self.begins = position is None

        def move() -> Position:
            if position is None or not position.visits:
                self._add(self.mode_defaults())
            left = self.program.activity(position.activity) if position and position.visits else None
            if left is not None:
                self._act(left, left.exit_actions)
            return self._settle(self._entered(position, activity_id))

        return self._walk(before, move)

    def settle(self, position: Position) -> Walk:
        return self._walk(position, lambda: self._settle(replace(position, pending="", pending_item="")))

    def begin_round(self, position: Position, loop_id: str) -> Walk:
        def move() -> Position:
            frame = position.frames[-1] if position.frames else None
            loop = self._loop(position, loop_id)
            if frame is None or frame.loop != loop_id or loop is self._at_hand(position):
                return self._settle(self._enter_loop(position, loop))
            return self._settle(self._turned(position, loop, frame))

        return self._walk(position, move)

    def leave_loop(self, position: Position, loop_id: str) -> Walk:
        def move() -> Position:
            inside = [frame.loop for frame in position.frames]
            met = self._at_hand(position)
            is_left = loop_id in inside and (met is None or met.id != loop_id)
            depth = len(inside) - 1 - inside[::-1].index(loop_id) if is_left else len(inside)
            self._note(NoteKind.EXITED_LOOP, f"Left loop {loop_id}.", loop=loop_id)
            outside = replace(position, frames=position.frames[:depth], pending="", pending_item="")
            return self._settle(self._past(outside, loop_id))

        return self._walk(position, move)

    def _at_hand(self, position: Position) -> Loop | None:
        """The loop that the round has come to, which may have the name of one around it."""
        if not position.frames:
            return None
        body, index = body_at(self._activity(position.activity), position.frames), position.frames[-1].index
        item = body[index] if index < len(body) else None
        return item if isinstance(item, Loop) else None

    def _loop(self, position: Position, loop_id: str) -> Loop:
        activity = self._activity(position.activity)
        around = reversed(loops_at(activity, position.frames))
        known = (self._at_hand(position), *around, *body_at(activity, position.frames), *activity.body)
        found = next((item for item in known if isinstance(item, Loop) and item.id == loop_id), None)
        if found is None:
            message = f"Activity {activity.id} has no loop {loop_id!r} here."
            raise _StopError(Failure(kind=FailureKind.UNKNOWN_LOOP, message=message, item=loop_id))
        return found

    def _walk(self, before: Position, move: Callable[[], Position]) -> Walk:
        try:
            return Walk(position=move(), notes=tuple(self.notes), passed=tuple(self.passed), assigned=self.assigned)
        except _RestError as rest:
            return Walk(
                position=at_rest(rest.position),
                notes=tuple(self.notes),
                passed=tuple(self.passed),
                assigned=self.assigned,
            )
        except _StopError as stop:
            failure = stop.failure
            if self.press_on and self._would_miss_people():
                failure = with_facts(failure, needs_person=True)
            if not self.press_on or failure.needs_person:
                return Walk(position=before, notes=tuple(self.notes), failure=failure)
            return Walk(position=_ended(before), notes=tuple(self.notes), passed=(*self.passed, failure))

    def _would_miss_people(self) -> bool:
        """Whether ending the run here may leave out somebody who is asked further on."""
        return not self.past_people and any(activity_asks(activity) for activity in self.program.activities)

    # Moving through one activity

    def _settle(self, position: Position) -> Position:
        while not position.complete and not position.pending:
            self._spend()
            position = self._inside(position) if position.frames else self._top_level(position)
        return position

    def _top_level(self, position: Position) -> Position:
        activity = self._activity(position.activity)
        done = frozenset(position.done)
        for item in activity.body:
            if item.id in done or waits_for_its_step(item, done) or self._is_left_open(activity, item):
                continue
            if self._eligible(activity, item, self.variables):
                return self._take(position, item)
        return self._leave(position, activity)

    def _inside(self, position: Position) -> Position:
        activity = self._activity(position.activity)
        loop = loops_at(activity, position.frames)[-1]
        frame = position.frames[-1]
        scope = self._scope(position)
        for index in range(frame.index, len(loop.body)):
            self._spend()
            if self._eligible(activity, loop.body[index], scope, is_next=index == frame.index):
                here = replace(position, frames=(*position.frames[:-1], replace(frame, index=index)))
                return self._take(here, loop.body[index])
        return self._next_round(position, loop, frame)

    def _take(self, position: Position, item: Item) -> Position:
        if isinstance(item, Loop):
            return self._met(position, item)
        key = instance_key(program=self.program, position=position, item_id=item.id)
        self._note(NoteKind.SELECTED_NEXT_STEP, f"Next is {key}.", item=item.id)
        return replace(position, pending=key, pending_item=item.id)

    def _is_left_open(self, activity: Activity, item: Item) -> bool:
        """By hand what is optional holds nothing up: it can be done for as long as the activity lasts. What a person is
        asked about is not optional.
        """
        return self.by_hand and isinstance(item, Step) and not item.required and not asks_person(activity, item)

    def _met(self, position: Position, loop: Loop) -> Position:
        if self.by_hand:
            raise _RestError(position)
        return self._enter_loop(position, loop)

    def _past(self, position: Position, item_id: str) -> Position:
        if not position.frames:
            return replace(position, done=tuple(sorted({*position.done, item_id})))
        frame = position.frames[-1]
        return replace(position, frames=(*position.frames[:-1], replace(frame, index=frame.index + 1)))

    # Loops

    def _enter_loop(self, position: Position, loop: Loop) -> Position:
        if not self.has_round(position, loop, 0):
            self._note(NoteKind.EXITED_LOOP, f"Loop {loop.id} has no round to run.", loop=loop.id)
            return self._past(position, loop.id)
        self._note(NoteKind.ENTERED_LOOP, f"Entered loop {loop.id}.", loop=loop.id, iteration=0)
        return replace(position, frames=(*position.frames, Frame(loop=loop.id, iteration=0)))

    def _next_round(self, position: Position, loop: Loop, frame: Frame) -> Position:
        is_ended = self.by_word and bool(loop.decision_contract) and not self._decision(loop, first=False)
        if self.by_hand and not is_ended:
            ended = replace(frame, index=len(loop.body))
            raise _RestError(replace(position, frames=(*position.frames[:-1], ended)))
        return self._turned(position, loop, frame)

    def has_round(self, outside: Position, loop: Loop, iteration: int) -> bool:
        if iteration == 0:
            return loop.loops is LoopKind.DO_WHILE or self._goes_on(outside, loop, iteration=0)
        before = replace(outside, frames=(*outside.frames, Frame(loop=loop.id, iteration=iteration - 1)))
        return not self._breaks(before, loop) and self._goes_on(outside, loop, iteration=iteration)

    def _turned(self, position: Position, loop: Loop, frame: Frame) -> Position:
        outside = replace(position, frames=position.frames[:-1])
        following = frame.iteration + 1
        if self.has_round(outside, loop, following):
            if following >= loop.max_iterations:
                self._fail(walks.exhausted(loop, around=self._around(outside)))
                return self._past(outside, loop.id)
            self._note(
                NoteKind.ENTERED_LOOP, f"Round {following + 1} of loop {loop.id}.", loop=loop.id, iteration=following
            )
            return replace(outside, frames=(*outside.frames, replace(frame, iteration=following, index=0)))
        self._note(NoteKind.EXITED_LOOP, f"Left loop {loop.id} after {following} rounds.", loop=loop.id)
        return self._past(outside, loop.id)

    def _breaks(self, position: Position, loop: Loop) -> bool:
        return loop.break_condition is not None and self._holds(loop.break_condition, self._scope(position))

    def _goes_on(self, outside: Position, loop: Loop, *, iteration: int) -> bool:
        scope = self._scope(outside)
        match loop.loops:
            case LoopKind.FOR:
                return iteration < self._count(outside, loop, scope)
            case LoopKind.FOR_EACH:
                return iteration < len(self._items(outside, loop, scope))
            case LoopKind.WHILE | LoopKind.UNTIL | LoopKind.DO_WHILE:
                if loop.decision_contract:
                    asks = iteration == 0 and asks_person(self._activity(outside.activity), loop)
                    return asks or self._decision(loop, first=iteration == 0)
                held = self._holds(loop.condition, _over(_round_variables(loop, iteration, scope), scope))
                return held is not (loop.loops is LoopKind.UNTIL)
            case _:
                assert_never(loop.loops)

    def _decision(self, loop: Loop, *, first: bool) -> bool:
        """What the step just completed decided for this loop; the last word counts, and none means go on. Before a first round
        in which a person is asked nobody is heard: the agent would pass them by with a word that no step asked for.

        Entering a loop anew from within itself, what was said there was said of the rounds before.
        """
        if first and loop.id in self.around:
            return True
        said = [
            artifact["decision"]
            for artifact in self.artifacts
            if artifact.get("kind") == LOOP_CONTROL_KIND
            and artifact.get("decision") in _DECISIONS
            and self._speaks_of(artifact.get("loopId"), loop)
        ]
        return not said or said[-1] != "stop"

    def _speaks_of(self, loop_id: object, loop: Loop) -> bool:
        """Without a name an artifact speaks of the loop that its step decides; outside of all, of the one that follows."""
        if loop_id is not None:
            return loop_id in (loop.id, loop.decision_loop_id)
        return self.decides == loop.id or not self.around

    def _count(self, outside: Position, loop: Loop, scope: Variables) -> int:
        if isinstance(loop.count, int):
            return loop.count
        rounds = walks.whole_rounds(conditions.lookup(loop.count or (), variables=scope))
        if rounds is None:
            self._fail(self._missing(outside, loop, ".".join(loop.count or ()), "a whole number of at least 0"))
        return rounds or 0

    def _items(self, outside: Position, loop: Loop, scope: Variables) -> list[Any]:
        value = conditions.lookup(loop.items, variables=scope)
        if not isinstance(value, list):
            self._fail(self._missing(outside, loop, ".".join(loop.items), "a list"))
            return []
        return value

    def _missing(self, outside: Position, loop: Loop, key: str, wanted: str) -> Failure:
        asks = not self.past_people and asks_person(self._activity(outside.activity), loop)
        return walks.missing(loop, key, wanted, around=self._around(outside), needs_person=asks)

    def _around(self, position: Position) -> tuple[Loop, ...]:
        return loops_at(self._activity(position.activity), position.frames)

    # Between activities

    def _leave(self, position: Position, activity: Activity) -> Position:
        if self.by_hand:
            raise _RestError(position)
        finished = dict.fromkeys((*position.completed_activities, activity.id))
        left = replace(position, completed_activities=tuple(finished), frames=())
        self._note(NoteKind.LEFT_ACTIVITY, f"Activity {activity.id} is done.", item=activity.id)
        self._act(activity, activity.exit_actions)
        target = self._target(activity)
        return replace(left, complete=True) if target is None else self._entered(left, target)

    def _entered(self, position: Position | None, activity_id: str) -> Position:
        at = position or Position(activity=activity_id)
        while not self._ends_at(activity_id):
            activity = self._activity(activity_id)
            if activity_id not in self.skipped(at):
                return self._visited(at, activity_id)
            self._spend()
            self._note(NoteKind.SKIPPED_ACTIVITY, f"Activity {activity_id} is skipped.", item=activity_id)
            at = replace(at, activity=activity_id, done=())
            target = self._target(activity)
            if target is None:
                break
            activity_id = target
        return _ended(at)

    def _ends_at(self, activity_id: str) -> bool:
        return activity_id in TERMINAL_TARGETS and self.program.activity(activity_id) is None

    def _visited(self, position: Position, activity_id: str) -> Position:
        visit = position.visits.get(activity_id, 0)
        if self.program.family is Family.ACTIVITIES:
            self._note(NoteKind.ENTERED_ACTIVITY, f"Entered activity {activity_id}.", item=activity_id, iteration=visit)
        entered = self._activity(activity_id)
        self._act(entered, entered.entry_actions)
        return replace(
            position,
            activity=activity_id,
            visit=visit,
            visits={**position.visits, activity_id: visit + 1},
            done=(),
            frames=(),
            pending="",
            pending_item="",
            complete=False,
        )

    def skipped(self, position: Position) -> frozenset[str]:
        return frozenset(position.skipped_activities).union(*(mode.skip_activities for mode in self._active_modes()))

    def _target(self, activity: Activity) -> str | None:
        """Where the activity leads: a branch whose condition holds, then a transition, then the defaults; None ends the run,
        also where no condition holds: an activity that may lead back, and else nowhere, is the last one.
        """
        if not activity.transitions and not any(b.transition_to for d in activity.decisions for b in d.branches):
            return None
        for target, condition in walks.ways(activity):
            held = self._holds(condition, self.variables)
            if condition is not None:
                self._note(
                    NoteKind.EVALUATED_CONDITION,
                    f"{self._told(condition)} is {str(held).lower()}.",
                    item=target,
                )
            if held:
                return target
        if self.by_hand and not self.begins:
            # Whoever goes to an activity that is left out did not mean to end the run by it.
            self._fail(walks.no_way(activity))
        self._note(NoteKind.LEFT_ACTIVITY, walks.no_way(activity).message, item=activity.id)
        return None

    def _act(self, activity: Activity, actions: Sequence[Action]) -> None:
        """What is set here decides what comes next already; what is demanded and does not hold is told."""
        if not actions:
            return
        unmet = demands.unmet(program=self.program, actions=actions, variables=self.variables, where=activity.id)
        self.passed.extend(unmet)
        self._add(set_by(program=self.program, actions=actions, variables=self.variables))

    def _add(self, added: Mapping[str, Any]) -> None:
        if added:
            self.variables = {**self.variables, **added}
            self.assigned |= added

    def mode_defaults(self) -> dict[str, Any]:
        """What the modes that a run begins in set, where nothing but the declared default is there."""
        declared = {variable.name: variable.default for variable in self.program.variables}
        found: dict[str, Any] = {}
        for mode in self._active_modes():
            for name, value in mode.defaults.items():
                if self.variables.get(name) == declared.get(name):
                    found.setdefault(name, value)
        return found

    def _active_modes(self) -> Iterator[WorkflowMode]:
        for mode in self.program.modes:
            path = tuple(mode.activation_variable.split("."))
            if conditions.lookup(path, variables=self.variables) is True:
                yield mode

    # Small questions

    def _activity(self, activity_id: str) -> Activity:
        activity = self.program.activity(activity_id)
        if activity is None:
            raise _StopError(walks.unknown(activity_id))
        return activity

    def _eligible(self, activity: Activity, item: Item, scope: Variables, *, is_next: bool = False) -> bool:
        """`is_next` says that what stands before it in the round was done just now, whatever that has set."""
        key = (id(item), is_next)
        if key not in self.asked:
            self.asked[key] = _condition_of(activity, item, is_next=is_next)
        condition = self.asked[key]
        if condition is None:
            return True
        held = self._holds(condition, scope)
        self._note(NoteKind.EVALUATED_CONDITION, f"{self._told(condition)} is {str(held).lower()}.", item=item.id)
        return held

    def _holds(self, condition: Condition | None, scope: Variables) -> bool:
        if condition is None:
            return True
        if self.looking is None:
            self.looking = conditions.Looking()
        held = conditions.evaluate(condition, variables=scope, mode=self.program.conditions, looking=self.looking)
        if self.looking.parts > PARTS_BUDGET:
            self._give_up(f"More than {PARTS_BUDGET} parts of conditions were asked without an item to do.")
        return held

    def _told(self, condition: Condition) -> str:
        """Of a condition that the program holds, or that is kept in `asked`."""
        if id(condition) not in self.told:
            self.told[id(condition)] = fit_bytes(conditions.describe(condition), max_bytes=_MOST_TOLD_BYTES)
        return self.told[id(condition)]

    def _scope(self, position: Position) -> Variables:
        """As `scope_at`, and no copy: the variables may be many, and the walk long."""
        return _over(loop_variables(program=self.program, position=position, variables=self.variables), self.variables)

    def _note(
        self, kind: NoteKind, summary: str, *, item: str = "", loop: str = "", iteration: int | None = None
    ) -> None:
        self.notes.append(Note(kind=kind, summary=summary, item=item, loop=loop, iteration=iteration))

    def _fail(self, failure: Failure) -> None:
        """Stop here, or remember the failure and let the caller go round it."""
        if not self.press_on or failure.needs_person:
            raise _StopError(failure)
        self.passed.append(failure)

    def _spend(self) -> None:
        self.budget -= 1
        if self.budget < 0:
            self._give_up(f"More than {WALK_BUDGET} items were passed over without one to do.")

    def _give_up(self, message: str) -> NoReturn:
        raise _StopError(Failure(kind=FailureKind.BUDGET, message=message))


def _ended(position: Position) -> Position:
    return replace(position, pending="", pending_item="", frames=(), complete=True)


def _condition_of(activity: Activity, item: Item, *, is_next: bool = False) -> Condition | None:
    """A gate holds its checkpoint's condition; inside a loop also that of the step that it follows in the same round, until that
    step is done.
    """
    if not isinstance(item, Gate):
        return item.run_condition
    asked = next((cp.condition for cp in activity.checkpoints if cp.id == item.checkpoint), None)
    step = _step_before(item, activity.body) if item.step and not is_next else None
    both = tuple(condition for condition in (step.run_condition if step else None, asked) if condition is not None)
    return AllOf(conditions=both) if len(both) > 1 else next(iter(both), None)


def _step_before(gate: Gate, body: tuple[Item, ...]) -> Step | None:
    """The step in whose round the gate stands; another loop may have one of the same name."""
    for loop in body:
        if not isinstance(loop, Loop):
            continue
        if any(item is gate for item in loop.body):
            return next((item for item in loop.body if isinstance(item, Step) and item.id == gate.step), None)
        found = _step_before(gate, loop.body)
        if found is not None:
            return found
    return None


def _over(added: dict[str, Any], variables: Variables) -> Variables:
    """Both as one, without a copy."""
    return ChainMap(added, cast("dict[str, Any]", variables)) if added else variables


def _round_variables(loop: Loop, iteration: int, scope: Variables) -> dict[str, Any]:
    added: dict[str, Any] = {loop.iteration_variable or "currentIteration": iteration + 1}
    if loop.loops is not LoopKind.FOR_EACH:
        return added
    added[loop.index_variable or "currentIndex"] = iteration
    items = conditions.lookup(loop.items, variables=scope)
    if isinstance(items, list) and iteration < len(items):
        added[loop.item_variable or "currentItem"] = items[iteration]
    return added
