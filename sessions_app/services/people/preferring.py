"""People say with which branch a run is to go on: there it stands from then on, and whoever finds it again begins there."""

from datetime import datetime
from uuid import UUID

from sessions_app.engine import outputs
from sessions_app.engine.checkpoints import MAX_REASON_CHARACTERS, Voice
from sessions_app.engine.decisions import PreferBranch
from sessions_app.engine.log import NodeKind
from sessions_app.selectors import branches
from sessions_app.selectors.branches import Leaf
from sessions_app.selectors.standings import Standing, read_standing
from sessions_app.services.moves.moving import Entropy, Landing, Tries, mover_of, point_of
from sessions_app.services.moves.runs import landing_on
from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import HumanRequiredError, InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.normal_forms import trimmed


def prefer_branch(
    *, actor: Actor, run_id: UUID, node_id: UUID, reason: str = "", now: datetime, entropy: Entropy
) -> None:
    """`node_id` is a step of the branch. Nobody is stopped: an agent that goes on elsewhere takes the run with it."""
    if actor.kind is not ActorKind.PERSON:
        raise HumanRequiredError(
            "Which branch is preferred is said by a signed-in person; no key can do it, whatever its scopes.",
            suggestion="Go on with the branch that your user wants, or ask them to prefer it in the Studio.",
        )
    actor.require(Permission.STEER_RUNS)
    said = trimmed(reason)
    outputs.check_text(said, name="reason", max_characters=MAX_REASON_CHARACTERS)
    command = PreferBranch(voice=Voice(who=actor.id, door=actor.way, reason=said))
    mover = mover_of(actor, now=now, entropy=entropy)
    tries = Tries()
    while True:
        tries.begin()
        leaf, standing = _end_of_branch(actor, run_id, node_id)
        if standing.has_children:
            # Somebody went on there after the branch was read.
            continue
        if standing.node_id == standing.tip_node_id:
            raise PreconditionFailedError("The run stands on this branch.", suggestion="Go on with it.")
        # The end of a run that the branch waits for is written with the preference, or neither is.
        at = mover.caught_up(point_of(standing))
        landing = Landing(tip=at.standing.node_id) if at.owed else landing_on(leaf, at)
        if mover.move_as_read(at, command).append(landing=landing):
            return


def _end_of_branch(actor: Actor, run_id: UUID, node_id: UUID) -> tuple[Leaf, Standing]:
    leaf = branches.newest_leaf(actor=actor, node_id=node_id)
    found = read_standing(team_id=actor.team_id, node_id=leaf.node_id, nonce=b"") if leaf else None
    if leaf is None or found is None or found.run_id != run_id:
        raise NotFoundError("The run has no such node.", suggestion="Open the run for its nodes.")
    if found.node_kind is NodeKind.BOOKMARK:
        raise InvalidInputError("No branch ends in a bookmark.", suggestion="Name the step that it is of.")
    return leaf, found
