"""Runs whose activities are handed over whole: the agent does the work of a visit and tells of it when it moves on.

What it tells becomes the same nodes that a run gets which is led step by step: one for each step, with its output. Claims
that disagree with the workflow are warned of and stop nothing. Open questions and what only a person may do stop the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace as at_place
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from sessions_app.engine import failures, manifests, obligations, outputs, questions, warnings as warned
from sessions_app.engine.decisions import Outcome, Part, Place, Warned, WarningCode
from sessions_app.engine.handover_refusals import (
    CheckpointOpenError,
    SuspendedError,
    leads_nowhere,
    refuse_complete,
    unknown_activity,
)
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.manifests import ActivityOutcome, ManifestEntry
from sessions_app.engine.obligations import Submission
from sessions_app.engine.reasons import Gap, GapSeverity, gap_of
from sessions_app.engine.state import Answered, Snapshot
from sessions_app.engine.steering import set_by_actions
from sessions_app.engine.transitions import ways_from
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import aiming, walker, walks
from workflows_app.engine.program import Parallel, Program, Step
from workflows_app.engine.walks import Note, Position

# A run that no activity has been entered in is pending there.
BEGINNING = "begin"
MAX_MANIFEST_ENTRIES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Enter an activity. `manifest` tells what was done in the one that is left, `asks_on_entry` whether all questions of
    the new one are asked at once.
    """

    activity_id: str
    claim: str | None = None
    manifest: tuple[ManifestEntry, ...] | None = None
    outcomes: tuple[ActivityOutcome, ...] | None = None
    asks_on_entry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Handing:
    parts: tuple[Part, ...]
    warnings: tuple[str, ...]

    @property
    def snapshot(self) -> Snapshot:
        return self.parts[-1].decision.snapshot


def begin(*, variables: Mapping[str, Any]) -> Snapshot:
    """The state of a run before its first activity."""
    return Snapshot(position=Position(activity="", pending=BEGINNING), variables=dict(variables))


def stays(*, program: Program, snapshot: Snapshot, activity_id: str) -> bool:
    """Whether entering is only reading again: the run is in that activity, which does not lead to itself."""
    activity = program.activity(snapshot.position.activity)
    if activity is None or activity.id != activity_id:
        return False
    return activity_id != snapshot.led_to and not any(way.target == activity_id for way in ways_from(activity))


def hand_over(
    *, program: Program, snapshot: Snapshot, command: HandOver, place: Place, nodes: Sequence[UUID]
) -> Handing:
    """`nodes` are the ids of the nodes to be made; there are at least two more than entries in the manifest."""
    refuse_complete(snapshot)
    refuse_waiting(snapshot, command)
    _refuse_unstorable(command)
    if command.activity_id not in walker.TERMINAL_TARGETS and program.activity(command.activity_id) is None:
        raise unknown_activity(program, command.activity_id)
    told = warnings_of(program=program, snapshot=snapshot, command=command)
    visit = _Visit(program, snapshot, place, nodes)
    told = (*told, *visit.take(command.manifest or ()))
    visit.leave(command)
    return Handing(parts=tuple(visit.parts), warnings=(*told, *_passed_over(program, visit.snapshot, command)))


def warnings_of(*, program: Program, snapshot: Snapshot, command: HandOver) -> tuple[str, ...]:
    """What the server does not find as the agent claims it."""
    told = manifests.validate(
        program=program,
        position=snapshot.position,
        variables=_on_leaving(program, snapshot),
        activity_id=command.activity_id,
        claim=command.claim,
        manifest=command.manifest,
        outcomes=command.outcomes,
        skipped=_needless(program, snapshot),
    )
    if snapshot.led_to and not _same_end(program, snapshot.led_to, command.activity_id):
        message = f"The option that was chosen leads to {snapshot.led_to!r}, and {command.activity_id!r} was entered."
        return (*told, message)
    return told


def _needless(program: Program, snapshot: Snapshot) -> tuple[str, ...]:
    """Where an option leads elsewhere, what was not done by then is left undone, as in a run that is led step by step."""
    activity = program.activity(snapshot.position.activity) if snapshot.led_to else None
    return tuple(item.id for item in activity.body) if activity else ()


def warnings_of_staying(*, program: Program, snapshot: Snapshot, command: HandOver) -> tuple[str, ...]:
    """What is to be said of entering the activity at hand once more: nothing is left, so nothing is recorded."""
    told = warnings_of(program=program, snapshot=snapshot, command=command)
    if not command.manifest:
        return told
    message = (
        f"The run is in {command.activity_id!r} already, so the step_manifest was not recorded. "
        "Send it with the call that leaves the activity."
    )
    return (*told, message)


def _refuse_unstorable(command: HandOver) -> None:
    """What names no step is kept as well, so all of it must be such that the log can hold it."""
    entries = command.manifest or ()
    if len(entries) > MAX_MANIFEST_ENTRIES:
        raise InvalidInputError(
            f"The step_manifest has {len(entries)} entries; at most {MAX_MANIFEST_ENTRIES} are taken.",
            suggestion="Sum up the rounds of a long loop in one entry for each of its steps.",
            details={"parameter": "step_manifest", "maxEntries": MAX_MANIFEST_ENTRIES},
        )
    outputs.check_text(command.claim or "", name="transition_condition")
    for entry in entries:
        outputs.check_text(entry.step_id, name="step_manifest step_id")
        outputs.check_text(entry.output, name="step_manifest output")


def _on_leaving(program: Program, snapshot: Snapshot) -> dict[str, Any]:
    """The variables as the conditions of the ways out see them."""
    activity = program.activity(snapshot.position.activity)
    actions = activity.exit_actions if activity else ()
    added = walker.set_by(program=program, actions=actions, variables=snapshot.variables)
    return {**snapshot.variables, **added}


def refuse_waiting(snapshot: Snapshot, command: HandOver) -> None:
    """Nothing moves while somebody is asked, or while another run has to end first."""
    if snapshot.questions:
        raise CheckpointOpenError.to_move(snapshot, command.activity_id, by_handle=not command.asks_on_entry)
    if snapshot.waits_for:
        raise SuspendedError.of(snapshot)


def _passed_over(program: Program, entered: Snapshot, command: HandOver) -> tuple[str, ...]:
    """That the run is not where it was sent, since that activity is left out of it."""
    position = entered.position
    arrived = position.activity == command.activity_id and not position.complete
    if arrived or command.activity_id in walker.end_names(program):
        return ()
    now = "the workflow is complete" if position.complete else f"the run is at {position.activity!r}"
    return (f"{command.activity_id!r} is left out of this run, by its mode or by an option that was chosen: {now}.",)


def _same_end(program: Program, first: str, second: str) -> bool:
    return first == second or {first, second} <= walker.end_names(program)


class _Visit:
    """The rest of one visit of an activity, as its manifest tells it, and the step into the next one."""

    def __init__(self, program: Program, snapshot: Snapshot, place: Place, nodes: Sequence[UUID]) -> None:
        self.program = program
        self.snapshot = snapshot
        self.place = place
        self.nodes = iter(nodes)
        self.parts: list[Part] = []
        self.activity = program.activity(snapshot.position.activity)
        self.listed: list[str] = []
        # The entry that is done when the activity is left, and what of the manifest names no step that can be done.
        self.last: ManifestEntry | None = None
        self.unlisted: list[ManifestEntry] = []

    def take(self, manifest: Sequence[ManifestEntry]) -> tuple[str, ...]:
        """A node for each entry but the last, whose node is that of the next activity. Returns what is to be warned of."""
        for entry in manifest:
            aimed = self._aim(entry)
            if aimed is None:
                self.unlisted.append(entry)
            else:
                self._reach(aimed)
                self.last = entry
                self.listed.append(entry.step_id)
        return self._unasked()

    def _aim(self, entry: ManifestEntry) -> Position | None:
        """Where the entry is done: behind the one before it, if that is still to be done."""
        position = self.snapshot.position
        before = aiming.past(position) if self.last is not None else position
        return aiming.aim(program=self.program, position=before, item_id=entry.step_id)

    def _reach(self, aimed: Position) -> None:
        """The pending entry is finished and this one is pending; or, before the first, the run is set on it."""
        if self.last is not None:
            journal, after, gaps = self._finished(self.last)
            self._written(journal, replace(after, position=aimed), self._notes_at(aimed), gaps, self.last.output)
        elif aimed.pending != self.snapshot.position.pending:
            self._written(self._journal(), replace(self.snapshot, position=aimed), self._notes_at(aimed))

    def _finished(self, entry: ManifestEntry) -> tuple[Journal, Snapshot, tuple[Gap, ...]]:
        """The pending step is done: what it sets is set, and what it lacks is a gap."""
        item = walker.item_at(self.program, self.snapshot.position)
        self._refuse_unapproved(item)
        gaps = (*self._undemanded(entry), *self._beyond())
        added = set_by_actions(program=self.program, item=item, variables=self.snapshot.variables)
        return self._journal(), replace(self.snapshot, variables={**self.snapshot.variables, **added}), gaps

    def _refuse_unapproved(self, item: object) -> None:
        if self.activity is None or not isinstance(item, Step | Parallel):
            return
        missing = questions.unapproved(program=self.program, activity=self.activity, item=item, snapshot=self.snapshot)
        if missing:
            raise CheckpointOpenError.to_approve(missing)

    def _undemanded(self, entry: ManifestEntry) -> tuple[Gap, ...]:
        """What a run that is led would have been asked for. A person's approval was seen to before."""
        approved = Answered(checkpoint="", option="", label="", approves=self.snapshot.position.pending)
        findings = obligations.examine(
            program=self.program,
            snapshot=replace(self.snapshot, answered=approved),
            submission=Submission(notes=entry.output),
            variables=self.snapshot.variables,
        )
        return tuple(gap_of(reason, GapSeverity.INFO) for reason in findings.reasons)

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
        persons = [checkpoint.id for checkpoint in unasked if checkpoint.human]
        if persons:
            raise CheckpointOpenError.to_approve(persons)
        return tuple(
            f"Checkpoint {checkpoint.id!r} of {self.activity.id!r} was passed without being asked. "
            "Yield it before the work that follows it."
            for checkpoint in unasked
        )

    def leave(self, command: HandOver) -> None:
        """The last entry is finished, and the next activity entered."""
        journal, gaps, output = self._last_finished()
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
        )
        self._written(journal, self._met(journal, entered, command), walk.notes, gaps, self._with_unlisted(output))

    def _last_finished(self) -> tuple[Journal, tuple[Gap, ...], str]:
        if self.last is None:
            return self._journal(), (), ""
        journal, after, gaps = self._finished(self.last)
        self.snapshot = replace(after, position=aiming.past(after.position))
        return journal, gaps, self.last.output

    def _met(self, journal: Journal, entered: Snapshot, command: HandOver) -> Snapshot:
        """The new activity begins, and its questions are asked."""
        activity = self.program.activity(entered.position.activity)
        if activity is None or entered.position.complete or not command.asks_on_entry:
            return entered
        shown = questions.on_entry(program=self.program, activity=activity, snapshot=entered, due_ms=self.place.due_ms)
        return replace(entered, questions=tuple(journal.present(each) for each in shown))

    def _left(self) -> Position:
        position = self.snapshot.position
        if self.activity is None:
            return position
        finished = dict.fromkeys((*position.completed_activities, self.activity.id))
        return replace(position, completed_activities=tuple(finished), frames=())

    def _with_unlisted(self, output: str) -> str:
        """What was said of no step of the activity is kept with the last of it."""
        said = [f"{entry.step_id}: {entry.output}" for entry in self.unlisted if entry.output.strip()]
        return "\n\n".join(part for part in (output, *said) if part.strip())

    # Writing it down

    def _journal(self) -> Journal:
        self.place = at_place(self.place, next_node=next(self.nodes))
        journal = Journal(self.place)
        journal.advance_recorded(Outcome.ADVANCED, ())
        return journal

    def _written(
        self,
        journal: Journal,
        after: Snapshot,
        notes: tuple[Note, ...],
        gaps: tuple[Gap, ...] = (),
        output: str = "",
    ) -> None:
        identified = journal.gaps(gaps)
        journal.trace(notes)
        handed_in = journal.prepare_outputs(Submission(notes=output))
        told = tuple(found for found in identified if found.gap.severity is not GapSeverity.INFO)
        decision = journal.decision(
            outcome=Outcome.ADVANCED,
            snapshot=replace(after, answered=None, blocked=None, consecutive_blocks=0, asked=None),
            node_kind=NodeKind.STEP,
            outputs=handed_in,
            gaps=identified,
            warnings=(*warned.of_gaps(told), *self._cut(output)),
        )
        self.parts.append(Part(place=self.place, decision=decision))
        self.snapshot = decision.snapshot
        critical = any(found.gap.severity is GapSeverity.CRITICAL for found in identified)
        self.place = at_place(
            self.place,
            node_id=self.place.next_node,
            has_children=False,
            has_critical_gaps=self.place.has_critical_gaps or critical,
        )

    def _cut(self, output: str) -> tuple[Warned, ...]:
        if outputs.cut_notes(output) == output:
            return ()
        of = self.last.step_id if self.last else self.snapshot.position.activity or BEGINNING
        message = (
            f"What the step_manifest tells of {of!r} has more than {outputs.MAX_NOTES_BYTES} bytes and was cut there. "
            "Keep long texts in files and name their paths."
        )
        return (Warned(code=WarningCode.NOTES_TRUNCATED, message=message),)

    def _notes_at(self, aimed: Position) -> tuple[Note, ...]:
        return (
            Note(kind=walks.NoteKind.SELECTED_NEXT_STEP, summary=f"Next is {aimed.pending}.", item=aimed.pending_item),
        )


def _told(gap: Gap) -> Gap:
    """On the agent's word the loop went on; it is told, and it does not count as a failure of the run."""
    return Gap(
        severity=GapSeverity.WARNING,
        category=gap.category,
        detail=gap.detail,
        summary=gap.summary,
        pointer=gap.pointer,
    )
