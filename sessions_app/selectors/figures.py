"""Numbers of the whole installation, for whoever watches it: no team, no names."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from sessions_app.engine.runs import RunStatus
from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError

# A function of the database: the role that serves requests sees one team at a time, and of all only these.
_FIGURES = "SELECT name, value FROM workrail_figures(%s)"


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
    with connection.cursor() as cursor:
        cursor.execute(_FIGURES, [now])
        counted = dict(cursor.fetchall())
    return Figures(
        runs={status: counted.get(f"runs {status.value}", 0) for status in RunStatus},
        questions_open=counted["questions open"],
        questions_overdue=counted["questions overdue"],
        answered_calls=counted["answered calls"],
        announcements_waiting=counted["announcements waiting"],
        bundle_jobs_open=counted["bundle jobs open"],
    )
