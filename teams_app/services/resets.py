"""Forgotten passwords: an owner hands out a one-time link, and the person sets a new password with it."""

import os
from datetime import datetime
from uuid import UUID

from django.db import transaction

from teams_app.engine.actors import Actor, ActorKind, Door, Permission, require_present
from teams_app.engine.errors import ForbiddenError, NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.keys import digest_of
from teams_app.engine.links import LINK_RANDOM_BYTES, RESET_LIFE, mint_link
from teams_app.engine.values import IssuedReset
from teams_app.models import Membership, PasswordReset, Person
from teams_app.selectors import live_reset, reset_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.passwords import set_password, withdraw_resets
from teams_app.services.row_scope import within_person, within_secret, within_team
from teams_app.services.seats import require_still
from teams_app.services.sign_ins import record_in_teams


@transaction.atomic(durable=True)
def offer_reset(*, actor: Actor, member_id: UUID, now: datetime) -> IssuedReset:
    """The link, shown once. The password that they have holds until the link is used; an earlier link holds no longer."""
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    require_present(actor=actor, to_do="make a link for a password")
    member = Membership.objects.select_related("person").filter(team_id=actor.team_id, pk=member_id).first()
    if member is None:
        raise NotFoundError("There is no such member.", suggestion="List the members of your team.")
    if actor.kind is not ActorKind.SYSTEM:
        _refuse_a_guest(member)
    # The person's row is the lock: of two links that are made at once the later one holds.
    person = Person.objects.select_for_update(no_key=True).get(pk=member.person_id)
    withdraw_resets(person=person, now=now)
    link = mint_link(random=os.urandom(LINK_RANDOM_BYTES))
    row = PasswordReset.objects.create(
        id=new_id(now=now),
        team_id=actor.team_id,
        person_id=member.person_id,
        digest=digest_of(link),
        offered_by=actor.id,
        created_at=now,
        expires_at=now + RESET_LIFE,
    )
    record_audit(
        actor=actor,
        action="password.reset_offered",
        target=to_text(Prefix.MEMBERSHIP, member.pk),
        now=now,
        details={"username": member.person.username},
    )
    return IssuedReset(reset=reset_value(row), link=link)


@transaction.atomic(durable=True)
def reset_password(*, link: str, password: str, door: Door, now: datetime) -> str:
    """The login name whose password is now this one."""
    row = _locked(link, now)
    if row is None:
        raise NotFoundError(
            "This link does not hold: it was used or replaced, or it has expired.",
            suggestion="Ask an owner of your team for a new one.",
        )
    row.used_at = now
    with within_team(row.team_id):
        row.save(update_fields=["used_at"])
    set_password(person=row.person, password=password, door=door, now=now)
    record_in_teams(person_id=row.person_id, action="password.reset", door=door, now=now)
    return row.person.username


def _locked(link: str, now: datetime) -> PasswordReset | None:
    """Its person first, as whoever sets a password or makes another link does."""
    with within_secret(link):
        seen = live_reset(link=link, now=now)
        if seen is not None:
            Person.objects.select_for_update(no_key=True).get(pk=seen.person_id)
        return live_reset(link=link, now=now, lock=True)


def _refuse_a_guest(member: Membership) -> None:
    """Whoever holds the link can become the person, in every team that they are in."""
    with within_person(member.person_id):
        is_guest = Membership.objects.filter(person_id=member.person_id).exclude(pk=member.pk).exists()
    if is_guest:
        raise ForbiddenError(
            f"{member.person.username} is in another team too, so no owner of one team sets their password.",
            suggestion="Whoever runs the server makes a link: ./workrail members reset NAME.",
        )
