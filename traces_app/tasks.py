"""What the workers do for this app: one service call each, safe to run twice."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from traces_app import jobs
from traces_app.services.retention import forget_sessions as forget, keep_traces as keep


@shared_task(name=jobs.KEEP_TRACES)
def keep_traces() -> list[str]:
    """Returns the names of the partitions that were made or dropped."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    kept = keep(actor=actor, now=timezone.now())
    return [*kept.made, *kept.dropped]


@shared_task(name=jobs.FORGET_SESSIONS)
def forget_sessions(team_id: str, session_ids: list[str]) -> int:
    """Returns how many calls were deleted."""
    actor = system_actor(team_id=UUID(team_id), door=Door.TASK)
    return forget(actor=actor, session_ids=[UUID(each) for each in session_ids])
