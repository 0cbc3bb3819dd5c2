"""Asks for later work by the name of the task, once the transaction has committed."""

from collections.abc import Iterable
from uuid import UUID

from celery import signature

from teams_app.jobs import ask_after_commit

ENSURE_PARTITIONS = "sessions_app.tasks.ensure_partitions"
ANNOUNCE = "sessions_app.tasks.announce"
KEEP_ANCHOR = "sessions_app.tasks.keep_anchor"
ENTER_SESSIONS = "sessions_app.tasks.enter_sessions"
COLLECT = "sessions_app.tasks.collect_unreferenced"
EXPIRE_SESSIONS = "sessions_app.tasks.expire_sessions"
# Of an app above this one, which is known by its name only.
FORGET_TRACES = "traces_app.tasks.forget_sessions"
RUN_BUNDLE_JOB = "sessions_app.tasks.run_bundle_job"
KEEP_BUNDLE_JOBS = "sessions_app.tasks.keep_bundle_jobs"


def ask_to_announce() -> None:
    """What is in the outbox is queued now and not at the next turn of the schedule."""
    ask_after_commit(ask=signature(ANNOUNCE, immutable=True))


def ask_to_run_bundle_job(*, job_id: UUID) -> None:
    """A request that is lost with the broker is made again by the schedule."""
    ask_after_commit(ask=signature(RUN_BUNDLE_JOB, args=(str(job_id),), immutable=True))


def ask_to_forget_traces(*, team_id: UUID, session_ids: Iterable[UUID]) -> None:
    """What is not forgotten now, because no broker answers, goes with the month that it is in."""
    sessions = [str(each) for each in session_ids]
    forget = signature(FORGET_TRACES, args=(str(team_id), sessions), immutable=True)
    ask_after_commit(ask=forget, is_made_up_for=False)
