"""What the workers do for this app: one service call each, safe to run twice."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from teams_app import jobs
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.services import deliveries, mails, named_requests, storage
from teams_app.services.keys import record_expiries

# A round ends by itself after seconds, with the call that it is at.
_DELIVERING_SECONDS = 5 * 60


@shared_task(name=jobs.EXPIRE_KEYS)
def expire_keys() -> int:
    """Returns how many keys were found expired."""
    return record_expiries(now=timezone.now())


@shared_task(name=jobs.DELIVER_NOTICES, soft_time_limit=_DELIVERING_SECONDS, time_limit=_DELIVERING_SECONDS + 30)
def deliver_notices(team_id: str | None = None) -> int:
    """Returns how many notices of the team were taken; by the clock, without one, for how many teams it was asked for."""
    if team_id is None:
        return deliveries.ask_for_due(actor=system_actor(team_id=NO_TEAM, door=Door.TASK), now=timezone.now())
    return deliveries.deliver_due(actor=system_actor(team_id=UUID(team_id), door=Door.TASK), clock=timezone.now)


@shared_task(name=jobs.SEND_MAILS, soft_time_limit=_DELIVERING_SECONDS, time_limit=_DELIVERING_SECONDS + 30)
def send_mails(team_id: str | None = None) -> int:
    """Returns how many mails of the team were taken; by the clock, without one, for how many teams it was asked for."""
    if team_id is None:
        return mails.ask_for_due(actor=system_actor(team_id=NO_TEAM, door=Door.TASK), now=timezone.now())
    return mails.send_due(actor=system_actor(team_id=UUID(team_id), door=Door.TASK), clock=timezone.now)


@shared_task(name=jobs.MEASURE_STORAGE)
def measure_storage() -> int:
    """Returns how many teams were measured."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    return storage.measure_storage(actor=actor, now=timezone.now())


@shared_task(name=jobs.FORGET_DELIVERIES)
def forget_deliveries() -> int:
    """Returns how many were taken off the record."""
    actor, now = system_actor(team_id=NO_TEAM, door=Door.TASK), timezone.now()
    forgotten = deliveries.forget_old(actor=actor, now=now) + mails.forget_old(actor=actor, now=now)
    return forgotten + named_requests.forget_old(actor=actor, now=now)
