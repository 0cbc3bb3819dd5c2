"""How people come into a team: an owner invites, and nothing changes for anybody until the person accepts.

The owner sees the link and no password, and the same answer whether or not the name has an account. Whoever accepts proves
the account with its password, or makes one and sets the password.
"""

import os
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.hashers import make_password
from django.db import transaction

from teams_app.engine.actors import Actor, Door, Permission, Role, require_present
from teams_app.engine.errors import InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.keys import digest_of
from teams_app.engine.links import INVITATION_LIFE, LINK_RANDOM_BYTES, mint_link
from teams_app.engine.names import read_username
from teams_app.engine.values import IssuedInvitation, MemberValue
from teams_app.models import Invitation, Membership, Person, Team
from teams_app.selectors import actor_of_membership, invitation_value, live_invitation, member_value, open_invitations
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.passwords import find_proved, require_good_password
from teams_app.services.row_scope import within_secret, within_team
from teams_app.services.seats import require_still

_MOST_OPEN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """`person_id` is whose browser may be signed in."""

    member: MemberValue
    person_id: UUID
    team_name: str


@transaction.atomic(durable=True)
def invite(*, actor: Actor, username: str, role: Role, now: datetime) -> IssuedInvitation:
    """A second invitation of the same name replaces the first."""
    actor.require(Permission.MANAGE_TEAM)
    require_present(actor=actor, to_do="invite somebody")
    name = read_username(username)
    # The team's row is the lock: two invitations of one name take turns, and the later one holds.
    team = Team.objects.select_for_update(no_key=True).get(pk=actor.team_id)
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    _refuse_a_member(team, name)
    still_open = open_invitations(team_id=team.pk)
    still_open.filter(username=name).update(withdrawn_at=now)
    _refuse_too_many(still_open.filter(expires_at__gt=now).count())
    link = mint_link(random=os.urandom(LINK_RANDOM_BYTES))
    row = Invitation.objects.create(
        id=new_id(now=now),
        team=team,
        username=name,
        role=role.value,
        digest=digest_of(link),
        invited_by=actor.id,
        inviter_name=actor.name,
        created_at=now,
        expires_at=now + INVITATION_LIFE,
    )
    _record(actor, "member.invited", row, now)
    return IssuedInvitation(invitation=invitation_value(row), link=link)


@transaction.atomic(durable=True)
def withdraw_invitation(*, actor: Actor, invitation_id: UUID, now: datetime) -> None:
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    mine = Invitation.objects.filter(team_id=actor.team_id, pk=invitation_id)
    # The condition is the lock: whoever accepts at the same moment either comes first or finds it withdrawn.
    if not mine.filter(accepted_at__isnull=True, withdrawn_at__isnull=True).update(withdrawn_at=now):
        raise NotFoundError("There is no such open invitation.", suggestion="List the invitations of your team.")
    _record(actor, "invitation.withdrawn", mine.get(), now)


@transaction.atomic(durable=True)
def accept_with_new_account(*, link: str, password: str, door: Door, now: datetime) -> Joined:
    """For a person who has no account here: it is made, with the password that they set."""
    row = _locked(link, now)
    require_good_password(username=row.username, password=password)
    # Two links of one name at once: the unique name lets one of them make the account.
    person, created = Person.objects.get_or_create(
        username=row.username,
        defaults={"id": new_id(now=now), "password": make_password(password), "created_at": now},
    )
    if not created:
        raise _not_proved(row)
    return _join(row, person, door, now)


@transaction.atomic(durable=True)
def accept_with_account(*, link: str, password: str, door: Door, now: datetime) -> Joined:
    """For a person who has an account here, proved by its password."""
    row = _locked(link, now)
    person = find_proved(username=row.username, password=password)
    if person is None:
        raise _not_proved(row)
    return _join(row, person, door, now)


@transaction.atomic(durable=True)
def accept_signed_in(*, link: str, person_id: UUID, door: Door, now: datetime) -> Joined:
    """For a person who is signed in already under the name that was invited."""
    row = _locked(link, now)
    person = Person.objects.filter(pk=person_id, username=row.username, is_active=True).first()
    if person is None:
        raise _not_proved(row)
    return _join(row, person, door, now)


def _locked(link: str, now: datetime) -> Invitation:
    """Its team first, as whoever invites, changes members or ends the team does. The row is the lock: a link that is opened twice
    at once is used once.
    """
    with within_secret(link):
        seen = live_invitation(link=link, now=now)
    if seen is not None:
        with within_team(seen.team_id):
            Team.objects.select_for_update(no_key=True).get(pk=seen.team_id)
    with within_secret(link):
        row = live_invitation(link=link, now=now, lock=True)
    if row is None:
        raise NotFoundError(
            "This invitation does not hold: it was used or withdrawn, or it has expired.",
            suggestion="Ask an owner of the team for a new one.",
        )
    return row


def _join(row: Invitation, person: Person, door: Door, now: datetime) -> Joined:
    with within_team(row.team_id):
        return _join_in_scope(row, person, door, now)


def _join_in_scope(row: Invitation, person: Person, door: Door, now: datetime) -> Joined:
    membership, created = Membership.objects.get_or_create(
        team_id=row.team_id,
        person=person,
        defaults={"id": new_id(now=now), "role": row.role, "created_at": now},
    )
    if not created:
        raise PreconditionFailedError("You are in this team already.", suggestion="Sign in and choose it at the top.")
    row.accepted_at = now
    row.save(update_fields=["accepted_at"])
    record_audit(
        actor=actor_of_membership(membership=membership, door=door),
        action="member.joined",
        target=to_text(Prefix.MEMBERSHIP, membership.pk),
        now=now,
        details={"username": person.username, "role": row.role, "invited_by": row.inviter_name},
    )
    return Joined(member=member_value(membership), person_id=person.pk, team_name=row.team.name)


def _refuse_a_member(team: Team, username: str) -> None:
    row = Membership.objects.filter(team=team, person__username=username).first()
    if row is not None:
        raise PreconditionFailedError(
            f"{username} is in the team already, as {row.role}.",
            suggestion="Change the role of the member instead.",
            details={"member": to_text(Prefix.MEMBERSHIP, row.pk)},
        )


def _refuse_too_many(count: int) -> None:
    if count >= _MOST_OPEN:
        raise PreconditionFailedError(
            f"{count} invitations of the team are open.", suggestion="Withdraw those that nobody will accept."
        )


def _not_proved(row: Invitation) -> InvalidInputError:
    """One refusal for a wrong password, a name that is taken and a name that is not."""
    return InvalidInputError(
        f"You cannot join as {row.username} in this way.",
        suggestion=(
            "If you have an account with this name, give its password. If you have none, and setting one fails, ask for an "
            "invitation under another login name."
        ),
    )


def _record(actor: Actor, action: str, row: Invitation, now: datetime) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=to_text(Prefix.INVITATION, row.pk),
        now=now,
        details={"username": row.username, "role": row.role},
    )
