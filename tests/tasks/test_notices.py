"""A question for a person is told to the team: once, signed, to the Internet only, and with nothing in it that acts."""

import contextlib
import hashlib
import hmac
import json
import os
import random
import re
from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.core import mail
from django.db import transaction
from django.utils import timezone

from sessions_app.models import Announcement, CheckpointRequest, Run
from sessions_app.services.people import notices, stops
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.webhooks import WAITS, NoticeKind
from teams_app.models import AuditEntry, Endpoint, NoticeDelivery
from teams_app.services import deliveries, mails, outgoing, timely, webhooks
from tests import run_cast, run_doors
from tests.checkpoint_cast import SOON, answer, at_question, only_row, rows
from tests.handover_cast import entered, handed, question, two_activities
from tests.notice_board import OK, NoticeBoard, deliver_all
from tests.run_cast import advanced, assert_healthy, begin, run_id
from tests.step_documents import loop, step
from tests.workflow_cast import NOW, seated

pytestmark = pytest.mark.django_db(transaction=True)

PUBLIC = "https://rails.example.com"


@pytest.fixture
def desk(settings):
    settings.PUBLIC_URL = PUBLIC
    settings.WEBHOOK_PRIVATE_HOSTS = ("localhost",)
    return run_cast.make_desk()


@pytest.fixture
def _no_worker(settings):
    """What is asked for waits in the queue."""
    settings.CELERY_TASK_ALWAYS_EAGER = False


@pytest.fixture
def secret(desk, board):
    return webhooks.set_webhook(actor=desk.owner, url=board.url, now=NOW).secret


SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)


def announce(now=SOON):
    return notices.announce(actor=SYSTEM, now=now)


def deliver(now):
    return deliver_all(clock=lambda: now)


def test_a_question_for_a_person_is_told_with_a_link_to_sign_in_and_read_it(desk, board, secret):
    value = at_question(desk, human=True, dueMs=60_000, context={"goal": "the roof"})

    row = only_row(value)
    (body,) = board.bodies
    assert body["link"] == f"{PUBLIC}/studio/sessions_app/checkpointrequest/{row.id}/change/"
    assert body["link"] in body["text"]
    assert (body["kind"], body["checkpoint"]) == ("checkpoint_asked", to_text(Prefix.CHECKPOINT, row.id))
    assert (body["team"], body["workflow"]) == (to_text(Prefix.TEAM, desk.team_id), "team.plan")
    assert (body["askedAt"], body["dueAt"]) == ("2026-11-18T12:00:00+00:00", "2026-11-18T12:01:00+00:00")
    assert row.announced_at is not None
    assert_healthy(value)


def test_a_notice_has_nothing_that_acts_and_no_word_of_an_agent(desk, board, secret):
    value = at_question(desk, human=True, context={"goal": "the roof"})

    sent = board.received[0][2].decode()
    assert set(json.loads(sent)) == {
        "kind",
        "text",
        "link",
        "team",
        "checkpoint",
        "run",
        "session",
        "workflow",
        "title",
        "askedAt",
        "dueAt",
        "id",
        "at",
    }
    for word in (value["stateToken"], value["ackToken"], "roof", "Yes", "yes", only_row(value).digest, secret):
        assert word not in sent


WORDS = "AGENTROWWORDS https://evil.example/x"


def at_question_with_a_value(desk):
    return at_question(desk, human=True, name="Is {goal} or {{goal}} right?", context={"goal": WORDS})


def at_approval_in_a_round(desk):
    approved = {"requireConfirmation": {"kind": "human_approval"}}
    body = [step("plan-row", title="Plan {{row}} of {{rows}}", **approved), step("prune", title="{{row}}")]
    rounds = {"type": "forEach", "items": "rows", "itemVar": "row"}
    value = begin(desk, loop("each-row", body, **rounds), context={"rows": [WORDS, "b"]})
    return advanced(desk.agent, value, WORDS, now=NOW)


@pytest.mark.parametrize(
    ("ask", "title"),
    [
        (at_question_with_a_value, "Is {goal} or {{goal}} right?"),
        (at_approval_in_a_round, "Plan {{row}} of {{rows}}"),
    ],
)
def test_no_value_of_a_run_is_in_any_place_of_a_notice_or_a_mail(desk, board, secret, settings, ask, title):
    settings.EMAIL_HOST = "mail.example.com"
    run_doors.enrol(desk.person)
    mails.choose_mails(actor=desk.person, email="bob@example.com", kinds=list(NoticeKind), now=NOW)
    webhooks.choose_notices(actor=desk.owner, endpoint_id=desk.team_id, kinds=list(NoticeKind), now=NOW)

    value = ask(desk)
    row = only_row(value)
    CheckpointRequest.objects.update(due_at=NOW)
    notices.tell_of_overdue(actor=SYSTEM, now=SOON)
    announce()
    answer(desk.person, row, row.options[0]["id"])
    announce()

    kinds = {body["kind"] for body in board.bodies}
    assert kinds >= {"run_started", "run_waiting", "checkpoint_asked", "checkpoint_overdue", "checkpoint_answered"}
    assert "AGENTROWWORDS" in row.title
    assert {body["title"] for body in board.bodies if "title" in body} == {title}
    mailed = [f"{message.subject} {message.body}" for message in mail.outbox]
    assert len(mailed) == len(board.bodies)
    for said in [*mailed, *(body.decode() for _, _, body in board.received)]:
        assert not {"AGENTROWWORDS", "evil.example"} & set(re.findall(r"[\w.]+", said))


@pytest.mark.usefixtures("_no_worker")
def test_a_notice_of_a_run_whose_program_is_gone_has_no_title(desk, board, secret):
    at_question(desk, human=True)
    Run.objects.update(workflow_hash="sha256:" + "0" * 64)
    announce()
    deliver(SOON)

    assert [body["title"] for body in board.bodies] == [""]


def test_a_notice_is_signed_with_the_secret_of_the_team(desk, board, secret):
    at_question(desk, human=True)

    first, headers, body = board.received[0]
    signed = headers["Workrail-Timestamp"].encode() + b"." + body
    assert first == "POST /hooks/a?b=c HTTP/1.1"
    assert headers["Host"] == board.url.split("/")[2]
    assert headers["Workrail-Signature"] == f"v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def test_each_of_several_questions_of_an_activity_is_told(desk, board, secret):
    asked = [question("agreed", human=True), question("second", human=True), question("third")]
    held = handed(desk, two_activities(*asked))

    entered(desk, held.token, "plan")

    for_people = CheckpointRequest.objects.filter(authority="human")
    assert {body["checkpoint"] for body in board.bodies} == {to_text(Prefix.CHECKPOINT, row.id) for row in for_people}
    assert len(board.bodies) == 2


def test_questions_that_an_agent_passes_on_are_not_told(desk, board, secret):
    at_question(desk)

    assert board.connections == 0


def test_a_team_that_named_no_address_is_told_nothing(desk, board):
    at_question(desk, human=True)

    announce()
    assert (board.connections, Announcement.objects.count(), NoticeDelivery.objects.count()) == (0, 0, 0)


def test_another_team_is_told_nothing(desk, board):
    stranger = seated(run_cast.replace(desk.owner, team_id=desk.stranger.team_id))
    webhooks.set_webhook(actor=stranger, url=board.url, now=NOW)

    at_question(desk, human=True)

    assert board.connections == 0


def test_a_question_is_told_once_however_often_the_task_runs(desk, board, secret):
    at_question(desk, human=True)

    for _ in range(3):
        announce()
        deliver(timezone.now())
    assert len(board.received) == 1


def test_a_question_that_is_asked_again_in_other_words_is_told_again(desk, board, secret):
    value = at_question(desk, human=True, context={"goal": "the roof"})

    advanced(desk.agent, value, context={"goal": "the cellar"})

    assert [body["checkpoint"] for body in board.bodies] == [to_text(Prefix.CHECKPOINT, row.id) for row in rows(value)]


@pytest.mark.usefixtures("_no_worker")
def test_what_was_answered_before_it_was_told_is_not_told(desk, board, secret):
    value = at_question(desk, human=True)
    answer(desk.person, only_row(value))

    announce()

    assert list(NoticeDelivery.objects.values_list("kind", flat=True)) == []


def queued(desk, count):
    team = system_actor(team_id=desk.team_id, door=Door.TASK)
    with transaction.atomic():
        for _ in range(count):
            body = {"text": "A question waits"}
            deliveries.queue_notice(
                actor=team, notice_id=uuid4(), kind=NoticeKind.CHECKPOINT_ASKED, body=body, now=SOON
            )


class SlowRound:
    """Each call takes so long, and after a while a second worker comes by while the first one waits."""

    def __init__(self, step, other):
        self.now, self.step, self.other = SOON, step, other

    def clock(self):
        return self.now

    def fail(self, place):
        if place == "taken":
            self.now += self.step
            if self.now - SOON > timedelta(minutes=2):
                self.other(self.now)


@pytest.mark.usefixtures("_no_worker")
def test_what_one_worker_sends_slowly_no_other_sends_as_well(desk, board, secret):
    queued(desk, 6)
    slow = SlowRound(timedelta(seconds=50), deliver)

    deliver_all(clock=slow.clock, fail=slow.fail)
    deliver(slow.now + timedelta(minutes=3))

    heard = [body["id"] for body in board.bodies]
    assert len(heard) == len(set(heard)) == 6


@pytest.mark.usefixtures("_no_worker")
def test_a_round_ends_in_seconds_however_slow_the_others_are(desk, board, secret):
    queued(desk, 6)
    slow = SlowRound(timedelta(seconds=25), lambda _now: None)

    assert deliver_all(clock=slow.clock, fail=slow.fail) == 1
    assert slow.now - SOON <= timely.BUSY_FOR + slow.step


@pytest.mark.usefixtures("_no_worker")
def test_an_address_that_fails_is_called_once_in_a_round_and_all_its_notices_come_in_the_end(desk, board, secret):
    queued(desk, 6)
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"

    deliver(SOON)
    assert (board.connections, deliver(SOON)) == (1, 0)

    board.reply = OK
    deliver(SOON + WAITS[0] + timedelta(seconds=1))
    assert len({body["id"] for body in board.bodies}) == 6
    assert set(NoticeDelivery.objects.values_list("state", flat=True)) == {"delivered"}


def test_a_notice_that_is_not_taken_is_tried_again_and_not_for_ever(desk, board, secret):
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"
    value = at_question(desk, human=True)
    now = timezone.now()
    for wait in WAITS:
        assert deliver(now + timedelta(seconds=1)) == 0
        now += wait + timedelta(seconds=2)
        assert deliver(now) == 0
    deliver(now + timedelta(days=30))

    sent = NoticeDelivery.objects.get()
    hook = Endpoint.objects.get()
    assert len(board.received) == len(WAITS) + 1 == sent.tries
    assert (sent.state, hook.delivered_at, hook.failure) == (
        "given_up",
        None,
        f"{board.url.split('/')[2]} answered 503.",
    )
    assert_healthy(value)


def test_what_was_taken_at_last_clears_the_failure(desk, board, secret):
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"
    at_question(desk, human=True)
    board.reply = b"HTTP/1.0 200 OK\r\n\r\n"
    later = timezone.now() + WAITS[0] + timedelta(seconds=1)

    assert deliver(later) == 1

    hook = Endpoint.objects.get()
    assert (hook.delivered_at, hook.failed_at, hook.failure, hook.failing_since) == (later, None, "", None)


def test_an_address_that_takes_nothing_for_days_is_switched_off_and_the_others_are_told(desk, board, secret, tmp_path):
    other = webhooks.add_endpoint(
        actor=desk.owner, url=board.url, kinds=[NoticeKind.ENDPOINT_SWITCHED_OFF], now=NOW
    ).webhook
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"
    at_question(desk, human=True)
    now = timezone.now()
    hook = Endpoint.objects.get(pk=desk.team_id)
    while hook.switched_off_at is None:
        now += timedelta(hours=12)
        NoticeDelivery.objects.update(next_try_at=now, state="waiting", tries=1)
        deliver(now)
        hook.refresh_from_db()
        assert now < timezone.now() + timedelta(days=4)
    calls = len(board.received)
    assert NoticeDelivery.objects.get(endpoint_id=other.id).kind == "endpoint_switched_off"
    assert AuditEntry.objects.filter(action="webhook.switched_off").count() == 1

    board.reply = b"HTTP/1.1 204 No Content\r\n\r\n"
    NoticeDelivery.objects.filter(endpoint_id=hook.pk).update(next_try_at=now, state="waiting")
    NoticeDelivery.objects.filter(endpoint_id=other.id).delete()
    assert (deliver(now), len(board.received)) == (0, calls)
    webhooks.switch_on(actor=desk.owner, endpoint_id=hook.pk, now=now)
    assert deliver(now) == 1


def test_several_addresses_are_sent_what_each_has_chosen(desk, board):
    wants = {
        kind: webhooks.add_endpoint(actor=desk.owner, url=board.url, kinds=[kind], now=NOW).webhook.id
        for kind in (NoticeKind.RUN_STARTED, NoticeKind.CHECKPOINT_ANSWERED, NoticeKind.RUN_COMPLETED)
    }
    value = at_question(desk, human=True)
    answer(desk.person, only_row(value))
    announce()
    deliver(timezone.now())

    assert [body["kind"] for body in board.bodies] == ["run_started", "checkpoint_answered"]
    assert {sent.endpoint_id for sent in NoticeDelivery.objects.all()} == {
        wants[NoticeKind.RUN_STARTED],
        wants[NoticeKind.CHECKPOINT_ANSWERED],
    }
    for body in board.bodies:
        assert body["link"] in body["text"]


def test_a_run_is_told_of_when_it_comes_to_a_state_and_not_while_it_stays(desk):
    value = begin(desk, step("first-step"))
    for _ in range(2):
        value = advanced(desk.agent, value, "")
    assert value["kind"] == "blocked"
    advanced(desk.agent, value, "Done.")

    told = list(Announcement.objects.order_by("at", "kind").values_list("kind", flat=True))
    assert sorted(told) == ["run_blocked", "run_completed", "run_started"]


def told_of(value):
    rows = Announcement.objects.filter(run_id=run_id(value)).order_by("at", "id")
    return [kind for kind in rows.values_list("kind", flat=True) if kind != "run_started"]


@pytest.mark.usefixtures("_no_worker")
def test_whoever_waits_pauses_and_cancels_is_told_of(desk):
    waits = at_question(desk, human=True)
    assert sorted(told_of(waits)) == ["checkpoint_asked", "run_waiting"]

    value = begin(desk, step("first-step"), step("next-step"), workflow_id="team.other")
    by_person = {"actor": desk.person, "run_id": run_id(value), "entropy": os.urandom}
    stops.pause_run(**by_person, reason="Lunch.", now=SOON)
    stops.resume_run(**by_person, now=SOON + timedelta(minutes=1))
    stops.cancel_run(**by_person, reason="Not needed.", now=SOON + timedelta(minutes=2))
    assert told_of(value) == ["run_paused", "run_cancelled"]


@pytest.mark.usefixtures("_no_worker")
def test_a_question_that_nobody_answers_in_time_is_told_once_more(desk, board, secret):
    webhooks.choose_notices(actor=desk.owner, endpoint_id=desk.team_id, kinds=[NoticeKind.CHECKPOINT_OVERDUE], now=NOW)
    at_question(desk, human=True, dueMs=60_000)
    late = NOW + timedelta(hours=1)

    assert [notices.tell_of_overdue(actor=SYSTEM, now=at) for at in (NOW, late, late)] == [0, 1, 0]
    announce(late)
    deliver(timezone.now())
    assert [body["kind"] for body in board.bodies] == ["checkpoint_overdue"]


@pytest.mark.usefixtures("_no_worker")
def test_what_is_rolled_back_is_not_announced_and_what_is_committed_is_though_the_broker_was_gone(desk, board, secret):
    workflow_id = run_cast.published(desk, step("first-step"))
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        run_cast.start(desk, workflow_id)
        assert Announcement.objects.exists()
        raise ZeroDivisionError
    assert not Announcement.objects.exists()

    at_question(desk, human=True, context={"goal": "the roof"})
    assert board.connections == 0
    announce()
    assert deliver(SOON) == 1


def test_a_notice_is_sent_again_when_an_owner_asks_for_it(desk, board, secret):
    at_question(desk, human=True)
    sent = NoticeDelivery.objects.get()
    for actor in (desk.agent, desk.viewer):
        with pytest.raises(ForbiddenError):
            deliveries.redeliver(actor=actor, delivery_id=sent.pk, now=timezone.now())

    deliveries.redeliver(actor=desk.owner, delivery_id=sent.pk, now=timezone.now())

    first, second = board.received
    assert first[1]["Workrail-Notice"] == second[1]["Workrail-Notice"] == str(sent.notice_id)
    assert first[2] == second[2]


class Killed(BaseException):
    """As the kernel does it: nothing of ours catches it."""


def _same(now):
    return now


@pytest.mark.usefixtures("_no_worker")
@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n < 3 else [pytest.mark.slow]) for n in range(20)])
def test_a_worker_that_dies_anywhere_loses_no_notice(desk, board, secret, seed):
    chance = random.Random(seed)
    webhooks.choose_notices(actor=desk.owner, endpoint_id=desk.team_id, kinds=list(NoticeKind), now=NOW)
    at_question(desk, human=True)
    wanted = set(Announcement.objects.values_list("id", flat=True))
    assert len(wanted) >= 2
    now, rounds = SOON, 0

    def fail(_place):
        if chance.random() < 0.3:
            raise Killed

    while Announcement.objects.exists() or NoticeDelivery.objects.filter(state="waiting").exists():
        now += timedelta(minutes=3)
        rounds += 1
        assert rounds < 200
        with contextlib.suppress(Killed):
            notices.announce(actor=SYSTEM, now=now, fail=fail)
        with contextlib.suppress(Killed):
            deliver_all(clock=partial(_same, now), fail=fail)
    assert {body["id"] for body in board.bodies} == {str(each) for each in wanted}
    assert NoticeDelivery.objects.count() == len(wanted)


ANSWERS = {
    "a redirect": (b"HTTP/1.1 302 Found\r\nLocation: https://localhost/other\r\n\r\n", "answered 302"),
    "a refusal": (b"HTTP/1.1 404 Not Found\r\n\r\n", "answered 404"),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.9\r\n", "answered something that is not HTTP"),
    "nothing": (b"", "answered something that is not HTTP"),
    "no end of a line": (b"x" * 100_000, "answered something that is not HTTP"),
}


@pytest.mark.parametrize(("reply", "says"), ANSWERS.values(), ids=ANSWERS)
def test_whatever_is_not_a_success_is_a_failure_that_says_why(desk, board, secret, reply, says):
    board.reply = reply
    at_question(desk, human=True)

    assert says in Endpoint.objects.get().failure
    assert board.connections == 1


def test_a_server_that_never_answers_is_left(desk, board, secret, monkeypatch):
    monkeypatch.setattr(outgoing, "TOTAL_SECONDS", 0.3)
    board.reply = None
    at_question(desk, human=True)

    assert "it took too long" in Endpoint.objects.get().failure


def test_a_certificate_that_does_not_verify_is_not_trusted(desk, board, secret, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    at_question(desk, human=True)

    assert "its certificate does not verify" in Endpoint.objects.get().failure
    assert board.received == []


def test_a_certificate_of_another_name_is_not_trusted(desk, tmp_path, monkeypatch):
    other = NoticeBoard(tmp_path, names=("chat.example.com",))
    monkeypatch.setenv("SSL_CERT_FILE", str(other.certificate))
    webhooks.set_webhook(actor=desk.owner, url=other.url, now=NOW)
    at_question(desk, human=True)

    other.close()
    assert "its certificate does not verify" in Endpoint.objects.get().failure
    assert other.received == []


def test_machines_behind_our_own_walls_are_not_called(desk, board, secret, settings):
    settings.WEBHOOK_PRIVATE_HOSTS = ()
    at_question(desk, human=True)

    assert Endpoint.objects.get().failure == "localhost has an address that is not one of the Internet."
    assert board.connections == 0


def test_the_agent_is_answered_though_nobody_can_be_asked_to_tell(desk, board, secret, monkeypatch):
    from celery.canvas import Signature

    def be_gone(*_args, **_kwargs):
        raise OSError("no broker")

    monkeypatch.setattr(Signature, "apply_async", be_gone)

    value = at_question(desk, human=True)

    assert value["pending"]["checkpoint"]["checkpointId"] == "agreed"
    assert board.connections == 0


def test_only_the_server_sends_notices(desk, board, secret):
    for actor in (desk.agent, desk.owner):
        with pytest.raises(ForbiddenError):
            notices.announce(actor=actor, now=SOON)
        with pytest.raises(ForbiddenError):
            deliveries.deliver_due(actor=actor, clock=lambda: SOON)
    assert board.connections == 0


def test_the_task_is_found_by_its_name_and_may_run_twice(desk, board, secret):
    from celery import signature

    from sessions_app import jobs
    from workrail_site.celery import app

    at_question(desk, human=True)

    told = [signature(jobs.ANNOUNCE, app=app).apply_async().get() for _ in range(2)]

    assert (told, len(board.received)) == ([0, 0], 1)
