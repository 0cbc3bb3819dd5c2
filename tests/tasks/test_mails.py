"""Notices by e-mail: to those who chose them and nobody else, with a link and nothing that acts, none lost and none doubled."""

import contextlib
from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from uuid import uuid4

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import transaction

from sessions_app.services.people import notices
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError, InvalidInputError, PreconditionFailedError
from teams_app.engine.fail_points import go_on
from teams_app.engine.webhooks import WAITS, NoticeKind
from teams_app.models import MailWish, Membership, NoticeMail, Person
from teams_app.services import deliveries, mails
from teams_app.tasks import send_mails
from tests import run_cast, run_doors
from tests.checkpoint_cast import SOON, at_question, only_row
from tests.workflow_cast import NOW

pytestmark = pytest.mark.django_db(transaction=True)

PUBLIC = "https://rails.example.com"
ASKED = (NoticeKind.CHECKPOINT_ASKED,)
SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)


class DiedError(Exception):
    """A worker is gone at this place."""


@pytest.fixture
def desk(settings):
    settings.PUBLIC_URL = PUBLIC
    settings.EMAIL_HOST = "mail.example.com"
    desk = run_cast.make_desk()
    for actor in (desk.person, desk.viewer, desk.owner):
        run_doors.enrol(actor)
    return desk


@pytest.fixture
def _no_worker(settings):
    """What is asked for waits in the queue."""
    settings.CELERY_TASK_ALWAYS_EAGER = False


@pytest.fixture
def away(monkeypatch):
    """A mail server that takes nothing."""

    def refuse(self, messages):
        raise OSError("away")

    return lambda: monkeypatch.setattr(EmailBackend, "send_messages", refuse)


def choose(actor, kinds=ASKED, email="bob@example.com"):
    mails.choose_mails(actor=actor, email=email, kinds=kinds, now=NOW)


def send(now, fail=go_on):
    return send_all(lambda: now, fail)


def send_all(clock, fail=go_on):
    """What the tasks come to that the schedule asks for: one of each team that has something due."""
    due = NoticeMail.objects.filter(next_try_at__lte=clock()).order_by("team_id")
    return sum(
        mails.send_due(actor=system_actor(team_id=team_id, door=Door.TASK), clock=clock, fail=fail)
        for team_id in list(due.values_list("team_id", flat=True).distinct())
    )


def test_who_chose_it_is_mailed_a_link_to_the_question_by_the_worker(desk):
    choose(desk.person)
    value = at_question(desk, human=True, context={"goal": "the roof"})

    (message,) = mail.outbox
    link = f"{PUBLIC}/studio/sessions_app/checkpointrequest/{only_row(value).id}/change/"
    assert (message.to, message.subject.partition(" (")[0]) == (
        ["bob@example.com"],
        "A question waits for a person in Workrail",
    )
    assert link in message.body
    for word in (value["stateToken"], value["ackToken"], "roof"):
        assert word not in message.body
    assert NoticeMail.objects.get().state == "delivered"
    assert only_row(value).announced_at is not None


def test_others_and_other_notices_are_not_mailed(desk):
    choose(desk.person, kinds=(NoticeKind.RUN_COMPLETED,))
    at_question(desk, human=True)

    assert mail.outbox == []


def test_each_chooses_for_themselves(desk):
    choose(desk.person)
    choose(desk.viewer, email="vic@example.com")
    choose(desk.person, kinds=())
    at_question(desk, human=True)

    assert [message.to for message in mail.outbox] == [["vic@example.com"]]


@pytest.mark.usefixtures("_no_worker")
@pytest.mark.parametrize("place", ["taken", "refused"])
def test_a_mail_is_not_lost_with_its_worker(desk, away, place, monkeypatch):
    choose(desk.person)
    at_question(desk, human=True)
    notices.announce(actor=SYSTEM, now=SOON)

    def die(at):
        if at == place:
            raise DiedError

    with monkeypatch.context() as broken, contextlib.suppress(DiedError):
        broken.setattr(EmailBackend, "send_messages", _refuse)
        send(SOON, die)
    assert send(SOON) == 0
    assert send(SOON + timedelta(minutes=3)) == 1
    assert len(mail.outbox) == 1


def _refuse(self, messages):
    raise OSError("away")


@pytest.mark.usefixtures("_no_worker")
def test_a_worker_that_dies_after_sending_repeats_the_same_message(desk):
    choose(desk.person)
    at_question(desk, human=True)
    notices.announce(actor=SYSTEM, now=SOON)

    def die(at):
        if at == "sent":
            raise DiedError

    with contextlib.suppress(DiedError):
        send(SOON, die)
    send(SOON + timedelta(minutes=3))

    first, second = mail.outbox
    assert first.extra_headers["Message-ID"] == second.extra_headers["Message-ID"]


@pytest.mark.usefixtures("_no_worker")
def test_what_is_announced_twice_is_mailed_once(desk):
    choose(desk.person)
    at_question(desk, human=True)
    notices.announce(actor=SYSTEM, now=SOON)
    row = NoticeMail.objects.get()

    again = {"text": "A question waits for a person in Workrail: http://x", "link": "http://x"}
    mails.queue_mails(team_id=desk.team_id, notice_id=row.notice_id, kind=ASKED[0], body=again, now=SOON)

    assert [send(SOON), send(SOON)] == [1, 0]
    assert send_mails() == 0
    assert len(mail.outbox) == 1


@pytest.mark.usefixtures("_no_worker")
def test_a_mail_server_that_is_away_is_asked_again_and_given_up_in_the_end(desk, away):
    choose(desk.person)
    at_question(desk, human=True)
    notices.announce(actor=SYSTEM, now=SOON)
    away()
    at = SOON
    for wait in WAITS:
        assert send(at) == 0
        assert NoticeMail.objects.get().next_try_at == at + wait
        at += wait
    send(at)

    row = NoticeMail.objects.get()
    assert (row.state, row.failure) == ("given_up", "OSError: away")


def queued(desk, count):
    choose(desk.person)
    team = system_actor(team_id=desk.team_id, door=Door.TASK)
    with transaction.atomic():
        for _ in range(count):
            body = {"text": "A question waits"}
            deliveries.queue_notice(
                actor=team, notice_id=uuid4(), kind=NoticeKind.CHECKPOINT_ASKED, body=body, now=SOON
            )
    return NoticeMail.objects.count()


@pytest.mark.usefixtures("_no_worker")
def test_a_mail_server_that_is_away_is_asked_once_in_a_round_and_one_that_refuses_a_mail_takes_the_others(
    desk, monkeypatch
):
    assert queued(desk, 4) == 4
    tried, failure = [], OSError("away")

    def refuse(self, messages):
        tried.extend(messages)
        raise failure

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    send(SOON)
    assert len(tried) == 1

    failure = SMTPRecipientsRefused({"bob@example.com": (550, b"no such box")})
    send(SOON)
    assert len(tried) == 4


@pytest.mark.usefixtures("_no_worker")
def test_what_one_worker_mails_slowly_no_other_mails_as_well(desk):
    assert queued(desk, 4) == 4
    now = SOON

    def other(place):
        nonlocal now
        if place == "taken":
            now += timedelta(seconds=50)
            if now - SOON > timedelta(minutes=2):
                send(now)

    send_all(lambda: now, other)
    send(now + timedelta(minutes=3))

    ids = [message.extra_headers["Message-ID"] for message in mail.outbox]
    assert len(ids) == len(set(ids)) == 4


@pytest.mark.usefixtures("_no_worker")
@pytest.mark.parametrize(
    "gone",
    [
        lambda: Membership.objects.filter(person__username="bob").delete(),
        lambda: MailWish.objects.all().delete(),
        lambda: Person.objects.update(is_active=False),
        lambda: Person.objects.update(email=""),
    ],
)
def test_whoever_has_left_or_wants_it_no_more_is_not_mailed(desk, gone):
    choose(desk.person)
    at_question(desk, human=True)
    notices.announce(actor=SYSTEM, now=SOON)
    gone()

    assert send(SOON) == 0
    assert NoticeMail.objects.get().state == "given_up"
    assert mail.outbox == []


@pytest.mark.parametrize("email", ["", "nobody", "a@b", "bob@example.com\nBcc: eve@example.com"])
def test_what_is_no_address_is_refused(desk, email):
    with pytest.raises(InvalidInputError):
        choose(desk.person, email=email)


def test_a_server_that_sends_no_mail_says_so(desk, settings):
    settings.EMAIL_HOST = ""
    with pytest.raises(PreconditionFailedError):
        choose(desk.person)


def test_an_agent_chooses_no_mails(desk):
    with pytest.raises(ForbiddenError):
        choose(desk.agent)


def test_a_person_chooses_on_a_page_and_sees_their_own_choice_only(desk):
    path = "/studio/teams_app/membership/notices/"
    choose(desk.owner, email="alice@example.com")
    bob = run_doors.signed_in(desk.person).client

    before = bob.get(path).content.decode()
    bob.post(path, {"email": "bob@example.com", "kinds": ["checkpoint_asked"]})
    after = bob.get(path).content.decode()

    assert "alice@example.com" not in before + after
    assert 'value="bob@example.com"' in after
    assert 'value="checkpoint_asked" id="id_kinds_0" checked' in after
    assert MailWish.objects.count() == 2
