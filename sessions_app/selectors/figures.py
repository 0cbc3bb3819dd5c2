"""Numbers of the whole installation, for whoever watches it: no team, no names."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Count

from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.engine.runs import RunStatus
from sessions_app.models import Announcement, BundleJob, CheckpointRequest, Run
from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError

# What Postgres has counted since its statistics were last reset: no row is read for it.
_INSERTED = "SELECT coalesce(sum(n_tup_ins), 0) FROM pg_stat_user_tables WHERE relname = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """`answered_calls` counts the calls whose reply was recorded: starts, advances, bookmarks."""

    runs: dict[RunStatus, int]
    questions_open: int
    questions_overdue: int
    answered_calls: int
    announcements_waiting: int
    bundle_jobs_open: int


def read_figures(*, actor: Actor, now: datetime) -> Figures:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("These are of all teams.", suggestion="List the runs of your own team.")
    counted = dict(Run.objects.order_by().values_list("status").annotate(count=Count("pk")))
    waiting = CheckpointRequest.objects.filter(state=CheckpointState.OPEN.value)
    return Figures(
        runs={status: counted.get(status.value, 0) for status in RunStatus},
        questions_open=waiting.count(),
        questions_overdue=waiting.filter(due_at__lt=now).count(),
        answered_calls=_inserted("sessions_app_attempt"),
        announcements_waiting=Announcement.objects.count(),
        bundle_jobs_open=BundleJob.objects.filter(finished_at__isnull=True).count(),
    )


def _inserted(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_INSERTED, [table])
        row = cursor.fetchone()
    return int(row[0]) if row else 0
