"""The ways out of an activity: which are declared, which are open, and which words claim which of them.

They mean the same in every dialect. A branch without a target leads nowhere of its own: the transitions beside it are asked.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sessions_app.engine import settling
from workflows_app.engine import conditions, walker
from workflows_app.engine.conditions import describe, parse_activity_condition
from workflows_app.engine.people import activity_asks, set_by_others
from workflows_app.engine.program import Activity, Condition, Program
from workflows_app.engine.variables import is_about
from workflows_app.engine.walks import FailureKind, Position

DEFAULT = "default"
_SPACE = re.compile(r"\s+")
# How the original writes a test for being there: the value that the test does not have.
_UNDEFINED = re.compile(r"\b(exists|notExists) undefined\b")
_LONGEST_CLAIM = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A transition, a branch of a decision, or the effect of a checkpoint's option. `name` is what claims an effect; a branch
    without a condition is chosen, not computed.
    """

    target: str
    condition: Condition | None = None
    is_default: bool = False
    is_chosen: bool = False
    name: str = ""

    def leads_to(self, target: str, *, ends: Collection[str]) -> bool:
        """`ends` are the targets that end the run: they are one and the same."""
        return self.target == target or (self.target in ends and target in ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """A target with the server's word on it. `is_open` tells whether it may be taken: one that holds may, and so may, on the
    agent's word, what depends on a variable that nobody has set and no other part of it rules out, and a branch that is chosen.
    """

    target: str
    condition: str
    holds: bool
    is_open: bool = False

    @property
    def why_closed(self) -> str:
        if self.holds:
            return "It is left out in this run, and nothing leads on from there."
        return f"Its condition does not hold: {self.condition}." if self.condition else "Another way applies."


def ways_from(activity: Activity) -> tuple[Way, ...]:
    """Everything that is declared, the effects of options included."""
    return (*_declared(activity), *_effects(activity))


def _declared(activity: Activity) -> Iterator[Way]:
    for decision in activity.decisions:
        for branch in decision.branches:
            if branch.transition_to:
                yield Way(
                    target=branch.transition_to,
                    condition=branch.condition,
                    is_default=branch.is_default,
                    is_chosen=branch.condition is None and not branch.is_default,
                )
    for transition in activity.transitions:
        yield Way(target=transition.to, condition=transition.condition, is_default=transition.is_default)


def _effects(activity: Activity) -> Iterator[Way]:
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            if option.effect is not None and option.effect.transition_to:
                yield Way(target=option.effect.transition_to, name=f"checkpoint:{checkpoint.id}:{option.id}")


def _with_end(program: Program, activity: Activity) -> list[Way]:
    """Where no way is sure to be open, the workflow ends when none is."""
    declared = list(_declared(activity))
    if any(way.is_default or (way.condition is None and not way.is_chosen) for way in declared):
        return declared
    return [*declared, Way(target=walker.end_name(program), is_default=True)]


def valid_targets(program: Program, activity: Activity) -> tuple[str, ...]:
    """Everything that the activity may lead to, each once."""
    return tuple(dict.fromkeys(way.target for way in (*_with_end(program, activity), *_effects(activity))))


def exits(
    *,
    program: Program,
    activity: Activity,
    variables: Mapping[str, Any],
    settled: Collection[str] = (),
    position: Position | None = None,
) -> tuple[Exit, ...]:
    """Each target once; a default holds where nothing else does. With a position, targets that lead nowhere from there are
    closed: an activity that is skipped must itself lead on. Where none that holds does, the run may end, as one that is led
    ends there. Of `settled`, which an answer has set or only people say, no word of an agent adds a part. Where people are asked, or were
    in a run whose answer is read here, what holds first holds alone, and what is ruled out stays closed where that leads nowhere.
    """
    seen = on_leaving(program=program, activity=activity, variables=variables)
    declared, looking = _with_end(program, activity), conditions.Looking()
    holds = [
        not (way.is_default or way.is_chosen)
        and conditions.evaluate(way.condition, variables=seen, mode=program.conditions, looking=looking)
        for way in declared
    ]
    is_asked = _asks_anybody(program) or reads_others_answers(program, activity, settled)
    in_turn = _in_turn(declared, holds) if is_asked else declared
    held = {way.target for way, it_holds in zip(declared, holds, strict=True) if it_holds and way in in_turn}
    holding = held or {way.target for way in declared if way.is_default}
    left_to_agent = {
        way.target
        for way in in_turn
        if way.is_chosen
        or conditions.could_hold(
            way.condition,
            variables=seen,
            mode=program.conditions,
            known=_held_in(way.condition, settled),
            looking=looking,
        )
    }
    targets = dict.fromkeys(way.target for way in declared)
    leading = [target for target in targets if _leads(program, position, target, variables)]
    is_open = [target for target in leading if target in holding | left_to_agent]
    if not any(target in holding for target in leading):
        is_open = [target for target in leading if target in left_to_agent] if is_asked else leading
        # A target that is no activity says nothing of where the run would end.
        if not is_open or all(program.activity(target) is not None for target in holding):
            end = walker.end_name(program)
            targets, holding, is_open = targets | {end: None}, holding | {end}, [*is_open, end]
    return tuple(
        Exit(
            target=target,
            # One that holds since nothing else does has a condition, if any, that does not.
            condition="" if target in holding - held else _words(in_turn, target),
            holds=target in holding,
            is_open=target in is_open,
        )
        for target in targets
    )


def _in_turn(declared: Sequence[Way], holds: Sequence[bool]) -> Sequence[Way]:
    """Without those that a way by its condition comes before: where people are asked, it is the first that holds which says whether, as
    in a run that is led, and no default is asked for. A branch that is chosen has no place in the order.
    """
    first = next((index for index, way in enumerate(declared) if holds[index] and way.condition is not None), None)
    if first is None:
        return declared
    return [way for index, way in enumerate(declared) if way.is_chosen or (index <= first and not way.is_default)]


def reads_others_answers(program: Program, activity: Activity, settled: Collection[str]) -> bool:
    """Whether a way from there goes by what was answered in another run: that is none of what this workflow asks or sets."""
    if not settled:
        return False
    own = set_by_others(program)
    theirs = [name for name in settled if not is_about(name, own)]
    return any(_held_in(way.condition, theirs) for way in _declared(activity))


def _asks_anybody(program: Program) -> bool:
    return any(activity_asks(each) for each in program.activities)


def _held_in(condition: Condition | None, settled: Collection[str]) -> frozenset[str]:
    """What it reads of variables that are not the agent's."""
    if not settled:
        return frozenset()
    return frozenset(name for name in conditions.variables_of(condition) if settling.is_held(name, settled))


def open_targets(
    *, program: Program, activity: Activity, variables: Mapping[str, Any], settled: Collection[str] = ()
) -> tuple[str, ...]:
    found = exits(program=program, activity=activity, variables=variables, settled=settled)
    return tuple(each.target for each in found if each.is_open)


def on_leaving(*, program: Program, activity: Activity, variables: Mapping[str, Any]) -> dict[str, Any]:
    """The variables as the ways out see them: what the activity sets when it is left is set."""
    return {**variables, **walker.set_by(program=program, actions=activity.exit_actions, variables=variables)}


def _leads(program: Program, position: Position | None, target: str, variables: Mapping[str, Any]) -> bool:
    if position is None or (not position.skipped_activities and not program.modes):
        return target in walker.end_names(program) or program.activity(target) is not None
    walk = walker.enter_activity(
        program=program, position=position, activity_id=target, variables=variables, by_hand=True
    )
    # What takes more work than one call does is no dead end: another way would open in its place.
    return walk.failure is None or walk.failure.kind is FailureKind.BUDGET


def _words(declared: Sequence[Way], target: str) -> str:
    said = [describe(way.condition) for way in declared if way.target == target and way.condition]
    return " or ".join(dict.fromkeys(said))


# Claims


class ClaimableWays:
    """Ways, with the words that claim each of them: they are written once for all claims, and a claim is read once for all ways."""

    def __init__(self, ways: Iterable[Way]) -> None:
        self.ways = tuple(ways)
        self._words = tuple("" if way.condition is None else _plain(describe(way.condition)) for way in self.ways)

    def claimed_by(self, claim: str) -> list[Way]:
        """A condition is claimed as it is written, or by any line that reads as the same condition."""
        said = _plain(claim)
        read = _read(said)
        each = zip(self.ways, self._words, strict=True)
        return [way for way, words in each if _is_claimed(way, words, said=said, read=read)]

    @cached_property
    def accepted(self) -> list[str]:
        return claims_accepted(self.ways)


def _is_claimed(way: Way, words: str, *, said: str, read: Condition | None) -> bool:
    if way.name and said == way.name:
        return True
    if said in {"", DEFAULT}:
        return way.is_default or (way.condition is None and not way.name)
    return way.condition is not None and (said == words or read == way.condition)


def claims_accepted(ways: Iterable[Way]) -> list[str]:
    return list(dict.fromkeys(claim for way in ways for claim in _claims(way)))


def _claims(way: Way) -> Sequence[str]:
    if way.name:
        return (way.name,)
    if way.condition is None:
        return (DEFAULT,)
    return (describe(way.condition), DEFAULT) if way.is_default else (describe(way.condition),)


def _plain(text: str) -> str:
    return _UNDEFINED.sub(r"\1", _SPACE.sub(" ", text).strip())


def _read(claim: str) -> Condition | None:
    if len(claim) > _LONGEST_CLAIM:
        return None
    read, problems = parse_activity_condition(claim, path="claim")
    return None if problems else read
