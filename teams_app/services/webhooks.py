"""The addresses to which notices of a team go, and which notices: set and taken away by an owner."""

import os
from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import transaction

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError, PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.values import SetWebhook, WebhookValue
from teams_app.engine.webhooks import SECRET_RANDOM_BYTES, NoticeKind, mint_secret, read_url
from teams_app.models import Endpoint
from teams_app.selectors import no_endpoint, webhook_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.seats import require_still

MAX_ENDPOINTS = 20
# What the team's main address is sent, which was there before there were others.
MAIN_KINDS = (NoticeKind.CHECKPOINT_ASKED,)


@transaction.atomic(durable=True)
def set_webhook(*, actor: Actor, url: str, now: datetime) -> SetWebhook:
    """The main address, which has the id of its team. Each time with a new secret: whoever has the old one cannot sign
    for the new address.
    """
    return _set(actor, actor.team_id, url, MAIN_KINDS, now)


@transaction.atomic(durable=True)
def remove_webhook(*, actor: Actor, now: datetime) -> None:
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    _remove(actor, actor.team_id, now)


@transaction.atomic(durable=True)
def add_endpoint(*, actor: Actor, url: str, kinds: Collection[NoticeKind], now: datetime) -> SetWebhook:
    actor.require(Permission.MANAGE_TEAM)
    if Endpoint.objects.filter(team_id=actor.team_id).count() >= MAX_ENDPOINTS:
        raise PreconditionFailedError(
            f"Your team has {MAX_ENDPOINTS} addresses of notices.", suggestion="Remove one that is not needed any more."
        )
    return _set(actor, new_id(now=now), url, kinds, now)


@transaction.atomic(durable=True)
def choose_notices(*, actor: Actor, endpoint_id: UUID, kinds: Collection[NoticeKind], now: datetime) -> WebhookValue:
    """From now on the address is sent these and no others."""
    row = _own(actor, endpoint_id)
    row.kinds = _ordered(kinds)
    row.save(update_fields=["kinds"])
    _record(actor, "webhook.changed", now, host=read_url(row.url).authority, kinds=" ".join(row.kinds))
    return webhook_value(row)


@transaction.atomic(durable=True)
def switch_on(*, actor: Actor, endpoint_id: UUID, now: datetime) -> WebhookValue:
    """An address that was switched off is called again; what waited for it is sent."""
    row = _own(actor, endpoint_id)
    row.switched_off_at, row.failing_since = None, None
    row.save(update_fields=["switched_off_at", "failing_since"])
    _record(actor, "webhook.switched_on", now, host=read_url(row.url).authority)
    return webhook_value(row)


@transaction.atomic(durable=True)
def remove_endpoint(*, actor: Actor, endpoint_id: UUID, now: datetime) -> None:
    _own(actor, endpoint_id)
    _remove(actor, endpoint_id, now)


def _set(actor: Actor, row_id: UUID, url: str, kinds: Collection[NoticeKind], now: datetime) -> SetWebhook:
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    target = read_url(url)
    if not settings.PUBLIC_URL:
        raise PreconditionFailedError(
            "This server does not know its own address, so a notice could not say where to sign in.",
            suggestion="Ask whoever runs the server to set WORKRAIL_PUBLIC_URL.",
        )
    secret = mint_secret(random=os.urandom(SECRET_RANDOM_BYTES))
    fresh = {"delivered_at": None, "failed_at": None, "failing_since": None, "switched_off_at": None, "failure": ""}
    fields = {"url": url.strip(), "secret": secret, "set_at": now, **fresh}
    row, _ = Endpoint.objects.update_or_create(
        id=row_id,
        team_id=actor.team_id,
        defaults=fields,
        create_defaults={**fields, "kinds": _ordered(kinds)},
    )
    _record(actor, "webhook.set", now, host=target.authority)
    return SetWebhook(webhook=webhook_value(row), secret=secret)


def _remove(actor: Actor, endpoint_id: UUID, now: datetime) -> None:
    # The count is the lock: of two who remove it at once, one is told that there is none.
    _, removed = Endpoint.objects.filter(team_id=actor.team_id, pk=endpoint_id).delete()
    if not removed.get(Endpoint._meta.label):  # noqa: SLF001  Django's own documented name
        raise NotFoundError("Notices of your team do not go there.", suggestion="There is nothing to remove.")
    _record(actor, "webhook.removed", now)


def _own(actor: Actor, endpoint_id: UUID) -> Endpoint:
    require_still(actor=actor, permission=Permission.MANAGE_TEAM)
    row = Endpoint.objects.select_for_update(no_key=True).filter(team_id=actor.team_id, pk=endpoint_id).order_by("pk")
    found = row.first()
    if found is None:
        raise no_endpoint()
    return found


def _ordered(kinds: Collection[NoticeKind]) -> list[str]:
    return [kind.value for kind in NoticeKind if kind in kinds]


def _record(actor: Actor, action: str, now: datetime, **details: str) -> None:
    record_audit(actor=actor, action=action, target=to_text(Prefix.TEAM, actor.team_id), now=now, details=details)
