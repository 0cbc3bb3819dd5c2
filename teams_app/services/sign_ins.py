"""What happens to an account is told to the audit log of every team that its person is in: an account is of no team."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction

from teams_app.engine.actors import Actor, Door, system_actor
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import fold_username
from teams_app.models import Membership, Person
from teams_app.selectors import actor_of_membership
from teams_app.services.audit import record_audit
from teams_app.services.row_scope import within_person


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldInTeam:
    """What the audit log of the actor's team is told."""

    actor: Actor
    action: str
    target: str
    details: Mapping[str, str] = field(default_factory=dict)


@transaction.atomic
def record_sign_in(*, person_id: UUID, address: str, door: Door, now: datetime) -> None:
    record_in_teams(person_id=person_id, action="person.signed_in", door=door, now=now, details={"address": address})


@transaction.atomic
def record_sign_out(*, person_id: UUID, address: str, door: Door, now: datetime) -> None:
    record_in_teams(person_id=person_id, action="person.signed_out", door=door, now=now, details={"address": address})


@transaction.atomic
def record_refused_sign_in(*, username: str, address: str, door: Door, now: datetime) -> None:
    """Of a name that nobody has nothing is kept: there is no team to tell. Who tried is not known to be the person."""
    person = Person.objects.filter(username=fold_username(username)).first()
    for row in [] if person is None else _memberships(person.pk):
        record_audit(
            actor=system_actor(team_id=row.team_id, door=door),
            action="person.sign_in_refused",
            target=to_text(Prefix.PERSON, row.person_id),
            now=now,
            details={"username": fold_username(username), "address": address},
        )


def record_in_teams(
    *,
    person_id: UUID,
    action: str,
    door: Door,
    now: datetime,
    details: Mapping[str, str] | None = None,
    after: Iterable[ToldInTeam] = (),
) -> None:
    """Inside the caller's transaction, as done by the person; `after` what their teams, or those that they were in, are told first.

    In the order of the teams, whichever they joined first: each audit log is locked until the transaction ends.
    """
    own = [
        ToldInTeam(
            actor=actor_of_membership(membership=row, door=door),
            action=action,
            target=to_text(Prefix.PERSON, person_id),
            details={"username": row.person.username, **(details or {})},
        )
        for row in _memberships(person_id)
    ]
    for each in sorted([*after, *own], key=lambda told: told.actor.team_id):
        record_audit(actor=each.actor, action=each.action, target=each.target, now=now, details=each.details)


def _memberships(person_id: UUID) -> list[Membership]:
    with within_person(person_id):
        return list(Membership.objects.filter(person_id=person_id).select_related("person").order_by("team_id"))
