"""Questions of runs that are handed over: asked when a worker yields, resolved in one of three ways."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from msgspec.structs import replace

from sessions_app.engine import checkpoints, questions
from sessions_app.engine.checkpoints import (
    NOBODY,
    Authority,
    CheckpointStaleError,
    CheckpointTooEarlyError,
    HumanRequiredError,
    Voice,
)
from sessions_app.engine.decisions import Decision, Outcome, Place
from sessions_app.engine.handover_refusals import (
    AutoAdvanceError,
    CheckpointNotPendingError,
    CheckpointOpenError,
    ConditionHoldsError,
    no_activity,
    refuse_complete,
)
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.state import Answered, OpenQuestion, Snapshot
from sessions_app.engine.steering_refusals import CheckpointNotFoundError, OptionNotFoundError
from teams_app.engine.errors import retry_after
from workflows_app.engine import conditions, walker
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Checkpoint, Effect, Option, Program
from workflows_app.engine.walks import Note, Position

_AGREED = Option(id=checkpoints.APPROVE, label="Approve")


class Mode(StrEnum):
    """How a checkpoint is resolved: by what somebody chose, by its default in time, or since its condition is false."""

    OPTION = "option_id"
    AUTO_ADVANCE = "auto_advance"
    NOT_MET = "condition_not_met"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """`request` names the question by its row, else `checkpoint_id` by its name; with neither the only one is meant.

    A person's answer comes with the digest of what they were shown.
    """

    mode: Mode
    checkpoint_id: str = ""
    request: str = ""
    option_id: str = ""
    voice: Voice = NOBODY
    digest: str = ""

    @property
    def by_person(self) -> bool:
        return bool(self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What came of it: the option, or None where a condition dismissed the question."""

    decision: Decision
    question: OpenQuestion
    option: Option | None
    warnings: tuple[str, ...] = ()

    @property
    def effect(self) -> Effect | None:
        return self.option.effect if self.option else None


def yield_checkpoint(*, program: Program, snapshot: Snapshot, checkpoint_id: str, place: Place) -> Decision:
    """A worker comes to a question and hands it up; until it is answered the run does not move."""
    refuse_complete(snapshot)
    activity = _activity(program, snapshot)
    if snapshot.questions:
        raise CheckpointOpenError.to_yield(snapshot, checkpoint_id)
    shown = questions.on_demand(
        program=program, activity=activity, snapshot=snapshot, name=checkpoint_id, due_ms=place.due_ms
    )
    if shown is None:
        raise unknown_checkpoint(program, snapshot, checkpoint_id)
    journal = Journal(place)
    journal.advance_recorded(Outcome.ADVANCED, ())
    return journal.decision(
        outcome=Outcome.ADVANCED,
        snapshot=replace(snapshot, questions=(journal.present(shown),), answered=None),
        node_kind=NodeKind.STEP,
    )


def resolve(*, program: Program, snapshot: Snapshot, command: Resolve, place: Place) -> Resolved:
    """One question is answered or dismissed; what its option does to the run is done."""
    question = _question(snapshot, command)
    checkpoint = questions.checkpoint_named(_activity(program, snapshot), question.checkpoint)
    case = _Case(program=program, snapshot=snapshot, question=question, checkpoint=checkpoint, place=place)
    option, authority, warnings = _chosen(case, command)
    effect = (option.effect if option else None) or Effect()
    journal = Journal(place, voice=command.voice)
    journal.advance_recorded(Outcome.ADVANCED, ())
    journal.settle(question, option.id if option else "", authority=authority)
    rest = _rest(journal, snapshot, question, leads=bool(effect.transition_to))
    variables = _with_effect(program, snapshot, effect)
    position, notes = _passed(program, snapshot, question, effect)
    journal.trace(notes)
    after = replace(
        snapshot,
        position=position,
        variables=variables,
        questions=rest,
        answers={**snapshot.answers, question.instance: option.id if option else ""},
        led_to=effect.transition_to or snapshot.led_to,
        answered=_told(question, option, command) if command.by_person else None,
    )
    decision = journal.decision(outcome=Outcome.ADVANCED, snapshot=after, node_kind=NodeKind.STEP)
    return Resolved(decision=decision, question=question, option=option, warnings=warnings)


def unknown_checkpoint(program: Program, snapshot: Snapshot, name: str) -> CheckpointNotFoundError:
    activity = _activity(program, snapshot)
    known = questions.names_of(program=program, activity=activity, variables=snapshot.variables)
    listed = ", ".join(known) or "none"
    return CheckpointNotFoundError(
        f"Checkpoint not found: {name} in activity {activity.id}. It has: {listed}.",
        suggestion=did_you_mean(name, known) or "Use the id that the activity's definition gives.",
    )


def _activity(program: Program, snapshot: Snapshot) -> Activity:
    activity = program.activity(snapshot.position.activity)
    if activity is None:
        raise no_activity()
    return activity


def _question(snapshot: Snapshot, command: Resolve) -> OpenQuestion:
    if command.request:
        found = next((each for each in snapshot.questions if each.request == command.request), None)
        if found is None or found.digest != command.digest:
            raise CheckpointStaleError(
                "The question is not the one that you were shown, or nobody waits for it any more.",
                suggestion="Read the checkpoint again and answer what it asks now.",
            )
        return found
    if not command.checkpoint_id and len(snapshot.questions) == 1:
        return snapshot.questions[0]
    found = next((each for each in snapshot.questions if each.checkpoint == command.checkpoint_id), None)
    if found is None:
        raise _not_pending(snapshot, command.checkpoint_id)
    return found


def _not_pending(snapshot: Snapshot, name: str) -> CheckpointNotPendingError:
    pending = [question.checkpoint for question in snapshot.questions]
    if not name:
        return CheckpointNotPendingError(
            "The session does not have an active checkpoint.",
            suggestion="If it was answered, the worker goes on with resume_checkpoint; else yield_checkpoint asks one.",
        )
    given = questions.latest_answer(snapshot, name)
    said = "" if given is None else f" It was answered in this visit: {given or 'dismissed'}."
    return CheckpointNotPendingError(
        f"Checkpoint {name!r} is not pending.{said} Pending checkpoints: [{', '.join(pending)}].",
        suggestion="Answer a pending one, or go on.",
        details={"pending": pending, "answer": given},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One question, and what is said to it."""

    program: Program
    snapshot: Snapshot
    question: OpenQuestion
    checkpoint: Checkpoint | None
    place: Place


def _chosen(case: _Case, command: Resolve) -> tuple[Option | None, Authority, tuple[str, ...]]:
    question = case.question
    if command.by_person:
        return _option(question, case.checkpoint, command.option_id), Authority.HUMAN, ()
    match command.mode:
        case Mode.OPTION:
            _refuse_agent(question)
            checkpoints.refuse_unread(
                presented_ms=question.presented_ms, at_ms=case.place.at_ms, min_response_ms=case.place.min_response_ms
            )
            return _option(question, case.checkpoint, command.option_id), Authority.RELAYED, ()
        case Mode.AUTO_ADVANCE:
            _refuse_agent(question)
            return _default(question, case.checkpoint, case.place), Authority.DEFAULT, ()
        case Mode.NOT_MET:
            return None, Authority.DEFAULT, _dismissed(case)
        case _:
            assert_never(command.mode)


def _refuse_agent(question: OpenQuestion) -> None:
    if question.human:
        raise HumanRequiredError(
            f"Checkpoint {question.checkpoint} is answered by a signed-in person only, in the Studio.",
            suggestion="Ask your user to answer it there; then go on.",
        )


def _option(question: OpenQuestion, checkpoint: Checkpoint | None, option_id: str) -> Option:
    options = {option.id: option for option in checkpoint.options} if checkpoint else {_AGREED.id: _AGREED}
    if option_id not in options:
        raise OptionNotFoundError(
            f"Invalid option {option_id!r} for checkpoint {question.checkpoint!r}. Valid options: {', '.join(options)}.",
            suggestion=did_you_mean(option_id, options) or "Pass the id of the option that the user chose.",
            details={"options": list(options)},
        )
    return options[option_id]


def _default(question: OpenQuestion, checkpoint: Checkpoint | None, place: Place) -> Option:
    """The default of a checkpoint that does not block, when its whole timer has run."""
    if checkpoint is None or checkpoint.blocking:
        raise AutoAdvanceError(
            f"Cannot auto-advance blocking checkpoint {question.checkpoint!r}.",
            suggestion="Ask the user and pass option_id.",
        )
    if not checkpoint.default_option or checkpoint.auto_advance_ms is None:
        raise AutoAdvanceError(
            f"Checkpoint {question.checkpoint!r} has no default option with a timer.",
            suggestion="Ask the user and pass option_id.",
        )
    left_ms = checkpoint.auto_advance_ms - (place.at_ms - question.presented_ms)
    if left_ms > 0:
        raise CheckpointTooEarlyError(
            f"The timer of checkpoint {question.checkpoint!r} has {left_ms} of {checkpoint.auto_advance_ms} ms to run.",
            suggestion="Show the question meanwhile; an answer of the user counts at any time.",
            details={"autoAdvanceMs": checkpoint.auto_advance_ms},
            retry=retry_after(ms=left_ms),
        )
    return _option(question, checkpoint, checkpoint.default_option)


def _dismissed(case: _Case) -> tuple[str, ...]:
    """A condition that the server finds true dismisses nothing; one that it cannot judge is taken on the agent's word."""
    question, variables = case.question, case.snapshot.variables
    condition = case.checkpoint.condition if case.checkpoint else None
    if condition is None:
        raise ConditionHoldsError(
            f"Cannot dismiss checkpoint {question.checkpoint!r}: it has no condition field.",
            suggestion="Ask the user and pass option_id.",
        )
    said = conditions.describe(condition)
    if conditions.evaluate(condition, variables=variables, mode=case.program.conditions):
        raise ConditionHoldsError(
            f"Cannot dismiss checkpoint {question.checkpoint!r}: its condition holds: {said}.",
            suggestion="Ask the user and pass option_id.",
            details={"condition": said},
        )
    if not conditions.is_unknown(condition, variables=variables):
        return ()
    if question.human:
        _refuse_agent(question)
    return (f"Checkpoint {question.checkpoint!r} was dismissed on your word: the server knows nothing of {said}.",)


def _rest(journal: Journal, snapshot: Snapshot, question: OpenQuestion, *, leads: bool) -> tuple[OpenQuestion, ...]:
    """What is still to be answered. An option that leads elsewhere makes what was asked after it needless."""
    place = snapshot.questions.index(question)
    before, after = snapshot.questions[:place], snapshot.questions[place + 1 :]
    if not leads:
        return (*before, *after)
    for needless in after:
        journal.withdraw(needless)
    return before


def _passed(
    program: Program, snapshot: Snapshot, question: OpenQuestion, effect: Effect
) -> tuple[Position, tuple[Note, ...]]:
    """Its gates are behind the run; where one of them was pending, what comes next is."""
    activity = _activity(program, snapshot)
    position = walker.skip(snapshot.position, effect.skip_activities)
    gates = questions.gates_of(activity, question.checkpoint)
    passed = replace(position, done=tuple(sorted({*position.done, *gates})))
    if position.frames or position.pending_item not in gates:
        return passed, ()
    variables = _with_effect(program, snapshot, effect)
    walk = walker.complete_pending(program=program, position=passed, variables=variables, by_hand=True)
    return walk.position, walk.notes


def _with_effect(program: Program, snapshot: Snapshot, effect: Effect) -> dict[str, Any]:
    scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)
    return {**snapshot.variables, **walker.set_by_option(effect=effect, variables=scope)}


def _told(question: OpenQuestion, option: Option | None, command: Resolve) -> Answered:
    return Answered(
        checkpoint=question.checkpoint,
        option=option.id if option else "",
        label=option.label if option else "",
        reason=command.voice.reason,
    )
