"""An answer to an open question: whose word it may be, what its option does, and where the run stands with it."""

from dataclasses import dataclass, replace as with_facts
from typing import Any, assert_never

from msgspec.structs import replace

from sessions_app.engine import approvals, checkpoints, declining, guards, questions, settling, stops
from sessions_app.engine.advancing import Acknowledgement, acknowledge
from sessions_app.engine.checkpoints import (
    APPROVALS,
    APPROVE,
    REJECT,
    Authority,
    CheckpointStaleError,
    CheckpointTooEarlyError,
)
from sessions_app.engine.decisions import Answer, AnswerMode, Decision, Outcome, Place, Settled
from sessions_app.engine.findings import Findings
from sessions_app.engine.handover_refusals import (
    AutoAdvanceError,
    CheckpointNotPendingError,
    ConditionHoldsError,
    no_activity,
)
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.reasons import Reason
from sessions_app.engine.runs import StopKind
from sessions_app.engine.state import Answered, OpenQuestion, Snapshot, Stop, Work
from sessions_app.engine.steering_refusals import OptionNotFoundError
from teams_app.engine.errors import HumanRequiredError, InvalidInputError, PreconditionFailedError, retry_after
from workflows_app.engine import conditions, walker
from workflows_app.engine.filled import filled
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Activity, Checkpoint, Effect, Option, Program
from workflows_app.engine.walks import Note, Position


@dataclass(frozen=True, slots=True, kw_only=True)
class _At:
    """One question, and where it is asked."""

    program: Program
    snapshot: Snapshot
    question: OpenQuestion
    place: Place


def answer(*, program: Program, snapshot: Snapshot, command: Answer, place: Place) -> Decision:
    """One question is answered or dismissed; what its option does to the run is done."""
    question = _question(snapshot, command)
    if snapshot.work is not None and question.instance == snapshot.position.pending:
        return _approved(
            _At(program=program, snapshot=snapshot, question=question, place=place), snapshot.work, command
        )
    checkpoint = questions.checkpoint_named(_activity(program, snapshot), question.checkpoint)
    if checkpoint is None:
        raise _stale()
    scope = walker.scope_at(program=program, position=snapshot.position, variables=snapshot.variables)
    checkpoint = filled(checkpoint, variables=scope)
    case = _Case(program=program, snapshot=snapshot, question=question, checkpoint=checkpoint, place=place)
    option, authority, told = _chosen(case, command)
    if snapshot.is_handed_over:
        return _settled(case, command, option, authority, told)
    return _walked(case, command, option)


def approval_of(snapshot: Snapshot) -> Reason:
    """The reason for which handed-in work waits."""
    return approvals.needs_approval(snapshot.position.pending_item)


# The work of a step


def _approved(at: _At, work: Work, command: Answer) -> Decision:
    """What was shown goes on as it was handed in, comes back, or ends the run."""
    if not command.by_person:
        raise _refuse_agent(at.question)
    known = tuple(Option(id=each.id, label=each.label) for each in APPROVALS)
    option = _option(at.question, known, command.option_id)
    if option.id == APPROVE:
        return _gone_on(at, work, command, option)
    if not command.voice.reason:
        raise InvalidInputError(
            f"To {option.label.lower()} needs a reason.", suggestion="Say in a sentence what is wrong or missing."
        )
    journal = Journal(at.place, asked=at.question, voice=command.voice)
    journal.answered(option.id, authority=Authority.HUMAN)
    after = replace(
        at.snapshot,
        questions=tuple(each for each in at.snapshot.questions if each != at.question),
        answered=replace(_given(at.question, option, command), outputs=at.snapshot.handed_in, content=work.content),
        work=None,
        blocked=None,
        consecutive_blocks=0,
        forgiven_blocks=0,
    )
    if option.id == REJECT:
        made = Stop(kind=StopKind.REJECTED, by=command.voice.who, reason=command.voice.reason)
        return stops.stopped(journal, after, made, Outcome.ANSWERED)
    return journal.decision(outcome=Outcome.ANSWERED, snapshot=after, node_kind=NodeKind.STEP)


def _gone_on(at: _At, work: Work, command: Answer, option: Option) -> Decision:
    said = Acknowledgement(
        by_person=True,
        voice=command.voice,
        drive=at.snapshot.drive,
        findings=Findings(approved=True),
        decisions=work.decisions,
        question=at.question,
        answered=_given(at.question, option, command),
    )
    return _unblocked(acknowledge(program=at.program, snapshot=at.snapshot, said=said, place=at.place))


def _given(question: OpenQuestion, option: Option, command: Answer) -> Answered:
    return Answered(checkpoint=question.checkpoint, option=option.id, label=option.label, reason=command.voice.reason)


def _unblocked(decision: Decision) -> Decision:
    if decision.snapshot.blocked is None:
        return decision
    raise PreconditionFailedError(
        "The run cannot go on with this answer.",
        suggestion="Choose another option, or have the workflow mended.",
        details={"blockers": [blocker.as_json() for blocker in decision.snapshot.blocked.blockers]},
    )


# A checkpoint of an activity


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case(_At):
    """With what is asked."""

    checkpoint: Checkpoint


def _walked(case: _Case, command: Answer, option: Option | None) -> Decision:
    """A run that goes step by step goes on at once."""
    decision = acknowledge(
        program=case.program,
        snapshot=case.snapshot,
        said=Acknowledgement(
            by_person=command.by_person,
            voice=command.voice,
            drive=case.snapshot.drive,
            findings=Findings(answer=option),
            answered=_told(case.question, option, command),
        ),
        place=case.place,
    )
    return with_facts(_unblocked(decision), settled=Settled(question=case.question, option=option))


def _settled(
    case: _Case, command: Answer, option: Option | None, authority: Authority, told: tuple[str, ...]
) -> Decision:
    """A run that is handed over stays in its activity; it may have more to answer there."""
    snapshot, question = case.snapshot, case.question
    effect, kept = _what_counts(case, (option.effect if option else None) or Effect(), command)
    journal = Journal(case.place, asked=question, voice=command.voice)
    journal.advance_recorded(Outcome.ADVANCED, ())
    journal.answered(option.id if option else "", authority=authority)
    leads = _leads(case, effect, command)
    rest = _rest(journal, case, leads=bool(leads))
    variables = _with_effect(case, effect, by_person=command.by_person)
    position, notes = _passed(case, variables)
    journal.trace(notes)
    after = replace(
        snapshot,
        position=position if option else _still_to_be_asked(case, position),
        variables=variables,
        claimed=tuple(name for name in snapshot.claimed if name not in effect.set_variable),
        questions=rest,
        answers={**snapshot.answers, question.instance: option.id if option else ""},
        led_to=leads or snapshot.led_to,
        answered=_told(question, option, command),
        settled=tuple(sorted({*snapshot.settled, *(settling.held_by(case.checkpoint, effect) if option else ())})),
    )
    after = questions.in_words_of_now(journal=journal, program=case.program, snapshot=after)
    told = (*told, *kept, *_reworded(rest, after.questions))
    if effect.set_variable and not command.by_person:
        after, owed = questions.with_owed(
            journal=journal, program=case.program, before=snapshot, after=after, name=question.checkpoint
        )
        told = (*told, *map(_owed, owed))
    decision = journal.decision(outcome=Outcome.ADVANCED, snapshot=after, node_kind=NodeKind.STEP)
    return with_facts(decision, told=told, settled=Settled(question=question, option=option))


def _reworded(before: tuple[OpenQuestion, ...], after: tuple[OpenQuestion, ...]) -> tuple[str, ...]:
    names = ", ".join(each.checkpoint for each in after if each not in before)
    return (f"With what this answer sets it reads otherwise, and is asked anew: {names}.",) if names else ()


def _owed(name: str) -> str:
    return f"The work comes to {name!r} before this question, so a signed-in person answers it, whatever this answer has set."


def _what_counts(case: _Case, effect: Effect, command: Answer) -> tuple[Effect, tuple[str, ...]]:
    """Without what a person's answer has set to which the work comes later: told in its turn, theirs is the last word. And without
    anything where a person's answer before it has ruled the question out.
    """
    activity, snapshot, asked = _activity(case.program, case.snapshot), case.snapshot, case.question.checkpoint
    if not command.by_person and guards.is_ruled_out(
        program=case.program, activity=activity, snapshot=snapshot, checkpoint=case.checkpoint
    ):
        return Effect(), (
            f"{asked!r} is not to be asked, as a signed-in person has answered: what its options do is not done.",
        )
    if command.by_person or not effect.set_variable:
        return effect, ()
    held = {
        conditions.root_of(name)
        for checkpoint in activity.checkpoints
        if checkpoint.human and questions.comes_later(activity, snapshot, checkpoint.id, than=asked)
        for name in guards.set_by_answers(snapshot, checkpoint)
    }
    kept = [name for name in effect.set_variable if conditions.root_of(name) in held]
    if not kept:
        return effect, ()
    counts = {name: value for name, value in effect.set_variable.items() if name not in kept}
    return replace(effect, set_variable=counts), (
        f"{', '.join(kept)} stays as a signed-in person's answer has set it.",
    )


def _leads(case: _Case, effect: Effect, command: Answer) -> str:
    """Where the answer leads. Where a person's answer has led in this visit, no agent's answer leads anywhere else."""
    activity = _activity(case.program, case.snapshot)
    if not command.by_person and guards.is_led_by_person(activity=activity, snapshot=case.snapshot):
        return ""
    return effect.transition_to


def _told(question: OpenQuestion, option: Option | None, command: Answer) -> Answered | None:
    """The agent knows what it passed on itself."""
    if not command.by_person or option is None:
        return None
    return _given(question, option, command)


def _activity(program: Program, snapshot: Snapshot) -> Activity:
    activity = program.activity(snapshot.position.activity)
    if activity is None:
        raise no_activity()
    return activity


def _question(snapshot: Snapshot, command: Answer) -> OpenQuestion:
    if command.request:
        found = next((each for each in snapshot.questions if each.request == command.request), None)
        if found is None or found.digest != command.digest:
            raise _stale()
        return found
    if not command.checkpoint_id and len(snapshot.questions) == 1:
        return snapshot.questions[0]
    found = next((each for each in snapshot.questions if each.checkpoint == command.checkpoint_id), None)
    if found is None:
        raise _not_pending(snapshot, command.checkpoint_id)
    return found


def _stale() -> CheckpointStaleError:
    return CheckpointStaleError(
        "The question is not the one that you were shown, or nobody waits for it any more.",
        suggestion="Read the checkpoint again and answer what it asks now.",
    )


def _not_pending(snapshot: Snapshot, name: str) -> CheckpointNotPendingError:
    pending = [question.checkpoint for question in snapshot.questions]
    if not name:
        return CheckpointNotPendingError(
            "The session does not have an active checkpoint.",
            suggestion="If it was answered, go on with the work; else ask one.",
        )
    given = questions.latest_answer(snapshot, name)
    said = "" if given is None else f" It was answered in this visit: {given or 'dismissed'}."
    return CheckpointNotPendingError(
        f"Checkpoint {name!r} is not pending.{said} Pending checkpoints: [{', '.join(pending)}].",
        suggestion="Answer a pending one, or go on.",
        details={"pending": pending, "answer": given},
    )


def _chosen(case: _Case, command: Answer) -> tuple[Option | None, Authority, tuple[str, ...]]:
    question, options = case.question, case.checkpoint.options
    if command.by_person:
        return _option(question, options, command.option_id), Authority.HUMAN, ()
    if question.human and command.mode is not AnswerMode.NOT_MET:
        raise _refuse_agent(question)
    match command.mode:
        case AnswerMode.OPTION:
            checkpoints.refuse_too_early(
                asked=question, at_ms=case.place.at_ms, min_response_ms=case.place.min_response_ms
            )
            return _option(question, options, command.option_id), Authority.RELAYED, ()
        case AnswerMode.AUTO_ADVANCE:
            return _default(case), Authority.DEFAULT, ()
        case AnswerMode.NOT_MET:
            return None, Authority.DEFAULT, _dismissed(case)
        case _:
            assert_never(command.mode)


def _refuse_agent(question: OpenQuestion) -> HumanRequiredError:
    return HumanRequiredError(
        f"{question.checkpoint} is answered by a signed-in person only, in the Studio.",
        suggestion="Ask your user to answer it there; then go on.",
    )


def _option(question: OpenQuestion, options: tuple[Option, ...], option_id: str) -> Option:
    known = {option.id: option for option in options}
    if option_id not in known:
        raise OptionNotFoundError(
            f"Invalid option {option_id!r:.80} for checkpoint {question.checkpoint!r}. Valid options: {', '.join(known)}.",
            suggestion=did_you_mean(option_id, known) or "Pass the id of one of them.",
            details={"options": list(known)},
        )
    return known[option_id]


def _default(case: _Case) -> Option:
    """The default of a checkpoint that does not block, when its whole timer has run."""
    question, checkpoint = case.question, case.checkpoint
    if checkpoint.blocking:
        raise AutoAdvanceError(
            f"Cannot auto-advance blocking checkpoint {question.checkpoint!r}.",
            suggestion="Ask the user and pass on what they choose.",
        )
    if not checkpoint.default_option or checkpoint.auto_advance_ms is None:
        raise AutoAdvanceError(
            f"Checkpoint {question.checkpoint!r} has no default option with a timer.",
            suggestion="Ask the user and pass on what they choose.",
        )
    left_ms = checkpoint.auto_advance_ms - (case.place.at_ms - question.presented_ms)
    if left_ms > 0:
        raise CheckpointTooEarlyError(
            f"The timer of checkpoint {question.checkpoint!r} has {left_ms} of {checkpoint.auto_advance_ms} ms to run.",
            suggestion="Show the question meanwhile; an answer of the user counts at any time.",
            details={"autoAdvanceMs": checkpoint.auto_advance_ms},
            retry=retry_after(ms=left_ms),
        )
    return _option(question, checkpoint.options, checkpoint.default_option)


def _dismissed(case: _Case) -> tuple[str, ...]:
    """A condition that the server finds true, or that was true in its turn, dismisses nothing; one that it cannot judge is taken
    on the agent's word.
    """
    question, variables = case.question, case.snapshot.variables
    condition = case.checkpoint.condition
    asks = (
        "A signed-in person answers it in the Studio" if question.human else "Ask the user and pass on what they choose"
    )
    if condition is None:
        raise ConditionHoldsError(
            f"Cannot dismiss checkpoint {question.checkpoint!r}: it has no condition field.", suggestion=f"{asks}."
        )
    said = conditions.describe(condition)
    if question.is_owed or conditions.evaluate(condition, variables=variables, mode=case.program.conditions):
        holds = "held when it was its turn" if question.is_owed else "holds"
        raise ConditionHoldsError(
            f"Cannot dismiss checkpoint {question.checkpoint!r}: its condition {holds}: {said}.",
            suggestion=f"{asks}.",
            details={"condition": said},
        )
    if not conditions.is_unknown(condition, variables=variables):
        return ()
    if question.human:
        raise _refuse_agent(question)
    return (f"Checkpoint {question.checkpoint!r} was dismissed on your word: the server knows nothing of {said}.",)


def _rest(journal: Journal, case: _Case, *, leads: bool) -> tuple[OpenQuestion, ...]:
    """What is still to be answered. An option that leads elsewhere makes needless what is asked after it."""
    others = tuple(each for each in case.snapshot.questions if each != case.question)
    if not leads:
        return others
    order = questions.in_order_of_work(_activity(case.program, case.snapshot))
    needless = [each for each in others if order.index(each.checkpoint) > order.index(case.question.checkpoint)]
    for each in needless:
        journal.withdraw(each)
    return tuple(each for each in others if each not in needless)


def _passed(case: _Case, variables: dict[str, Any]) -> tuple[Position, tuple[Note, ...]]:
    """Its gates are behind the run; where one of them was pending, what comes next is."""
    snapshot = case.snapshot
    position = snapshot.position
    gates = questions.gates_of(_activity(case.program, snapshot), case.question.checkpoint)
    passed = replace(position, done=tuple(sorted({*position.done, *gates})))
    if position.frames or position.pending_item not in gates:
        return passed, ()
    walk = walker.complete_pending(program=case.program, position=passed, variables=variables, by_hand=True)
    return walk.position, walk.notes


def _still_to_be_asked(case: _Case, position: Position) -> Position:
    """What a condition dismissed is asked of a person when the condition holds after all."""
    if not case.question.human:
        return position
    gates = questions.gates_of(_activity(case.program, case.snapshot), case.question.checkpoint)
    return replace(position, done=tuple(name for name in position.done if name not in gates))


def _with_effect(case: _Case, effect: Effect, *, by_person: bool) -> dict[str, Any]:
    variables = case.snapshot.variables
    scope = walker.scope_at(program=case.program, position=case.snapshot.position, variables=variables)
    if by_person:
        variables = declining.as_chosen(
            program=case.program, checkpoint=case.checkpoint, chosen=effect, snapshot=case.snapshot
        )
    return {**variables, **walker.set_by_option(effect=effect, variables=scope)}
