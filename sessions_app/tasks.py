"""What the workers do for this app: one service call each, safe to run twice."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from sessions_app import jobs
from sessions_app.services.bundles import bundle_jobs
from sessions_app.services.expiry import collection, ended_teams, expiring
from sessions_app.services.people import notices
from sessions_app.services.upkeep import anchors, ledger, tables
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.services.outgoing import NotDeliveredError

_LONG_SECONDS = 900
_RETRY_SECONDS = 600
# What is left is for the next turn of the schedule.
_MOST_EXPIRED = 2000


@shared_task(name=jobs.ENSURE_PARTITIONS)
def ensure_partitions() -> list[str]:
    """Returns the names of the partitions that were missing."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    today = timezone.now().date()
    tables.drop_empty_partitions(actor=actor, today=today)
    return list(tables.ensure_partitions(actor=actor, today=today))


@shared_task(name=jobs.ANNOUNCE)
def announce() -> int:
    """Returns how many announcements left the outbox."""
    actor, now = system_actor(team_id=NO_TEAM, door=Door.TASK), timezone.now()
    notices.tell_of_overdue(actor=actor, now=now)
    return notices.announce(actor=actor, now=now)


@shared_task(name=jobs.ENTER_SESSIONS)
def enter_sessions(*, whole: bool = False) -> int:
    """Returns how many sessions were entered in the ledgers of their teams."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    entered = ledger.enter_sessions(actor=actor, now=timezone.now(), whole=whole)
    return entered.begun + entered.adopted


@shared_task(
    name=jobs.KEEP_ANCHOR,
    soft_time_limit=_LONG_SECONDS,
    time_limit=_LONG_SECONDS + 30,
    # An address that takes nothing now may do so later in the hour.
    autoretry_for=(NotDeliveredError,),
    default_retry_delay=_RETRY_SECONDS,
    max_retries=5,
)
def keep_anchor() -> str:
    """Returns where the anchor of the day is."""
    return str(anchors.keep_anchor(actor=system_actor(team_id=NO_TEAM, door=Door.TASK), now=timezone.now()) or "")


@shared_task(name=jobs.RUN_BUNDLE_JOB, soft_time_limit=_LONG_SECONDS, time_limit=_LONG_SECONDS + 30)
def run_bundle_job(job_id: str) -> str:
    """Returns what has become of the job."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    return bundle_jobs.run_bundle_job(actor=actor, job_id=UUID(job_id), now=timezone.now()).value


@shared_task(name=jobs.KEEP_BUNDLE_JOBS)
def keep_bundle_jobs() -> tuple[int, int]:
    """Returns how many jobs were asked for again, and how many were forgotten."""
    actor, now = system_actor(team_id=NO_TEAM, door=Door.TASK), timezone.now()
    return bundle_jobs.ask_again(actor=actor, now=now), bundle_jobs.forget_expired(actor=actor, now=now)


@shared_task(name=jobs.EXPIRE_SESSIONS, soft_time_limit=_LONG_SECONDS, time_limit=_LONG_SECONDS + 30)
def expire_sessions() -> int:
    """Returns how many sessions were deleted."""
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    now = timezone.now()
    gone = ended_teams.empty_ended_teams(actor=actor, now=now, most=_MOST_EXPIRED)
    return gone + expiring.expire_sessions(actor=actor, now=now, most=_MOST_EXPIRED).deleted


@shared_task(name=jobs.COLLECT, soft_time_limit=_LONG_SECONDS, time_limit=_LONG_SECONDS + 30)
def collect_unreferenced() -> tuple[int, int, int]:
    """Returns how many snapshots, programs and files of workflows were deleted."""
    collected = collection.collect_unreferenced(actor=system_actor(team_id=NO_TEAM, door=Door.TASK))
    return collected.snapshots, collected.programs, collected.files
