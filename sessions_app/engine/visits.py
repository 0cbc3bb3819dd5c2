"""What an agent tells of a visit of an activity becomes the same nodes that a run gets which is led step by step: one for each
step, with its output.
"""

from collections.abc import Sequence
from dataclasses import replace as at_place, replace as with_facts
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import (
    approvals,
    checkpoints,
    evasions,
    failures,
    guards,
    manifests,
    obligations,
    outputs,
    questions,
    settling,
    warnings as warned,
)
from sessions_app.engine.decisions import (
    Decision,
    EnterActivity,
    IdentifiedGap,
    Outcome,
    OutputDraft,
    Place,
    Warned,
    WarningCode,
)
from sessions_app.engine.handover_refusals import CheckpointOpenError, StepNotDoneError, leads_nowhere
from sessions_app.engine.journal import Journal
from sessions_app.engine.judging import Judgement, judge
from sessions_app.engine.log import NodeKind
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.prompts import rounds_at
from sessions_app.engine.reasons import Gap, GapSeverity, weigh
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Blocked, Blocker, HandedIn, OpenQuestion, Snapshot
from sessions_app.engine.submissions import Submission
from teams_app.engine.errors import WorkrailError
from workflows_app.engine import aiming, conditions, walker, walks
from workflows_app.engine.people import set_by_people_alone
from workflows_app.engine.program import ActionKind, Gate, Program, Step
from workflows_app.engine.variables import Names
from workflows_app.engine.walks import Note, Position

BEGIN = "begin"
# Rounds of outer loops that one call looks through for one in which the inner loop has a round.
_MAX_AIMS = 2_000


class Visit:
    """The rest of one visit of an activity, as its manifest tells it, and the step into the next one."""

    def __init__(
        self, program: Program, snapshot: Snapshot, place: Place, left_behind: tuple[OpenQuestion, ...]
    ) -> None:
        """`left_behind` are questions for people that a person has waived."""
        self.left_behind = left_behind
        self.program = program
        self.snapshot = snapshot
        self.place = place
        self.nodes = iter((*place.more_nodes, place.next_node))
        self.made: list[Decision] = []
        self.activity = program.activity(snapshot.position.activity)
        # All that the call goes through in thought.
        self.ahead = walker.LookAhead(program)
        self.is_guarded = self.activity is not None and guards.is_guarded(self.ahead, self.activity)
        self.judged: tuple[ManifestEntry, Snapshot, Judgement] | None = None
        self.listed: list[str] = []
        # The entry that is done when the activity is left, and what of the manifest names no step that can be done.
        self.last: ManifestEntry | None = None
        self.unlisted: list[ManifestEntry] = []
        self.told_again: list[ManifestEntry] = []
        self.waits = False
        self.manifest: Sequence[ManifestEntry] = ()
        self.told_of: frozenset[str] = frozenset()
        self.taken = 0
        self.aims = 0
        # Who was not asked, since a person has had the run never stop.
        self.waived: list[str] = []
        self.passed_by: list[Gap] = []
        # Who comes next, of those whom the way leaves out.
        self.left_out = ""
        # Of what the step at hand sets, what an answer has set, where it is not the turn of the step; and all of that so far.
        self.kept: frozenset[str] = frozenset()
        self.all_kept: set[str] = set()
        # What answers set in this run, and the steps that are not to be done by that, with the condition of each.
        self.answered: Names | None = None
        self.ruled_out: dict[str, str] = {}
        self.looking = conditions.Looking()

    def decision(self, told: tuple[str, ...]) -> Decision:
        recorded = self.taken if self.waits else None
        return with_facts(self.made[-1], earlier=tuple(self.made[:-1]), told=told, recorded=recorded)

    def take(self, manifest: Sequence[ManifestEntry]) -> tuple[str, ...]:
        """A node for each entry but the last, whose node is that of the next activity. Returns what is to be warned of."""
        before = frozenset(self.snapshot.position.done)
        self.manifest = manifest
        self.told_of = frozenset(entry.step_id for entry in manifest)
        contexts = (entry.context for entry in manifest)
        settling.refuse_presumed(self.program, before=self.snapshot.variables, contexts=contexts)
        for number, entry in enumerate(manifest):
            self.taken = number
            behind = self._behind()
            # Behind the one before it, if that is still to be done.
            aimed = self._aimed(behind, entry.step_id)
            if aimed is not None and self._waits_at_last():
                return self._told_ruled_out()
            if aimed is None:
                (self.told_again if entry.step_id in before else self.unlisted).append(entry)
                continue
            self._pass_to(aimed, behind)
            if self.last is None:
                self._refuse_before_retry(aimed)
            kept = self._kept(aimed, behind)
            self._look_if_ruled_out(entry, aimed)
            self._reach(aimed)
            self.kept = kept
            self.last = entry
            self.listed.append(entry.step_id)
        self.taken = len(manifest)
        told = (*self._told_ruled_out(), *self._stands())
        return self._told_ruled_out() if self._waits_at_last() else (*told, *self._unasked(), *self._as_answered())

    def _stands(self) -> tuple[str, ...]:
        """What was recorded of a step, and perhaps approved, is not changed by what an agent tells of it later."""
        again = [entry.step_id for entry in self.told_again if entry.output.strip()]
        if not again:
            return ()
        names = ", ".join(dict.fromkeys(again[: manifests.MAX_NAMED]))
        return (f"What was recorded of {names} before stands; what was told of it now was not recorded.",)

    def _look_if_ruled_out(self, entry: ManifestEntry, aimed: Position) -> None:
        """Whether the condition of the step, or of a loop around it, does not hold by what was answered alone, whatever else was found out."""
        item = walker.item_at(self.program, aimed)
        around = walker.loops_at(self.activity, aimed.frames) if self.activity is not None else ()
        asked = [None if item is None or isinstance(item, Gate) else item.run_condition]
        asked = [each for each in (*asked, *(loop.run_condition for loop in around)) if each is not None]
        if not asked:
            return
        if self.answered is None:
            self.answered = Names({*self.snapshot.settled, *set_by_people_alone(self.program)})
        known = self.answered.__contains__
        asked = [each for each in asked if any(map(known, conditions.variables_of(each)))]
        if not asked:
            return
        variables = self.snapshot.variables if self.last is None else self._left_by(self.last)
        for condition in asked:
            if conditions.is_ruled_out(
                condition,
                variables=variables,
                mode=self.program.conditions,
                is_known=known,
                looking=self.looking,
            ):
                self.ruled_out.setdefault(entry.step_id, conditions.describe(condition))

    def _told_ruled_out(self) -> tuple[str, ...]:
        return tuple(warning.message for warning in manifests.of_ruled_out(self.ruled_out))

    def _kept(self, aimed: Position, behind: Position) -> frozenset[str]:
        """What the step sets is set whenever it is told of; but what an answer has set only in its turn."""
        item, settled = walker.item_at(self.program, aimed), self.snapshot.settled
        actions = item.actions if isinstance(item, Step) else ()
        sets = (each.target for each in actions if each.action is ActionKind.SET)
        among = Names(settled)
        held = frozenset(name for name in sets if name in among or among.parts_of(name))
        if not held:
            return held
        variables = self.snapshot.variables if self.last is None else self._left_by(self.last)
        here = replace(self.snapshot, variables=variables)
        if guards.comes_to(ahead=self.ahead, snapshot=here, position=behind, item=aimed):
            return frozenset()
        self.all_kept |= held
        return held

    def _as_answered(self) -> tuple[str, ...]:
        names = ", ".join(sorted(self.all_kept))
        return (f"{names} stays as an answer has set it: it was not the turn of a step that sets it.",) if names else ()

    def _waits_at_last(self) -> bool:
        if self.last is not None and self._judged(self.last).waits_for_approval:
            self._wait(self._with_unlisted())
        return self.waits

    def _behind(self) -> Position:
        """Behind the entry before, with the loops that its artifacts end; or where the run stands, before the first."""
        position = self.snapshot.position
        if self.last is None:
            return position
        if not position.frames:
            return aiming.past(position)
        walk = walker.complete_pending(
            program=self.program,
            position=position,
            variables=self._left_by(self.last),
            artifacts=self.last.artifacts,
            by_hand=True,
            by_word=True,
        )
        depth = len(walk.position.frames)
        if walk.failure is not None or depth >= len(position.frames):
            return aiming.past(position)
        return aiming.behind_loop(position, depth)

    def _aimed(self, behind: Position, step_id: str) -> Position | None:
        """In loops within others, the next round that the tests of all of them give. Where they give none, the round is begun on
        the agent's word.
        """
        first = aimed = aiming.aim(program=self.program, position=behind, item_id=step_id)
        while aimed is not None and len(aimed.frames) > 1 and self.aims < _MAX_AIMS:
            denied = self._denied(behind, aimed)
            if denied is None:
                return aimed
            if denied == 0:
                break
            self.aims += 1
            behind = aiming.behind_loop(aimed, denied)
            aimed = aiming.aim(program=self.program, position=behind, item_id=step_id)
        return first

    def _denied(self, behind: Position, aimed: Position) -> int | None:
        """How many loops stand around the outermost of those which would begin a round that their test denies; None when none does."""
        begun = aiming.rounds_begun(behind, aimed)
        if not begun:
            return None
        variables = self.snapshot.variables if self.last is None else self._left_by(self.last)
        rounds = (
            (depth, walker.has_rounds(program=self.program, position=aimed, depth=depth, variables=variables))
            for depth in begun
        )
        return next((depth for depth, is_given in rounds if not is_given), None)

    def _reach(self, aimed: Position) -> None:
        """The pending entry is finished and this one is pending; or, before the first, the run is set on it."""
        if self.last is not None:
            journal, after, gaps = self._finished(self.last)
            self._written(journal, replace(after, position=aimed), self._notes_at(aimed), gaps, self.last)
        elif aimed.pending != self.snapshot.position.pending:
            self._written(self._journal(), replace(self.snapshot, position=aimed), self._notes_at(aimed))

    def _judged(self, entry: ManifestEntry) -> Judgement:
        """The entry against what the program asks of its step, as in a run that is led; once while nothing has changed."""
        if self.judged is not None and self.judged[0] is entry and self.judged[1] is self.snapshot:
            return self.judged[2]
        item = walker.item_at(self.program, self.snapshot.position)
        findings = obligations.examine(
            program=self.program,
            snapshot=self.snapshot,
            submission=_handed_in(entry),
            variables=self._found_out(entry),
        )
        judged = judge(
            program=self.program,
            item=item,
            findings=findings,
            preferences=self.snapshot.preferences,
            drive=Drive.HANDED_OVER,
        )
        if judged.stops:
            within = rounds_at(self.program, self.snapshot)
            raise StepNotDoneError.of(entry.step_id, judged.verdict.blockers, within)
        self.judged = (entry, self.snapshot, judged)
        return judged

    def _finished(self, entry: ManifestEntry) -> tuple[Journal, Snapshot, tuple[Gap, ...]]:
        """The pending step is done: what it sets is set, and what it lacks is a gap."""
        judged = self._judged(entry)
        gaps = (*judged.verdict.gaps, *judged.told, *judged.findings.gaps, *self._beyond(), *self._unmet(entry))
        variables = self._left_by(entry)
        journal = self._journal()
        if entry.context:
            journal.context(entry.context, source="agent_delta")
        claimed = settling.claimed_with(self.program, entry.context, self.snapshot)
        return journal, replace(self.snapshot, variables=variables, claimed=claimed), gaps

    def _unmet(self, entry: ManifestEntry) -> tuple[Gap, ...]:
        item = walker.item_at(self.program, self.snapshot.position)
        unmet = settling.unmet_by(program=self.program, item=item, variables=self._scope(self._found_out(entry)))
        return tuple(map(failures.as_gap, unmet))

    def _scope(self, variables: dict[str, Any]) -> dict[str, Any]:
        return walker.scope_at(program=self.program, position=self.snapshot.position, variables=variables)

    def _left_by(self, entry: ManifestEntry) -> dict[str, Any]:
        """The variables when the pending step is done."""
        item = walker.item_at(self.program, self.snapshot.position)
        variables = self._found_out(entry)
        added = settling.set_by_actions(program=self.program, item=item, variables=self._scope(variables))
        return {**variables, **{name: value for name, value in added.items() if not settling.is_held(name, self.kept)}}

    def _found_out(self, entry: ManifestEntry) -> dict[str, Any]:
        variables = outputs.merge_context(self.snapshot.variables, entry.context)
        item = None if self.kept else walker.item_at(self.program, self.snapshot.position)
        settling.refuse_overwritten(program=self.program, snapshot=self.snapshot, variables=variables, item=item)
        return variables

    def _wait(self, entry: ManifestEntry) -> None:
        """What was told of the step is shown to a person, at a node of its own."""
        self.waits = True
        self._refuse_unchanged(entry)
        judged = self._judged(entry)
        journal = self._journal(Outcome.BLOCKED, judged.verdict.blockers)
        if entry.context:
            journal.context(entry.context, source="agent_delta")
        handed_in = journal.prepare_outputs(_handed_in(entry), self.snapshot.handed_in)
        kept = tuple(HandedIn(output=out.output_id.hex, artifact_kind=out.artifact_kind) for out in handed_in)
        blocked = Blocked(retryable=True, blockers=judged.verdict.blockers, outputs=kept)
        work = approvals.work_of(content=_handed_in(entry).digest, artifacts=entry.artifacts)
        claimed = settling.claimed_with(self.program, entry.context, self.snapshot)
        waiting = replace(self.snapshot, variables=self._found_out(entry), blocked=blocked, work=work, claimed=claimed)
        shown = checkpoints.approval_at(program=self.program, snapshot=waiting, due_ms=self.place.due_ms)
        asked = () if shown is None else (journal.present(shown),)
        warnings = self._cut(entry.output)
        self._make(
            journal, replace(waiting, questions=asked), NodeKind.BLOCKED_ATTEMPT, outputs=handed_in, warnings=warnings
        )

    def _refuse_sent_back(self, names: Sequence[str]) -> None:
        """Whoever would go on past what a person has sent back is told so, and why."""
        answered = self.snapshot.answered
        if answered is not None and self.snapshot.was_sent_back and answered.checkpoint in names:
            raise StepNotDoneError.sent_back(answered)

    def _refuse_before_retry(self, aimed: Position) -> None:
        """What was sent back is told of before all else: another step might say that it is not to be done at all."""
        if aimed.pending != self.snapshot.position.pending and not self.snapshot.preferences.waives_people:
            self._refuse_sent_back([self.snapshot.position.pending_item])

    def _refuse_unchanged(self, entry: ManifestEntry) -> None:
        """What was sent back is not asked about as it was."""
        answered = self.snapshot.answered
        if answered is not None and answered.content == _handed_in(entry).digest:
            raise StepNotDoneError.sent_back(answered)

    def waiting(self) -> tuple[str, ...]:
        names = ", ".join(question.checkpoint for question in self.snapshot.questions)
        said = (
            f"{names} waits for a person's approval of what you told of it; what came up to there was recorded. "
            "When they have approved, tell of what follows and go on."
        )
        return (said,)

    def _beyond(self) -> tuple[Gap, ...]:
        """Rounds past the limit of a loop are counted once, when its first step is done."""
        if self.activity is None:
            return ()
        frames = self.snapshot.position.frames
        around = zip(walker.loops_at(self.activity, frames), frames, strict=True)
        return tuple(
            _told(failures.as_gap(walks.exhausted(loop)))
            for loop, frame in around
            if frame.iteration == loop.max_iterations and frame.index == 0
        )

    # Leaving

    def _unasked(self) -> tuple[str, ...]:
        if self.activity is None or self.snapshot.led_to:
            return ()
        unasked = questions.unasked(
            program=self.program, activity=self.activity, snapshot=self.snapshot, listed=frozenset(self.listed)
        )
        return tuple(
            f"Checkpoint {checkpoint.id!r} of {self.activity.id!r} was passed without being asked. "
            "Ask it before the work that follows it."
            for checkpoint in unasked
            if not checkpoint.human
        )

    def skip(self) -> None:
        """What the answers of this visit leave out is left out from here on."""
        activity = self.activity
        if activity is None:
            return
        skipped = guards.skipped_by_answers(program=self.program, activity=activity, snapshot=self.snapshot)
        if skipped:
            self.snapshot = replace(self.snapshot, position=walker.skip(self.snapshot.position, skipped))

    def refuse_evasion(self, target: str) -> None:
        """Nobody is passed by who has to be asked: neither in the activity that is left, nor on a way around another."""
        position = self._behind()
        self._pass_to(None, position)
        variables = self.snapshot.variables if self.last is None else self._left_by(self.last)
        behind = replace(self.snapshot, position=position, variables=variables)
        evasion = evasions.evaded(program=self.program, snapshot=behind, target=target)
        if evasion is None:
            return
        if self.snapshot.preferences.waives_people:
            self.waived.extend(() if evasion.unset else evasion.guarding)
            return
        leads_to = evasions.leads_to(program=self.program, snapshot=behind)
        if evasion.is_answered:
            raise CheckpointOpenError.to_enter_answered(target, leads_to=leads_to)
        if evasion.unset:
            raise CheckpointOpenError.to_enter_unset(evasion.guarding, target, evasion.unset, leads_to=leads_to)
        raise CheckpointOpenError.to_enter(evasion.guarding, target, leads_to=leads_to)

    def _out_of_order(self, refusal: WorkrailError, steps: Sequence[str]) -> WorkrailError:
        """The refusal, which advises otherwise where the manifest tells of these steps behind what follows them."""
        to_come = {entry.step_id for entry in self.manifest[self.taken :]}
        if told := [step_id for step_id in steps if step_id in to_come]:
            refusal.suggestion = f"You tell of {', '.join(told)} behind what follows. Tell of the steps in the order in which they are done."
        return refusal

    def _pass_to(self, aimed: Position | None, behind: Position) -> None:
        """Whom the way from behind the last entry to there leaves out; a person who had the run never stop has waived it."""
        if not self.is_guarded:
            return
        passed = guards.passage(
            program=self.program,
            snapshot=self.snapshot if self.last is None else replace(self.snapshot, variables=self._left_by(self.last)),
            position=behind,
            until=aimed,
            told=self.told_of,
            ahead=self.ahead,
        )
        self.snapshot = guards.with_used(self.snapshot, passed)
        if passed.left_out and not self.snapshot.preferences.waives_people:
            left_out = list(dict.fromkeys(passed.left_out))
            self._refuse_sent_back(left_out)
            self.left_out = left_out[0]
            raise self._out_of_order(CheckpointOpenError.to_approve(left_out), left_out)
        if passed.lacking is not None:
            raise self._out_of_order(passed.lacking, passed.lacking.steps)
        self.waived.extend(passed.left_out)
        self.passed_by.extend(passed.gaps)

    def leave(self, command: EnterActivity) -> None:
        """The last entry is finished, and the next activity entered."""
        journal, gaps = self._last_finished()
        walk = walker.enter_activity(
            program=self.program,
            position=self._left(),
            activity_id=command.activity_id,
            variables=self.snapshot.variables,
            by_hand=True,
        )
        if walk.failure is not None:
            raise leads_nowhere(self.program, command.activity_id)
        journal.activity_entered(command.activity_id, walk.position.visit, claim=command.claim)
        entered = replace(
            self.snapshot,
            position=walk.position,
            variables={**self.snapshot.variables, **walk.assigned},
            questions=(),
            answers={},
            led_to="",
            entered_ms=self.place.at_ms,
            settled=settling.settled_after(
                program=self.program,
                before=self.snapshot,
                position=walk.position,
                is_led=bool(self.snapshot.led_to),
            ),
        )
        entry = self._with_unlisted()
        gaps = (*gaps, *self._waived(), *map(failures.as_gap, walk.passed))
        self._written(journal, self._met(journal, entered, command), walk.notes, gaps, entry)

    def _waived(self) -> tuple[Gap, ...]:
        reasons = (approvals.needs_approval(name) for name in self.waived)
        return (*weigh(reasons=reasons, preferences=self.snapshot.preferences).gaps, *self.passed_by)

    def _last_finished(self) -> tuple[Journal, tuple[Gap, ...]]:
        if self.last is None:
            return self._journal(), ()
        journal, after, gaps = self._finished(self.last)
        self.snapshot = replace(after, position=aiming.past(after.position))
        return journal, gaps

    def _met(self, journal: Journal, entered: Snapshot, command: EnterActivity) -> Snapshot:
        """The new activity begins, and its questions are asked."""
        activity = self.program.activity(entered.position.activity)
        if activity is None or entered.position.complete or not command.asks_on_entry:
            return entered
        shown = questions.on_entry(
            ahead=walker.LookAhead(self.program), activity=activity, snapshot=entered, due_ms=self.place.due_ms
        )
        return replace(entered, questions=tuple(journal.present(each) for each in shown))

    def _left(self) -> Position:
        position = self.snapshot.position
        if self.activity is None:
            return position
        finished = dict.fromkeys((*position.completed_activities, self.activity.id))
        return replace(position, completed_activities=tuple(finished), frames=())

    def _with_unlisted(self) -> ManifestEntry:
        """What was said of no step of the activity is kept with the last of it."""
        last = self.last or ManifestEntry(step_id="", output="")
        said = [f"{entry.step_id}: {entry.output}" for entry in self.unlisted if entry.output.strip()]
        output = "\n\n".join(part for part in (last.output, *said) if part.strip())
        return with_facts(last, output=output)

    # Writing it down

    def _journal(self, outcome: Outcome = Outcome.ADVANCED, blockers: Sequence[Blocker] = ()) -> Journal:
        self.place = at_place(self.place, next_node=next(self.nodes))
        journal = Journal(self.place)
        for question in self.left_behind:
            journal.withdraw(question)
        self.left_behind = ()
        journal.advance_recorded(outcome, blockers)
        return journal

    def _written(
        self,
        journal: Journal,
        after: Snapshot,
        notes: tuple[Note, ...],
        gaps: tuple[Gap, ...] = (),
        entry: ManifestEntry | None = None,
    ) -> None:
        identified = journal.gaps(gaps)
        journal.trace(notes)
        submission = Submission() if entry is None else _handed_in(entry)
        handed_in = journal.prepare_outputs(submission, self.snapshot.handed_in)
        warnings = (*warned.of_gaps(identified), *self._cut(submission.notes))
        following = replace(after, answered=None, blocked=None, consecutive_blocks=0, work=None)
        self._make(journal, following, NodeKind.STEP, outputs=handed_in, gaps=identified, warnings=warnings)

    def _make(
        self,
        journal: Journal,
        snapshot: Snapshot,
        kind: NodeKind,
        *,
        outputs: tuple[OutputDraft, ...],
        gaps: tuple[IdentifiedGap, ...] = (),
        warnings: tuple[Warned, ...] = (),
    ) -> None:
        decision = journal.decision(
            outcome=Outcome.ADVANCED if snapshot.blocked is None else Outcome.BLOCKED,
            snapshot=snapshot,
            node_kind=kind,
            outputs=outputs,
            gaps=gaps,
            warnings=warnings,
        )
        self.made.append(decision)
        self.snapshot = decision.snapshot
        critical = any(found.gap.severity is GapSeverity.CRITICAL for found in gaps)
        self.place = at_place(
            self.place,
            node_id=self.place.next_node,
            has_children=False,
            has_critical_gaps=self.place.has_critical_gaps or critical,
        )

    def _cut(self, output: str) -> tuple[Warned, ...]:
        if outputs.cut_notes(output) == output:
            return ()
        of = self.last.step_id if self.last else self.snapshot.position.activity or BEGIN
        message = (
            f"What was told of {of!r} has more than {outputs.MAX_NOTES_BYTES} bytes and was cut there. "
            "Keep long texts in files and name their paths."
        )
        return (Warned(code=WarningCode.NOTES_TRUNCATED, message=message),)

    def _notes_at(self, aimed: Position) -> tuple[Note, ...]:
        return (
            Note(kind=walks.NoteKind.SELECTED_NEXT_STEP, summary=f"Next is {aimed.pending}.", item=aimed.pending_item),
        )


def _handed_in(entry: ManifestEntry) -> Submission:
    return Submission(notes=entry.output, artifacts=entry.artifacts, context=entry.context)


def _told(gap: Gap) -> Gap:
    """On the agent's word the loop went on; it is told, and it does not count as a failure of the run."""
    return Gap(
        severity=GapSeverity.WARNING,
        category=gap.category,
        detail=gap.detail,
        summary=gap.summary,
        pointer=gap.pointer,
    )
