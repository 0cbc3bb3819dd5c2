"""Preferences that a session begins with: the team's, else the server's."""

from sessions_app.engine.state import Preferences
from sessions_app.models import TeamPreferences
from teams_app.engine.actors import Actor, Permission
from workflows_app.engine.program import Autonomy, RiskPolicy


def baseline_of(*, actor: Actor) -> Preferences:
    row = TeamPreferences.objects.filter(pk=actor.team_id).order_by("pk").first()
    if row is None:
        return Preferences()
    return Preferences(autonomy=Autonomy(row.autonomy), risk_policy=RiskPolicy(row.risk_policy))


def read_team_preferences(*, actor: Actor) -> Preferences:
    """The same for whoever wants to know."""
    actor.require(Permission.READ_RUNS)
    return baseline_of(actor=actor)
