"""How far the work has come, in one number each: what a page that is open compares to know that it is old."""

from collections.abc import Collection
from uuid import UUID

from django.db import connection

from sessions_app.models import Run
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError

# A function of the database: they are of whatever teams people watch, and the role that serves requests sees one at a time.
_VERSIONS = "SELECT * FROM workrail_versions(%(sessions)s::uuid[], %(teams)s::uuid[])"


def session_of_run(*, actor: Actor, run_id: UUID) -> UUID:
    """One query."""
    actor.require(Permission.READ_RUNS)
    found = Run.objects.filter(pk=run_id, team_id=actor.team_id).order_by("pk").values_list("session_id", flat=True)
    session_id = found.first()
    if session_id is None:
        raise NotFoundError("There is no such run.", suggestion="List the runs of your team for their ids.")
    return session_id


def versions_of(*, sessions: Collection[UUID], teams: Collection[UUID]) -> dict[UUID, str]:
    """By session and team, in one query for all that watch them. Whoever asks has been let in to each.

    The version of a session changes with its log and with claims, that of a team with its newest run and its inbox.
    """
    with connection.cursor() as cursor:
        cursor.execute(_VERSIONS, {"sessions": list(sessions), "teams": list(teams)})
        return dict(cursor.fetchall())
