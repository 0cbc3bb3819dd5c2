"""What the workers do for this app: one service call each, safe to run twice."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from sessions_app import jobs
from sessions_app.services import ledger, notices, upkeep
from teams_app.engine.actors import NO_TEAM, Door, system_actor


@shared_task(name=jobs.ENSURE_PARTITIONS)
def ensure_partitions() -> list[str]:
    """Returns the names of the partitions that were missing."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    return list(upkeep.ensure_partitions(actor=actor, today=timezone.now().date()))


@shared_task(name=jobs.ENTER_SESSIONS)
def enter_sessions() -> int:
    """Returns how many sessions were entered in the ledgers of their teams."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    entered = ledger.enter_sessions(actor=actor, now=timezone.now())
    return entered.begun + entered.adopted


@shared_task(name=jobs.ANNOUNCE_QUESTION)
def announce_question(request_id: str, tries: int) -> bool:
    """Returns whether a notice was delivered now."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    return notices.announce_question(actor=actor, request_id=UUID(request_id), tries=tries, now=timezone.now())
