"""Preferences that a session begins with: the team's, else the server's."""

from sessions_app.engine.state import Preferences
from sessions_app.models import TeamPreferences, WorkSession
from teams_app.engine.actors import Actor, Permission
from workflows_app.engine.program import Autonomy, RiskPolicy
from workflows_app.selectors.asked import asked, prepared_cursor

_READ_BASELINE = "SELECT autonomy, risk_policy, waived_by FROM sessions_app_teampreferences WHERE team_id = $1"


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


def read_team_preferences(*, actor: Actor) -> Preferences:
    """The same for whoever wants to know."""
    actor.require(Permission.READ_RUNS)
    return baseline_of(actor=actor)
