"""Reads of this app. Each filters by the actor's team: another team's row is the same as none."""

from uuid import UUID

from teams_app.engine.actors import Actor, Permission, Role, Scope
from teams_app.engine.errors import NotFoundError
from teams_app.engine.values import KeyValue, MemberValue, TeamValue
from teams_app.models import AgentKey, Membership, Team


def read_team(*, actor: Actor) -> TeamValue:
    actor.require(Permission.READ_TEAM)
    return team_value(Team.objects.get(pk=actor.team_id))


def read_key(*, actor: Actor, key_id: UUID) -> KeyValue:
    actor.require(Permission.READ_TEAM)
    row = AgentKey.objects.filter(team_id=actor.team_id, pk=key_id).first()
    if row is None:
        raise NotFoundError("There is no such key.", suggestion="List the keys of your team.")
    return key_value(row)


def team_value(row: Team) -> TeamValue:
    return TeamValue(id=row.pk, name=row.name, created_at=row.created_at)


def member_value(row: Membership) -> MemberValue:
    return MemberValue(
        id=row.pk,
        team_id=row.team_id,
        person_id=row.person_id,
        username=row.person.username,
        role=Role(row.role),
        created_at=row.created_at,
    )


def key_value(row: AgentKey) -> KeyValue:
    return KeyValue(
        id=row.pk,
        team_id=row.team_id,
        name=row.name,
        prefix=row.prefix,
        scopes=frozenset(Scope(scope) for scope in row.scopes),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )
