"""For the command line, which is of no team: whose a session is."""

from uuid import UUID

from sessions_app.models import WorkSession
from sessions_app.selectors.sessions import no_session
from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError


def team_of_session(*, actor: Actor, session_id: UUID) -> UUID:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the command line looks through all teams.", suggestion="Read your own sessions.")
    team_id = WorkSession.objects.filter(pk=session_id).values_list("team_id", flat=True).order_by("pk").first()
    if team_id is None:
        raise no_session()
    return team_id
