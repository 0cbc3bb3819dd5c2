"""A team ends: nobody acts in it from then on, and everything of it is deleted but its audit log and its ledger. Safe to stop anywhere."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from sessions_app.models import (
    Announcement,
    BundleJob,
    BundlePart,
    ExpiryWarning,
    Hold,
    LedgerEntry,
    Retention,
    SavedView,
    TeamPreferences,
    WorkSession,
)
from sessions_app.services.expiry.deletion import forget, history_may_go
from sessions_app.services.upkeep.tables import require_system
from teams_app.engine.actors import Actor, Door, system_actor
from teams_app.engine.counting import counted
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.fail_points import FailPoint, go_on
from teams_app.services.endings import close_team, empty_team, ended_teams
from workflows_app.services.forgetting import forget_workflows

# Longer than any call or job that was let in before may take.
SETTLED = timedelta(hours=1)
REASON = "The team has ended."


def end_team(*, actor: Actor, name: str, now: datetime) -> None:
    """`name` is the team's: whoever ends it has written it. What is held stays, and so does the team."""
    with transaction.atomic(durable=True):
        close_team(actor=actor, name=name, now=now)
        # After the lock of the team's row, which those who hold do not take: one that comes later holds nothing back.
        held = Hold.objects.filter(team_id=actor.team_id).count()
        if held:
            raise PreconditionFailedError(
                f"{counted(held, 'session')} of the team {'is' if held == 1 else 'are'} held.",
                suggestion="Let them go first, when whoever holds them agrees.",
            )


def empty_ended_teams(*, actor: Actor, now: datetime, most: int, fail: FailPoint = go_on) -> int:
    """Deletes at most so many sessions of teams that have ended; with the last one the rest of its team goes. What is left is for
    the next run.
    """
    require_system(actor)
    deleted = 0
    for team_id in ended_teams(actor=actor, before=now - SETTLED):
        found = list(_sessions_of(team_id, most - deleted))
        for session_id in found:
            with history_may_go():
                forget(sessions=[session_id], reason=REASON, now=now, with_archives=True)
            fail("deleted")
        deleted += len(found)
        if deleted >= most:
            break
        with transaction.atomic(durable=True):
            _empty(team_id, now)
            fail("emptied")
        fail("committed")
    return deleted


def _sessions_of(team_id: UUID, most: int) -> list[UUID]:
    return list(WorkSession.objects.filter(team_id=team_id).order_by("pk").values_list("pk", flat=True)[:most])


def _empty(team_id: UUID, now: datetime) -> None:
    system = system_actor(team_id=team_id, door=Door.TASK)
    BundlePart.objects.filter(job_id__in=BundleJob.objects.filter(team_id=team_id).values("pk")).delete()
    for rows in (BundleJob, Announcement, ExpiryWarning, Hold, Retention, SavedView, TeamPreferences):
        rows.objects.filter(team_id=team_id).delete()
    forget_workflows(actor=system)
    sessions = LedgerEntry.objects.filter(team_id=team_id, kind="deleted", reason=REASON).count()
    empty_team(actor=system, now=now, sessions=sessions)
