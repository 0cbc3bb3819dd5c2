"""The ways that lead out of an activity, and which words claim which of them."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from workflows_app.engine.conditions import describe, parse_activity_condition
from workflows_app.engine.program import Activity, Condition

DEFAULT = "default"
_TERMINAL = "__terminal__"
_SPACE = re.compile(r"\s+")
# How the original writes a test for being there: the value that the test does not have.
_UNDEFINED = re.compile(r"\b(exists|notExists) undefined\b")
_LONGEST_CLAIM = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A transition, a branch of a decision, or the effect of a checkpoint's option. `name` is what claims an effect."""

    target: str
    condition: Condition | None = None
    is_default: bool = False
    name: str = ""

    def leads_to(self, target: str, *, ends: Collection[str]) -> bool:
        """`ends` are the targets that end the run: they are one and the same."""
        return self.target == target or (self.target in ends and target in ends)


def ways_from(activity: Activity) -> tuple[Way, ...]:
    return tuple(_ways(activity))


def is_claim_of(way: Way, claim: str) -> bool:
    """A condition is claimed as it is written, or by any line that reads as the same condition."""
    said = _plain(claim)
    if way.name and said == way.name:
        return True
    if said in {"", DEFAULT}:
        return way.is_default or (way.condition is None and not way.name)
    if way.condition is None:
        return False
    return said == _plain(describe(way.condition)) or _reads_as(said, way.condition)


def claims_accepted(ways: Iterable[Way]) -> list[str]:
    return list(dict.fromkeys(claim for way in ways for claim in _claims(way)))


def _ways(activity: Activity) -> Iterator[Way]:
    for transition in activity.transitions:
        yield Way(target=transition.to, condition=transition.condition, is_default=transition.is_default)
    for decision in activity.decisions:
        for branch in decision.branches:
            target = branch.transition_to or _TERMINAL
            yield Way(target=target, condition=branch.condition, is_default=branch.is_default)
    for checkpoint in activity.checkpoints:
        for option in checkpoint.options:
            if option.effect is not None and option.effect.transition_to:
                name = f"checkpoint:{checkpoint.id}:{option.id}"
                yield Way(target=option.effect.transition_to, name=name)


def _claims(way: Way) -> Sequence[str]:
    if way.name:
        return (way.name,)
    if way.condition is None:
        return (DEFAULT,)
    return (describe(way.condition), DEFAULT) if way.is_default else (describe(way.condition),)


def _plain(text: str) -> str:
    return _UNDEFINED.sub(r"\1", _SPACE.sub(" ", text).strip())


def _reads_as(claim: str, condition: Condition) -> bool:
    if len(claim) > _LONGEST_CLAIM:
        return False
    read, problems = parse_activity_condition(claim, path="claim")
    return not problems and read == condition
