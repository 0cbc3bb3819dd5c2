"""How long a team keeps its sessions: rules of owners, and holds of whoever steers runs."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from sessions_app.engine.expiry import MAX_IDLE_DAYS, ExpiryRule
from sessions_app.models import Hold, Retention
from sessions_app.selectors.sessions import no_session, team_sessions
from sessions_app.services.expiry.deletion import check_reason
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.normal_forms import trimmed
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.storage import refuse_beyond
from workflows_app.selectors.workflows import ids_behind, ids_named

# Of one team: all of them stand on one page.
MAX_RULES = 500
_WORKFLOW_CHARACTERS = 128


@transaction.atomic(durable=True)
def set_retention(*, actor: Actor, workflow_id: str, rule: ExpiryRule, now: datetime) -> str:
    """For all sessions of the team, or for those with runs of a workflow, which goes before. Returns its id, under which runs are
    kept whatever name began them.
    """
    actor.require(Permission.MANAGE_TEAM)
    if len(workflow_id) > _WORKFLOW_CHARACTERS or not workflow_id.isprintable():
        raise InvalidInputError("That is no workflow.", suggestion="Name a workflow by its id, or none for all.")
    if rule.idle_days is not None and not 0 < rule.idle_days <= MAX_IDLE_DAYS:
        raise InvalidInputError(
            f"Sessions are kept for 1 to {MAX_IDLE_DAYS} days, or for ever.",
            suggestion="Leave idleDays out to keep them for ever.",
        )
    (workflow_id,) = ids_behind(actor, [workflow_id]) or [workflow_id]
    others = Retention.objects.filter(team_id=actor.team_id).exclude(workflow_id=workflow_id)
    refuse_beyond(held=others.count(), most=MAX_RULES, what="rules about how long sessions are kept")
    fields = {"idle_days": rule.idle_days, "archives": rule.archives, "changed_by": actor.id, "changed_at": now}
    Retention.objects.update_or_create(
        team_id=actor.team_id,
        workflow_id=workflow_id,
        defaults=fields,
        create_defaults={"id": new_id(now=now), **fields},
    )
    details = {"workflow": workflow_id, "idleDays": rule.idle_days, "archives": rule.archives}
    record_audit(
        actor=actor, action="retention.set", target=to_text(Prefix.TEAM, actor.team_id), now=now, details=details
    )
    return workflow_id


@transaction.atomic(durable=True)
def remove_retention(*, actor: Actor, workflow_id: str, now: datetime) -> None:
    """The rule of the team, or the server's, holds instead."""
    actor.require(Permission.MANAGE_TEAM)
    named = ids_named(actor, workflow_id)
    removed, _ = Retention.objects.filter(team_id=actor.team_id, workflow_id__in=named).delete()
    if not removed:
        raise NotFoundError("There is no such rule.", suggestion="There is nothing to remove.")
    target = to_text(Prefix.TEAM, actor.team_id)
    record_audit(actor=actor, action="retention.removed", target=target, now=now, details={"workflow": workflow_id})


@transaction.atomic(durable=True)
def hold_session(*, actor: Actor, session_id: UUID, reason: str, now: datetime) -> None:
    """Nothing deletes it until it is let go. Held again, it has the new reason."""
    actor.require(Permission.STEER_RUNS)
    check_reason(reason)
    _require_there(actor, session_id)
    fields = {"team_id": actor.team_id, "reason": trimmed(reason), "held_by": actor.id, "held_at": now}
    Hold.objects.update_or_create(session_id=session_id, defaults=fields)
    _record(actor, "session.held", session_id, now, reason=reason)


@transaction.atomic(durable=True)
def let_go(*, actor: Actor, session_id: UUID, now: datetime) -> None:
    actor.require(Permission.STEER_RUNS)
    removed, _ = Hold.objects.filter(team_id=actor.team_id, session_id=session_id).delete()
    if not removed:
        raise NotFoundError("Nobody holds that session.", suggestion="There is nothing to let go.")
    _record(actor, "session.let_go", session_id, now)


def _require_there(actor: Actor, session_id: UUID) -> None:
    # The lock that deletion takes as well: a session is held or gone, and never both.
    if not team_sessions(actor).select_for_update(no_key=True).filter(pk=session_id).order_by("pk").first():
        raise no_session()


def _record(actor: Actor, action: str, session_id: UUID, now: datetime, **details: str) -> None:
    record_audit(actor=actor, action=action, target=to_text(Prefix.SESSION, session_id), now=now, details=details)
