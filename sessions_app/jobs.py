"""Asks for later work by the name of the task, once the transaction has committed."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from celery import signature
from django.db import transaction

ENSURE_PARTITIONS = "sessions_app.tasks.ensure_partitions"
ENTER_SESSIONS = "sessions_app.tasks.enter_sessions"
ANNOUNCE_QUESTION = "sessions_app.tasks.announce_question"
RUN_BUNDLE_JOB = "sessions_app.tasks.run_bundle_job"
KEEP_BUNDLE_JOBS = "sessions_app.tasks.keep_bundle_jobs"

# Whoever asks waits for nobody: a broker that does not answer is tried once more, and then the notice is not sent.
_PUBLISHING = {"max_retries": 1, "interval_start": 0, "interval_step": 0.1}


def ask_to_announce(*, request_ids: Iterable[UUID], tries: int = 0, after: timedelta = timedelta(0)) -> None:
    """A notice for each question. `tries` is how often it was tried before."""
    asks = [signature(ANNOUNCE_QUESTION, args=(str(id_), tries), immutable=True) for id_ in request_ids]

    def send() -> None:
        for ask in asks:
            ask.apply_async(countdown=after.total_seconds(), retry_policy=_PUBLISHING)

    # Robust: the question is asked whether or not anybody can be told of it.
    transaction.on_commit(send, robust=True)


def ask_to_run_bundle_job(*, job_id: UUID) -> None:
    """A request that is lost with the broker is made again by the schedule."""
    ask = signature(RUN_BUNDLE_JOB, args=(str(job_id),), immutable=True)
    transaction.on_commit(lambda: ask.apply_async(retry_policy=_PUBLISHING), robust=True)
