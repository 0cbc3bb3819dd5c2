"""The one function that writes the audit log."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from structlog.contextvars import get_contextvars

from teams_app.engine.actors import Actor
from teams_app.models import AuditEntry
from teams_app.services.ids import new_id


def record_audit(
    *,
    actor: Actor,
    action: str,
    target: str,
    now: datetime,
    details: Mapping[str, Any] | None = None,
    team_id: UUID | None = None,
) -> None:
    """Call it inside the transaction of the change, so that neither exists without the other.

    `action` is `noun.past_participle`, `target` the id of the row as it is shown. `team_id` is given only where the
    actor is not yet of the team, as when it founds one. The id of the request comes from the context of the log,
    where every door puts it.
    """
    AuditEntry.objects.create(
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
        details=dict(details or {}),
    )
