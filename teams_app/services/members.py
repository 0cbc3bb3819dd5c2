"""Who is in a team, and as what. A team always has an owner."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from teams_app.engine.actors import Actor, Permission, Role
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.values import MemberValue
from teams_app.models import Membership, Team
from teams_app.selectors import member_value
from teams_app.services.audit import record_audit
from teams_app.services.connections import disconnect_all_of
from teams_app.services.handed_out import withdraw_links_of
from teams_app.services.seats import require_still
from teams_app.services.tokens import revoke_tokens_of


@transaction.atomic(durable=True)
def change_role(*, actor: Actor, member_id: UUID, role: Role, now: datetime) -> MemberValue:
    actor.require(Permission.MANAGE_TEAM)
    row = _lock_member(actor, member_id)
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    before = Role(row.role)
    if before is role:
        return member_value(row)
    _keep_an_owner(row, "demoted")
    row.role = role.value
    row.save(update_fields=["role"])
    ended = withdraw_links_of(team_id=row.team_id, person_id=row.person_id, now=now)
    _record(actor, "member.role_changed", row, now, **{"from": before.value, "to": role.value}, **ended)
    return member_value(row)


@transaction.atomic(durable=True)
def remove_member(*, actor: Actor, member_id: UUID, now: datetime) -> None:
    """An owner removes anybody; everybody may leave."""
    row = _lock_member(actor, member_id)
    # A token takes nobody out, its own person neither, unless it may manage the team.
    if to_text(Prefix.PERSON, row.person_id) != actor.id or actor.token is not None:
        require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    _keep_an_owner(row, "removed")
    disconnect_all_of(actor=actor, person_id=row.person_id, now=now)
    ended = revoke_tokens_of(actor=actor, person_id=row.person_id, now=now)
    links = withdraw_links_of(team_id=row.team_id, person_id=row.person_id, now=now)
    tokens = {"tokens_revoked": str(ended)} if ended else {}
    _record(actor, "member.removed", row, now, role=row.role, **tokens, **links)
    row.delete()


def _lock_member(actor: Actor, member_id: UUID) -> Membership:
    # The team's row is the lock of all its memberships: two owners who demote each other take turns, and the second
    # one finds that it is the last.
    Team.objects.select_for_update(no_key=True).get(pk=actor.team_id)
    # And the row itself, which whoever it is of holds while they do something that the audit log is told of.
    held = Membership.objects.select_for_update(of=("self",)).select_related("person")
    row = held.filter(team_id=actor.team_id, pk=member_id).order_by("pk").first()
    if row is None:
        raise NotFoundError("There is no such member.", suggestion="List the members of your team.")
    return row


def _keep_an_owner(row: Membership, done: str) -> None:
    if Role(row.role) is not Role.OWNER:
        return
    if Membership.objects.filter(team_id=row.team_id, role=Role.OWNER.value).exclude(pk=row.pk).exists():
        return
    raise PreconditionFailedError(
        f"{row.person.username} is the last owner of the team and cannot be {done}.",
        suggestion="Make another member an owner first.",
    )


def _record(actor: Actor, action: str, row: Membership, now: datetime, **details: str) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=to_text(Prefix.MEMBERSHIP, row.pk),
        now=now,
        details={"username": row.person.username, **details},
    )
