"""Tells a team that a question waits for a person. A notice says where to sign in and read it, and nothing that acts."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from sessions_app import jobs
from sessions_app.engine.checkpoints import CheckpointState
from sessions_app.models import CheckpointRequest, Run
from teams_app.engine.actors import Actor, ActorKind, system_actor
from teams_app.engine.errors import ForbiddenError
from teams_app.engine.ids import Prefix, to_text
from teams_app.services.webhooks import Delivery, deliver

# How long after each try that failed the next one comes; after the last there is none.
WAITS = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 900))


def announce_question(*, actor: Actor, request_id: UUID, tries: int, now: datetime) -> bool:
    """Whether a notice was delivered now. What was announced or answered before is not announced."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Notices are sent by the server.", suggestion="There is nothing to do.")
    waiting = CheckpointRequest.objects.filter(
        pk=request_id, announced_at__isnull=True, state=CheckpointState.OPEN.value
    )
    row = waiting.order_by("pk").first()
    if row is None:
        return False
    of_team = system_actor(team_id=row.team_id, door=actor.door)
    delivery = deliver(actor=of_team, notice=_notice(row), now=now)
    match delivery:
        case Delivery.DELIVERED:
            CheckpointRequest.objects.filter(pk=row.pk).update(announced_at=now)
        case Delivery.FAILED if tries < len(WAITS):
            jobs.ask_to_announce(request_ids=[request_id], tries=tries + 1, after=WAITS[tries])
        case Delivery.FAILED | Delivery.NOWHERE:
            pass
    return delivery is Delivery.DELIVERED


def _notice(row: CheckpointRequest) -> dict[str, Any]:
    """Nothing in it comes from an agent. Chat servers show `text`."""
    link = f"{settings.PUBLIC_URL}{reverse('admin:sessions_app_checkpointrequest_change', args=(row.pk,))}"
    run = Run.objects.get(pk=row.run_id)
    return {
        "kind": "checkpoint_asked",
        "text": f"A question waits for a person in Workrail: {link}",
        "link": link,
        "team": to_text(Prefix.TEAM, row.team_id),
        "checkpoint": to_text(Prefix.CHECKPOINT, row.pk),
        "run": to_text(Prefix.RUN, row.run_id),
        "session": to_text(Prefix.SESSION, row.session_id),
        "workflow": run.workflow_id,
        "title": row.title,
        "askedAt": row.presented_at,
        "dueAt": row.due_at,
    }
