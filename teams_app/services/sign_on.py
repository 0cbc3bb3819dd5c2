"""People whom a provider of identities vouches for.

An account is found by issuer and subject alone. A name or an e-mail address of the provider's, verified or not, never leads to
an account that is there: who has one proves it with its password, once, and it is linked from then on.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

import structlog
from django.contrib.auth.hashers import make_password
from django.db import transaction

from teams_app.engine.actors import Door, Role, system_actor
from teams_app.engine.errors import ForbiddenError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import fold_username
from teams_app.engine.sign_on import Identity, login_name_of
from teams_app.models import Membership, Person, SignOnIdentity, Team
from teams_app.services.connections import disconnect_all_of
from teams_app.services.handed_out import withdraw_invitations_of, withdraw_links_of
from teams_app.services.ids import new_id
from teams_app.services.passwords import find_proved
from teams_app.services.row_scope import within_team
from teams_app.services.sign_ins import ToldInTeam, record_in_teams
from teams_app.services.tokens import revoke_tokens_of

log = structlog.get_logger(__name__)

_BY = {"by": "sign-on"}


@transaction.atomic(durable=True)
def sign_on(
    *, identity: Identity, wanted: Mapping[UUID, Role], managed: Iterable[UUID], address: str, door: Door, now: datetime
) -> UUID | None:
    """The person, with the roles that their groups give. None where nobody is linked and no account may be made."""
    # First, as whoever accepts an invitation holds its team before the account.
    teams = _locked(managed)
    person = _linked(identity) or _new_account(identity, wanted, now)
    if person is None:
        return None
    told = [each for team in teams for each in _keep_role(person, team, wanted.get(team.pk), door, now)]
    record_in_teams(
        person_id=person.pk,
        action="person.signed_in",
        door=door,
        now=now,
        details={"address": address, **_BY},
        after=told,
    )
    return person.pk


@transaction.atomic(durable=True)
def link_account(*, identity: Identity, username: str, password: str, door: Door, now: datetime) -> None:
    """For whoever has an account here, and proves it with its password."""
    person = find_proved(username=fold_username(username), password=password)
    if person is None:
        raise ForbiddenError("That is not the name and password of an account.", suggestion="Try again.")
    # Of two at once the unique pair of issuer and subject lets one link it.
    row, created = SignOnIdentity.objects.get_or_create(
        issuer=identity.issuer,
        subject=identity.subject,
        defaults={"id": new_id(now=now), "person": person, "created_at": now},
    )
    if not created and row.person_id != person.pk:
        raise PreconditionFailedError(
            "You are linked to another account already.", suggestion="Sign in by the provider to use that one."
        )
    if created:
        record_in_teams(
            person_id=person.pk, action="person.linked", door=door, now=now, details={"issuer": identity.issuer}
        )


def _linked(identity: Identity) -> Person | None:
    rows = SignOnIdentity.objects.filter(issuer=identity.issuer, subject=identity.subject).select_related("person")
    row = rows.first()
    if row is not None and not row.person.is_active:
        raise ForbiddenError("This account is not in use any more.", suggestion="Ask whoever runs the server.")
    return None if row is None else row.person


def _new_account(identity: Identity, wanted: Mapping[UUID, Role], now: datetime) -> Person | None:
    """Only for somebody who gets a role by it, and under a name that nobody has."""
    name = login_name_of(given=identity.username)
    if not name or not any(map(_is_team, wanted)):
        return None
    # Of two at once the unique name lets one make it; the other is as if the name had been taken before.
    person, created = Person.objects.get_or_create(
        username=name, defaults={"id": new_id(now=now), "password": make_password(None), "created_at": now}
    )
    if not created:
        return _linked(identity)
    SignOnIdentity.objects.create(
        id=new_id(now=now), issuer=identity.issuer, subject=identity.subject, person=person, created_at=now
    )
    return person


def _is_team(team_id: UUID) -> bool:
    with within_team(team_id):
        return Team.objects.filter(pk=team_id, ended_at__isnull=True).exists()


def _locked(managed: Iterable[UUID]) -> list[Team]:
    """The team's row is the lock of all its memberships, as for owners who change them; in one order, so that two sign-ons never
    wait for each other.
    """
    found = []
    for team_id in sorted(managed):
        with within_team(team_id):
            of_team = Team.objects.select_for_update(no_key=True).filter(pk=team_id, ended_at__isnull=True)
            team = of_team.first()
        if team is None:
            log.warning("sign_on_names_no_team", team=to_text(Prefix.TEAM, team_id))
        else:
            found.append(team)
    return found


def _keep_role(person: Person, team: Team, role: Role | None, door: Door, now: datetime) -> list[ToldInTeam]:
    """A membership that came by an invitation is the owners' to change; one that came by a group follows the group."""
    with within_team(team.pk):
        # And the row itself, which the person holds while they do something that the audit log is told of.
        held = Membership.objects.select_for_update(of=("self",)).select_related("person")
        row = held.filter(team=team, person=person).order_by("pk").first()
        if row is None and role is not None:
            return _let_in(person, team, role, door, now)
        if row is not None and row.by_sign_on and row.role != (role.value if role else "") and not _is_last_owner(row):
            return [_change(row, role, door, now)]
    return []


def _change(row: Membership, role: Role | None, door: Door, now: datetime) -> ToldInTeam:
    if role is None:
        actor = system_actor(team_id=row.team_id, door=door)
        disconnect_all_of(actor=actor, person_id=row.person_id, now=now)
        revoke_tokens_of(actor=actor, person_id=row.person_id, now=now)
    links = withdraw_links_of(team_id=row.team_id, person_id=row.person_id, now=now)
    if role is None:
        told = _told(row, "member.removed", door, role=row.role, **links)
        row.delete()
        return told
    before, row.role = row.role, role.value
    row.save(update_fields=["role"])
    return _told(row, "member.role_changed", door, **{"from": before, "to": role.value}, **links)


def _let_in(person: Person, team: Team, role: Role, door: Door, now: datetime) -> list[ToldInTeam]:
    ended = withdraw_invitations_of(team_id=team.pk, username=person.username, now=now)
    fields = {"id": new_id(now=now), "role": role.value, "created_at": now, "by_sign_on": True}
    row, created = Membership.objects.get_or_create(team=team, person=person, defaults=fields)
    return [_told(row, "member.joined", door, role=role.value, **ended)] if created else []


def _is_last_owner(row: Membership) -> bool:
    owners = Membership.objects.filter(team_id=row.team_id, role=Role.OWNER.value)
    return row.role == Role.OWNER.value and not owners.exclude(pk=row.pk).exists()


def _told(row: Membership, action: str, door: Door, **details: str) -> ToldInTeam:
    return ToldInTeam(
        actor=system_actor(team_id=row.team_id, door=door),
        action=action,
        target=to_text(Prefix.MEMBERSHIP, row.pk),
        details={"username": row.person.username, **details, **_BY},
    )
