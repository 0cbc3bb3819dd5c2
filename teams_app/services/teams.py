"""Teams: founded by a person or by the first run, and renamed."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db import transaction

from teams_app.engine.actors import Actor, Permission, Role, person_id_of, require_present
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import read_name
from teams_app.engine.values import TeamValue
from teams_app.models import Membership, Team
from teams_app.selectors import team_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.row_scope import within_team
from teams_app.services.seats import require_still


@transaction.atomic
def create_team(*, actor: Actor, name: str, owner_id: UUID, now: datetime) -> TeamValue:
    """A new team with its first owner. The first entry of its audit log says who founded it."""
    actor.require(Permission.MANAGE_TEAM)
    team_id = new_id(now=now)
    with within_team(team_id):
        team = Team.objects.create(id=team_id, name=read_name(name), created_at=now)
        Membership.objects.create(
            id=new_id(now=now), team=team, person_id=owner_id, role=Role.OWNER.value, created_at=now
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


def rename_team(*, actor: Actor, name: str, now: datetime) -> TeamValue:
    return change_team(actor=actor, name=name, now=now)


@transaction.atomic(durable=True)
def change_team(
    *, actor: Actor, name: str | None = None, tokens_answer_human: bool | None = None, now: datetime
) -> TeamValue:
    """What is left out stays as it is. `tokens_answer_human`: whether a person's token answers what asks for a person."""
    actor.require(Permission.MANAGE_TEAM)
    if name is None and tokens_answer_human is None:
        raise InvalidInputError("What is to be changed is missing.", suggestion="Give name, tokensAnswerHuman or both.")
    new_name = None if name is None else read_name(name)
    # FOR NO KEY UPDATE: two changes take turns, so the audit log tells each old name truly; inserts are not held up.
    team = Team.objects.select_for_update(no_key=True).get(pk=actor.team_id)
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    if new_name is not None and team.name != new_name:
        _rename(actor, team, new_name, now)
    if tokens_answer_human is not None and team.tokens_answer_human is not tokens_answer_human:
        _let_tokens_answer(actor, team, allowed=tokens_answer_human, now=now)
    return team_value(team)


def _rename(actor: Actor, team: Team, name: str, now: datetime) -> None:
    details = {"from": team.name, "to": name}
    team.name = name
    team.save(update_fields=["name"])
    _record(actor, "team.renamed", now, details)


def _let_tokens_answer(actor: Actor, team: Team, *, allowed: bool, now: datetime) -> None:
    require_present(actor=actor, to_do="say what tokens may answer")
    team.tokens_answer_human = allowed
    team.save(update_fields=["tokens_answer_human"])
    _record(actor, "team.tokens_allowed" if allowed else "team.tokens_disallowed", now, {})


def _record(actor: Actor, action: str, now: datetime, details: Mapping[str, str]) -> None:
    target = to_text(Prefix.TEAM, actor.team_id)
    record_audit(actor=actor, action=action, target=target, now=now, details=details)
