"""What the workers do for this app: one service call each, safe to run twice."""

from celery import shared_task
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from traces_app import jobs
from traces_app.services.retention import keep_traces as keep


@shared_task(name=jobs.KEEP_TRACES)
def keep_traces() -> list[str]:
    """Returns the names of the partitions that were made or dropped."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    kept = keep(actor=actor, now=timezone.now())
    return [*kept.made, *kept.dropped]
