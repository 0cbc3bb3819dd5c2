"""Which item comes next. Position in, position out; nothing here knows of tokens, nodes or replies.

At the top level of an activity the first item that is not done and whose condition holds is next, so a step whose condition
turns true later is still done. Inside a loop a cursor moves forward only. Every loop tests before a round, save doWhile.
A position is bounded by the size of the program, whatever number of rounds it has seen.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

import msgspec
from msgspec.structs import replace

from workflows_app.engine import conditions
from workflows_app.engine.program import (
    Activity,
    Condition,
    Family,
    Gate,
    Item,
    Loop,
    LoopKind,
    Parallel,
    Program,
    Step,
)

TERMINAL_TARGETS = frozenset({"__terminal__", "workflow-end", "end-workflow"})
LOOP_CONTROL_KIND = "wr.loop_control"
# Items that one call may pass over; only a program of nested loops whose steps are all skipped comes near it.
WALK_BUDGET = 20_000

Variables = Mapping[str, Any]


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One loop being run: its round from 0, and the index in its body that is looked at next."""

    loop: str
    iteration: int
    index: int = 0


class Position(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """`done` are the finished top-level items of this visit of the activity; `pending` is the key of the item at hand."""

    activity: str
    visit: int = 0
    done: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    pending: str = ""
    pending_item: str = ""
    complete: bool = False
    visits: dict[str, int] = msgspec.field(default_factory=dict)
    completed_activities: tuple[str, ...] = ()
    skipped_activities: tuple[str, ...] = ()


class NoteKind(StrEnum):
    SELECTED_NEXT_STEP = "selected_next_step"
    EVALUATED_CONDITION = "evaluated_condition"
    ENTERED_LOOP = "entered_loop"
    EXITED_LOOP = "exited_loop"
    ENTERED_ACTIVITY = "entered_activity"
    LEFT_ACTIVITY = "left_activity"
    SKIPPED_ACTIVITY = "skipped_activity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Why the walk went where it went."""

    kind: NoteKind
    summary: str
    item: str = ""
    loop: str = ""
    iteration: int | None = None


class FailureKind(StrEnum):
    MISSING_CONTEXT = "missing_context"
    MAX_ITERATIONS = "max_iterations"
    NO_TRANSITION = "no_transition"
    UNKNOWN_ACTIVITY = "unknown_activity"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The walk cannot go on from here. `keys` are the variables whose value would let it."""

    kind: FailureKind
    message: str
    item: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """`failure` is why the walk stands where it stood; `passed` are failures that a walk told to press on went by."""

    position: Position
    notes: tuple[Note, ...] = ()
    failure: Failure | None = None
    passed: tuple[Failure, ...] = ()


def start(*, program: Program, variables: Variables, press_on: bool = False) -> Walk:
    return enter_activity(
        program=program,
        position=None,
        activity_id=program.initial_activity,
        variables=variables,
        press_on=press_on,
    )


def complete_pending(
    *,
    program: Program,
    position: Position,
    variables: Variables,
    artifacts: tuple[Mapping[str, Any], ...] = (),
    press_on: bool = False,
) -> Walk:
    """The pending item is finished and handed in `artifacts`; find the next one.

    With `press_on` nothing stops the walk: a loop that cannot go on is left, an activity without a way out ends the run.
    """
    return _Walker(program, variables, artifacts, press_on=press_on).after_pending(position)


def enter_activity(
    *,
    program: Program,
    position: Position | None,
    activity_id: str,
    variables: Variables,
    press_on: bool = False,
) -> Walk:
    """Leave whatever is at hand and enter an activity afresh: nothing of an earlier visit counts as done."""
    return _Walker(program, variables, (), press_on=press_on).enter(position, activity_id)


def skip(position: Position, activities: tuple[str, ...]) -> Position:
    """From here on the run passes over these activities."""
    return replace(position, skipped_activities=tuple(sorted({*position.skipped_activities, *activities})))


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
        added.update(_round_variables(loop, frame.iteration, {**variables, **added}))
    return added


def loops_at(activity: Activity, frames: tuple[Frame, ...]) -> tuple[Loop, ...]:
    """The loops that the frames stand in, outermost first."""
    loops: list[Loop] = []
    body = activity.body
    for frame in frames:
        loop = next(item for item in body if isinstance(item, Loop) and item.id == frame.loop)
        loops.append(loop)
        body = loop.body
    return tuple(loops)


def body_at(activity: Activity, frames: tuple[Frame, ...]) -> tuple[Item, ...]:
    loops = loops_at(activity, frames)
    return loops[-1].body if loops else activity.body


def instance_key(*, program: Program, position: Position, item_id: str) -> str:
    """`step`, or `outer@0/inner@2::step`; in activity workflows the visit of the activity is the outermost round."""
    rounds = [f"{frame.loop}@{frame.iteration}" for frame in position.frames]
    if program.family is Family.ACTIVITIES:
        rounds.insert(0, f"{position.activity}@{position.visit}")
    return f"{'/'.join(rounds)}::{item_id}" if rounds else item_id


class _StopError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class _Walker:
    """One call's work: the notes it takes and the budget it spends."""

    def __init__(
        self,
        program: Program,
        variables: Variables,
        artifacts: tuple[Mapping[str, Any], ...],
        *,
        press_on: bool,
    ) -> None:
        self.program = program
        self.variables = variables
        self.artifacts = artifacts
        self.press_on = press_on
        self.notes: list[Note] = []
        self.passed: list[Failure] = []
        self.budget = WALK_BUDGET

    def after_pending(self, position: Position) -> Walk:
        def move() -> Position:
            moved = self._past(position, position.pending_item)
            return self._settle(replace(moved, pending="", pending_item=""))

        return self._walk(position, move)

    def enter(self, position: Position | None, activity_id: str) -> Walk:
        before = position or Position(activity=activity_id)
        return self._walk(before, lambda: self._settle(self._entered(position, activity_id)))

    def _walk(self, before: Position, move: Callable[[], Position]) -> Walk:
        try:
            return Walk(position=move(), notes=tuple(self.notes), passed=tuple(self.passed))
        except _StopError as stop:
            return Walk(position=before, notes=tuple(self.notes), failure=stop.failure)

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
            if item.id in done or not self._eligible(activity, item, self.variables):
                continue
            return self._take(position, item)
        return self._leave(position, activity)

    def _inside(self, position: Position) -> Position:
        activity = self._activity(position.activity)
        loop = loops_at(activity, position.frames)[-1]
        frame = position.frames[-1]
        scope = self._scope(position)
        for index in range(frame.index, len(loop.body)):
            self._spend()
            if self._eligible(activity, loop.body[index], scope):
                here = replace(position, frames=(*position.frames[:-1], replace(frame, index=index)))
                return self._take(here, loop.body[index])
        return self._next_round(position, loop, frame)

    def _take(self, position: Position, item: Item) -> Position:
        if isinstance(item, Loop):
            return self._enter_loop(position, item)
        key = instance_key(program=self.program, position=position, item_id=item.id)
        self._note(NoteKind.SELECTED_NEXT_STEP, f"Next is {key}.", item=item.id)
        return replace(position, pending=key, pending_item=item.id)

    def _past(self, position: Position, item_id: str) -> Position:
        if not position.frames:
            return replace(position, done=tuple(sorted({*position.done, item_id})))
        frame = position.frames[-1]
        return replace(position, frames=(*position.frames[:-1], replace(frame, index=frame.index + 1)))

    # Loops

    def _enter_loop(self, position: Position, loop: Loop) -> Position:
        if loop.loops is not LoopKind.DO_WHILE and not self._goes_on(position, loop, iteration=0):
            self._note(NoteKind.EXITED_LOOP, f"Loop {loop.id} has no round to run.", loop=loop.id)
            return self._past(position, loop.id)
        self._note(NoteKind.ENTERED_LOOP, f"Entered loop {loop.id}.", loop=loop.id, iteration=0)
        return replace(position, frames=(*position.frames, Frame(loop=loop.id, iteration=0)))

    def _next_round(self, position: Position, loop: Loop, frame: Frame) -> Position:
        outside = replace(position, frames=position.frames[:-1])
        following = frame.iteration + 1
        if not self._breaks(position, loop) and self._goes_on(outside, loop, iteration=following):
            if following >= loop.max_iterations:
                self._fail(_exhausted(loop))
                return self._past(outside, loop.id)
            self._note(
                NoteKind.ENTERED_LOOP, f"Round {following + 1} of loop {loop.id}.", loop=loop.id, iteration=following
            )
            return replace(outside, frames=(*outside.frames, Frame(loop=loop.id, iteration=following)))
        self._note(NoteKind.EXITED_LOOP, f"Left loop {loop.id} after {following} rounds.", loop=loop.id)
        return self._past(outside, loop.id)

    def _breaks(self, position: Position, loop: Loop) -> bool:
        return loop.break_condition is not None and self._holds(loop.break_condition, self._scope(position))

    def _goes_on(self, outside: Position, loop: Loop, *, iteration: int) -> bool:
        scope = self._scope(outside)
        match loop.loops:
            case LoopKind.FOR:
                return iteration < self._count(loop, scope)
            case LoopKind.FOR_EACH:
                return iteration < len(self._items(loop, scope))
            case LoopKind.WHILE | LoopKind.UNTIL | LoopKind.DO_WHILE:
                if loop.decision_contract:
                    return self._decision(loop, first=iteration == 0)
                held = self._holds(loop.condition, {**scope, **_round_variables(loop, iteration, scope)})
                return held is not (loop.loops is LoopKind.UNTIL)
            case _:
                assert_never(loop.loops)

    def _decision(self, loop: Loop, *, first: bool) -> bool:
        """The last loop-control artifact of the step just completed that speaks of this loop; absent means go on."""
        if first:
            return True
        wanted = loop.decision_loop_id or loop.id
        said = [
            artifact["decision"]
            for artifact in self.artifacts
            if artifact.get("kind") == LOOP_CONTROL_KIND and artifact.get("loopId", wanted) in {wanted, loop.id}
        ]
        return not said or said[-1] != "stop"

    def _count(self, loop: Loop, scope: Variables) -> int:
        if isinstance(loop.count, int):
            return loop.count
        value = conditions.lookup(loop.count or (), variables=scope)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124  NaN
            self._fail(_missing(loop, ".".join(loop.count or ()), "a number"))
            return 0
        return int(value)

    def _items(self, loop: Loop, scope: Variables) -> list[Any]:
        value = conditions.lookup(loop.items, variables=scope)
        if not isinstance(value, list):
            self._fail(_missing(loop, ".".join(loop.items), "a list"))
            return []
        return value

    # Between activities

    def _leave(self, position: Position, activity: Activity) -> Position:
        finished = dict.fromkeys((*position.completed_activities, activity.id))
        left = replace(position, completed_activities=tuple(finished), frames=())
        self._note(NoteKind.LEFT_ACTIVITY, f"Activity {activity.id} is done.", item=activity.id)
        target = self._target(activity)
        return replace(left, complete=True) if target is None else self._entered(left, target)

    def _entered(self, position: Position | None, activity_id: str) -> Position:
        before = position or Position(activity=activity_id)
        if activity_id in TERMINAL_TARGETS and self.program.activity(activity_id) is None:
            return replace(before, pending="", pending_item="", frames=(), complete=True)
        activity = self._activity(activity_id)
        if activity_id in self._skipped(before):
            self._spend()
            self._note(NoteKind.SKIPPED_ACTIVITY, f"Activity {activity_id} is skipped.", item=activity_id)
            target = self._target(activity)
            there = replace(before, activity=activity_id, done=(), frames=(), pending="", pending_item="")
            return replace(there, complete=True) if target is None else self._entered(there, target)
        visit = before.visits.get(activity_id, 0)
        if self.program.family is Family.ACTIVITIES:
            self._note(NoteKind.ENTERED_ACTIVITY, f"Entered activity {activity_id}.", item=activity_id, iteration=visit)
        return replace(
            before,
            activity=activity_id,
            visit=visit,
            visits={**before.visits, activity_id: visit + 1},
            done=(),
            frames=(),
            pending="",
            pending_item="",
            complete=False,
        )

    def _skipped(self, position: Position) -> frozenset[str]:
        by_mode = (
            mode.skip_activities
            for mode in self.program.modes
            if conditions.lookup(tuple(mode.activation_variable.split(".")), variables=self.variables) is True
        )
        return frozenset(position.skipped_activities).union(*by_mode)

    def _target(self, activity: Activity) -> str | None:
        """Where the activity leads: a branch whose condition holds, then a transition, then the defaults; None ends the run."""
        if not activity.transitions and not any(b.transition_to for d in activity.decisions for b in d.branches):
            return None
        for target, condition in _ways(activity):
            held = self._holds(condition, self.variables)
            if condition is not None:
                self._note(
                    NoteKind.EVALUATED_CONDITION,
                    f"{conditions.describe(condition)} is {str(held).lower()}.",
                    item=target,
                )
            if held:
                return target
        self._fail(_no_way(activity))
        return None

    # Small questions

    def _activity(self, activity_id: str) -> Activity:
        activity = self.program.activity(activity_id)
        if activity is None:
            raise _StopError(
                Failure(
                    kind=FailureKind.UNKNOWN_ACTIVITY,
                    message=f"The workflow has no activity {activity_id!r}.",
                    item=activity_id,
                ),
            )
        return activity

    def _eligible(self, activity: Activity, item: Item, scope: Variables) -> bool:
        condition = _condition_of(activity, item)
        if condition is None:
            return True
        held = self._holds(condition, scope)
        self._note(
            NoteKind.EVALUATED_CONDITION, f"{conditions.describe(condition)} is {str(held).lower()}.", item=item.id
        )
        return held

    def _holds(self, condition: Condition | None, scope: Variables) -> bool:
        return conditions.evaluate(condition, variables=scope, mode=self.program.conditions)

    def _scope(self, position: Position) -> dict[str, Any]:
        added = loop_variables(program=self.program, position=position, variables=self.variables)
        return {**self.variables, **added}

    def _note(
        self, kind: NoteKind, summary: str, *, item: str = "", loop: str = "", iteration: int | None = None
    ) -> None:
        self.notes.append(Note(kind=kind, summary=summary, item=item, loop=loop, iteration=iteration))

    def _fail(self, failure: Failure) -> None:
        """Stop here, or remember the failure and let the caller go round it."""
        if not self.press_on:
            raise _StopError(failure)
        self.passed.append(failure)

    def _spend(self) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise _StopError(
                Failure(
                    kind=FailureKind.BUDGET,
                    message=f"More than {WALK_BUDGET} items were passed over without one to do.",
                ),
            )


def _condition_of(activity: Activity, item: Item) -> Condition | None:
    if not isinstance(item, Gate):
        return item.run_condition
    return next((cp.condition for cp in activity.checkpoints if cp.id == item.checkpoint), None)


def _round_variables(loop: Loop, iteration: int, scope: Variables) -> dict[str, Any]:
    added: dict[str, Any] = {loop.iteration_variable or "currentIteration": iteration + 1}
    if loop.loops is not LoopKind.FOR_EACH:
        return added
    added[loop.index_variable or "currentIndex"] = iteration
    items = conditions.lookup(loop.items, variables=scope)
    if isinstance(items, list) and iteration < len(items):
        added[loop.item_variable or "currentItem"] = items[iteration]
    return added


def _ways(activity: Activity) -> Iterator[tuple[str, Condition | None]]:
    branches = [branch for decision in activity.decisions for branch in decision.branches if branch.transition_to]
    yield from ((b.transition_to, b.condition) for b in branches if b.condition is not None and not b.is_default)
    yield from ((t.to, t.condition) for t in activity.transitions if not t.is_default)
    yield from ((t.to, None) for t in activity.transitions if t.is_default)
    yield from ((b.transition_to, None) for b in branches if b.is_default)


def _exhausted(loop: Loop) -> Failure:
    return Failure(
        kind=FailureKind.MAX_ITERATIONS,
        message=f"Loop {loop.id} has run its {loop.max_iterations} rounds and its decision still says to go on.",
        item=loop.id,
        keys=tuple(sorted(conditions.variables_of(loop.condition))),
    )


def _missing(loop: Loop, key: str, wanted: str) -> Failure:
    return Failure(
        kind=FailureKind.MISSING_CONTEXT,
        message=f"Loop {loop.id} needs {wanted} in the context variable {key!r}.",
        item=loop.id,
        keys=(key,),
    )


def _no_way(activity: Activity) -> Failure:
    names = {name for _, condition in _ways(activity) for name in conditions.variables_of(condition)}
    return Failure(
        kind=FailureKind.NO_TRANSITION,
        message=f"Activity {activity.id} is done and no condition of its transitions holds.",
        item=activity.id,
        keys=tuple(sorted(names)),
    )
