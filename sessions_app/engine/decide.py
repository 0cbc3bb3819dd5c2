"""The engine: a program, a snapshot and a command in; events, the next snapshot and a verdict out.

No clock, no randomness, no table. Ids of new rows are either given in `Place` or derived from the attempt, so that the same
call decides the same thing.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from msgspec.structs import replace

from sessions_app.engine import (
    answering,
    children,
    failures,
    handover,
    outputs,
    settling,
    steering,
    stops,
    warnings as warned,
)
from sessions_app.engine.advancing import Acknowledgement, acknowledge
from sessions_app.engine.decisions import (
    Advance,
    Answer,
    AskQuestion,
    Bookmark,
    ChangePreferences,
    Command,
    Decision,
    EnterActivity,
    GoOn,
    Move,
    Outcome,
    Place,
    PreferBranch,
    PreferenceChange,
    PreferenceSource,
    Start,
    Steer,
    StopRun,
    Suspend,
    TakeBack,
)
from sessions_app.engine.findings import Findings
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.refusals import (
    refuse_finished,
    refuse_hopeless,
    refuse_repeated,
    refuse_resting,
    refuse_undirected,
)
from sessions_app.engine.runs import Drive
from sessions_app.engine.state import Preferences, Snapshot
from sessions_app.engine.submissions import Submission
from teams_app.engine.errors import InvalidInputError, PreconditionFailedError
from workflows_app.engine import walker
from workflows_app.engine.program import Autonomy, Program
from workflows_app.engine.walks import Walk

MAX_GOAL_CHARACTERS = 2048


def decide(*, program: Program, snapshot: Snapshot | None, command: Command, place: Place) -> Decision:
    """One transition. Raises only for a command that must leave no trace; a refusal to be remembered is a decision."""
    if isinstance(command, Start):
        return _start(program, command, place)
    if snapshot is None:
        raise ValueError("Only a start has no snapshot.")
    if place.stop is not None and not isinstance(command, StopRun | GoOn | TakeBack):
        raise stops.refusal(place.stop)
    if isinstance(command, Advance | Steer):
        refuse_undirected(snapshot)
    return _decided(program, snapshot, command, place)


def _decided(program: Program, snapshot: Snapshot, command: Move, place: Place) -> Decision:  # noqa: C901, PLR0912  one line for each command
    match command:
        case Advance():
            return _advance(program, snapshot, command, place)
        case Bookmark():
            return _bookmark(snapshot, command, place)
        case PreferBranch():
            return _prefer(snapshot, command, place)
        case ChangePreferences():
            return _change(program, snapshot, command, place)
        case Steer():
            return steering.steer(program=program, snapshot=snapshot, command=command, place=place)
        case EnterActivity():
            return handover.enter_activity(program=program, snapshot=snapshot, command=command, place=place)
        case AskQuestion():
            return handover.ask_question(program=program, snapshot=snapshot, command=command, place=place)
        case Answer():
            return answering.answer(program=program, snapshot=snapshot, command=command, place=place)
        case Suspend():
            return children.suspend(program=program, snapshot=snapshot, command=command, place=place)
        case TakeBack():
            return children.take_back(program=program, snapshot=snapshot, command=command, place=place)
        case StopRun():
            return stops.stop(snapshot=snapshot, command=command, place=place)
        case GoOn():
            return stops.go_on(program=program, snapshot=snapshot, command=command, place=place)
        case _:
            assert_never(command)


# Start


def _start(program: Program, command: Start, place: Place) -> Decision:
    outputs.check_text(command.goal, name="goal", max_characters=MAX_GOAL_CHARACTERS)
    defaults = {variable.name: variable.default for variable in program.variables if variable.has_default}
    variables = outputs.merge_context({**defaults, **command.given}, command.context)
    settling.refuse_changed(command.settled, before=command.given, variables={**command.given, **command.context})
    settling.refuse_presumed(program, before={**defaults, **command.given}, contexts=(command.context,))
    context = {**command.given, **command.context}
    change = command.preferences or PreferenceChange()
    preferences = change.applied_to(command.baseline)
    walk = _begun(program, command, variables, preferences)
    if walk.failure is not None:
        raise PreconditionFailedError(
            f"The run cannot begin: {walk.failure.message}",
            suggestion=failures.remedy(walk.failure),
            details={"reason": walk.failure.kind.value, "keys": list(walk.failure.keys)},
        )
    modes = warned.of_mode(program, preferences)
    source = PreferenceSource.SYSTEM if command.preferences is None else change.source
    log = Journal(place)
    log.run_started(program, command.goal, bundled=command.bundled, trigger=command.trigger)
    log.preferences(preferences, command.baseline, source, modes)
    if context:
        log.context(context, source="initial")
    gaps = log.gaps(tuple(failures.as_gap(failure) for failure in walk.passed))
    log.trace(walk.notes)
    begun = Snapshot(
        position=walk.position,
        drive=command.drive,
        variables={**variables, **walk.assigned},
        preferences=preferences,
        settled=command.settled,
        claimed=settling.claimed_with(program, context, answered=command.settled),
    )
    return log.decision(
        outcome=Outcome.STARTED,
        snapshot=log.ask(program, begun),
        node_kind=NodeKind.STEP,
        gaps=gaps,
        warnings=(*modes, *warned.of_gaps(gaps)),
    )


def _begun(program: Program, command: Start, variables: Mapping[str, Any], preferences: Preferences) -> Walk:
    match command.drive:
        case Drive.HANDED_OVER:
            return Walk(position=handover.BEGINNING)
        case Drive.STEERED:
            return steering.begin(program=program, variables=variables)
        case Drive.LED:
            return walker.start(
                program=program,
                variables=variables,
                press_on=preferences.autonomy is Autonomy.NEVER_STOP,
                past_people=preferences.waives_people,
            )
        case _:
            assert_never(command.drive)


# Advance


def _advance(program: Program, snapshot: Snapshot, command: Advance, place: Place) -> Decision:
    outputs.check_text(command.submission.notes, name="output.notesMarkdown")
    refuse_finished(snapshot)
    refuse_resting(program, snapshot)
    change = command.preferences or PreferenceChange()
    preferences = change.applied_to(snapshot.preferences)
    if preferences.autonomy is not Autonomy.NEVER_STOP:
        refuse_hopeless(snapshot)
    said = Acknowledgement(
        submission=command.submission, preferences=change, by_person=command.by_person, voice=command.voice
    )
    if not command.by_person and preferences == snapshot.preferences:
        refuse_repeated(program, snapshot, command.submission)
    if snapshot.work is not None and preferences.waives_people and command.submission.is_empty:
        # What was handed in goes on, since a person has waived the approval that it waited for.
        approval = Findings(reasons=[answering.approval_of(snapshot)])
        said = Acknowledgement(preferences=change, findings=approval, decisions=snapshot.work.decisions)
    return acknowledge(program=program, snapshot=snapshot, said=said, place=place)


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
        node_kind=NodeKind.BOOKMARK,
        outputs=handed_in,
        warnings=warned.of_notes(command.submission),
    )


def _prefer(snapshot: Snapshot, command: PreferBranch, place: Place) -> Decision:
    """A bookmark with the person's word: whoever comes back to the branch reads it among its notes."""
    log = Journal(place)
    log.preferred(command.voice)
    said = " ".join(filter(None, ["A person prefers this branch.", command.voice.reason]))
    return log.decision(
        outcome=Outcome.BOOKMARKED,
        snapshot=snapshot,
        node_kind=NodeKind.BOOKMARK,
        outputs=log.prepare_outputs(Submission(notes=said)),
    )


def _change(program: Program, snapshot: Snapshot, command: ChangePreferences, place: Place) -> Decision:
    """A change between steps: a new node with the same work pending, under the new preferences.

    Somebody has looked at the run, so attempts that were blocked before are not held against those that come.
    """
    preferences = command.change.applied_to(snapshot.preferences)
    modes = warned.of_mode(program, preferences)
    log = Journal(place, asked=snapshot.asked)
    log.preferences(preferences, snapshot.preferences, command.change.source, modes)
    following = replace(snapshot, preferences=preferences, forgiven_blocks=snapshot.consecutive_blocks)
    return log.decision(
        outcome=Outcome.PREFERENCES_CHANGED,
        snapshot=log.ask(program, following, stays=True),
        node_kind=NodeKind.BLOCKED_ATTEMPT if snapshot.blocked else NodeKind.STEP,
        warnings=modes,
    )
