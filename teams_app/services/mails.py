"""Notices by e-mail, to the people who asked for them: queued beside those of the team's addresses, sent by a worker.

As with those, a worker takes a mail by moving its next try beyond the time that a server may take. One that dies in between has
made the mail late, and may send it twice: both have the same Message-ID, by which programs of mail tell them as one.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from smtplib import SMTPDataError, SMTPNotSupportedError, SMTPRecipientsRefused, SMTPSenderRefused
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.db import transaction
from django.urls import reverse

from teams_app import jobs
from teams_app.engine.actors import Actor, ActorKind, Permission, person_id_of
from teams_app.engine.errors import ForbiddenError, InvalidInputError, PreconditionFailedError
from teams_app.engine.fail_points import FailPoint, go_on
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.webhooks import WAITS, DeliveryState, NoticeKind, TeamWork
from teams_app.models import MailWish, Membership, NoticeMail, Person
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.timely import BUSY_FOR, ask_once, only_one

KEPT = timedelta(days=30)
# Longer than a mail server may take; see EMAIL_TIMEOUT.
_TAKEN_FOR = timedelta(minutes=2)
_MOST_AT_A_TIME = 100
_SUBJECT_CHARACTERS = 200
_FAILURE_CHARACTERS = 512
# What a server says of one mail. Whatever else fails is the server, or the way there.
_OF_ONE_MAIL = (SMTPRecipientsRefused, SMTPSenderRefused, SMTPDataError, SMTPNotSupportedError)
_LEFT = "They do not want such mails any more, or have left."

Clock = Callable[[], datetime]


@transaction.atomic(durable=True)
def choose_mails(*, actor: Actor, email: str, kinds: Collection[NoticeKind], now: datetime) -> None:
    """Of the team in which they act. The address is the person's in every team; without kinds they get none of this one."""
    actor.require(Permission.READ_TEAM)
    person_id = person_id_of(actor=actor)
    address = _address(email)
    if kinds:
        _check(address)
    member = Membership.objects.select_for_update(no_key=True).get(team_id=actor.team_id, person_id=person_id)
    Person.objects.filter(pk=person_id).update(email=address)
    chosen = [kind.value for kind in NoticeKind if kind in kinds]
    if chosen:
        MailWish.objects.update_or_create(membership=member, defaults={"kinds": chosen, "chosen_at": now})
    else:
        MailWish.objects.filter(membership=member).delete()
    record_audit(
        actor=actor,
        action="mails.chosen",
        target=to_text(Prefix.MEMBERSHIP, member.pk),
        now=now,
        details={"kinds": " ".join(chosen)},
    )


def queue_mails(*, team_id: UUID, notice_id: UUID, kind: NoticeKind, body: Mapping[str, Any], now: datetime) -> int:
    """A mail to each member who wants such notices; returns how many. Inside the transaction of whoever announces."""
    if not settings.EMAIL_HOST:
        return 0
    wishes = MailWish.objects.filter(
        membership__team_id=team_id, kinds__contains=[kind.value], membership__person__is_active=True
    ).exclude(membership__person__email="")
    text = str(body["text"])
    rows = [
        NoticeMail(
            id=new_id(now=now),
            team_id=team_id,
            person_id=wish.membership.person_id,
            notice_id=notice_id,
            kind=kind.value,
            subject=_subject(text, wish.membership.team.name),
            text=_text(text, body, wish.membership.team.name),
            state=DeliveryState.WAITING.value,
            created_at=now,
            next_try_at=now,
        )
        for wish in wishes.select_related("membership__team")
    ]
    # A notice that is announced again is no second mail.
    NoticeMail.objects.bulk_create(rows, ignore_conflicts=True)
    if rows:
        _ask_once(team_id, now)
    return len(rows)


def send_due(*, actor: Actor, clock: Clock, fail: FailPoint = go_on) -> int:
    """Send some of what the team has due; returns how much the mail server took. What is left is asked for again, behind what
    else waits for the worker; where the server is away, by the schedule.
    """
    _require_system(actor)
    with only_one(work=TeamWork.MAILS, team_id=actor.team_id, clock=clock) as is_mine:
        if not is_mine:
            return 0
        came = list(_send_some(actor.team_id, clock, fail))
    if _Came.SERVER_AWAY not in came and _is_due(actor.team_id, clock()):
        _ask_once(actor.team_id, clock())
    return came.count(_Came.TAKEN)


def ask_for_due(*, actor: Actor, now: datetime) -> int:
    """For each team that has something due; returns for how many."""
    _require_system(actor)
    due = NoticeMail.objects.filter(next_try_at__lte=now)
    teams = list(due.order_by("team_id").values_list("team_id", flat=True).distinct())
    for team_id in teams:
        _ask_once(team_id, now)
    return len(teams)


def forget_old(*, actor: Actor, now: datetime) -> int:
    _require_system(actor)
    count, _ = NoticeMail.objects.filter(created_at__lt=now - KEPT, next_try_at__isnull=True).delete()
    return count


class _Came(Enum):
    """What a try came to. A server that is away is not asked for the next mail at once."""

    TAKEN = auto()
    REFUSED = auto()
    SERVER_AWAY = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _TakenMail:
    """`tries` counts this one, and names it; `to` is empty when the mail is wanted no more."""

    row: NoticeMail
    to: str
    tries: int


def _ask_once(team_id: UUID, now: datetime) -> None:
    ask = partial(jobs.ask_to_send_mails, team_id=team_id)
    ask_once(work=TeamWork.MAILS, team_id=team_id, now=now, ask=ask)


def _send_some(team_id: UUID, clock: Clock, fail: FailPoint) -> Iterator[_Came]:
    """The server may be slow, so each mail is taken at its own time."""
    until = clock() + BUSY_FOR
    for _ in range(_MOST_AT_A_TIME):
        now = clock()
        taken = _take(team_id, now) if now < until else None
        if taken is None:
            break
        fail("taken")
        came = _send(taken, clock, fail)
        yield came
        if came is _Came.SERVER_AWAY:
            break


def _first_due(team_id: UUID, now: datetime) -> NoticeMail | None:
    """Not what somebody else is at. Inside a transaction."""
    due = NoticeMail.objects.filter(team_id=team_id, next_try_at__lte=now)
    return due.select_for_update(of=("self",), skip_locked=True).order_by("next_try_at", "id").first()


def _is_due(team_id: UUID, now: datetime) -> bool:
    with transaction.atomic(durable=True):
        return _first_due(team_id, now) is not None


def _take(team_id: UUID, now: datetime) -> _TakenMail | None:
    with transaction.atomic(durable=True):
        row = _first_due(team_id, now)
        if row is None:
            return None
        row.tries, row.next_try_at = row.tries + 1, now + _TAKEN_FOR
        row.save(update_fields=["tries", "next_try_at"])
        wish = MailWish.objects.filter(
            membership__team_id=row.team_id,
            membership__person_id=row.person_id,
            membership__person__is_active=True,
            kinds__contains=[row.kind],
        )
        to = wish.values_list("membership__person__email", flat=True).first() or ""
    return _TakenMail(row=row, to=to, tries=row.tries)


def _send(taken: _TakenMail, clock: Clock, fail: FailPoint) -> _Came:
    """No transaction is open meanwhile: the mail server may be slow."""
    if not taken.to:
        _record(taken, state=DeliveryState.GIVEN_UP, next_try_at=None, failure=_LEFT)
        return _Came.REFUSED
    message = EmailMessage(
        subject=taken.row.subject,
        body=taken.row.text,
        to=[taken.to],
        headers={"Message-ID": _message_id(taken.row.pk), "Auto-Submitted": "auto-generated"},
    )
    try:
        message.send()
    except OSError as error:
        fail("refused")
        wait = WAITS[taken.tries - 1] if taken.tries <= len(WAITS) else None
        state = DeliveryState.GIVEN_UP if wait is None else DeliveryState.WAITING
        failure = f"{type(error).__name__}: {error}"[:_FAILURE_CHARACTERS]
        _record(taken, state=state, next_try_at=None if wait is None else clock() + wait, failure=failure)
        return _Came.REFUSED if isinstance(error, _OF_ONE_MAIL) else _Came.SERVER_AWAY
    fail("sent")
    _record(taken, state=DeliveryState.DELIVERED, next_try_at=None, failure="", sent_at=clock())
    return _Came.TAKEN


def _record(taken: _TakenMail, *, state: DeliveryState, **columns: Any) -> None:
    """The word of a try that was given up, because another worker took the mail since, does not count."""
    with transaction.atomic(durable=True):
        mine = NoticeMail.objects.filter(pk=taken.row.pk, tries=taken.tries, next_try_at__isnull=False)
        mine.update(state=state.value, **columns)


def _address(email: str) -> str:
    address = email.strip()
    if address:
        try:
            validate_email(address)
        except ValidationError:
            raise InvalidInputError(
                "That is no e-mail address.", suggestion="Write one like ann@example.com."
            ) from None
    return address


def _check(address: str) -> None:
    if not settings.EMAIL_HOST:
        raise PreconditionFailedError(
            "This server sends no mail.", suggestion="Ask whoever runs the server to set WORKRAIL_MAIL_HOST."
        )
    if not settings.PUBLIC_URL:
        raise PreconditionFailedError(
            "This server does not know its own address, so a mail could not say where to look.",
            suggestion="Ask whoever runs the server to set WORKRAIL_PUBLIC_URL.",
        )
    if not address:
        raise InvalidInputError("Nothing says where the mails go.", suggestion="Write your e-mail address.")


def _subject(text: str, team: str) -> str:
    said = text.partition(": http")[0]
    return f"{' '.join(said.split())} ({team})"[:_SUBJECT_CHARACTERS]


def _text(text: str, body: Mapping[str, Any], team: str) -> str:
    """Where to sign in and look, and nothing that acts."""
    said, link = text.partition(": http")[0], str(body.get("link", ""))
    chosen = f"{settings.PUBLIC_URL}{reverse('admin:teams_app_membership_act_notices')}"
    title = str(body.get("title", ""))
    lines = [f"{said}.", *([f"“{title}”"] if title else []), link, f"Team: {team}"]
    return "\n\n".join(filter(None, lines)) + f"\n\n-- \nYou asked for these mails. Choose others, or none: {chosen}\n"


def _message_id(row_id: UUID) -> str:
    """The same for each try of a mail."""
    return f"<{row_id.hex}@{urlsplit(settings.PUBLIC_URL).hostname or 'workrail'}>"


def _require_system(actor: Actor) -> None:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Mails are sent by the server.", suggestion="There is nothing to do.")
