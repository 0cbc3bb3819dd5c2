"""The address to which notices of a team go: set and taken away by an owner, called by a worker."""

import os
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction

from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import ForbiddenError, NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.values import SetWebhook
from teams_app.engine.webhooks import SECRET_RANDOM_BYTES, mint_secret, read_url, sign
from teams_app.models import Webhook
from teams_app.selectors import webhook_value
from teams_app.services.audit import record_audit
from teams_app.services.outgoing import NotDeliveredError, post_json

_FAILURE_CHARACTERS = 512


class Delivery(StrEnum):
    """Nowhere: the team has named no address."""

    DELIVERED = "delivered"
    FAILED = "failed"
    NOWHERE = "nowhere"


@transaction.atomic(durable=True)
def set_webhook(*, actor: Actor, url: str, now: datetime) -> SetWebhook:
    """Each time with a new secret: whoever has the old one cannot sign for the new address."""
    actor.require(Permission.MANAGE_TEAM)
    target = read_url(url)
    if not settings.PUBLIC_URL:
        raise PreconditionFailedError(
            "This server does not know its own address, so a notice could not say where to sign in.",
            suggestion="Ask whoever runs the server to set WORKRAIL_PUBLIC_URL.",
        )
    secret = mint_secret(random=os.urandom(SECRET_RANDOM_BYTES))
    fields = {"url": url.strip(), "secret": secret, "set_at": now, "delivered_at": None, "failed_at": None}
    row, _ = Webhook.objects.update_or_create(team_id=actor.team_id, defaults={**fields, "failure": ""})
    _record(actor, "webhook.set", now, host=target.authority)
    return SetWebhook(webhook=webhook_value(row), secret=secret)


@transaction.atomic(durable=True)
def remove_webhook(*, actor: Actor, now: datetime) -> None:
    actor.require(Permission.MANAGE_TEAM)
    # The count is the lock: of two who remove it at once, one is told that there is none.
    removed, _ = Webhook.objects.filter(team_id=actor.team_id).delete()
    if not removed:
        raise NotFoundError("Notices of your team go nowhere.", suggestion="There is nothing to remove.")
    _record(actor, "webhook.removed", now)


def deliver(*, actor: Actor, notice: Mapping[str, Any], now: datetime) -> Delivery:
    """Call the team's address once. No transaction is open meanwhile: the other side may be slow."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Notices are sent by the server.", suggestion="There is nothing to do.")
    row = Webhook.objects.filter(team_id=actor.team_id).order_by("team_id").first()
    if row is None:
        return Delivery.NOWHERE
    body, timestamp = orjson.dumps(dict(notice)), int(now.timestamp())
    headers = {
        "Workrail-Timestamp": str(timestamp),
        "Workrail-Signature": sign(secret=row.secret, timestamp=timestamp, body=body),
    }
    same = Webhook.objects.filter(team_id=row.team_id, set_at=row.set_at)
    try:
        post_json(target=read_url(row.url), body=body, headers=headers)
    except NotDeliveredError as error:
        same.update(failed_at=now, failure=str(error)[:_FAILURE_CHARACTERS])
        return Delivery.FAILED
    same.update(delivered_at=now, failed_at=None, failure="")
    return Delivery.DELIVERED


def _record(actor: Actor, action: str, now: datetime, **details: str) -> None:
    record_audit(actor=actor, action=action, target=to_text(Prefix.TEAM, actor.team_id), now=now, details=details)
