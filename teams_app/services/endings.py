"""The end of a team. At once nobody acts in it any more; what is left of it is deleted later, and its row and its audit log stay."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from teams_app.engine.actors import Actor, ActorKind, Permission, person_id_of, require_present
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import (
    AgentKey,
    Endpoint,
    Invitation,
    Membership,
    NamedRequest,
    NoticeDelivery,
    NoticeMail,
    PasswordReset,
    PersonalToken,
    Team,
    TeamStorage,
    WorkTurn,
)
from teams_app.services.audit import record_audit
from teams_app.services.seats import require_still

# Those that hang on others before them.
_OF_TEAM: tuple[Any, ...] = (
    *(NoticeDelivery, NoticeMail, Endpoint, PersonalToken, AgentKey),
    *(Invitation, PasswordReset, NamedRequest, TeamStorage, WorkTurn),
)


def close_team(*, actor: Actor, name: str, now: datetime) -> None:
    """Inside the transaction of the caller, who has looked whether anything speaks against it."""
    actor.require(Permission.MANAGE_TEAM)
    if actor.kind is not ActorKind.SYSTEM:
        person_id_of(actor=actor)
        require_present(actor=actor, to_do="end a team")
    # The lock of whoever changes members, keys and tokens: what they have begun is ended too. No stronger one: whoever is at
    # something else holds rows of the team already, and would wait here to tell the audit log of it.
    team = Team.objects.select_for_update(no_key=True).filter(pk=actor.team_id, ended_at__isnull=True).first()
    if team is None:
        raise NotFoundError("There is no such team.", suggestion="It may have been ended already.")
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    if name != team.name:
        raise InvalidInputError(
            "That is not the name of the team.", suggestion=f"To end it, write its name: {team.name}"
        )
    team.ended_at = now
    team.save(update_fields=["ended_at"])
    # Each is held by whoever does something in the team, before any other row of it.
    _, gone = Membership.objects.filter(team=team).delete()
    for credentials in (AgentKey, PersonalToken):
        credentials.objects.filter(team=team, revoked_at__isnull=True).update(revoked_at=now)
    for links in (Invitation, PasswordReset):
        links.objects.filter(team=team).delete()
    _record(actor, "team.ended", now, {"name": team.name, "members": gone.get("teams_app.Membership", 0)})


def ended_teams(*, actor: Actor, before: datetime | None = None) -> Iterator[UUID]:
    """All of them, or those that ended before and have not been emptied yet."""
    _require_system(actor)
    rows = Team.objects.filter(ended_at__isnull=False).order_by("pk")
    if before is not None:
        rows = rows.filter(ended_at__lt=before, emptied_at__isnull=True)
    yield from rows.values_list("pk", flat=True)


def empty_team(*, actor: Actor, now: datetime, sessions: int) -> bool:
    """The rest of it, inside the transaction of the caller; False where another one was quicker."""
    _require_system(actor)
    team = _left().filter(pk=actor.team_id).order_by("pk").first()
    if team is None:
        return False
    for rows in _OF_TEAM:
        rows.objects.filter(team_id=team.pk).delete()
    team.emptied_at = now
    team.save(update_fields=["emptied_at"])
    _record(actor, "team.emptied", now, {"sessions": sessions})
    return True


def _left() -> QuerySet[Team]:
    return Team.objects.select_for_update(no_key=True).filter(Q(ended_at__isnull=False), emptied_at__isnull=True)


def _record(actor: Actor, action: str, now: datetime, details: dict[str, str | int]) -> None:
    target = to_text(Prefix.TEAM, actor.team_id)
    record_audit(actor=actor, action=action, target=target, now=now, details=details)


def _require_system(actor: Actor) -> None:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("What is left of a team is deleted by the server.", suggestion="The schedule does so.")
