"""Teams."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from teams_app.engine.actors import Actor, Permission, Role
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import read_name
from teams_app.engine.values import TeamValue
from teams_app.models import Membership, Team
from teams_app.selectors import team_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id


@transaction.atomic
def create_team(*, actor: Actor, name: str, owner_id: UUID, now: datetime) -> TeamValue:
    actor.require(Permission.MANAGE_TEAM)
    team = Team.objects.create(id=new_id(now=now), name=read_name(name), created_at=now)
    Membership.objects.create(
        id=new_id(now=now),
        team=team,
        person_id=owner_id,
        role=Role.OWNER.value,
        created_at=now,
    )
    record_audit(
        actor=actor,
        action="team.created",
        target=to_text(Prefix.TEAM, team.pk),
        now=now,
        details={"owner": to_text(Prefix.PERSON, owner_id)},
        team_id=team.pk,
    )
    return team_value(team)
