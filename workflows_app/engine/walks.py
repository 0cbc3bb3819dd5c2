"""What a walk through a program is made of: where it stands, why it went there, and why it cannot go on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any, assert_never

import msgspec

from workflows_app.engine import conditions
from workflows_app.engine.program import Activity, Condition, Loop, LoopKind

LOOP_CONTROL_KIND = "wr.loop_control"


class Frame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One loop being run: its round from 0, the index in its body that is looked at next, and whether anything has been done
    in it, in this round or before.
    """

    loop: str
    iteration: int
    index: int = 0
    begun: bool = False


def worked_in(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """The same loops when what was at hand in the innermost is done."""
    begun = tuple(frame if frame.begun else msgspec.structs.replace(frame, begun=True) for frame in frames)
    innermost = begun[-1]
    return (*begun[:-1], msgspec.structs.replace(innermost, index=innermost.index + 1))


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
    UNKNOWN_LOOP = "unknown_loop"
    UNMET = "unmet"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The walk cannot go on from here. `keys` are the variables whose value would let it."""

    kind: FailureKind
    message: str
    item: str = ""
    keys: tuple[str, ...] = ()
    # What has to come of their values.
    so_that: str = ""
    # What lets the walk go on where it is no variable.
    remedy: str = ""
    # To go on would be to go past somebody who has to be asked.
    needs_person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """`failure` is why the walk stands where it stood; `passed` are demands that did not hold on the way, and the failures
    that a walk told to press on went by.

    `assigned` are the variables that the actions of activities which were left and entered on the way have set.
    """

    position: Position
    notes: tuple[Note, ...] = ()
    failure: Failure | None = None
    passed: tuple[Failure, ...] = ()
    assigned: Mapping[str, Any] = field(default_factory=dict)


def exhausted(loop: Loop, *, around: Sequence[Loop] = ()) -> Failure:
    """`around` are the loops in which it stands, outermost first."""
    rounds = "its only round" if loop.max_iterations == 1 else f"its {loop.max_iterations} rounds"
    return Failure(
        kind=FailureKind.MAX_ITERATIONS,
        message=f"Loop {loop.id} has run {rounds} and {_why_more(loop)}.",
        item=loop.id,
        keys=_to_be_set(deciding_keys(loop), (*around, loop)),
        so_that=_no_more(loop),
        remedy=f"Retry with an artifact of kind {LOOP_CONTROL_KIND} whose decision is stop."
        if loop.decision_contract
        else "",
    )


def missing(loop: Loop, key: str, wanted: str, *, around: Sequence[Loop], needs_person: bool = False) -> Failure:
    return Failure(
        kind=FailureKind.MISSING_CONTEXT,
        message=f"Loop {loop.id} needs {wanted} in the context variable {key!r}.",
        item=loop.id,
        keys=_to_be_set((key,), around),
        so_that=f"so that {key} is {wanted}",
        needs_person=needs_person,
    )


def whole_rounds(value: Any) -> int | None:
    """How many rounds a value asks for; None where it is no whole number of them."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return None
    return int(value) if value != inf and value == int(value) else None


def unmet(where: str, demand: str, message: str, *, keys: tuple[str, ...]) -> Failure:
    """A `validate` action whose demand does not hold. It is told, and stops nobody."""
    return Failure(
        kind=FailureKind.UNMET,
        message=f"{where} demands {demand}, and it does not hold. {message}".strip(),
        item=where,
        keys=keys,
    )


def no_way(activity: Activity) -> Failure:
    names = {name for _, condition in ways(activity) for name in conditions.variables_of(condition)}
    return Failure(
        kind=FailureKind.NO_TRANSITION,
        message=f"Activity {activity.id} is done and no condition of its transitions holds.",
        item=activity.id,
        keys=tuple(sorted(names)),
    )


def unknown(activity_id: str) -> Failure:
    return Failure(
        kind=FailureKind.UNKNOWN_ACTIVITY,
        message=f"The workflow has no activity {activity_id!r}.",
        item=activity_id,
    )


def ways(activity: Activity) -> Iterator[tuple[str, Condition | None]]:
    """Where an activity may lead, in the order in which it is asked: branches, transitions, then the defaults."""
    branches = [branch for decision in activity.decisions for branch in decision.branches if branch.transition_to]
    yield from ((b.transition_to, b.condition) for b in branches if b.condition is not None and not b.is_default)
    yield from ((t.to, t.condition) for t in activity.transitions if not t.is_default)
    yield from ((t.to, None) for t in activity.transitions if t.is_default)
    yield from ((b.transition_to, None) for b in branches if b.is_default)


def deciding_keys(loop: Loop) -> tuple[str, ...]:
    """The variables that say whether there is another round."""
    paths = [path for path in (loop.count, loop.items) if isinstance(path, tuple) and path]
    return tuple(sorted({*conditions.variables_of(loop.condition), *(".".join(path) for path in paths)}))


def round_names(loop: Loop) -> set[str]:
    """The variables that tell its rounds apart."""
    counted = {loop.iteration_variable or "currentIteration", loop.index_variable or "currentIndex"}
    return counted | {loop.item_variable or "currentItem"}


def _to_be_set(keys: Sequence[str], around: Sequence[Loop]) -> tuple[str, ...]:
    """The variables that somebody can set: where an item is looked into the list that it is of, and no count of rounds."""
    found: list[str] = list(keys)
    for loop in reversed(around):
        item = loop.item_variable or "currentItem"
        counted = {loop.iteration_variable or "currentIteration", loop.index_variable or "currentIndex"}
        listed = [".".join(loop.items) if loop.items and _root(key) == item else key for key in found]
        found = [key for key in listed if _root(key) not in counted]
    return tuple(dict.fromkeys(found))


def _root(key: str) -> str:
    return key.partition(".")[0]


def _why_more(loop: Loop) -> str:
    match loop.loops:
        case LoopKind.FOR_EACH:
            return f"{'.'.join(loop.items)} has more items"
        case LoopKind.FOR:
            return f"{_count_of(loop)} asks for more"
        case LoopKind.WHILE | LoopKind.UNTIL | LoopKind.DO_WHILE:
            return "its decision still says to go on"
        case _:
            assert_never(loop.loops)


def _no_more(loop: Loop) -> str:
    match loop.loops:
        case LoopKind.FOR_EACH:
            return f"so that {'.'.join(loop.items)} has at most {loop.max_iterations}"
        case LoopKind.FOR:
            return f"so that {_count_of(loop)} is at most {loop.max_iterations}"
        case LoopKind.UNTIL:
            return f"so that this holds: {conditions.describe(loop.condition)}"
        case LoopKind.WHILE | LoopKind.DO_WHILE:
            return f"so that this holds no more: {conditions.describe(loop.condition)}"
        case _:
            assert_never(loop.loops)


def _count_of(loop: Loop) -> str:
    return ".".join(loop.count) if isinstance(loop.count, tuple) else "its count"
