"""The Celery application, and all that happens by the clock. Run with `celery -A workrail_site.celery`."""

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, task_prerun, worker_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workrail_site.settings")

import structlog
from django.conf import settings

from sessions_app import jobs as sessions_jobs
from teams_app import jobs as teams_jobs
from traces_app import jobs as traces_jobs
from workrail_site import patience

app = Celery("workrail")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

_TEN_SECONDS = 10
_MINUTE_SECONDS = 60
_FIVE_MINUTES_SECONDS = 300
_HOUR_SECONDS = 3600
_DAY_SECONDS = 86_400
_FORGET_SIGN_ONS = "workrail_site.tasks.forget_ended_sign_ons"

app.conf.beat_schedule = {
    "make event partitions": {"task": sessions_jobs.ENSURE_PARTITIONS, "schedule": _DAY_SECONDS},
    "announce": {"task": sessions_jobs.ANNOUNCE, "schedule": _TEN_SECONDS, "options": {"expires": _TEN_SECONDS}},
    "deliver notices": {
        "task": teams_jobs.DELIVER_NOTICES,
        "schedule": _TEN_SECONDS,
        "options": {"expires": _TEN_SECONDS},
    },
    "send mails": {"task": teams_jobs.SEND_MAILS, "schedule": _TEN_SECONDS, "options": {"expires": _TEN_SECONDS}},
    "measure storage": {"task": teams_jobs.MEASURE_STORAGE, "schedule": _DAY_SECONDS},
    "forget old deliveries": {"task": teams_jobs.FORGET_DELIVERIES, "schedule": _DAY_SECONDS},
    "enter sessions in ledgers": {"task": sessions_jobs.ENTER_SESSIONS, "schedule": _MINUTE_SECONDS},
    "enter sessions of wrong clocks": {
        "task": sessions_jobs.ENTER_SESSIONS,
        "schedule": _DAY_SECONDS,
        "kwargs": {"whole": True},
    },
    "keep exports and imports": {"task": sessions_jobs.KEEP_BUNDLE_JOBS, "schedule": _MINUTE_SECONDS},
    "collect what nothing refers to": {"task": sessions_jobs.COLLECT, "schedule": 7 * _DAY_SECONDS},
    "expire sessions": {"task": sessions_jobs.EXPIRE_SESSIONS, "schedule": _HOUR_SECONDS},
    "keep the anchor of the day": {"task": sessions_jobs.KEEP_ANCHOR, "schedule": _DAY_SECONDS},
    "keep traces": {"task": traces_jobs.KEEP_TRACES, "schedule": _DAY_SECONDS},
    "record expired keys": {"task": teams_jobs.EXPIRE_KEYS, "schedule": _FIVE_MINUTES_SECONDS},
}
if settings.OAUTH:
    app.conf.beat_schedule["forget ended sign-ons"] = {"task": _FORGET_SIGN_ONS, "schedule": _DAY_SECONDS}


_TICKS = frozenset(
    each["task"] for each in app.conf.beat_schedule.values() if each["schedule"] <= _FIVE_MINUTES_SECONDS
)


def is_worth_a_line(record: logging.LogRecord) -> bool:
    """What runs by the clock all the time has a line when it found something to do, or failed."""
    told = record.args if isinstance(record.args, dict) else {}
    found_nothing = "exc" not in told and not str(told.get("return_value", "")).strip("(0, )")
    return record.levelno > logging.INFO or not (told.get("name") in _TICKS and found_nothing)


@setup_logging.connect
def keep_our_logging(**_details: Any) -> None:
    """Celery would set up its own log; that somebody listens here is what tells it not to."""
    for name in ("celery.worker.strategy", "celery.app.trace"):
        logging.getLogger(name).addFilter(is_worth_a_line)
    logging.getLogger("celery.beat").setLevel(logging.WARNING)


@worker_init.connect
def limit_statements(**_details: Any) -> None:
    patience.limit_statements(statement_ms=settings.TASK_STATEMENT_TIMEOUT_MS)


@task_prerun.connect
def name_task_in_log(*, task_id: str, task: Any, **_details: Any) -> None:
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=task_id, task=task.name, actor="system")
