"""What a call on a run that is handed over is refused with. Nothing is written; the run stands as it stood."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self
from uuid import UUID

from sessions_app.engine.state import Answered, Blocker, Snapshot
from sessions_app.engine.steering_refusals import (
    ActivityNotFoundError,
    InvalidTransitionError,
    RunCompleteError,
    RunSuspendedError,
)
from sessions_app.engine.ways import ways_from
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine import walker
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Program


class CheckpointOpenError(WorkrailError):
    """A question waits for its answer; until then the run does not move."""

    code: ClassVar[str] = "CHECKPOINT_OPEN"

    @classmethod
    def to_move(cls, snapshot: Snapshot, activity_id: str) -> Self:
        return cls(
            f"Cannot transition to {activity_id!r}: {_counted(snapshot)} on activity {snapshot.position.activity!r}.",
            details=_open(snapshot),
        )

    @classmethod
    def to_work(cls, snapshot: Snapshot) -> Self:
        return cls(
            f"Blocked: {_counted(snapshot)} on activity {snapshot.position.activity!r}.",
            details=_open(snapshot),
        )

    @classmethod
    def to_yield(cls, snapshot: Snapshot, checkpoint_id: str) -> Self:
        return cls(
            f"Cannot yield checkpoint {checkpoint_id!r}: {_counted(snapshot)}.",
            details=_open(snapshot),
        )

    @classmethod
    def to_resume(cls, snapshot: Snapshot) -> Self:
        return cls(
            f"Cannot resume: {_counted(snapshot)}.",
            details=_open(snapshot),
        )

    @classmethod
    def to_approve(cls, names: Sequence[str]) -> Self:
        return cls(
            f"A signed-in person has to agree first: {', '.join(names)}.",
            suggestion="Tell of that step or ask that checkpoint, and go on when a person has answered it in the Studio.",
            details={"needsPerson": list(names)},
        )

    @classmethod
    def to_enter(cls, guarding: Sequence[str], target: str, *, leads_to: Sequence[str]) -> Self:
        return cls(
            f"{target!r} lies behind what cannot be passed by, since a person is asked or something is demanded there: "
            f"{', '.join(guarding)}.",
            suggestion=f"Go by the activities that the workflow leads through. From here it leads to: {', '.join(leads_to)}.",
            details={"needsPerson": list(guarding), "activity": target, "leadsTo": list(leads_to)},
        )

    @classmethod
    def to_enter_answered(cls, target: str, *, leads_to: Sequence[str]) -> Self:
        return cls(
            f"{target!r} is not entered so: what a person has answered in a run beside this one leads elsewhere.",
            suggestion=f"From here it leads to: {', '.join(leads_to)}.",
            details={"needsPerson": [], "activity": target, "leadsTo": list(leads_to)},
        )

    @classmethod
    def to_enter_unset(
        cls, guarding: Sequence[str], target: str, unset: Sequence[str], *, leads_to: Sequence[str]
    ) -> Self:
        """`unset` are variables that the work which is left out sets, and by which it is told whether somebody is asked."""
        return cls(
            f"{target!r} is not entered so: what is left out on the way there sets {', '.join(unset)}, and that may decide "
            f"whether a person is asked or something is demanded, in: {', '.join(guarding)}.",
            suggestion="Tell of the steps that are still to be done here, and go by the activities that the workflow leads "
            f"through. From here it leads to: {', '.join(leads_to)}.",
            details={
                "needsPerson": list(guarding),
                "activity": target,
                "unset": list(unset),
                "leadsTo": list(leads_to),
            },
        )


class StepNotDoneError(WorkrailError):
    """What was told of a step lacks something that the workflow asks for."""

    code: ClassVar[str] = "STEP_NOT_DONE"

    @property
    def steps(self) -> tuple[str, ...]:
        """The step that lacks something, where one does."""
        return (self.details["step"],) if "step" in self.details else ()

    @classmethod
    def of(cls, step_id: str, blockers: Sequence[Blocker], within: Mapping[str, Any] | None) -> Self:
        """`within` is the round in which it is to be done; the same step may have been done in those before."""
        missing = " ".join(blocker.message for blocker in blockers)
        return cls(
            f"Step {step_id!r} is not done{_where(within)}. {missing}",
            suggestion=next((blocker.suggested_fix for blocker in blockers if blocker.suggested_fix), "")
            or "Do what it asks, then tell of it again.",
            details={
                "step": step_id,
                **({"loop": dict(within)} if within else {}),
                "blockers": [blocker.as_json() for blocker in blockers],
            },
        )

    @classmethod
    def unset(cls, step_id: str, names: Sequence[str], within: Mapping[str, Any] | None) -> Self:
        """What it sets decides whether somebody is asked, and would be set by nobody."""
        return cls(
            f"Step {step_id!r} is not done{_where(within)}. It sets {', '.join(names)}, by which the run goes on.",
            suggestion=f"Do {step_id}, and tell of it before what follows it.",
            details={"step": step_id, **({"loop": dict(within)} if within else {}), "variables": list(names)},
        )

    @classmethod
    def too_far(cls, activity_id: str, loop: str) -> Self:
        """What is left out is more than the server goes through in thought, so nobody knows whom it passes by."""
        rounds = f"each round of {loop!r}" if loop else "the rounds of its loops"
        return cls(
            f"More of {activity_id!r} is left out than can be gone through: it may be that a person is asked there.",
            suggestion=f"Tell of {rounds} in order, in several calls if need be, or set fewer rounds in context.",
            details={"activity": activity_id},
        )

    @classmethod
    def sent_back(cls, answered: Answered) -> Self:
        """The agent is to do it anew; it waits for nobody."""
        why = f": {answered.reason}" if answered.reason else ""
        return cls(
            f"A signed-in person has sent {answered.checkpoint!r} back{why}",
            suggestion=f"Work on it again, tell of {answered.checkpoint} anew, and what follows when that is approved.",
            details={"answered": answered.as_json()},
        )


def _where(within: Mapping[str, Any] | None) -> str:
    if within is None:
        return ""
    return f" in round {within['round']} of the loop {within['id']!r}{_where(within.get('within'))}"


class CheckpointNotPendingError(WorkrailError):
    """The checkpoint waits for no answer: it was not asked, or it has been answered."""

    code: ClassVar[str] = "CHECKPOINT_NOT_PENDING"


class ResponseModeError(WorkrailError):
    """Exactly one way to resolve a checkpoint must be given, and false is none."""

    code: ClassVar[str] = "CHECKPOINT_MODE_INVALID"


class AutoAdvanceError(WorkrailError):
    """The checkpoint does not answer itself."""

    code: ClassVar[str] = "CHECKPOINT_NOT_AUTOMATIC"


class ConditionHoldsError(WorkrailError):
    """The checkpoint has to be answered: it has no condition, or its condition holds."""

    code: ClassVar[str] = "CHECKPOINT_CONDITION_HOLDS"


class SuspendedError(RunSuspendedError):
    """The same for a run that is handed over: its children are told by their session tokens."""

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        return cls(
            f"This run waits for {len(snapshot.waits_for)} other that its activity triggered.",
            suggestion="Complete the child session, or end it.",
            details={"waitsFor": [to_text(Prefix.RUN, UUID(hex=run)) for run in snapshot.waits_for]},
        )


class NoActivityError(WorkrailError):
    """The call needs an activity, and none was entered."""

    code: ClassVar[str] = "ACTIVITY_REQUIRED"


def refuse_complete(snapshot: Snapshot) -> None:
    if snapshot.position.complete:
        raise RunCompleteError("The workflow is complete.", suggestion="Begin another run.")


def no_activity() -> NoActivityError:
    return NoActivityError("No activity was entered in this session.", suggestion="Enter the initial activity first.")


def unknown_activity(program: Program, activity_id: str) -> ActivityNotFoundError:
    known = [activity.id for activity in program.activities]
    return ActivityNotFoundError(
        f"Activity {activity_id!r} is not one of workflow {program.id!r}.",
        suggestion=did_you_mean(activity_id, known),
        details={"activities": known[:50]},
    )


def leads_nowhere(program: Program, activity_id: str) -> InvalidTransitionError:
    """An activity that is left out is passed over; where no way leads on from it, nobody knows where to go."""
    activity = program.activity(activity_id)
    leads_to = [way.target for way in ways_from(activity) if way.target != activity_id] if activity else []
    ends = walker.end_names(program)
    targets = [*dict.fromkeys(target for target in leads_to if target not in ends), walker.end_name(program)]
    return InvalidTransitionError(
        f"Activity {activity_id!r} is left out of this run, by its mode or by an option that was chosen, and none of the "
        "ways out of it is open.",
        suggestion=f"Enter one that follows it: {', '.join(targets[-20:])}.",
        details={"leadsTo": targets[-20:]},
    )


def _counted(snapshot: Snapshot) -> str:
    names = [question.checkpoint for question in snapshot.questions]
    noun = "unresolved checkpoint" if len(names) == 1 else "unresolved checkpoints"
    return f"{len(names)} {noun} [{', '.join(names)}]"


def _open(snapshot: Snapshot) -> dict[str, object]:
    return {
        "activity": snapshot.position.activity,
        "pending": [question.checkpoint for question in snapshot.questions],
        "needsPerson": [question.checkpoint for question in snapshot.questions if question.human],
    }
