"""A person stops a run: for a while, or for good."""

from typing import ClassVar

from msgspec.structs import replace

from sessions_app.engine.decisions import Decision, GoOn, Outcome, Place, StopRun
from sessions_app.engine.journal import Journal
from sessions_app.engine.log import NodeKind
from sessions_app.engine.runs import StopKind
from sessions_app.engine.state import Snapshot, Stop
from teams_app.engine.errors import PreconditionFailedError, WorkrailError, retry_after
from workflows_app.engine.program import Program
from workflows_app.engine.walks import Position

_ASK_AGAIN_MS = 60_000


class RunEndedError(WorkrailError):
    """A person has ended the run: nothing moves it any more, from whichever of its steps."""

    code: ClassVar[str] = "RUN_ENDED"


class RunPausedError(WorkrailError):
    """A person has paused the run; it goes on when somebody says so."""

    code: ClassVar[str] = "RUN_PAUSED"
    default_retry = retry_after(ms=_ASK_AGAIN_MS)


def refusal(stop: Stop) -> WorkrailError:
    """What whoever moves a stopped run is told: that a person did it, and why."""
    because = f" Their reason: {stop.reason}" if stop.reason else ""
    details = {"stop": stop.as_json()}
    match stop.kind:
        case StopKind.PAUSED:
            return RunPausedError(
                f"A person has paused this run.{because}",
                suggestion="Tell your user, wait until the run goes on, and repeat the same call.",
                details=details,
            )
        case StopKind.CANCELLED | StopKind.REJECTED:
            return RunEndedError(
                f"A person has {stop.kind.value} this run.{because}",
                suggestion="Stop the work on it and tell your user. Another run begins anew.",
                details=details,
            )


def stop(*, snapshot: Snapshot, command: StopRun, place: Place) -> Decision:
    if place.stop is not None and place.stop.kind is not StopKind.PAUSED:
        raise refusal(place.stop)
    if snapshot.position.complete or (place.stop is not None and command.kind is StopKind.PAUSED):
        raise PreconditionFailedError(
            "The run is complete." if snapshot.position.complete else "The run is paused already.",
            suggestion="Read the run for how it stands.",
        )
    made = Stop(kind=command.kind, by=command.voice.who, reason=command.voice.reason)
    journal = Journal(place, voice=command.voice)
    return stopped(journal, snapshot, made, Outcome.STOPPED)


def stopped(journal: Journal, snapshot: Snapshot, made: Stop, outcome: Outcome) -> Decision:
    """Where the run stands then: what is paused keeps its place and its questions, what has ended keeps neither."""
    journal.stopped(made)
    if made.kind is StopKind.PAUSED:
        kind = NodeKind.BLOCKED_ATTEMPT if snapshot.blocked else NodeKind.STEP
        return journal.decision(outcome=outcome, snapshot=replace(snapshot, stop=made), node_kind=kind)
    for question in snapshot.questions:
        journal.withdraw(question)
    ended = replace(
        snapshot,
        position=_ended(snapshot.position),
        questions=(),
        blocked=None,
        work=None,
        waits_for=(),
        stop=made,
    )
    return journal.decision(outcome=outcome, snapshot=ended, node_kind=NodeKind.STEP)


def go_on(*, program: Program, snapshot: Snapshot, command: GoOn, place: Place) -> Decision:
    if place.stop is None or place.stop.kind is not StopKind.PAUSED:
        raise PreconditionFailedError("The run is not paused.", suggestion="Read the run for how it stands.")
    journal = Journal(place, asked=snapshot.asked, voice=command.voice)
    journal.resumed(command.voice.who)
    return journal.decision(
        outcome=Outcome.RESUMED,
        snapshot=journal.ask(program, replace(snapshot, stop=None), stays=True),
        node_kind=NodeKind.BLOCKED_ATTEMPT if snapshot.blocked else NodeKind.STEP,
    )


def _ended(position: Position) -> Position:
    return replace(position, pending="", pending_item="", frames=(), complete=True)
