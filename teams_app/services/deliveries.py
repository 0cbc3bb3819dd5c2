"""Notices on their way: queued in the transaction of whoever announces, sent by a worker, tried again, and on record.

A worker takes a delivery by moving its next try beyond the time that a call may take; one that dies in between has only
made the notice late. The other side may therefore hear a notice twice, and tells it by its id.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import QuerySet

from teams_app import jobs
from teams_app.engine.actors import Actor, ActorKind, Door, Permission, system_actor
from teams_app.engine.errors import ForbiddenError, NotFoundError, PreconditionFailedError
from teams_app.engine.fail_points import FailPoint, go_on
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.values import DeliveryValue
from teams_app.engine.webhooks import SWITCHED_OFF_AFTER, WAITS, DeliveryState, NoticeKind, TeamWork, read_url, sign
from teams_app.models import Endpoint, NoticeDelivery
from teams_app.selectors import delivery_value
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.mails import queue_mails
from teams_app.services.outgoing import NotDeliveredError, post_json
from teams_app.services.timely import BUSY_FOR, ask_once, only_one

KEPT = timedelta(days=30)
# Longer than a call may take.
_TAKEN_FOR = timedelta(minutes=2)
_FAILURE_CHARACTERS = 512
_MOST_AT_A_TIME = 100

Clock = Callable[[], datetime]


def queue_notice(
    *,
    actor: Actor,
    notice_id: UUID,
    kind: NoticeKind,
    body: Mapping[str, Any],
    now: datetime,
    but: Collection[UUID] = (),
) -> int:
    """A delivery to each address of the team and each member that want such notices; returns how many. Inside a transaction."""
    _require_system(actor)
    chosen = Endpoint.objects.filter(team_id=actor.team_id, kinds__contains=[kind.value]).exclude(pk__in=but)
    told = {"id": str(notice_id), "kind": kind.value, **body}
    rows = [
        NoticeDelivery(
            id=new_id(now=now),
            team_id=actor.team_id,
            endpoint=endpoint,
            notice_id=notice_id,
            kind=kind.value,
            body=orjson.dumps(told),
            state=DeliveryState.WAITING.value,
            created_at=now,
            next_try_at=now,
        )
        for endpoint in chosen
    ]
    NoticeDelivery.objects.bulk_create(rows)
    if rows:
        _ask_once(actor.team_id, now)
    return len(rows) + queue_mails(team_id=actor.team_id, notice_id=notice_id, kind=kind, body=body, now=now)


def deliver_due(*, actor: Actor, clock: Clock, fail: FailPoint = go_on) -> int:
    """Send some of what the team has due; returns how much was taken by the other side. What is left is asked for again, behind
    what else waits for the worker.
    """
    _require_system(actor)
    with only_one(work=TeamWork.NOTICES, team_id=actor.team_id, clock=clock) as is_mine:
        if not is_mine:
            return 0
        delivered = _send_some(actor.team_id, clock, fail)
    if _is_due(actor.team_id, clock()):
        _ask_once(actor.team_id, clock())
    return delivered


def ask_for_due(*, actor: Actor, now: datetime) -> int:
    """For each team that has something due; returns for how many."""
    _require_system(actor)
    teams = list(_due(now).order_by("team_id").values_list("team_id", flat=True).distinct())
    for team_id in teams:
        _ask_once(team_id, now)
    return len(teams)


def redeliver(*, actor: Actor, delivery_id: UUID, now: datetime) -> DeliveryValue:
    """Send the same notice again, to where its address leads now."""
    actor.require(Permission.MANAGE_TEAM)
    with transaction.atomic(durable=True):
        old = NoticeDelivery.objects.filter(team_id=actor.team_id, pk=delivery_id).select_related("endpoint").first()
        if old is None:
            raise NotFoundError("There is no such delivery.", suggestion="List the deliveries of the address.")
        if old.endpoint.switched_off_at is not None:
            raise PreconditionFailedError("The address is switched off.", suggestion="Switch it on first.")
        row = NoticeDelivery.objects.create(
            id=new_id(now=now),
            team_id=old.team_id,
            endpoint=old.endpoint,
            notice_id=old.notice_id,
            kind=old.kind,
            body=old.body,
            state=DeliveryState.WAITING.value,
            created_at=now,
            next_try_at=now,
        )
        _ask_once(old.team_id, now)
    return delivery_value(row)


def forget_old(*, actor: Actor, now: datetime) -> int:
    """Take what is past its time off the record; returns how much."""
    _require_system(actor)
    old = NoticeDelivery.objects.filter(created_at__lt=now - KEPT, next_try_at__isnull=True)
    count, _ = old.delete()
    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """`tries` counts this one; it names the try, so that the word of one that was given up does not count."""

    row: NoticeDelivery
    endpoint: Endpoint
    tries: int


def _ask_once(team_id: UUID, now: datetime) -> None:
    ask = partial(jobs.ask_to_deliver, team_id=team_id)
    ask_once(work=TeamWork.NOTICES, team_id=team_id, now=now, ask=ask)


def _send_some(team_id: UUID, clock: Clock, fail: FailPoint) -> int:
    """Others may be slow, so each is taken at its own time."""
    delivered, until = 0, clock() + BUSY_FOR
    for _ in range(_MOST_AT_A_TIME):
        now = clock()
        taken = _take(team_id, now) if now < until else None
        if taken is None:
            break
        fail("taken")
        delivered += _send(taken, now, clock, fail)
        fail("recorded")
    return delivered


def _due(now: datetime) -> QuerySet[NoticeDelivery]:
    return NoticeDelivery.objects.filter(next_try_at__lte=now, endpoint__switched_off_at__isnull=True)


def _first_due(team_id: UUID, now: datetime) -> NoticeDelivery | None:
    """Not what somebody else is at. Inside a transaction."""
    free = _due(now).filter(team_id=team_id).select_for_update(of=("self",), skip_locked=True)
    return free.select_related("endpoint").order_by("next_try_at", "id").first()


def _is_due(team_id: UUID, now: datetime) -> bool:
    with transaction.atomic(durable=True):
        return _first_due(team_id, now) is not None


def _take(team_id: UUID, now: datetime) -> _Taken | None:
    with transaction.atomic(durable=True):
        row = _first_due(team_id, now)
        if row is None:
            return None
        row.tries, row.next_try_at = row.tries + 1, now + _TAKEN_FOR
        row.save(update_fields=["tries", "next_try_at"])
    return _Taken(row=row, endpoint=row.endpoint, tries=row.tries)


def _send(taken: _Taken, now: datetime, clock: Clock, fail: FailPoint) -> bool:
    """No transaction is open meanwhile: the other side may be slow."""
    endpoint, body = taken.endpoint, bytes(taken.row.body)
    timestamp = int(now.timestamp())
    headers = {
        "Workrail-Timestamp": str(timestamp),
        "Workrail-Signature": sign(secret=endpoint.secret, timestamp=timestamp, body=body),
        "Workrail-Notice": str(taken.row.notice_id),
    }
    try:
        post_json(target=read_url(endpoint.url), body=body, headers=headers)
    except NotDeliveredError as error:
        fail("refused")
        _failed(taken, str(error)[:_FAILURE_CHARACTERS], clock())
        return False
    fail("sent")
    now = clock()
    with transaction.atomic(durable=True):
        # The address first, as whoever removes it does, with what was sent there.
        same = Endpoint.objects.filter(pk=endpoint.pk, set_at=endpoint.set_at)
        same.update(delivered_at=now, failed_at=None, failure="", failing_since=None)
        _mine(taken).update(state=DeliveryState.DELIVERED.value, delivered_at=now, next_try_at=None, failure="")
    return True


def _failed(taken: _Taken, failure: str, now: datetime) -> None:
    wait = WAITS[taken.tries - 1] if taken.tries <= len(WAITS) else None
    state = DeliveryState.GIVEN_UP if wait is None else DeliveryState.WAITING
    with transaction.atomic(durable=True):
        same = Endpoint.objects.filter(pk=taken.endpoint.pk, set_at=taken.endpoint.set_at)
        same.filter(failing_since__isnull=True).update(failing_since=now)
        same.update(failed_at=now, failure=failure)
        _mine(taken).update(state=state.value, next_try_at=None if wait is None else now + wait, failure=failure)
        _postpone(taken.endpoint, now)
        off = same.filter(failing_since__lte=now - SWITCHED_OFF_AFTER, switched_off_at__isnull=True)
        # The count is the lock: of several workers one tells of it.
        if off.update(switched_off_at=now):
            _tell_of_switching_off(taken.endpoint, failure, now)


def _postpone(endpoint: Endpoint, now: datetime) -> None:
    """An address that has just failed is called for nothing else for a while: its queue holds up no other's."""
    due = NoticeDelivery.objects.filter(endpoint_id=endpoint.pk, next_try_at__lte=now)
    free = due.select_for_update(skip_locked=True, no_key=True)
    NoticeDelivery.objects.filter(pk__in=free.values("pk")).update(next_try_at=now + WAITS[0])


def _tell_of_switching_off(endpoint: Endpoint, failure: str, now: datetime) -> None:
    actor = system_actor(team_id=endpoint.team_id, door=Door.TASK)
    host = read_url(endpoint.url).authority
    record_audit(
        actor=actor,
        action="webhook.switched_off",
        target=to_text(Prefix.ENDPOINT, endpoint.pk),
        now=now,
        details={"host": host, "failure": failure},
    )
    body = {
        "text": f"Workrail sends no more notices to {host}: it has taken none for {SWITCHED_OFF_AFTER.days} days.",
        "team": to_text(Prefix.TEAM, endpoint.team_id),
        "host": host,
    }
    kind = NoticeKind.ENDPOINT_SWITCHED_OFF
    queue_notice(actor=actor, notice_id=new_id(now=now), kind=kind, body=body, now=now, but=[endpoint.pk])


def _mine(taken: _Taken) -> QuerySet[NoticeDelivery]:
    return NoticeDelivery.objects.filter(pk=taken.row.pk, tries=taken.tries, next_try_at__isnull=False)


def _require_system(actor: Actor) -> None:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Notices are sent by the server.", suggestion="There is nothing to do.")
