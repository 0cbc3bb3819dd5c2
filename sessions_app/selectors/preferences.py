"""Preferences that a session begins with: the team's, else the server's."""

from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from sessions_app.engine.state import Preferences
from sessions_app.models import TeamPreferences, WorkSession
from sessions_app.selectors.log_reading import is_waiver_told
from sessions_app.selectors.standings import SessionStanding
from teams_app.engine.actors import Actor, Permission
from workflows_app.engine.program import Autonomy, RiskPolicy
from workflows_app.selectors.asked import asked, prepared_cursor

_READ_BASELINE = "SELECT autonomy, risk_policy, waived_by FROM sessions_app_teampreferences WHERE team_id = $1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMode:
    """`set_by` is an actor's id, empty where nobody has set it, or it was set before that was kept."""

    preferences: Preferences
    set_by: str = ""
    set_at: datetime | None = None


def preferences_of(row: TeamPreferences | WorkSession) -> Preferences:
    return Preferences(
        autonomy=Autonomy(row.autonomy), risk_policy=RiskPolicy(row.risk_policy), waived_by=row.waived_by
    )


@asked
def baseline_of(*, actor: Actor) -> Preferences:
    row = prepared_cursor().execute(_READ_BASELINE, [actor.team_id]).fetchone()
    if row is None:
        return Preferences()
    autonomy, risk_policy, waived_by = row
    return Preferences(autonomy=Autonomy(autonomy), risk_policy=RiskPolicy(risk_policy), waived_by=waived_by)


def told_baseline(session: SessionStanding) -> Preferences:
    """What runs of the session begin with: never without people, unless its log says who chose that."""
    baseline = session.baseline
    if not baseline.waived_by or is_waiver_told(session_id=session.session_id, waived_by=baseline.waived_by):
        return baseline
    return replace(baseline, waived_by="")


def read_team_preferences(*, actor: Actor) -> Preferences:
    """The same for whoever wants to know."""
    actor.require(Permission.READ_RUNS)
    return baseline_of(actor=actor)


def read_team_mode(*, actor: Actor) -> TeamMode:
    """The same with who set it, and when."""
    actor.require(Permission.READ_RUNS)
    row = TeamPreferences.objects.filter(pk=actor.team_id).first()
    if row is None:
        return TeamMode(preferences=Preferences())
    return TeamMode(preferences=preferences_of(row), set_by=row.updated_by, set_at=row.updated_at)
