"""What an agent claims to have done, compared with the workflow. Everything here warns; nothing here stops a call.

Manifests are claims, not proof: a step that is listed was said to be done. `variables` are those of the run; where they are
given, conditions are evaluated, and what a false condition skipped is not missing.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from sessions_app.engine.ways import ClaimableWays, Way, claims_accepted, ways_from
from teams_app.engine.normal_forms import trimmed
from workflows_app.engine import walker
from workflows_app.engine.conditions import Looking, describe, evaluate
from workflows_app.engine.program import Activity, Gate, Parallel, Program, Step, walk_items
from workflows_app.engine.walks import Position

MAX_NAMED = 20


class ManifestWarningCode(StrEnum):
    STEP_MANIFEST_ABSENT = "step_manifest_absent"
    STEPS_MISSING = "steps_missing"
    STEPS_UNEXPECTED = "steps_unexpected"
    STEPS_OUT_OF_ORDER = "steps_out_of_order"
    STEP_OUTPUT_EMPTY = "step_output_empty"
    STEP_RULED_OUT = "step_ruled_out"
    ACTIVITY_MANIFEST_EMPTY = "activity_manifest_empty"
    ACTIVITY_UNKNOWN = "activity_unknown"
    ACTIVITY_OUTCOME_EMPTY = "activity_outcome_empty"
    ACTIVITY_CONDITION_UNKNOWN = "activity_condition_unknown"
    FIRST_ACTIVITY_OTHER = "first_activity_other"
    TRANSITION_NOT_DIRECT = "transition_not_direct"
    CONDITION_CLAIM_WRONG = "condition_claim_wrong"
    CONDITION_DOES_NOT_HOLD = "condition_does_not_hold"
    VERSION_DRIFT = "version_drift"


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWarning:
    """`message` says what to do; `details` hold the same as data."""

    code: ManifestWarningCode
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code.value, "message": self.message, "details": dict(self.details)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry:
    step_id: str
    output: str
    artifacts: tuple[Mapping[str, Any], ...] = ()
    # Variables that the step found out.
    context: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityOutcome:
    """`transition_condition` is empty when nothing was claimed."""

    activity_id: str
    outcome: str
    transition_condition: str = ""


def validate(
    *,
    program: Program,
    position: Position,
    variables: Mapping[str, Any],
    activity_id: str,
    claim: str | None,
    manifest: Sequence[ManifestEntry] | None,
    outcomes: Sequence[ActivityOutcome] | None,
    skipped: Collection[str] = (),
) -> tuple[str, ...]:
    """What is to be told of entering an activity from where the run stands. `position.activity` is empty before the first.

    An activity that is entered again is not left: its manifest is checked when it comes, and not owed. `skipped` are steps
    that were not due.
    """
    current = position.activity
    of_steps: tuple[ManifestWarning, ...] = ()
    if manifest is not None or current != activity_id:
        of_steps = check_step_manifest(
            program=program, activity_id=current, manifest=manifest, variables=variables, skipped=skipped
        )
    warnings = (
        *check_transition(program=program, current=current, target=activity_id, variables=variables),
        *check_condition(program=program, current=current, target=activity_id, claim=claim, variables=variables),
        *of_steps,
        *check_activity_manifest(program=program, manifest=outcomes),
    )
    return tuple(warning.message for warning in warnings)


def check_step_manifest(
    *,
    program: Program,
    activity_id: str,
    manifest: Sequence[ManifestEntry] | None,
    variables: Mapping[str, Any] | None = None,
    skipped: Collection[str] = (),
) -> tuple[ManifestWarning, ...]:
    """The manifest of the activity that is left. `skipped` are steps of it that the server itself knows were not due."""
    activity = program.activity(activity_id)
    if activity is None or not any(_steps(activity)):
        return ()
    if manifest is None:
        message = (
            f"No step_manifest came for {activity_id!r}, the activity that is left. "
            "Send one entry with step_id and output for each step that you did."
        )
        return (_warning(ManifestWarningCode.STEP_MANIFEST_ABSENT, message, activity=activity_id),)
    due = _due(program, activity, variables, skipped)
    return (
        *_missing(activity_id, due, manifest),
        *_unexpected(activity, manifest),
        *_out_of_order(activity, manifest),
        *_without_output(manifest),
    )


def check_activity_manifest(
    *, program: Program, manifest: Sequence[ActivityOutcome] | None
) -> tuple[ManifestWarning, ...]:
    """Advisory: None says nothing and is in order."""
    if manifest is None:
        return ()
    if not manifest:
        message = "The activity_manifest is empty. List the activities done so far, or leave it out."
        return (_warning(ManifestWarningCode.ACTIVITY_MANIFEST_EMPTY, message),)
    of_each: dict[str, ClaimableWays] = {}
    return tuple(warning for claim in manifest for warning in _of_activity(program, claim, of_each))


def check_transition(
    *, program: Program, current: str, target: str, variables: Mapping[str, Any] | None = None
) -> tuple[ManifestWarning, ...]:
    """Whether the workflow leads from one activity to the other. `current` is empty before the first one.

    Where every way out has a condition and none holds, the run ends; that end needs no declaring.
    """
    if not current:
        return _of_first(program, target)
    activity = program.activity(current)
    if activity is None or current == target:
        return ()
    ways, ends = ways_from(activity), walker.end_names(program)
    if not ways or any(way.leads_to(target, ends=ends) for way in ways):
        return ()
    if target in ends and _is_closed(program, ways, variables or {}):
        return ()
    leads_to = list(dict.fromkeys(way.target for way in ways))
    message = (
        f"{target!r} is not a direct transition from {current!r}, which leads to {_named(leads_to)}. "
        "Go on if you are sure; otherwise enter one of those."
    )
    return (
        _warning(ManifestWarningCode.TRANSITION_NOT_DIRECT, message, activity=current, target=target, leadsTo=leads_to),
    )


def _is_closed(program: Program, ways: Sequence[Way], variables: Mapping[str, Any]) -> bool:
    by_condition = [way for way in ways if not way.name]
    return all(way.condition is not None and not way.is_default for way in by_condition) and not any(
        _holds(program, way, variables) for way in by_condition
    )


def check_condition(
    *,
    program: Program,
    current: str,
    target: str,
    claim: str | None,
    variables: Mapping[str, Any] | None = None,
) -> tuple[ManifestWarning, ...]:
    """Whether some way from one activity to the other has the claimed condition, and whether it holds."""
    activity = program.activity(current) if current else None
    ends = walker.end_names(program)
    ways = [] if activity is None else [way for way in ways_from(activity) if way.leads_to(target, ends=ends)]
    if claim is None or not ways:
        return ()
    claimed = ClaimableWays(ways).claimed_by(claim)
    if not claimed:
        return (_wrong_claim(current, target, claim, ways),)
    if variables is None or any(_holds(program, way, variables) for way in claimed):
        return ()
    message = f"{claim!r} does not hold with the variables of this run. Check them before you go on to {target!r}."
    return (_warning(ManifestWarningCode.CONDITION_DOES_NOT_HOLD, message, target=target, claim=claim),)


def check_version(*, pinned: str, published: str) -> tuple[ManifestWarning, ...]:
    """The run goes on with the version that it began with; that there is another one is said."""
    if not pinned or not published or pinned == published:
        return ()
    message = (
        f"This run goes by version {pinned} of the workflow; {published} is published now. "
        "It stays with the version that it began with."
    )
    return (_warning(ManifestWarningCode.VERSION_DRIFT, message, pinned=pinned, published=published),)


# Steps


def _steps(activity: Activity) -> Iterator[Step | Parallel]:
    """Those outside loops, in the order of work."""
    return (item for item in activity.body if isinstance(item, Step | Parallel))


def _known(activity: Activity) -> frozenset[str]:
    """Steps, loops, and steps of loops: an agent may list how often it liked what was to be repeated."""
    return frozenset(item.id for item in walk_items(activity.body) if not isinstance(item, Gate))


def _due(
    program: Program, activity: Activity, variables: Mapping[str, Any] | None, skipped: Collection[str]
) -> list[str]:
    """What must be listed: required, outside loops, and not skipped by its condition as far as anybody knows."""
    looking = Looking()
    return [
        step.id for step in _steps(activity) if step.id not in skipped and _is_due(program, step, variables, looking)
    ]


def _is_due(program: Program, step: Step | Parallel, variables: Mapping[str, Any] | None, looking: Looking) -> bool:
    if isinstance(step, Step) and not step.required:
        return False
    if step.run_condition is None:
        return True
    return variables is not None and evaluate(
        step.run_condition, variables=variables, mode=program.conditions, looking=looking
    )


def _missing(activity_id: str, due: Sequence[str], manifest: Sequence[ManifestEntry]) -> Iterator[ManifestWarning]:
    listed = {claim.step_id for claim in manifest}
    missing = [step_id for step_id in due if step_id not in listed]
    if missing:
        message = f"The step_manifest of {activity_id!r} leaves out {_named(missing)}. Do them, or list what you did."
        yield _warning(ManifestWarningCode.STEPS_MISSING, message, activity=activity_id, steps=missing[:MAX_NAMED])


def _unexpected(activity: Activity, manifest: Sequence[ManifestEntry]) -> Iterator[ManifestWarning]:
    known = _known(activity)
    found = list(dict.fromkeys(claim.step_id for claim in manifest if claim.step_id not in known))
    if found:
        message = f"The step_manifest lists {_named(found)}, which {activity.id!r} does not have. Use its step ids."
        yield _warning(ManifestWarningCode.STEPS_UNEXPECTED, message, activity=activity.id, steps=found[:MAX_NAMED])


def _out_of_order(activity: Activity, manifest: Sequence[ManifestEntry]) -> Iterator[ManifestWarning]:
    """By relative position: what is left out, added or repeated moves nothing else out of its place."""
    place = {step.id: number for number, step in enumerate(_steps(activity))}
    listed = list(dict.fromkeys(claim.step_id for claim in manifest if claim.step_id in place))
    kept = _longest_ascending([place[step_id] for step_id in listed])
    moved = [step_id for step_id in listed if place[step_id] not in kept]
    if moved:
        message = f"The step_manifest lists {_named(moved)} out of the order of {activity.id!r}."
        yield _warning(ManifestWarningCode.STEPS_OUT_OF_ORDER, message, activity=activity.id, steps=moved[:MAX_NAMED])


def _longest_ascending(places: Sequence[int]) -> frozenset[int]:
    """The most that can stay where it is, so that the fewest are told to have moved."""
    tails: list[int] = []
    before: dict[int, int | None] = {}
    for place in places:
        at = bisect_left(tails, place)
        before[place] = tails[at - 1] if at else None
        tails[at : at + 1] = [place]
    kept: set[int] = set()
    last = tails[-1] if tails else None
    while last is not None:
        kept.add(last)
        last = before[last]
    return frozenset(kept)


def _without_output(manifest: Sequence[ManifestEntry]) -> Iterator[ManifestWarning]:
    empty = list(dict.fromkeys(claim.step_id for claim in manifest if not trimmed(claim.output)))
    if empty:
        message = f"The step_manifest says nothing of what came of {_named(empty)}. Give each a line as its output."
        yield _warning(ManifestWarningCode.STEP_OUTPUT_EMPTY, message, steps=empty[:MAX_NAMED])


def of_ruled_out(conditions: Mapping[str, str]) -> tuple[ManifestWarning, ...]:
    """Steps with the condition that an answer has ruled out. What was told of them is recorded, as the agent's word."""
    return tuple(
        _warning(
            ManifestWarningCode.STEP_RULED_OUT,
            f"By what was answered {step_id!r} is not to be done: {condition!r} does not hold. It was recorded as you told it. If you did "
            "it all the same, tell your user.",
            step=step_id,
            condition=condition,
        )
        for step_id, condition in islice(conditions.items(), MAX_NAMED)
    )


# Activities and transitions


def _of_activity(
    program: Program, claim: ActivityOutcome, of_each: dict[str, ClaimableWays]
) -> Iterator[ManifestWarning]:
    """`of_each` keeps the ways of each activity that was claimed of."""
    activity = program.activity(claim.activity_id)
    if activity is None:
        message = f"The workflow has no activity {claim.activity_id!r}. Use the ids of its activities."
        yield _warning(ManifestWarningCode.ACTIVITY_UNKNOWN, message, activity=claim.activity_id)
    if not trimmed(claim.outcome):
        message = f"The activity_manifest says no outcome of {claim.activity_id!r}. Say what came of it."
        yield _warning(ManifestWarningCode.ACTIVITY_OUTCOME_EMPTY, message, activity=claim.activity_id)
    if activity is None or not claim.transition_condition:
        return
    if activity.id not in of_each:
        of_each[activity.id] = ClaimableWays(ways_from(activity))
    known = of_each[activity.id]
    if known.ways and not known.claimed_by(claim.transition_condition):
        accepted = known.accepted
        message = (
            f"No transition from {claim.activity_id!r} has the condition {claim.transition_condition!r}. "
            f"It has {_named(accepted)}."
        )
        yield _warning(
            ManifestWarningCode.ACTIVITY_CONDITION_UNKNOWN,
            message,
            activity=claim.activity_id,
            claim=claim.transition_condition,
            accepted=accepted[:MAX_NAMED],
        )


def _of_first(program: Program, target: str) -> tuple[ManifestWarning, ...]:
    first = program.initial_activity
    if not first or target == first or target in walker.end_names(program):
        return ()
    message = f"The first activity of this workflow is {first!r}, and {target!r} was entered. Begin with the first."
    return (_warning(ManifestWarningCode.FIRST_ACTIVITY_OTHER, message, expected=first, target=target),)


def _holds(program: Program, way: Way, variables: Mapping[str, Any]) -> bool:
    return evaluate(way.condition, variables=variables, mode=program.conditions)


def _wrong_claim(current: str, target: str, claim: str, ways: Sequence[Way]) -> ManifestWarning:
    accepted = claims_accepted(ways)
    conditions = [describe(way.condition) for way in ways if way.condition is not None]
    if len(ways) == 1 and conditions:
        message = f"{current!r} leads to {target!r} when {conditions[0]!r}, and {claim!r} was claimed."
    elif not conditions:
        message = f"{current!r} leads to {target!r} without a condition, and {claim!r} was claimed."
    else:
        message = (
            f"No transition from {current!r} to {target!r} has the condition {claim!r}: there are {_named(accepted)}."
        )
    return _warning(
        ManifestWarningCode.CONDITION_CLAIM_WRONG,
        f"{message} Claim the condition that you went by.",
        activity=current,
        target=target,
        claim=claim,
        accepted=accepted[:MAX_NAMED],
    )


def _named(names: Iterable[str]) -> str:
    listed = [repr(name) for name in names]
    more = f" and {len(listed) - MAX_NAMED} more" if len(listed) > MAX_NAMED else ""
    return ", ".join(listed[:MAX_NAMED]) + more


def _warning(code: ManifestWarningCode, message: str, **details: Any) -> ManifestWarning:
    return ManifestWarning(code=code, message=message, details=details)
