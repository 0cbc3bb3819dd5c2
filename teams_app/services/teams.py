"""Teams: founded by a person or by the first run, and renamed."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from teams_app.engine.actors import Actor, Permission, Role, person_id_of
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import read_name
from teams_app.engine.values import TeamValue
from teams_app.models import Membership, Team
from teams_app.selectors import team_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id


@transaction.atomic
def create_team(*, actor: Actor, name: str, owner_id: UUID, now: datetime) -> TeamValue:
    """A new team with its first owner. The first entry of its audit log says who founded it."""
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
        details={"name": team.name, "owner": to_text(Prefix.PERSON, owner_id)},
        team_id=team.pk,
    )
    return team_value(team)


def found_team(*, actor: Actor, name: str, now: datetime) -> TeamValue:
    """A new team whose owner is the person who asks."""
    actor.require(Permission.MANAGE_TEAM)
    return create_team(actor=actor, name=name, owner_id=person_id_of(actor=actor), now=now)


@transaction.atomic(durable=True)
def rename_team(*, actor: Actor, name: str, now: datetime) -> TeamValue:
    actor.require(Permission.MANAGE_TEAM)
    new_name = read_name(name)
    # FOR NO KEY UPDATE: two renames take turns, so the audit log tells each old name truly; inserts are not held up.
    team = Team.objects.select_for_update(no_key=True).get(pk=actor.team_id)
    if team.name != new_name:
        details = {"from": team.name, "to": new_name}
        team.name = new_name
        team.save(update_fields=["name"])
        record_audit(
            actor=actor,
            action="team.renamed",
            target=to_text(Prefix.TEAM, team.pk),
            now=now,
            details=details,
        )
    return team_value(team)
