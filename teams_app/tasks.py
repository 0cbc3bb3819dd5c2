"""What the workers do for this app: one service call each, safe to run twice."""

from celery import shared_task
from django.utils import timezone

from teams_app import jobs
from teams_app.services.keys import record_expiries


@shared_task(name=jobs.EXPIRE_KEYS)
def expire_keys() -> int:
    """Returns how many keys were found expired."""
    return record_expiries(now=timezone.now())
