"""Asks for later work by the name of the task, once the transaction has committed."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from celery import Signature, signature
from django.db import transaction
from kombu.exceptions import OperationalError

log = structlog.get_logger("workrail.tasks")

EXPIRE_KEYS = "teams_app.tasks.expire_keys"
DELIVER_NOTICES = "teams_app.tasks.deliver_notices"
MEASURE_STORAGE = "teams_app.tasks.measure_storage"
SEND_MAILS = "teams_app.tasks.send_mails"
FORGET_DELIVERIES = "teams_app.tasks.forget_deliveries"

# Whoever asks waits for nobody: a broker that does not answer is tried once more, and the schedule makes up for it.
_PUBLISHING = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1}

# The broker hands a message out again after an hour without an answer, so nothing is parked there for longer; the
# schedule in workrail_site.celery finds what expires later.
_LONGEST_WAIT = timedelta(minutes=30)


def ask_after_commit(*, ask: Signature, **options: Any) -> None:
    """Robust: what is asked for waits in a table, whether or not the broker can be reached, and the schedule finds it."""
    transaction.on_commit(lambda: _ask(ask, options), robust=True)


def _ask(ask: Signature, options: dict[str, Any]) -> None:
    try:
        ask.apply_async(retry_policy=_PUBLISHING, **options)
    except OperationalError as error:
        log.warning("task_left_to_schedule", task=ask.task, error=str(error))


def ask_to_expire_keys(*, at: datetime, now: datetime) -> None:
    if at - now > _LONGEST_WAIT:
        return
    ask_after_commit(ask=signature(EXPIRE_KEYS, immutable=True), eta=at)


def ask_to_deliver() -> None:
    ask_after_commit(ask=signature(DELIVER_NOTICES, immutable=True))


def ask_to_send_mails() -> None:
    ask_after_commit(ask=signature(SEND_MAILS, immutable=True))
