"""The rules of a team about how long sessions are kept, and which are held."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sessions_app.engine.expiry import Rules
from sessions_app.models import Hold
from sessions_app.selectors.expiry import rules_of
from teams_app.engine.actors import Actor, Permission


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldValue:
    session_id: UUID
    reason: str
    held_by: str
    held_at: datetime


def read_retention(*, actor: Actor) -> Rules:
    actor.require(Permission.READ_TEAM)
    return rules_of(team_id=actor.team_id)


def find_hold(*, actor: Actor, session_id: UUID) -> HoldValue | None:
    actor.require(Permission.READ_RUNS)
    row = Hold.objects.filter(team_id=actor.team_id, session_id=session_id).order_by("pk").first()
    if row is None:
        return None
    return HoldValue(session_id=row.session_id, reason=row.reason, held_by=row.held_by, held_at=row.held_at)
