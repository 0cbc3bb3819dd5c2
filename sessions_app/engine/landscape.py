"""Where a run driven by hand stands, and what can be done from there: the view behind the navigation dialect.

The same rules say what is offered and what is accepted, so the landscape never offers what an action would refuse.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from sessions_app.engine import approvals
from sessions_app.engine.state import Snapshot
from workflows_app.engine import conditions, walker
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    Condition,
    ConfirmationKind,
    Gate,
    Loop,
    LoopKind,
    Parallel,
    Program,
    Step,
)


class Waiting(StrEnum):
    """What the run waits for: a step, an answer, a loop to be begun, the end of a round, a way out, or nothing."""

    STEP = "step"
    CHECKPOINT = "checkpoint"
    LOOP = "loop"
    ROUND = "round"
    WAY_OUT = "way_out"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A transition out of the activity. `holds` is what the server makes of its condition; `is_open` whether it may be
    taken. One that holds may. What depends on a variable that nobody has set, and a branch that no condition decides, may be
    taken on the agent's word.
    """

    target: str
    condition: str
    holds: bool
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The loop that the run is in; `total` is known where the rounds are counted."""

    loop: Loop
    iteration: int
    total: int | None = None
    item: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Landscape:
    """`step` is the one at hand, `may_do` are those that may be completed now, in their order, and `needs_person` those of
    them that only a signed-in person may. `loop` is the one that can be begun, turned or left.
    """

    waiting: Waiting
    activity: Activity
    step: Step | Parallel | None = None
    may_do: tuple[Step | Parallel, ...] = ()
    needs_person: frozenset[str] = frozenset()
    checkpoint: Checkpoint | None = None
    round: Round | None = None
    loop: Loop | None = None
    may_turn_loop: bool = False
    may_leave_loop: bool = False
    needs_items: bool = False
    ways: tuple[Way, ...] = ()


def survey(*, program: Program, snapshot: Snapshot) -> Landscape | None:
    """The landscape at a snapshot; None when its activity is not in the program, which no snapshot of ours is."""
    activity = program.activity(snapshot.position.activity)
    return None if activity is None else _Survey(program, snapshot, activity).land()


def valid_targets(program: Program, activity: Activity) -> tuple[str, ...]:
    """Everything that the activity may lead to, by transition, decision or the effect of an option; each once."""
    by_effect = (
        option.effect.transition_to
        for checkpoint in activity.checkpoints
        for option in checkpoint.options
        if option.effect is not None and option.effect.transition_to
    )
    return tuple(dict.fromkeys([*(way.target for way in _declared(program, activity)), *by_effect]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Exit:
    """A way out as declared."""

    target: str
    condition: Condition | None = None
    is_default: bool = False
    is_chosen: bool = False


class _Survey:
    def __init__(self, program: Program, snapshot: Snapshot, activity: Activity) -> None:
        self.program = program
        self.snapshot = snapshot
        self.position = snapshot.position
        self.activity = activity
        self.scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)

    def land(self) -> Landscape:
        if self.position.complete:
            return Landscape(waiting=Waiting.NOTHING, activity=self.activity)
        item = walker.item_at(self.program, self.position)
        within = self._round()
        if isinstance(item, Gate):
            checkpoint = approvals.checkpoint_of(self.program, self.snapshot, item)
            return Landscape(waiting=Waiting.CHECKPOINT, activity=self.activity, checkpoint=checkpoint, round=within)
        may_do = tuple(self._may_do())
        land = Landscape(
            waiting=Waiting.STEP,
            activity=self.activity,
            step=item,
            may_do=may_do,
            needs_person=frozenset(step.id for step in may_do if self._needs_person(step)),
            round=within,
        )
        if within is not None:
            land = self._at_round(land, within.loop)
        return land if item is not None else self._at_rest(land)

    def _at_round(self, land: Landscape, loop: Loop) -> Landscape:
        """A round may be ended when nothing of it that must be done is left."""
        frame = self.position.frames[-1]
        rest = [item for item in loop.body[frame.index :] if self._is_eligible(item)]
        ended = all(isinstance(item, Step) and not item.required for item in rest)
        return replace(land, loop=loop, may_turn_loop=ended, may_leave_loop=ended and _is_left_by_word(loop))

    def _at_rest(self, land: Landscape) -> Landscape:
        met = self._loop_ahead()
        if met is not None:
            return replace(
                land,
                waiting=Waiting.LOOP,
                loop=met,
                may_turn_loop=True,
                may_leave_loop=met.loops in {LoopKind.WHILE, LoopKind.UNTIL} or self._lacks_count(met),
                needs_items=met.loops is LoopKind.FOR_EACH and not isinstance(self._items(met), list),
            )
        if land.round is not None:
            return replace(land, waiting=Waiting.ROUND)
        return replace(land, waiting=Waiting.WAY_OUT, ways=self._ways())

    # Steps

    def _may_do(self) -> Iterator[Step | Parallel]:
        """Up to the next question or loop. Within a round no step that must be done is passed over."""
        inside = bool(self.position.frames)
        for item in self._ahead():
            if isinstance(item, Gate | Loop):
                return
            yield item
            if inside and not (isinstance(item, Step) and not item.required):
                return

    def _ahead(self) -> Iterator[Any]:
        body = walker.body_at(self.activity, self.position.frames)
        if self.position.frames:
            body = body[self.position.frames[-1].index :]
            return (item for item in body if self._is_eligible(item))
        done = frozenset(self.position.done)
        left = (item for item in body if item.id not in done and not walker.waits_for_its_step(item, done))
        return (item for item in left if self._is_eligible(item))

    def _is_eligible(self, item: Any) -> bool:
        return walker.is_eligible(program=self.program, activity=self.activity, item=item, variables=self.scope)

    def _needs_person(self, step: Step | Parallel) -> bool:
        asked = approvals.asked_of(self.program, self.snapshot, step, scope=self.scope)
        return asked is ConfirmationKind.HUMAN_APPROVAL

    # Loops

    def _loop_ahead(self) -> Loop | None:
        must = (
            item
            for item in self._ahead()
            if isinstance(item, Loop | Parallel) or (isinstance(item, Step) and item.required)
        )
        first = next(must, None)
        return first if isinstance(first, Loop) else None

    def _round(self) -> Round | None:
        loops = walker.loops_at(self.activity, self.position.frames)
        if not loops:
            return None
        loop, frame = loops[-1], self.position.frames[-1]
        items = self._items(loop)
        if isinstance(items, list):
            item = items[frame.iteration] if frame.iteration < len(items) else None
            return Round(loop=loop, iteration=frame.iteration + 1, total=len(items), item=item)
        return Round(loop=loop, iteration=frame.iteration + 1, total=self._count(loop))

    def _items(self, loop: Loop) -> Any:
        return conditions.lookup(loop.items, variables=self.scope) if loop.items else None

    def _count(self, loop: Loop) -> int | None:
        count = loop.count if isinstance(loop.count, int) else conditions.lookup(loop.count or (), variables=self.scope)
        return int(count) if isinstance(count, int | float) and not isinstance(count, bool) else None

    def _lacks_count(self, loop: Loop) -> bool:
        return loop.loops is LoopKind.FOR and self._count(loop) is None

    # Ways

    @cached_property
    def on_leaving(self) -> dict[str, Any]:
        """The variables as the ways out see them: what the activity sets when it is left is set."""
        variables = self.snapshot.variables
        added = walker.set_by(program=self.program, actions=self.activity.exit_actions, variables=variables)
        return {**variables, **added}

    def _ways(self) -> tuple[Way, ...]:
        """Each target once, with the server's word on its conditions; a default holds where nothing else does."""
        declared = _declared(self.program, self.activity)
        held = {way.target for way in declared if not (way.is_default or way.is_chosen) and self._holds(way.condition)}
        holding = held or {way.target for way in declared if way.is_default}
        left_to_agent = {
            way.target
            for way in declared
            if way.is_chosen or conditions.is_unknown(way.condition, variables=self.on_leaving)
        }
        targets = dict.fromkeys(way.target for way in declared)
        leading = [target for target in targets if self._leads(target)]
        is_open = [target for target in leading if target in holding | left_to_agent]
        if not any(target in holding for target in leading):
            is_open = leading
        return tuple(
            Way(target=target, condition=_words(declared, target), holds=target in holding, is_open=target in is_open)
            for target in targets
        )

    def _holds(self, condition: Condition | None) -> bool:
        return conditions.evaluate(condition, variables=self.on_leaving, mode=self.program.conditions)

    def _leads(self, target: str) -> bool:
        """Whether the walk gets anywhere from there: an activity that is skipped must itself lead on."""
        if not self.position.skipped_activities and not self.program.modes:
            return target in walker.TERMINAL_TARGETS or self.program.activity(target) is not None
        walk = walker.enter_activity(
            program=self.program,
            position=self.position,
            activity_id=target,
            variables=self.snapshot.variables,
            by_hand=True,
        )
        return walk.failure is None


def _is_left_by_word(loop: Loop) -> bool:
    """Where the rounds are counted, the count says when the loop is done; elsewhere the agent may say so."""
    return loop.loops not in {LoopKind.FOR_EACH, LoopKind.FOR}


def _declared(program: Program, activity: Activity) -> list[_Exit]:
    """A branch without a target is an end; one without a condition is chosen, not computed. Where no way is sure to be open,
    the workflow ends when none is.
    """
    end = walker.end_name(program)
    branches = [
        _Exit(
            target=branch.transition_to or end,
            condition=branch.condition,
            is_default=branch.is_default,
            is_chosen=branch.condition is None and not branch.is_default,
        )
        for decision in activity.decisions
        for branch in decision.branches
    ]
    transitions = [
        _Exit(target=way.to, condition=way.condition, is_default=way.is_default) for way in activity.transitions
    ]
    declared = [*branches, *transitions]
    if any(way.is_default or (way.condition is None and not way.is_chosen) for way in declared):
        return declared
    return [*declared, _Exit(target=end, is_default=True)]


def _words(declared: list[_Exit], target: str) -> str:
    said = [conditions.describe(way.condition) for way in declared if way.target == target and way.condition]
    return " or ".join(dict.fromkeys(said))
