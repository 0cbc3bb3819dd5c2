"""People stop runs: for a while, or for good. Whoever moves the run afterwards is told, and why."""

from datetime import datetime
from uuid import UUID

from sessions_app.engine import outputs
from sessions_app.engine.checkpoints import MAX_REASON_CHARACTERS, Voice
from sessions_app.engine.decisions import GoOn, StopRun
from sessions_app.engine.runs import StopKind
from sessions_app.selectors.standings import read_tip
from sessions_app.services.moves.moving import Entropy, Tries, mover_of, point_of
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import HumanRequiredError, InvalidInputError, NotFoundError
from teams_app.engine.normal_forms import trimmed


def cancel_run(*, actor: Actor, run_id: UUID, reason: str, now: datetime, entropy: Entropy) -> None:
    """End a run for good. Its questions are withdrawn, and a run that waits for it goes on."""
    _stop(actor, run_id, StopKind.CANCELLED, reason, now=now, entropy=entropy)


def pause_run(*, actor: Actor, run_id: UUID, reason: str, now: datetime, entropy: Entropy) -> None:
    """Hold a run where it stands until somebody lets it go on."""
    _stop(actor, run_id, StopKind.PAUSED, reason, now=now, entropy=entropy)


def resume_run(*, actor: Actor, run_id: UUID, now: datetime, entropy: Entropy) -> None:
    _require_person(actor)
    voice = Voice(who=actor.id, door=actor.way)
    _carry_out(actor, run_id, GoOn(voice=voice), now=now, entropy=entropy)


def _stop(actor: Actor, run_id: UUID, kind: StopKind, reason: str, *, now: datetime, entropy: Entropy) -> None:
    _require_person(actor)
    said = trimmed(reason)
    outputs.check_text(said, name="reason", max_characters=MAX_REASON_CHARACTERS)
    if not said:
        raise InvalidInputError(
            "To stop a run needs a reason.", suggestion="Say in a sentence why; the agent is told at its next call."
        )
    command = StopRun(kind=kind, voice=Voice(who=actor.id, door=actor.way, reason=said))
    _carry_out(actor, run_id, command, now=now, entropy=entropy)


def _carry_out(actor: Actor, run_id: UUID, command: StopRun | GoOn, *, now: datetime, entropy: Entropy) -> None:
    mover = mover_of(actor, now=now, entropy=entropy)
    tries = Tries()
    while True:
        tries.begin()
        standing = read_tip(team_id=actor.team_id, run_id=run_id)
        if standing is None:
            raise NotFoundError("There is no such run.", suggestion="List the runs of the team for their ids.")
        if mover.move(point_of(standing), command).append():
            return


def _require_person(actor: Actor) -> None:
    if actor.kind is not ActorKind.PERSON:
        raise HumanRequiredError(
            "A run is stopped by a signed-in person; no key can do it, whatever its scopes.",
            suggestion="Ask your user to do it in the Studio.",
        )
    actor.require(Permission.STEER_RUNS)
