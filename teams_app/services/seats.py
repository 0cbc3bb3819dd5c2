"""The place of whoever acts, held while they make what is to end with it."""

from teams_app.engine.actors import Actor, person_id_of
from teams_app.engine.errors import ForbiddenError
from teams_app.models import Membership


def hold_seat(*, actor: Actor) -> None:
    """Inside the transaction of the caller: what a person does at the same moment in this team is done in turns, and who was
    taken out of it since they were let in is refused.
    """
    held = Membership.objects.select_for_update(no_key=True, of=("self",))
    if held.filter(team_id=actor.team_id, person_id=person_id_of(actor=actor)).order_by("pk").first() is None:
        raise ForbiddenError("You are not in this team any more.", suggestion="Ask an owner of the team to invite you.")
