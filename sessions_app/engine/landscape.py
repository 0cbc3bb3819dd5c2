"""Where a run driven by hand stands, and what can be done from there: the view behind the navigation dialect.

The same rules say what is offered and what is accepted, so the landscape never offers what an action would refuse.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar, assert_never

from msgspec.structs import replace as msgspec_replace, replace as with_state

from sessions_app.engine import approvals, settling, ways
from sessions_app.engine.obligations import is_demanding
from sessions_app.engine.state import Snapshot
from sessions_app.engine.ways import Exit
from workflows_app.engine import conditions, walker
from workflows_app.engine.filled import filled
from workflows_app.engine.people import AskedOfPeople, leads_to_people
from workflows_app.engine.placeholders import Filling
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    ConfirmationKind,
    Gate,
    Item,
    Loop,
    LoopKind,
    Parallel,
    Program,
    Step,
    walk_items,
)
from workflows_app.engine.rounds import Round, rounds_around
from workflows_app.engine.walks import Failure, Frame

_Titled = TypeVar("_Titled", Activity, Step, Parallel, Loop, Step | Parallel)


class Waiting(StrEnum):
    """What the run waits for: a step, an answer, a loop to be begun, the end of a round, a way out, or nothing."""

    STEP = "step"
    CHECKPOINT = "checkpoint"
    LOOP = "loop"
    ROUND = "round"
    WAY_OUT = "way_out"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Landscape:
    """`step` is the one at hand, `may_do` are those that may be completed now, in their order, and `needs_person` those of
    them that are done when a signed-in person has approved what was handed in. `loop` is the one that can be begun, turned or left;
    `rounds` are those that the run is in, outermost first.
    """

    waiting: Waiting
    activity: Activity
    step: Step | Parallel | None = None
    may_do: tuple[Step | Parallel, ...] = ()
    needs_person: frozenset[str] = frozenset()
    checkpoint: Checkpoint | None = None
    rounds: tuple[Round, ...] = ()
    loop: Loop | None = None
    may_turn_loop: bool = False
    may_leave_loop: bool = False
    needs_items: bool = False
    # Why the loop at hand has no further round, where it should have one.
    turn_failure: Failure | None = None
    ways: tuple[Exit, ...] = ()

    @property
    def round(self) -> Round | None:
        return self.rounds[-1] if self.rounds else None


def survey(*, program: Program, snapshot: Snapshot) -> Landscape | None:
    """The landscape at a snapshot; None when its activity is not in the program, which no snapshot of ours is.

    At a question that a person has waived it is what stands behind it.
    """
    if waived_question(program=program, snapshot=snapshot) is not None:
        walk = walker.complete_pending(
            program=program,
            position=snapshot.position,
            variables=snapshot.variables,
            artifacts=(),
            press_on=True,
            past_people=True,
            by_hand=True,
        )
        if walk.failure is None:
            variables = {**snapshot.variables, **walk.assigned}
            return survey(program=program, snapshot=with_state(snapshot, position=walk.position, variables=variables))
    activity = program.activity(snapshot.position.activity)
    return None if activity is None else _Survey(program, snapshot, activity).land()


def waived_question(*, program: Program, snapshot: Snapshot) -> Checkpoint | None:
    """The question for people at which the run stands, when a person has had it never stop."""
    item = walker.item_at(program, snapshot.position)
    if not isinstance(item, Gate) or not snapshot.preferences.waives_people:
        return None
    checkpoint = approvals.checkpoint_of(program, snapshot, item)
    return checkpoint if checkpoint is not None and checkpoint.human else None


def surveyed(*, program: Program, snapshot: Snapshot) -> Landscape:
    """The same of a snapshot of ours."""
    land = survey(program=program, snapshot=snapshot)
    if land is None:
        raise ValueError(f"The program has no activity {snapshot.position.activity!r}.")
    return land


def shown(*, program: Program, snapshot: Snapshot) -> Landscape:
    """The same with the values of the run in the names of what is there."""
    land = surveyed(program=program, snapshot=snapshot)
    scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)
    filling = Filling(scope)
    return replace(
        land,
        activity=_named(land.activity, filling),
        step=None if land.step is None else _named(land.step, filling),
        may_do=tuple(_named(item, filling) for item in land.may_do),
        loop=None if land.loop is None else _named(land.loop, filling),
        rounds=tuple(replace(each, loop=_named(each.loop, filling)) for each in land.rounds),
    )


def _named(item: _Titled, filling: Filling) -> _Titled:
    title = filling.render(item.title)
    return item if title == item.title else msgspec_replace(item, title=title)


def waits_for_a_person(*, program: Program, snapshot: Snapshot) -> bool:
    """Whether nothing but a signed-in person's answer or approval takes the run on."""
    land = survey(program=program, snapshot=snapshot)
    checkpoint = None if land is None else land.checkpoint
    return snapshot.work is not None or (checkpoint is not None and checkpoint.human)


def how_to_leave(loop: Loop, failure: Failure) -> str:
    """What takes the run on at a loop in which a person is asked, and which has no further round though its test wants one."""
    if not failure.keys:
        return "Show this to the author of the workflow."
    names = ", ".join(failure.keys)
    return f"Complete {loop.id} with context that sets {names} so that there is no further round."


class _Survey:
    def __init__(self, program: Program, snapshot: Snapshot, activity: Activity) -> None:
        self.program = program
        self.snapshot = snapshot
        self.position = snapshot.position
        self.activity = activity
        self.asking = AskedOfPeople(activity)
        self.scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)

    def land(self) -> Landscape:
        if self.position.complete:
            return Landscape(waiting=Waiting.NOTHING, activity=self.activity)
        item = walker.item_at(self.program, self.position)
        rounds = rounds_around(program=self.program, position=self.position, variables=self.snapshot.variables)
        if isinstance(item, Gate):
            asked = approvals.checkpoint_of(self.program, self.snapshot, item)
            checkpoint = None if asked is None else filled(asked, variables=self.scope)
            return Landscape(waiting=Waiting.CHECKPOINT, activity=self.activity, checkpoint=checkpoint, rounds=rounds)
        may_do = tuple(self._may_do())
        land = Landscape(
            waiting=Waiting.STEP,
            activity=self.activity,
            step=item,
            may_do=may_do,
            needs_person=frozenset(step.id for step in may_do if self._needs_person(step)),
            rounds=rounds,
        )
        if rounds:
            land = self._at_round(land, rounds[-1].loop)
        return land if item is not None else self._at_rest(land)

    def _at_round(self, land: Landscape, loop: Loop) -> Landscape:
        """A round may be ended when nothing of it that must be done is left."""
        frame = self.position.frames[-1]
        rest = [item for item in loop.body[frame.index :] if self._is_eligible(item)]
        ended = self._tried() is None and all(
            isinstance(item, Step) and not item.required and not self._asks(item) for item in rest
        )
        failure = self._turn_failure(loop) if ended else None
        by_word = _is_left_by_word(loop) or failure is not None
        return replace(
            land,
            loop=loop,
            may_turn_loop=ended and failure is None,
            may_leave_loop=ended and by_word and not self._is_guarded(loop),
            turn_failure=failure,
        )

    def _at_rest(self, land: Landscape) -> Landscape:
        met = self._loop_ahead()
        if met is not None:
            needs_items = met.loops is LoopKind.FOR_EACH and not isinstance(self._items(met), list)
            failure = None if needs_items else self._turn_failure(met)
            by_word = met.loops in {LoopKind.WHILE, LoopKind.UNTIL} or failure is not None
            guarded = self._is_guarded(met) or (bool(met.decision_contract) and self._owes(met))
            return replace(
                land,
                waiting=Waiting.LOOP,
                loop=met,
                may_turn_loop=failure is None,
                may_leave_loop=by_word and not guarded,
                needs_items=needs_items,
                turn_failure=failure,
            )
        if land.round is not None:
            return replace(land, waiting=Waiting.ROUND)
        return replace(land, waiting=Waiting.WAY_OUT, ways=self._ways())

    # Steps

    def _may_do(self) -> Iterator[Step | Parallel]:
        """Up to the next question, loop, or step that a person approves. Within a round no step that must be done is passed
        over, and what was tried before is all there is to do.
        """
        tried = self._tried()
        if tried is not None:
            yield tried
            return
        inside = bool(self.position.frames)
        for item, is_now in self._met():
            if isinstance(item, Gate | Loop) or not is_now:
                return
            yield item
            if (inside and not (isinstance(item, Step) and not item.required)) or self._asks(item):
                return

    def _met(self) -> Iterator[tuple[Item, bool]]:
        """What is come to, and whether it is its turn as things stand. It is also come to where people are asked once the steps
        before it are done that must be, by what these set.
        """
        then = self.scope
        for item in self._left():
            if self._is_eligible(item):
                yield item, True
            elif then is not self.scope and self._asks(item) and self._is_eligible(item, then):
                yield item, False
            if isinstance(item, Step) and item.required and item.actions and self._is_eligible(item, then):
                then = then | settling.set_by_actions(program=self.program, item=item, variables=then)

    def _tried(self) -> Step | Parallel | None:
        """The step at hand, where work for it waits for a person, was sent back or lacked something. What may be left out may
        be left out still.
        """
        at_hand = walker.item_at(self.program, self.position) if self.snapshot.awaits_retry else None
        may_be_left = isinstance(at_hand, Step) and not at_hand.required and not self._asks(at_hand)
        return at_hand if isinstance(at_hand, Step | Parallel) and not may_be_left else None

    def _ahead(self) -> Iterator[Any]:
        return (item for item, is_now in self._met() if is_now)

    def _left(self) -> Iterator[Item]:
        """What of the round, or of the activity, is not done, whatever its condition."""
        body = walker.body_at(self.activity, self.position.frames)
        if self.position.frames:
            return iter(body[self.position.frames[-1].index :])
        done = frozenset(self.position.done)
        return (item for item in body if item.id not in done and not walker.waits_for_its_step(item, done))

    def _is_eligible(self, item: Any, scope: dict[str, Any] | None = None) -> bool:
        variables = self.scope if scope is None else scope
        return walker.is_eligible(program=self.program, activity=self.activity, item=item, variables=variables)

    def _needs_person(self, step: Step | Parallel) -> bool:
        asked = approvals.asked_of(self.program, self.snapshot, step, scope=self.scope)
        return asked is ConfirmationKind.HUMAN_APPROVAL

    def _asks(self, item: Item) -> bool:
        return self.asking.asks(item)

    # Loops

    def _is_guarded(self, loop: Loop) -> bool:
        """A loop in which a person is asked or more than words is demanded, or which sets what leads to people, is not left on
        the agent's word while its own test says to go on. One that an artifact decides is, but its first round is gone through, as in a run that is led.
        """
        if not self._owes(loop) or loop.decision_contract:
            return False
        match loop.loops:
            case LoopKind.WHILE | LoopKind.DO_WHILE:
                return self._holds_next(loop)
            case LoopKind.UNTIL:
                return not self._holds_next(loop)
            case LoopKind.FOR | LoopKind.FOR_EACH:
                return True
            case _:
                assert_never(loop.loops)

    def _owes(self, loop: Loop) -> bool:
        return (
            self._asks(loop)
            or approvals.is_owed_around(self.program, self.snapshot)
            or any(is_demanding(self.program, item) for item in walk_items(loop.body))
            or leads_to_people(self.program, loop)
        )

    def _holds_next(self, loop: Loop) -> bool:
        """Whether the loop's test holds as its next round reads it, or its first."""
        frames = self.position.frames
        is_inside = bool(frames) and walker.loops_at(self.activity, frames)[-1] is loop
        around = frames[:-1] if is_inside else frames
        following = (
            msgspec_replace(frames[-1], iteration=frames[-1].iteration + 1)
            if is_inside
            else Frame(loop=loop.id, iteration=0)
        )
        there = msgspec_replace(self.position, frames=(*around, following))
        scope = walker.scope_at(program=self.program, position=there, variables=self.snapshot.variables)
        return conditions.evaluate(loop.condition, variables=scope, mode=self.program.conditions)

    def _loop_ahead(self) -> Loop | None:
        must = (
            item
            for item in self._ahead()
            if isinstance(item, Loop | Parallel) or (isinstance(item, Step) and item.required)
        )
        first = next(must, None)
        return first if isinstance(first, Loop) else None

    def _items(self, loop: Loop) -> Any:
        return conditions.lookup(loop.items, variables=self.scope) if loop.items else None

    def _turn_failure(self, loop: Loop) -> Failure | None:
        bare = msgspec_replace(self.position, pending="", pending_item="")
        variables = self.snapshot.variables
        return walker.begin_round(program=self.program, position=bare, loop_id=loop.id, variables=variables).failure

    def _ways(self) -> tuple[Exit, ...]:
        return ways.exits(
            program=self.program,
            activity=self.activity,
            variables=self.snapshot.variables,
            settled=settling.not_agents(self.program, self.snapshot),
            position=self.position,
        )


def _is_left_by_word(loop: Loop) -> bool:
    """Where the rounds are counted, the count says when the loop is done; elsewhere the agent may say so."""
    return loop.loops not in {LoopKind.FOR_EACH, LoopKind.FOR}
