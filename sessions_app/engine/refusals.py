"""What an acknowledgement is refused with. Nothing is written; the run stands as it stood."""

from uuid import UUID

from sessions_app.engine.state import Snapshot
from sessions_app.engine.steering_refusals import RunSuspendedError
from sessions_app.engine.submissions import Submission
from teams_app.engine.errors import PreconditionFailedError, WorkrailError
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine import walker
from workflows_app.engine.program import Gate, Program

MAX_CONSECUTIVE_BLOCKS = 10


class NothingNewError(Exception):
    """What was handed in waits for a person already, or was sent back as it is: the node says so, and nothing is written."""


def refuse_repeated(program: Program, snapshot: Snapshot, submission: Submission) -> None:
    """Asking again whether a person has answered is no attempt."""
    if not snapshot.preferences.waives_people and _is_repeated(program, snapshot, submission):
        raise NothingNewError


def _is_repeated(program: Program, snapshot: Snapshot, submission: Submission) -> bool:
    if snapshot.work is not None:
        return submission.is_empty or submission.digest == snapshot.work.content
    if snapshot.answered is not None and snapshot.was_sent_back and snapshot.blocked is None:
        return submission.is_empty or submission.digest == snapshot.answered.content
    waits = snapshot.blocked is not None and snapshot.asked is not None and snapshot.asked.human
    return waits and isinstance(walker.item_at(program, snapshot.position), Gate)


def refuse_undirected(snapshot: Snapshot) -> None:
    """A run whose activities are handed over is moved by its session token only, and one that waits for a run that it
    triggered is not moved at all.
    """
    why = why_undirected(snapshot)
    if why is not None:
        raise why


def why_undirected(snapshot: Snapshot) -> WorkrailError | None:
    if snapshot.is_handed_over:
        return PreconditionFailedError(
            "This run's activities are handed over whole; it is not moved step by step.",
            suggestion="Go on with its session token, at the address of the dialect that it was begun with.",
        )
    if snapshot.waits_for:
        count = len(snapshot.waits_for)
        return RunSuspendedError(
            f"This run waits for {'one' if count == 1 else count} that its activity triggered.",
            suggestion="Complete the triggered run first; this one then goes on.",
            details={"waitsFor": [to_text(Prefix.RUN, UUID(hex=run)) for run in snapshot.waits_for]},
        )
    return None


def refuse_finished(snapshot: Snapshot) -> None:
    if snapshot.position.complete:
        raise PreconditionFailedError(
            "The run is complete; there is no pending step to acknowledge.",
            suggestion="Begin another run, or rewind with the token of an earlier step.",
        )


def refuse_resting(program: Program, snapshot: Snapshot) -> None:
    if walker.item_at(program, snapshot.position) is None:
        raise PreconditionFailedError(
            f"No step is pending: the run waits in activity {snapshot.position.activity} for its driver's next action.",
            suggestion="Go on with it at the address of the navigation dialect, which tells what can be done.",
        )


def refuse_hopeless(snapshot: Snapshot) -> None:
    if snapshot.blocked is not None and not snapshot.blocked.retryable:
        raise PreconditionFailedError(
            "This attempt is blocked by something that a retry cannot mend.",
            suggestion="Tell the user what blockers say. Rewind with an earlier token once it is mended.",
            details={"blockers": [blocker.as_json() for blocker in snapshot.blocked.blockers]},
        )
    blocks = snapshot.consecutive_blocks - snapshot.forgiven_blocks
    if blocks >= MAX_CONSECUTIVE_BLOCKS:
        raise PreconditionFailedError(
            f"{blocks} attempts in a row were blocked; the circuit is open.",
            suggestion="Stop and show the blockers to the user. Rewind with an earlier token to try another way.",
            details={
                "reason": "CIRCUIT_OPEN",
                "consecutiveBlocks": blocks,
                "blockers": [blocker.as_json() for blocker in snapshot.blocked.blockers] if snapshot.blocked else [],
            },
        )
