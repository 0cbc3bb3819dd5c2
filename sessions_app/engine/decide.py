"""The engine: a program, a snapshot and a command in; events, the next snapshot and a verdict out.

No clock, no randomness, no table. Ids of new rows are either given in `Place` or derived from the attempt, so that the same
call decides the same thing.
"""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from msgspec.structs import replace

from sessions_app.engine import obligations, outputs
from sessions_app.engine.decisions import (
    Advance,
    Bookmark,
    ChangePreferences,
    Command,
    Decision,
    IdentifiedGap,
    Outcome,
    OutputDraft,
    Place,
    PreferenceChange,
    PreferenceSource,
    Start,
    Warned,
    WarningCode,
)
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.obligations import Findings, Submission
from sessions_app.engine.reasons import (
    Detail,
    Gap,
    GapCategory,
    GapSeverity,
    Reason,
    Verdict,
    step_pointer,
    weigh,
)
from sessions_app.engine.runs import OutputChannel
from sessions_app.engine.state import (
    Blocked,
    CapabilityStatus,
    Pointer,
    PointerKind,
    Preferences,
    Snapshot,
)
from teams_app.engine.errors import PreconditionFailedError
from workflows_app.engine import conditions, walker
from workflows_app.engine.program import (
    ActionKind,
    Autonomy,
    CapabilityNeed,
    Effect,
    Gate,
    Program,
    RiskPolicy,
    Step,
)
from workflows_app.engine.walker import Failure, FailureKind, Walk

MAX_CONSECUTIVE_BLOCKS = 10
MAX_ISSUES = 25

_AUTONOMY_ORDER = (Autonomy.GUIDED, Autonomy.STOP_ON_USER_DEPS, Autonomy.NEVER_STOP)
_RISK_ORDER = (RiskPolicy.CONSERVATIVE, RiskPolicy.BALANCED, RiskPolicy.AGGRESSIVE)


def decide(*, program: Program, snapshot: Snapshot | None, command: Command, place: Place) -> Decision:
    """One transition. Raises only for a command that must leave no trace; a refusal to be remembered is a decision."""
    match command:
        case Start():
            return _start(program, command, place)
        case Advance():
            return _advance(program, _present(snapshot), command, place)
        case Bookmark():
            return _bookmark(_present(snapshot), command, place)
        case ChangePreferences():
            return _change(program, _present(snapshot), command, place)
        case _:
            assert_never(command)


def _present(snapshot: Snapshot | None) -> Snapshot:
    if snapshot is None:
        raise ValueError("Only a start has no snapshot.")
    return snapshot


# Start


def _start(program: Program, command: Start, place: Place) -> Decision:
    defaults = {variable.name: variable.default for variable in program.variables if variable.has_default}
    variables = outputs.merge_context({**defaults}, command.context)
    preferences = (command.preferences or PreferenceChange()).applied_to(command.baseline)
    walk = walker.start(program=program, variables=variables, press_on=preferences.autonomy is Autonomy.NEVER_STOP)
    if walk.failure is not None:
        raise PreconditionFailedError(
            f"The run cannot begin: {walk.failure.message}",
            suggestion=_supply(walk.failure),
            details={"reason": walk.failure.kind.value, "keys": list(walk.failure.keys)},
        )
    following = Snapshot(position=walk.position, variables=variables, preferences=preferences)
    warnings = mode_warnings(program, preferences)
    log = Journal(place)
    log.run_started(program, command.goal)
    log.preferences(preferences, command.baseline, PreferenceSource.SYSTEM, warnings)
    if command.context:
        log.context(command.context, source="initial")
    gaps = log.gaps(tuple(_failure_gap(failure) for failure in walk.passed))
    log.trace(walk.notes)
    return log.decision(
        outcome=Outcome.STARTED,
        snapshot=following,
        node_kind=NodeKind.STEP,
        gaps=gaps,
        warnings=(*warnings, *_gap_warnings(gaps)),
    )


# Advance


class _Advancing:
    """One acknowledgement being judged: what it leads to if nothing stops it, and what is written if something does."""

    def __init__(self, program: Program, snapshot: Snapshot, command: Advance, place: Place) -> None:
        self.program = program
        self.snapshot = snapshot
        self.submission = command.submission
        self.variables = outputs.merge_context(snapshot.variables, command.submission.context)
        self.preferences = (command.preferences or PreferenceChange()).applied_to(snapshot.preferences)
        self.findings = obligations.examine(
            program=program, snapshot=snapshot, submission=self.submission, variables=self.variables
        )
        self.journal = Journal(place)
        self.after = self.variables

    def decide(self) -> Decision:
        walk = None if self._weigh(()).blockers else self._walk()
        failure = walk.failure if walk else None
        verdict = self._weigh(() if failure is None else (_failure_reason(failure),))
        if walk is None or verdict.blockers:
            return self._blocked(verdict)
        return self._advanced(verdict, walk)

    def _weigh(self, more: tuple[Reason, ...]) -> Verdict:
        return weigh(reasons=(*self.findings.reasons, *more), preferences=self.preferences)

    def _walk(self) -> Walk:
        item = walker.item_at(self.program, self.snapshot.position)
        effect = (self.findings.answer.effect if self.findings.answer else None) or Effect()
        self.after = {**self.variables, **_set_by(self.program, item, self.variables), **effect.set_variable}
        position = walker.skip(self.snapshot.position, effect.skip_activities)
        press_on = self.preferences.autonomy is Autonomy.NEVER_STOP
        if isinstance(item, Gate) and effect.transition_to:
            return walker.enter_activity(
                program=self.program,
                position=position,
                activity_id=effect.transition_to,
                variables=self.after,
                press_on=press_on,
            )
        return walker.complete_pending(
            program=self.program,
            position=position,
            variables=self.after,
            artifacts=self.submission.artifacts,
            press_on=press_on,
        )

    def _advanced(self, verdict: Verdict, walk: Walk) -> Decision:
        journal = self.journal
        journal.advance_recorded(Outcome.ADVANCED, ())
        passed = tuple(_failure_gap(failure) for failure in walk.passed)
        gaps = journal.gaps((*verdict.gaps, *self.findings.gaps, *_degraded(self.program, self.findings), *passed))
        warnings = (*_gap_warnings(gaps), *_findings_warnings(self.findings, self.submission), *self._preferences())
        journal.findings(self.findings, self.submission)
        journal.trace(walk.notes)
        following = Snapshot(
            position=walk.position,
            variables=self.after,
            preferences=self.preferences,
            capabilities={**self.snapshot.capabilities, **self.findings.capabilities},
        )
        handed_in = journal.prepare_outputs(self.submission, self.snapshot.blocked)
        return journal.decision(
            outcome=Outcome.ADVANCED,
            snapshot=following,
            node_kind=NodeKind.STEP,
            outputs=handed_in,
            gaps=gaps,
            warnings=warnings,
            step_context=self._step_context(),
        )

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

    def _blocked(self, verdict: Verdict) -> Decision:
        """A block is a node of its own: it holds what was handed in, and is the place from which to retry."""
        journal = self.journal
        journal.advance_recorded(Outcome.BLOCKED, verdict.blockers)
        gaps = journal.gaps((*verdict.gaps, *self.findings.gaps))
        warnings = (*_gap_warnings(gaps), *_findings_warnings(self.findings, self.submission), *self._preferences())
        journal.findings(self.findings, self.submission)
        handed_in = journal.prepare_outputs(self.submission, self.snapshot.blocked)
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
            snapshot=following,
            node_kind=NodeKind.BLOCKED_ATTEMPT,
            outputs=handed_in,
            gaps=gaps,
            warnings=warnings,
        )

    def _why(self, verdict: Verdict, handed_in: tuple[OutputDraft, ...]) -> Blocked:
        before = self.snapshot.blocked.recap_output if self.snapshot.blocked else ""
        recap = next((output for output in handed_in if output.channel is OutputChannel.RECAP), None)
        return Blocked(
            retryable=verdict.retryable,
            blockers=verdict.blockers,
            issues=tuple(self.findings.issues[:MAX_ISSUES]),
            suggestions=tuple(self.findings.suggestions),
            followup=self.findings.followup,
            recap_output=recap.output_id.hex if recap else before,
        )

    def _preferences(self) -> tuple[Warned, ...]:
        if self.preferences == self.snapshot.preferences:
            return ()
        warnings = mode_warnings(self.program, self.preferences)
        self.journal.preferences(self.preferences, self.snapshot.preferences, PreferenceSource.USER, warnings)
        return warnings


def _advance(program: Program, snapshot: Snapshot, command: Advance, place: Place) -> Decision:
    _refuse_finished(snapshot)
    _refuse_hopeless(snapshot)
    return _Advancing(program, snapshot, command, place).decide()


def _set_by(program: Program, item: object, variables: Mapping[str, Any]) -> dict[str, Any]:
    """What the `set` actions of a finished step put into the variables."""
    if not isinstance(item, Step):
        return {}
    return {
        action.target: action.value
        for action in item.actions
        if action.action is ActionKind.SET
        and action.target
        and action.value is not None
        and conditions.evaluate(action.condition, variables=variables, mode=program.conditions)
    }


def _refuse_finished(snapshot: Snapshot) -> None:
    if snapshot.position.complete:
        raise PreconditionFailedError(
            "The run is complete; there is no pending step to acknowledge.",
            suggestion="Start another run with start_workflow, or rewind with the stateToken of an earlier step.",
        )


def _refuse_hopeless(snapshot: Snapshot) -> None:
    if snapshot.blocked is not None and not snapshot.blocked.retryable:
        raise PreconditionFailedError(
            "This attempt is blocked by something that a retry cannot mend.",
            suggestion="Tell the user what blockers say. Rewind with an earlier stateToken once it is mended.",
            details={"blockers": [blocker.as_json() for blocker in snapshot.blocked.blockers]},
        )
    if snapshot.consecutive_blocks >= MAX_CONSECUTIVE_BLOCKS:
        raise PreconditionFailedError(
            f"{snapshot.consecutive_blocks} attempts in a row were blocked; the circuit is open.",
            suggestion="Stop and show the blockers to the user. Rewind with an earlier stateToken to try another way.",
            details={
                "reason": "CIRCUIT_OPEN",
                "consecutiveBlocks": snapshot.consecutive_blocks,
                "blockers": [blocker.as_json() for blocker in snapshot.blocked.blockers] if snapshot.blocked else [],
            },
        )


# Bookmarks and preferences


def _bookmark(snapshot: Snapshot, command: Bookmark, place: Place) -> Decision:
    log = Journal(place)
    handed_in = log.prepare_outputs(command.submission, None)
    truncated = _findings_warnings(Findings(), command.submission)
    return log.decision(
        outcome=Outcome.BOOKMARKED,
        snapshot=snapshot,
        node_kind=NodeKind.CHECKPOINT,
        outputs=handed_in,
        warnings=truncated,
    )


def _change(program: Program, snapshot: Snapshot, command: ChangePreferences, place: Place) -> Decision:
    """A change between steps: a new node with the same work pending, under the new preferences."""
    preferences = command.change.applied_to(snapshot.preferences)
    warnings = mode_warnings(program, preferences)
    log = Journal(place)
    log.preferences(preferences, snapshot.preferences, PreferenceSource.USER, warnings)
    return log.decision(
        outcome=Outcome.PREFERENCES_CHANGED,
        snapshot=replace(snapshot, preferences=preferences),
        node_kind=NodeKind.BLOCKED_ATTEMPT if snapshot.blocked else NodeKind.STEP,
        warnings=warnings,
    )


def mode_warnings(program: Program, preferences: Preferences) -> tuple[Warned, ...]:
    """A user's mode is never refused; that it goes further than the workflow recommends is said."""
    said: list[Warned] = []
    most = program.recommended_autonomy
    if most is not None and _AUTONOMY_ORDER.index(preferences.autonomy) > _AUTONOMY_ORDER.index(most):
        said.append(_above("autonomy", preferences.autonomy.value, most.value))
    policy = program.recommended_risk_policy
    if policy is not None and _RISK_ORDER.index(preferences.risk_policy) > _RISK_ORDER.index(policy):
        said.append(_above("riskPolicy", preferences.risk_policy.value, policy.value))
    return tuple(said)


def _above(key: str, value: str, most: str) -> Warned:
    return Warned(
        code=WarningCode.MODE_ABOVE_RECOMMENDED,
        message=f"{key} {value} goes further than the workflow recommends; it advises at most {most}.",
    )


def _degraded(program: Program, findings: Findings) -> tuple[Gap, ...]:
    """A preferred capability that is not there: the run goes on by the plainer path, and says so."""
    return tuple(
        Gap(
            severity=GapSeverity.WARNING,
            category=GapCategory.CAPABILITY_MISSING,
            detail=Detail.REQUIRED_CAPABILITY_UNAVAILABLE,
            summary=f"{capability.value} is not available; the enhanced path was not taken.",
            pointer=Pointer(kind=PointerKind.CAPABILITY, name=capability.value),
        )
        for capability, seen in findings.capabilities.items()
        if seen.status is CapabilityStatus.UNAVAILABLE
        and program.capabilities.get(capability) is CapabilityNeed.PREFERRED
    )


def _findings_warnings(findings: Findings, submission: Submission) -> tuple[Warned, ...]:
    said = [
        Warned(code=WarningCode.ASSESSMENT_DIMENSION_IGNORED, message=suggestion) for suggestion in findings.suggestions
    ]
    if outputs.cut_notes(submission.notes) != submission.notes:
        said.append(
            Warned(
                code=WarningCode.NOTES_TRUNCATED,
                message=f"The notes were longer than {outputs.MAX_NOTES_BYTES} bytes and were cut there.",
            ),
        )
    return tuple(said)


def _gap_warnings(gaps: Iterable[IdentifiedGap]) -> tuple[Warned, ...]:
    return tuple(
        Warned(code=WarningCode.GAP_RECORDED, message=identified.gap.summary)
        for identified in gaps
        if identified.gap.severity is not GapSeverity.INFO
    )


# Failures of the walk


_FAILURE_DETAIL = {
    FailureKind.MISSING_CONTEXT: Detail.MISSING_CONTEXT_KEY,
    FailureKind.NO_TRANSITION: Detail.MISSING_CONTEXT_KEY,
    FailureKind.MAX_ITERATIONS: Detail.EVALUATION_ERROR,
    FailureKind.UNKNOWN_ACTIVITY: Detail.INVARIANT_VIOLATION,
    FailureKind.UNKNOWN_LOOP: Detail.INVARIANT_VIOLATION,
    FailureKind.BUDGET: Detail.EVALUATION_ERROR,
}


def _failure_pointer(failure: Failure) -> Pointer:
    if _FAILURE_DETAIL[failure.kind] is Detail.MISSING_CONTEXT_KEY and failure.keys:
        return Pointer(kind=PointerKind.CONTEXT_KEY, name=failure.keys[0])
    return step_pointer(failure.item)


def _failure_reason(failure: Failure) -> Reason:
    return Reason(
        detail=_FAILURE_DETAIL[failure.kind],
        pointer=_failure_pointer(failure),
        message=failure.message,
        fix=_supply(failure),
    )


def _failure_gap(failure: Failure) -> Gap:
    detail = _FAILURE_DETAIL[failure.kind]
    reason = _failure_reason(failure)
    return Gap(
        severity=GapSeverity.CRITICAL,
        category=reason.row.category,
        detail=detail,
        summary=failure.message,
        pointer=reason.pointer,
    )


def _supply(failure: Failure) -> str:
    if failure.keys:
        return f"Retry with context that sets {', '.join(failure.keys)}."
    return "Show this to the author of the workflow."
