"""The place of whoever acts, held while they make what is to end with it."""

from dataclasses import replace

from teams_app.engine.actors import Actor, ActorKind, Permission, Role, person_id_of
from teams_app.engine.errors import ForbiddenError
from teams_app.models import Membership


def hold_seat(*, actor: Actor) -> Role:
    """Inside the transaction of the caller: what a person does at the same moment in this team is done in turns, and who was
    taken out of it since they were let in is refused. The role that they have now.
    """
    held = Membership.objects.select_for_update(no_key=True, of=("self",))
    row = held.filter(team_id=actor.team_id, person_id=person_id_of(actor=actor)).order_by("pk").first()
    if row is None:
        raise ForbiddenError("You are not in this team any more.", suggestion="Ask an owner of the team to invite you.")
    return Role(row.role)


def require_still(*, actor: Actor, permission: Permission) -> None:
    """Inside the transaction of the caller, after the team's row where that is locked: what is done with this permission is
    done before whoever takes it away, or not at all.
    """
    actor.require(permission)
    if actor.kind is ActorKind.PERSON:
        replace(actor, role=hold_seat(actor=actor)).require(permission)
