"""Asks for later work by the name of the task, once the transaction has committed."""

from datetime import datetime, timedelta

from celery import signature
from django.db import transaction

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


def ask_to_expire_keys(*, at: datetime, now: datetime) -> None:
    if at - now > _LONGEST_WAIT:
        return
    ask = signature(EXPIRE_KEYS, immutable=True)
    # Robust: the key exists whether or not the broker can be reached, and the schedule makes up for it.
    transaction.on_commit(lambda: ask.apply_async(eta=at), robust=True)


def ask_to_deliver() -> None:
    ask = signature(DELIVER_NOTICES, immutable=True)
    # Robust: the delivery waits in its table whether or not the broker can be reached.
    transaction.on_commit(lambda: ask.apply_async(retry_policy=_PUBLISHING), robust=True)


def ask_to_send_mails() -> None:
    ask = signature(SEND_MAILS, immutable=True)
    # Robust: as above, the mail waits in its table.
    transaction.on_commit(lambda: ask.apply_async(retry_policy=_PUBLISHING), robust=True)
