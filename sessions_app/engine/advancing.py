"""One acknowledgement of the pending item: what it leads to if nothing stops it, and what is written if something does."""

from collections.abc import Iterable
from dataclasses import dataclass, replace as with_facts
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import (
    approvals,
    checkpoints,
    declining,
    endings,
    failures,
    obligations,
    outputs,
    settling,
    warnings as warned,
)
from sessions_app.engine.assessments import ASSESSMENT_CONTRACT
from sessions_app.engine.checkpoints import NOBODY, Authority, Voice
from sessions_app.engine.decisions import (
    UNCHANGED,
    Decision,
    Outcome,
    OutputDraft,
    Place,
    PreferenceChange,
    Warned,
)
from sessions_app.engine.findings import Artifact, Findings
from sessions_app.engine.journal import Journal
from sessions_app.engine.judging import Judgement, judge
from sessions_app.engine.log import NodeKind
from sessions_app.engine.reasons import Reason
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Answered, Blocked, HandedIn, OpenQuestion, Snapshot
from sessions_app.engine.submissions import NOTHING, Submission
from workflows_app.engine import conditions, walker
from workflows_app.engine.program import Autonomy, Effect, Gate, Program, Step
from workflows_app.engine.walks import Failure, Walk

MAX_ISSUES = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """What is said of the pending item. `findings` are given where nothing was handed in now, `decisions` what was said of
    loops before, `answered` what the agent is told of a person's answer, `question` the one that is answered.
    """

    submission: Submission = NOTHING
    preferences: PreferenceChange = UNCHANGED
    by_person: bool = False
    voice: Voice = NOBODY
    drive: Drive = Drive.LED
    findings: Findings | None = None
    decisions: tuple[Artifact, ...] | None = None
    answered: Answered | None = None
    question: OpenQuestion | None = None


def acknowledge(*, program: Program, snapshot: Snapshot, said: Acknowledgement, place: Place) -> Decision:
    return _Advancing(program, snapshot, said, place).decide()


class _Advancing:
    def __init__(self, program: Program, snapshot: Snapshot, said: Acknowledgement, place: Place) -> None:
        self.program = program
        self.snapshot = snapshot
        self.said = said
        self.submission = said.submission
        self.item = walker.item_at(program, snapshot.position)
        self.variables = outputs.merge_context(snapshot.variables, said.submission.context)
        if not said.by_person:
            settling.refuse_overwritten(program=program, snapshot=snapshot, variables=self.variables, item=self.item)
            settling.refuse_presumed(program, before=snapshot.variables, contexts=(said.submission.context,))
        self.preferences = said.preferences.applied_to(snapshot.preferences)
        self.findings = said.findings or obligations.examine(
            program=program,
            snapshot=snapshot,
            submission=self.submission,
            variables=self.variables,
            by_person=said.by_person,
        )
        self.question = said.question or snapshot.asked
        if self.findings.answer is not None and self.question is not None and not said.by_person:
            checkpoints.refuse_too_early(asked=self.question, at_ms=place.at_ms, min_response_ms=place.min_response_ms)
        self.journal = Journal(place, asked=self.question, voice=said.voice)
        self.after = self.variables

    def decide(self) -> Decision:
        judged = self._judge()
        if judged.stops:
            return self._blocked(judged)
        walk = self._walk()
        if walk.failure is not None:
            judged = self._judge(self._reason(walk.failure))
            return self._blocked(judged)
        return self._blocked(judged) if judged.waits_for_approval else self._advanced(judged, walk)

    def _reason(self, failure: Failure) -> Reason:
        """Why the run cannot go on. What the answer at hand would set is not set: another one is still open."""
        reason = failures.as_reason(failure, settled=self.snapshot.settled)
        sets = {conditions.root_of(name) for name in self._effect.set_variable}
        by_answer = failure.keys and sets.issuperset(map(conditions.root_of, failure.keys))
        if not by_answer or failure.remedy or self.findings.answer is None:
            return reason
        return with_facts(reason, fix="Choose another option, or have the workflow mended.")

    def _judge(self, *more: Reason) -> Judgement:
        return judge(
            program=self.program,
            item=self.item,
            findings=self.findings,
            preferences=self.preferences,
            drive=self.said.drive,
            more=more,
        )

    @property
    def _effect(self) -> Effect:
        option = self.findings.answer or self.findings.unanswered
        return (option and option.effect) or Effect()

    def _held(self) -> Iterable[str]:
        """The variables that the answer decides on."""
        if not isinstance(self.item, Gate) or self.findings.answer is None:
            return self._effect.set_variable
        checkpoint = approvals.checkpoint_of(self.program, self.snapshot, self.item)
        return () if checkpoint is None else settling.held_by(checkpoint, self._effect)

    @property
    def _is_led(self) -> bool:
        """By the option that was chosen, and by no transition."""
        return isinstance(self.item, Gate) and bool(self._effect.transition_to)

    @property
    def _decisions(self) -> tuple[Artifact, ...]:
        return self.submission.artifacts if self.said.decisions is None else self.said.decisions

    def _walk(self) -> Walk:
        effect = self._effect
        is_steered = self.said.drive is not Drive.LED
        self.after = {**self._as_answered(effect), **self._set(effect)}
        position = walker.skip(self.snapshot.position, effect.skip_activities)
        press_on = self.preferences.autonomy is Autonomy.NEVER_STOP
        if self._is_led:
            walk = walker.enter_activity(
                program=self.program,
                position=position,
                activity_id=effect.transition_to,
                variables=self.after,
                press_on=press_on,
                past_people=self.preferences.waives_people,
                by_hand=is_steered,
            )
        else:
            walk = walker.complete_pending(
                program=self.program,
                position=position,
                variables=self.after,
                artifacts=self._decisions,
                press_on=press_on,
                past_people=self.preferences.waives_people,
                by_hand=is_steered,
                by_word=self.said.drive is Drive.HANDED_OVER,
            )
        if self.said.drive is not Drive.STEERED:
            return walk
        after = replace(self.snapshot, variables={**self.after, **walk.assigned})
        return endings.with_nothing_to_say(program=self.program, walk=walk, snapshot=after)

    def _set(self, effect: Effect) -> dict[str, Any]:
        """What the step's actions set, then what the chosen option does."""
        scope = walker.scope_at(program=self.program, position=self.snapshot.position, variables=self.variables)
        added = settling.set_by_actions(program=self.program, item=self.item, variables=scope)
        return {**added, **walker.set_by_option(effect=effect, variables={**scope, **added})}

    def _as_answered(self, effect: Effect) -> dict[str, Any]:
        asked = approvals.checkpoint_of(self.program, self.snapshot, self.item) if isinstance(self.item, Gate) else None
        if asked is None or not self.said.by_person or self.findings.answer is None:
            return self.variables
        state = replace(self.snapshot, variables=self.variables)
        return declining.as_chosen(program=self.program, checkpoint=asked, chosen=effect, snapshot=state)

    def _claimed(self, effect: Effect) -> tuple[str, ...]:
        said = None if self.said.by_person else self.submission.context
        claimed = settling.claimed_with(self.program, said, self.snapshot)
        return tuple(name for name in claimed if name not in effect.set_variable)

    def _unmet(self) -> tuple[Failure, ...]:
        scope = walker.scope_at(program=self.program, position=self.snapshot.position, variables=self.variables)
        return settling.unmet_by(program=self.program, item=self.item, variables=scope)

    def _advanced(self, judged: Judgement, walk: Walk) -> Decision:
        journal = self.journal
        journal.advance_recorded(Outcome.ADVANCED, ())
        degraded = warned.degraded(self.program, self.findings)
        passed = tuple(failures.as_gap(failure) for failure in (*self._unmet(), *walk.passed))
        gaps = journal.gaps((*judged.verdict.gaps, *judged.told, *self.findings.gaps, *degraded, *passed))
        warnings = (*warned.of_gaps(gaps), *warned.of_findings(self.findings, self.submission), *self._preferences())
        self._findings(answered_by=Authority.HUMAN if self.said.by_person else Authority.RELAYED)
        if self.findings.answer is None and self.findings.unanswered is not None:
            journal.answered(self.findings.unanswered.id, authority=Authority.DEFAULT)
        journal.trace(walk.notes)
        following = replace(
            self.snapshot,
            position=walk.position,
            drive=self.said.drive,
            variables={**self.after, **walk.assigned},
            preferences=self.preferences,
            capabilities={**self.snapshot.capabilities, **self.findings.capabilities},
            blocked=None,
            consecutive_blocks=0,
            forgiven_blocks=0,
            questions=tuple(each for each in self.snapshot.questions if each != self.question),
            answered=self.said.answered,
            work=None,
            claimed=self._claimed(self._effect),
            settled=settling.settled_after(
                program=self.program,
                before=self.snapshot,
                position=walk.position,
                names=self._held(),
                is_led=self._is_led,
            ),
        )
        return journal.decision(
            outcome=Outcome.ADVANCED,
            snapshot=journal.ask(self.program, following),
            node_kind=NodeKind.STEP,
            outputs=journal.prepare_outputs(self.submission, self.snapshot.handed_in),
            gaps=gaps,
            warnings=warnings,
            step_context=self._step_context(),
        )

    def _blocked(self, judged: Judgement) -> Decision:
        """A block is a node of its own: it holds what was handed in, and is the place from which to retry.

        Work that lacks nothing but a person's approval is shown to them there, and counts as no failed attempt.
        """
        journal = self.journal
        journal.advance_recorded(Outcome.BLOCKED, judged.verdict.blockers)
        gaps = journal.gaps((*judged.verdict.gaps, *judged.told, *self.findings.gaps))
        warnings = (*warned.of_gaps(gaps), *warned.of_findings(self.findings, self.submission), *self._preferences())
        # Only what the run goes on with is an answer; one that comes with a blocked attempt is given again.
        self._findings(answered_by=None)
        handed_in = journal.prepare_outputs(self.submission, self.snapshot.handed_in)
        waits = judged.waits_for_approval
        following = replace(
            self.snapshot,
            drive=self.said.drive,
            variables=self.variables,
            preferences=self.preferences,
            capabilities={**self.snapshot.capabilities, **self.findings.capabilities},
            blocked=self._why(judged, handed_in),
            consecutive_blocks=self.snapshot.consecutive_blocks + (0 if waits else 1),
            answered=self.snapshot.answered if self.snapshot.was_sent_back else None,
            work=approvals.work_of(content=self.submission.digest, artifacts=self._decisions) if waits else None,
            claimed=self._claimed(Effect()),
        )
        return journal.decision(
            outcome=Outcome.BLOCKED,
            snapshot=journal.ask(self.program, following, stays=True),
            node_kind=NodeKind.BLOCKED_ATTEMPT,
            outputs=handed_in,
            gaps=gaps,
            warnings=warnings,
        )

    def _why(self, judged: Judgement, handed_in: tuple[OutputDraft, ...]) -> Blocked:
        before = self.snapshot.handed_in
        replaced = {output.supersedes.hex for output in handed_in if output.supersedes}
        now = tuple(HandedIn(output=out.output_id.hex, artifact_kind=out.artifact_kind) for out in handed_in)
        return Blocked(
            retryable=judged.verdict.retryable,
            blockers=judged.verdict.blockers,
            issues=tuple(self.findings.issues[:MAX_ISSUES]),
            suggestions=tuple(self.findings.suggestions),
            followup=self.findings.followup,
            outputs=(*(kept for kept in before if kept.output not in replaced), *now),
        )

    def _findings(self, *, answered_by: Authority | None) -> None:
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
        self.journal.preferences(self.preferences, self.snapshot.preferences, self.said.preferences.source, modes)
        return modes
