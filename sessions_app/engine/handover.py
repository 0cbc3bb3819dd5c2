"""Runs whose activities are handed over whole: the agent does the work of a visit and tells of it when it moves on.

Claims that disagree with the workflow are warned of and stop nothing. Open questions and what only a person may do stop the run.
"""

from collections.abc import Sequence
from dataclasses import replace as with_facts
from typing import Any

from msgspec.structs import replace

from sessions_app.engine import guards, manifests, outputs, questions
from sessions_app.engine.checkpoints import Shown
from sessions_app.engine.decisions import AskQuestion, Decision, EnterActivity, Outcome, Place
from sessions_app.engine.handover_refusals import (
    CheckpointOpenError,
    SuspendedError,
    no_activity,
    refuse_complete,
    unknown_activity,
)
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.state import Snapshot
from sessions_app.engine.submissions import Submission
from sessions_app.engine.visits import BEGIN, Visit
from sessions_app.engine.ways import on_leaving, ways_from
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import walker
from workflows_app.engine.program import Program
from workflows_app.engine.walker import LookAhead
from workflows_app.engine.walks import Position

# Where a run stands that no activity has been entered in.
BEGINNING = Position(activity="", pending=BEGIN)
MAX_MANIFEST_ENTRIES = 500
_NOT_DONE_YET = (
    "Told with the call that came to this question. It is recorded as done when it is told again after the answer."
)


def stays(*, program: Program, snapshot: Snapshot, activity_id: str) -> bool:
    """Whether entering is only reading again: the run is in that activity, which does not lead to itself. One that has ended is in
    none.
    """
    activity = program.activity(snapshot.position.activity)
    if activity is None or activity.id != activity_id or snapshot.position.complete:
        return False
    return activity_id != snapshot.led_to and not any(way.target == activity_id for way in ways_from(activity))


def enter_activity(*, program: Program, snapshot: Snapshot, command: EnterActivity, place: Place) -> Decision:
    """The nodes of what the manifest tells, and the one at which the next activity begins.

    What a person has to approve first is shown to them as it was told, and the run stays until they have answered.
    """
    refuse_complete(snapshot)
    left_behind = tuple(
        question for question in snapshot.questions if question.human and snapshot.preferences.waives_people
    )
    snapshot = replace(snapshot, questions=tuple(each for each in snapshot.questions if each not in left_behind))
    refuse_waiting(snapshot, command)
    _refuse_unstorable(command)
    if command.activity_id not in walker.TERMINAL_TARGETS and program.activity(command.activity_id) is None:
        raise unknown_activity(program, command.activity_id)
    snapshot = guards.as_led(program=program, snapshot=snapshot)
    visit = Visit(program, snapshot, place, left_behind)
    try:
        return _left(visit, command)
    except CheckpointOpenError:
        again = _asked_again(program=program, snapshot=snapshot, name=visit.left_out, command=command, place=place)
        if again is None or not command.asks_on_entry:
            raise
        return again


def _left(visit: Visit, command: EnterActivity) -> Decision:
    told = warnings_of(program=visit.program, snapshot=visit.snapshot, command=command)
    told = (*told, *visit.take(command.manifest or ()))
    if visit.waits:
        return visit.decision((*told, *visit.waiting()))
    visit.skip()
    visit.refuse_evasion(command.activity_id)
    visit.leave(command)
    return visit.decision((*told, *_passed_over(visit.program, visit.snapshot, command)))


def _asked_again(
    *, program: Program, snapshot: Snapshot, name: str, command: EnterActivity, place: Place
) -> Decision | None:
    """The question of the next round, asked for an agent that has no call to ask it with; None when it is no question, or one to
    which the work does not come. Whoever is asked is shown what the agent told, none of which is done by that.
    """
    activity = program.activity(snapshot.position.activity)
    if activity is None or not guards.is_come_to(activity=activity, snapshot=snapshot, name=name):
        return None
    shown = questions.on_demand(
        ahead=LookAhead(program), activity=activity, snapshot=snapshot, name=name, due_ms=place.due_ms
    )
    if not shown:
        return None
    said = (
        f"Checkpoint {name!r} is asked in each round, and a person is asked once more now, who sees what you told. Nothing of it "
        "was recorded as done. Send the same again, with the token of this reply, when they have answered."
    )
    asking = _asking(snapshot, shown, place, notes=_as_notes(command.manifest or ()))
    return with_facts(asking, told=(said,), recorded=0)


def _as_notes(manifest: Sequence[ManifestEntry]) -> str:
    """What came with a call of which nothing is done yet."""
    said = [f"- {entry.step_id}: {entry.output.strip()}" for entry in manifest if entry.output.strip()]
    return "\n".join([_NOT_DONE_YET, "", *said]) if said else ""


def ask_question(*, program: Program, snapshot: Snapshot, command: AskQuestion, place: Place) -> Decision:
    """A worker comes to a question and hands it up; until it is answered the run does not move."""
    refuse_complete(snapshot)
    activity = program.activity(snapshot.position.activity)
    if activity is None:
        raise no_activity()
    if snapshot.questions:
        raise CheckpointOpenError.to_yield(snapshot, command.checkpoint_id)
    name = command.checkpoint_id
    shown = questions.on_demand(
        ahead=LookAhead(program), activity=activity, snapshot=snapshot, name=name, due_ms=place.due_ms
    )
    if shown is None:
        raise questions.unknown_checkpoint(program, activity, snapshot, name)
    return _asking(snapshot, shown, place)


def _asking(snapshot: Snapshot, shown: Shown, place: Place, *, notes: str = "") -> Decision:
    journal = Journal(place)
    journal.advance_recorded(Outcome.ADVANCED, ())
    told = journal.prepare_outputs(Submission(notes=notes))
    return journal.decision(
        outcome=Outcome.ADVANCED,
        snapshot=replace(snapshot, questions=(journal.present(shown),), answered=None),
        node_kind=NodeKind.STEP,
        outputs=told,
    )


def warnings_of(*, program: Program, snapshot: Snapshot, command: EnterActivity) -> tuple[str, ...]:
    """What the server does not find as the agent claims it."""
    told = manifests.validate(
        program=program,
        position=snapshot.position,
        variables=_on_leaving(program, snapshot),
        activity_id=command.activity_id,
        claim=command.claim,
        manifest=command.manifest,
        outcomes=command.outcomes,
        skipped=(*_needless(program, snapshot), *snapshot.position.done),
    )
    if snapshot.led_to and not _same_end(program, snapshot.led_to, command.activity_id):
        message = f"The option that was chosen leads to {snapshot.led_to!r}, and {command.activity_id!r} was entered."
        return (*told, message)
    return told


def _needless(program: Program, snapshot: Snapshot) -> tuple[str, ...]:
    """Where an option leads elsewhere, what was not done by then is left undone, as in a run that is led step by step."""
    activity = program.activity(snapshot.position.activity) if snapshot.led_to else None
    return tuple(item.id for item in activity.body) if activity else ()


def warnings_of_staying(*, program: Program, snapshot: Snapshot, command: EnterActivity) -> tuple[str, ...]:
    """What is to be said of entering the activity at hand once more: nothing is left, so nothing is recorded."""
    told = warnings_of(program=program, snapshot=snapshot, command=command)
    if not command.manifest:
        return told
    message = (
        f"The run is in {command.activity_id!r} already, so the step_manifest was not recorded. "
        "Send it with the call that leaves the activity."
    )
    return (*told, message)


def _refuse_unstorable(command: EnterActivity) -> None:
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
    activity = program.activity(snapshot.position.activity)
    variables = snapshot.variables
    return dict(variables) if activity is None else on_leaving(program=program, activity=activity, variables=variables)


def refuse_waiting(snapshot: Snapshot, command: EnterActivity) -> None:
    """Nothing moves while somebody is asked, or while another run has to end first."""
    if snapshot.questions:
        raise CheckpointOpenError.to_move(snapshot, command.activity_id)
    if snapshot.waits_for:
        raise SuspendedError.of(snapshot)


def _passed_over(program: Program, entered: Snapshot, command: EnterActivity) -> tuple[str, ...]:
    """That the run is not where it was sent, since that activity is left out of it."""
    position = entered.position
    arrived = position.activity == command.activity_id and not position.complete
    if arrived or command.activity_id in walker.end_names(program):
        return ()
    now = "the workflow is complete" if position.complete else f"the run is at {position.activity!r}"
    return (f"{command.activity_id!r} is left out of this run, by its mode or by an option that was chosen: {now}.",)


def _same_end(program: Program, first: str, second: str) -> bool:
    return first == second or {first, second} <= walker.end_names(program)
