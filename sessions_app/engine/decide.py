"""The engine: a program, a snapshot and a command in; events, the next snapshot and a verdict out.

No clock, no randomness, no table. Ids of new rows are either given in `Place` or derived from the attempt, so that the same
call decides the same thing.
"""

from collections.abc import Mapping
from typing import Any, assert_never
from uuid import UUID

from msgspec.structs import replace

from sessions_app.engine import (
    approvals,
    checkpoints,
    failures,
    handover,
    obligations,
    outputs,
    steering,
    warnings as warned,
)
from sessions_app.engine.assessments import ASSESSMENT_CONTRACT
from sessions_app.engine.checkpoints import Authority, CheckpointStaleError
from sessions_app.engine.decisions import (
    Advance,
    AnswerCheckpoint,
    Bookmark,
    ChangePreferences,
    Command,
    Decision,
    Outcome,
    OutputDraft,
    Place,
    PreferenceChange,
    PreferenceSource,
    Start,
    Steer,
    Warned,
)
from sessions_app.engine.findings import Findings
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.reasons import Reason, Verdict, weigh
from sessions_app.engine.state import Answered, Blocked, HandedIn, Preferences, Snapshot
from sessions_app.engine.steering_refusals import RunSuspendedError
from teams_app.engine.errors import InvalidInputError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine import walker
from workflows_app.engine.program import Autonomy, Effect, Gate, Program, Step
from workflows_app.engine.walks import Walk

MAX_CONSECUTIVE_BLOCKS = 10
MAX_ISSUES = 25
MAX_GOAL_CHARACTERS = 2048


def decide(*, program: Program, snapshot: Snapshot | None, command: Command, place: Place) -> Decision:
    """One transition. Raises only for a command that must leave no trace; a refusal to be remembered is a decision."""
    match command:
        case Start():
            return _start(program, command, place)
        case Advance():
            return _advance(program, _led(snapshot), command, place)
        case Bookmark():
            return _bookmark(_present(snapshot), command, place)
        case ChangePreferences():
            return _change(program, _present(snapshot), command, place)
        case Steer():
            return steering.steer(program=program, snapshot=_led(snapshot), action=command.action, place=place)
        case AnswerCheckpoint():
            return _answer(program, _present(snapshot), command, place)
        case _:
            assert_never(command)


def _present(snapshot: Snapshot | None) -> Snapshot:
    if snapshot is None:
        raise ValueError("Only a start has no snapshot.")
    return snapshot


def _led(snapshot: Snapshot | None) -> Snapshot:
    """A run whose activities are handed over is moved by its session token only: its questions are asked there.

    One that waits for a run that it triggered is not moved at all.
    """
    found = _present(snapshot)
    if found.is_handed_over:
        raise PreconditionFailedError(
            "This run's activities are handed over whole; it is not moved step by step.",
            suggestion="Go on with its session token, at the address of the dialect that it was begun with.",
        )
    if found.waits_for:
        count = len(found.waits_for)
        raise RunSuspendedError(
            f"This run waits for {'one' if count == 1 else count} that its activity triggered.",
            suggestion="Complete the triggered run; nav_situation with this state tells its own state.",
            details={"waitsFor": [to_text(Prefix.RUN, UUID(hex=run)) for run in found.waits_for]},
        )
    return found


# Start


def _start(program: Program, command: Start, place: Place) -> Decision:
    outputs.check_text(command.goal, name="goal", max_characters=MAX_GOAL_CHARACTERS)
    defaults = {variable.name: variable.default for variable in program.variables if variable.has_default}
    variables = outputs.merge_context({**defaults}, command.context)
    preferences = (command.preferences or PreferenceChange()).applied_to(command.baseline)
    walk = _begun(program, command, variables, preferences)
    if walk.failure is not None:
        raise PreconditionFailedError(
            f"The run cannot begin: {walk.failure.message}",
            suggestion=failures.remedy(walk.failure),
            details={"reason": walk.failure.kind.value, "keys": list(walk.failure.keys)},
        )
    modes = warned.of_mode(program, preferences)
    source = PreferenceSource.SYSTEM if command.preferences is None else PreferenceSource.USER
    log = Journal(place)
    log.run_started(program, command.goal, bundled=command.bundled, trigger=command.trigger)
    log.preferences(preferences, command.baseline, source, modes)
    if command.context:
        log.context(command.context, source="initial")
    gaps = log.gaps(tuple(failures.as_gap(failure) for failure in walk.passed))
    log.trace(walk.notes)
    begun = Snapshot(position=walk.position, variables={**variables, **walk.assigned}, preferences=preferences)
    return log.decision(
        outcome=Outcome.STARTED,
        snapshot=log.ask(program, begun),
        node_kind=NodeKind.STEP,
        gaps=gaps,
        warnings=(*modes, *warned.of_gaps(gaps)),
    )


def _begun(program: Program, command: Start, variables: Mapping[str, Any], preferences: Preferences) -> Walk:
    if command.handed_over:
        return Walk(position=handover.begin(variables=variables).position)
    if command.by_hand:
        return steering.begin_by_hand(program=program, variables=variables)
    return walker.start(program=program, variables=variables, press_on=preferences.autonomy is Autonomy.NEVER_STOP)


# Advance


class _Advancing:
    """One acknowledgement being judged: what it leads to if nothing stops it, and what is written if something does."""

    def __init__(
        self,
        program: Program,
        snapshot: Snapshot,
        command: Advance,
        place: Place,
        *,
        findings: Findings | None = None,
        answered: Answered | None = None,
        by_hand: bool = False,
    ) -> None:
        """`findings` are given where nothing was handed in; `answered` is what the agent is told of a person's answer."""
        self.program = program
        self.snapshot = snapshot
        self.submission = command.submission
        self.item = walker.item_at(program, snapshot.position)
        self.variables = outputs.merge_context(snapshot.variables, command.submission.context)
        self.preferences = _preferences_after(snapshot, command)
        self.authority = Authority.HUMAN if command.by_person else Authority.RELAYED
        self.answered = answered
        self.by_hand = by_hand
        self.findings = findings or obligations.examine(
            program=program,
            snapshot=snapshot,
            submission=self.submission,
            variables=self.variables,
            by_person=command.by_person,
        )
        self.journal = Journal(place, asked=snapshot.asked, voice=command.voice)
        self.after = self.variables

    def decide(self) -> Decision:
        walk = None if self._weigh(()).blockers else self._walk()
        failure = walk.failure if walk else None
        verdict = self._weigh(() if failure is None else (failures.as_reason(failure),))
        if walk is None or verdict.blockers:
            return self._blocked(verdict)
        return self._advanced(verdict, walk)

    def _weigh(self, more: tuple[Reason, ...]) -> Verdict:
        return weigh(reasons=(*self.findings.reasons, *more), preferences=self.preferences)

    def _walk(self) -> Walk:
        option = self.findings.answer or self.findings.unanswered
        effect = (option and option.effect) or Effect()
        scope = walker.scope_at(program=self.program, position=self.snapshot.position, variables=self.variables)
        added = steering.set_by_actions(program=self.program, item=self.item, variables=scope)
        chosen = walker.set_by_option(effect=effect, variables={**scope, **added})
        self.after = {**self.variables, **added, **chosen}
        position = walker.skip(self.snapshot.position, effect.skip_activities)
        press_on = self.preferences.autonomy is Autonomy.NEVER_STOP
        if isinstance(self.item, Gate) and effect.transition_to:
            return walker.enter_activity(
                program=self.program,
                position=position,
                activity_id=effect.transition_to,
                variables=self.after,
                press_on=press_on,
                by_hand=self.by_hand,
            )
        return walker.complete_pending(
            program=self.program,
            position=position,
            variables=self.after,
            artifacts=self.submission.artifacts,
            press_on=press_on,
            by_hand=self.by_hand,
        )

    def _advanced(self, verdict: Verdict, walk: Walk) -> Decision:
        journal = self.journal
        journal.advance_recorded(Outcome.ADVANCED, ())
        degraded = warned.degraded(self.program, self.findings)
        passed = tuple(failures.as_gap(failure) for failure in walk.passed)
        gaps = journal.gaps((*verdict.gaps, *self.findings.gaps, *degraded, *passed))
        warnings = (*warned.of_gaps(gaps), *warned.of_findings(self.findings, self.submission), *self._preferences())
        self._findings(answered_by=self.authority)
        if self.findings.answer is None and self.findings.unanswered is not None:
            journal.answered(self.findings.unanswered.id, authority=Authority.DEFAULT)
        journal.trace(walk.notes)
        following = Snapshot(
            position=walk.position,
            variables={**self.after, **walk.assigned},
            preferences=self.preferences,
            capabilities={**self.snapshot.capabilities, **self.findings.capabilities},
            answered=self.answered,
        )
        handed_in = journal.prepare_outputs(self.submission, self.snapshot.handed_in)
        return journal.decision(
            outcome=Outcome.ADVANCED,
            snapshot=journal.ask(self.program, following),
            node_kind=NodeKind.STEP,
            outputs=handed_in,
            gaps=gaps,
            warnings=warnings,
            step_context=self._step_context(),
        )

    def _blocked(self, verdict: Verdict) -> Decision:
        """A block is a node of its own: it holds what was handed in, and is the place from which to retry."""
        journal = self.journal
        journal.advance_recorded(Outcome.BLOCKED, verdict.blockers)
        gaps = journal.gaps((*verdict.gaps, *self.findings.gaps))
        warnings = (*warned.of_gaps(gaps), *warned.of_findings(self.findings, self.submission), *self._preferences())
        # Only what the run goes on with is an answer; one that comes with a blocked attempt is given again.
        self._findings(answered_by="")
        handed_in = journal.prepare_outputs(self.submission, self.snapshot.handed_in)
        following = replace(
            self.snapshot,
            variables=self.variables,
            preferences=self.preferences,
            capabilities={**self.snapshot.capabilities, **self.findings.capabilities},
            blocked=self._why(verdict, handed_in),
            consecutive_blocks=self.snapshot.consecutive_blocks + 1,
        )
        return journal.decision(
            outcome=Outcome.BLOCKED,
            snapshot=journal.ask(self.program, following, stays=True),
            node_kind=NodeKind.BLOCKED_ATTEMPT,
            outputs=handed_in,
            gaps=gaps,
            warnings=warnings,
        )

    def _why(self, verdict: Verdict, handed_in: tuple[OutputDraft, ...]) -> Blocked:
        before = self.snapshot.handed_in
        replaced = {output.supersedes.hex for output in handed_in if output.supersedes}
        now = tuple(HandedIn(output=out.output_id.hex, artifact_kind=out.artifact_kind) for out in handed_in)
        return Blocked(
            retryable=verdict.retryable,
            blockers=verdict.blockers,
            issues=tuple(self.findings.issues[:MAX_ISSUES]),
            suggestions=tuple(self.findings.suggestions),
            followup=self.findings.followup,
            outputs=(*(kept for kept in before if kept.output not in replaced), *now),
        )

    def _findings(self, *, answered_by: str) -> None:
        """A check that failed is recorded, and so is the retry that passes it."""
        self.journal.findings(
            self.findings,
            self.submission,
            contract=self._contract(),
            retried=bool(self.snapshot.blocked and self.snapshot.blocked.issues),
            answered_by=answered_by,
        )

    def _contract(self) -> str:
        if self.item is None or isinstance(self.item, Gate):
            return ""
        if self.item.contract is not None:
            return self.item.contract.contract
        return ASSESSMENT_CONTRACT if isinstance(self.item, Step) and self.item.assessments else ""

    def _step_context(self) -> dict[str, Any] | None:
        """What the step that was just done said of itself, for the agent to carry on."""
        if not self.findings.graded:
            return None
        return {
            "assessments": [
                {"assessmentId": graded.assessment, "levels": dict(graded.levels), "summary": graded.summary}
                for graded in self.findings.graded
            ],
        }

    def _preferences(self) -> tuple[Warned, ...]:
        if self.preferences == self.snapshot.preferences:
            return ()
        modes = warned.of_mode(self.program, self.preferences)
        self.journal.preferences(self.preferences, self.snapshot.preferences, PreferenceSource.USER, modes)
        return modes


def _advance(program: Program, snapshot: Snapshot, command: Advance, place: Place) -> Decision:
    outputs.check_text(command.submission.notes, name="output.notesMarkdown")
    _refuse_finished(snapshot)
    _refuse_resting(program, snapshot)
    if _preferences_after(snapshot, command).autonomy is not Autonomy.NEVER_STOP:
        _refuse_hopeless(snapshot)
    advancing = _Advancing(program, snapshot, command, place)
    if advancing.findings.answer is not None and snapshot.asked is not None and not command.by_person:
        checkpoints.refuse_too_early(asked=snapshot.asked, at_ms=place.at_ms, min_response_ms=place.min_response_ms)
    return advancing.decide()


def _preferences_after(snapshot: Snapshot, command: Advance) -> Preferences:
    return (command.preferences or PreferenceChange()).applied_to(snapshot.preferences)


def _refuse_finished(snapshot: Snapshot) -> None:
    if snapshot.position.complete:
        raise PreconditionFailedError(
            "The run is complete; there is no pending step to acknowledge.",
            suggestion="Start another run with start_workflow, or rewind with the stateToken of an earlier step.",
        )


def _refuse_resting(program: Program, snapshot: Snapshot) -> None:
    if walker.item_at(program, snapshot.position) is None:
        raise PreconditionFailedError(
            f"No step is pending: the run waits in activity {snapshot.position.activity} for its driver's next action.",
            suggestion="Go on with nav_situation and nav_action, at the address of the navigation dialect.",
        )


def _refuse_hopeless(snapshot: Snapshot) -> None:
    if snapshot.blocked is not None and not snapshot.blocked.retryable:
        raise PreconditionFailedError(
            "This attempt is blocked by something that a retry cannot mend.",
            suggestion="Tell the user what blockers say. Rewind with an earlier stateToken once it is mended.",
            details={"blockers": [blocker.as_json() for blocker in snapshot.blocked.blockers]},
        )
    blocks = snapshot.consecutive_blocks - snapshot.forgiven_blocks
    if blocks >= MAX_CONSECUTIVE_BLOCKS:
        raise PreconditionFailedError(
            f"{blocks} attempts in a row were blocked; the circuit is open.",
            suggestion="Stop and show the blockers to the user. Rewind with an earlier stateToken to try another way.",
            details={
                "reason": "CIRCUIT_OPEN",
                "consecutiveBlocks": blocks,
                "blockers": [blocker.as_json() for blocker in snapshot.blocked.blockers] if snapshot.blocked else [],
            },
        )


# Bookmarks and preferences


def _bookmark(snapshot: Snapshot, command: Bookmark, place: Place) -> Decision:
    outputs.check_text(command.submission.notes, name="output.notesMarkdown")
    if not command.submission.notes.strip() and not command.submission.artifacts:
        raise InvalidInputError(
            "There is nothing to record.", suggestion="Send output.notesMarkdown with what should be remembered."
        )
    log = Journal(place)
    handed_in = log.prepare_outputs(command.submission)
    return log.decision(
        outcome=Outcome.BOOKMARKED,
        snapshot=snapshot,
        node_kind=NodeKind.CHECKPOINT,
        outputs=handed_in,
        warnings=warned.of_notes(command.submission),
    )


def _change(program: Program, snapshot: Snapshot, command: ChangePreferences, place: Place) -> Decision:
    """A change between steps: a new node with the same work pending, under the new preferences.

    Somebody has looked at the run, so attempts that were blocked before are not held against those that come. A gate that
    was reached before questions were kept is asked now.
    """
    preferences = command.change.applied_to(snapshot.preferences)
    modes = warned.of_mode(program, preferences)
    log = Journal(place, asked=snapshot.asked)
    log.preferences(preferences, snapshot.preferences, PreferenceSource.USER, modes)
    following = replace(snapshot, preferences=preferences, forgiven_blocks=snapshot.consecutive_blocks)
    return log.decision(
        outcome=Outcome.PREFERENCES_CHANGED,
        snapshot=following if following.is_handed_over else log.ask(program, following, stays=True),
        node_kind=NodeKind.BLOCKED_ATTEMPT if snapshot.blocked else NodeKind.STEP,
        warnings=modes,
    )


# A person's answer


def _answer(program: Program, snapshot: Snapshot, command: AnswerCheckpoint, place: Place) -> Decision:
    """What a signed-in person says to the question that is open here, and where the run stands with it."""
    _refuse_another_question(program, snapshot, command)
    item = walker.item_at(program, snapshot.position)
    checkpoint = approvals.checkpoint_of(program, snapshot, item) if isinstance(item, Gate) else None
    if checkpoint is None:
        return _approve(snapshot, command, place)
    chosen = next(option for option in checkpoint.options if option.id == command.option_id)
    decision = _Advancing(
        program,
        snapshot,
        Advance(submission=obligations.Submission(), by_person=True, voice=command.voice),
        place,
        findings=Findings(answer=chosen),
        answered=Answered(checkpoint=checkpoint.id, option=chosen.id, label=chosen.label, reason=command.voice.reason),
        by_hand=command.by_hand,
    ).decide()
    if decision.snapshot.blocked is not None:
        raise PreconditionFailedError(
            "The run cannot go on with this answer.",
            suggestion="Choose another option, or have the workflow mended.",
            details={"blockers": [blocker.as_json() for blocker in decision.snapshot.blocked.blockers]},
        )
    return decision


def _refuse_another_question(program: Program, snapshot: Snapshot, command: AnswerCheckpoint) -> None:
    shown = checkpoints.shown_at(program=program, snapshot=snapshot)
    # Context that came with a blocked attempt does not lift an approval: then only what was asked first is shown.
    now = snapshot.asked.digest if shown is None and snapshot.asked else shown.digest if shown else ""
    if snapshot.asked is None or not snapshot.asked.digest == now == command.digest:
        raise CheckpointStaleError(
            "The question is not the one that you were shown.",
            suggestion="Read the checkpoint again and answer what it asks now.",
        )
    known = [option.id for option in shown.options] if shown else [checkpoints.APPROVE]
    if command.option_id not in known:
        raise InvalidInputError(
            f"The checkpoint has no option {command.option_id!r:.80}.",
            suggestion=f"Choose one of: {', '.join(known)}.",
            details={"options": known},
        )


def _approve(snapshot: Snapshot, command: AnswerCheckpoint, place: Place) -> Decision:
    """The same step is pending, and the agent's acknowledgement now passes. What is missing besides is still missing."""
    said = Answered(
        checkpoint=snapshot.position.pending_item,
        option=command.option_id,
        label="Approve",
        reason=command.voice.reason,
        approves=snapshot.position.pending,
        outputs=snapshot.handed_in,
    )
    log = Journal(place, asked=snapshot.asked, voice=command.voice)
    log.answered(command.option_id, authority=Authority.HUMAN)
    return log.decision(
        outcome=Outcome.ANSWERED,
        snapshot=replace(snapshot, asked=None, answered=said, blocked=None, consecutive_blocks=0, forgiven_blocks=0),
        node_kind=NodeKind.STEP,
    )
