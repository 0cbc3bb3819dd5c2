"""How far the work has come, in one number each: what a page that is open compares to know that it is old."""

from collections.abc import Collection
from uuid import UUID

from django.db import connection

from sessions_app.models import Run
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError

_VERSIONS = """
SELECT s.id, s.next_event_index || '.' ||
       (SELECT count(*) FROM sessions_app_checkpointrequest q WHERE q.session_id = s.id AND q.claimed_by <> '')
FROM sessions_app_worksession s WHERE s.id = ANY(%(sessions)s)
UNION ALL
SELECT t.id, coalesce((SELECT extract(epoch FROM r.last_activity_at)::text || r.id::text FROM sessions_app_run r
                       WHERE r.team_id = t.id ORDER BY r.activity_window DESC, r.last_activity_at DESC, r.id LIMIT 1), '')
       || '.' || (SELECT count(*) || '.' || count(*) FILTER (WHERE q.claimed_by <> '')
                  FROM sessions_app_checkpointrequest q WHERE q.team_id = t.id AND q.state = 'open')
FROM unnest(%(teams)s::uuid[]) AS t (id)
"""


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
