"""The one function that writes the audit log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from structlog.contextvars import get_contextvars

from teams_app.engine import audit
from teams_app.engine.actors import BY_TOKEN, Actor
from teams_app.engine.audit import NOT_READ
from teams_app.models import AuditEntry, AuditHead
from teams_app.services.audit_chain import (
    adopted_end,
    beginning_end,
    end_of,
    facts_of,
    unread_teams,
    unsealed_teams,
)
from teams_app.services.ids import new_id
from teams_app.services.row_scope import within_team


def record_audit(
    *,
    actor: Actor,
    action: str,
    target: str,
    now: datetime,
    details: Mapping[str, Any] | None = None,
    team_id: UUID | None = None,
) -> None:
    """Call it inside the transaction of the change, so that neither exists without the other, and late in it: the team's
    other entries wait until it ends.

    `action` is `noun.past_participle`, `target` the id of the row as it is shown. `team_id` is given only where the
    actor is not yet of the team, as when it founds one. The id of the request comes from the context of the log,
    where every door puts it.
    """
    entry = AuditEntry(
        id=new_id(now=now),
        team_id=team_id or actor.team_id,
        at=now,
        actor_kind=actor.kind.value,
        actor_id=actor.id,
        actor_name=actor.name,
        door=actor.door.value,
        action=action,
        target=target,
        request_id=str(get_contextvars().get("request_id", "")),
        details={**(details or {}), **_by_token(actor)},
    )
    # Whoever signs in, or founds a team, is told of in teams that they do not act in.
    with within_team(entry.team_id):
        _chain(entry)


def seal_audit_logs() -> None:
    """What a release before has written is taken for true, as it is. For upkeep: a long log takes a while, in which nobody waits for
    anything.
    """
    for team_id in unsealed_teams():
        with transaction.atomic():
            _locked(team_id)
    for team_id in unread_teams():
        _adopt(team_id)


def _adopt(team_id: UUID) -> None:
    """Nothing is added to the old entries while they are read: whoever writes has begun the chain after them."""
    old = adopted_end(team_id)
    with transaction.atomic():
        head = _locked(team_id)
        if head.adopted_digest != NOT_READ:
            return
        doubts = audit.doubts_of_end(settings.SEAL_KEYS, head.seal, team_id=team_id, end=end_of(head))
        head.adopted, head.adopted_digest = old.adopted, old.adopted_digest
        head.seal = audit.seal_end(settings.SEAL_KEYS, team_id=team_id, end=end_of(head), doubts=doubts)
        head.save(update_fields=["adopted", "adopted_digest", "seal"])


def _by_token(actor: Actor) -> dict[str, str]:
    """Whoever reads the log sees that a person was not there themselves, and which token to revoke."""
    return {} if actor.token is None else {"by": BY_TOKEN, "by_id": actor.token.id, "by_name": actor.token.name}


def _chain(entry: AuditEntry) -> None:
    head = _locked(entry.team_id)
    doubts = audit.doubts_of_end(settings.SEAL_KEYS, head.seal, team_id=entry.team_id, end=end_of(head))
    entry.number = head.next_number
    entry.digest = audit.entry_digest(facts_of(entry), number=entry.number, after=head.digest)
    entry.seal = audit.seal_entry(settings.SEAL_KEYS, team_id=entry.team_id, digest=entry.digest)
    entry.save(force_insert=True)
    head.next_number += 1
    head.digest = entry.digest
    head.seal = audit.seal_end(settings.SEAL_KEYS, team_id=entry.team_id, end=end_of(head), doubts=doubts)
    head.save(update_fields=["next_number", "digest", "seal"])


def _locked(team_id: UUID) -> AuditHead:
    """The row lock of the team's chain, held until the transaction ends."""
    head = AuditHead.objects.select_for_update().filter(pk=team_id).order_by("pk").first()
    if head is not None:
        return head
    end = beginning_end(team_id)
    columns = {
        "next_number": end.next_number,
        "digest": end.digest,
        "adopted": end.adopted,
        "adopted_digest": end.adopted_digest,
    }
    seal = audit.seal_end(settings.SEAL_KEYS, team_id=team_id, end=end)
    # Two at once: the one that waited finds the other's row.
    AuditHead.objects.get_or_create(pk=team_id, defaults={**columns, "seal": seal})
    return AuditHead.objects.select_for_update().get(pk=team_id)
