"""A question for a person is told to the team: once, signed, to the Internet only, and with nothing in it that acts."""

import hashlib
import hmac
import json

import pytest

from sessions_app.models import CheckpointRequest
from sessions_app.services import notices
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError
from teams_app.engine.ids import Prefix, to_text
from teams_app.models import Webhook
from teams_app.services import outgoing, webhooks
from tests import run_cast
from tests.checkpoint_cast import SOON, answer, at_question, only_row, rows
from tests.handover_cast import entered, handed, question, two_activities
from tests.notice_board import NoticeBoard
from tests.run_cast import advanced, assert_healthy
from tests.workflow_cast import NOW

pytestmark = pytest.mark.django_db(transaction=True)

PUBLIC = "https://rails.example.com"


@pytest.fixture
def desk(settings):
    settings.PUBLIC_URL = PUBLIC
    settings.WEBHOOK_PRIVATE_HOSTS = ("localhost",)
    return run_cast.make_desk()


@pytest.fixture
def board(tmp_path, monkeypatch):
    opened = NoticeBoard(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(opened.certificate))
    yield opened
    opened.close()


@pytest.fixture
def secret(desk, board):
    return webhooks.set_webhook(actor=desk.owner, url=board.url, now=NOW).secret


def announce(row, *, tries=0):
    actor = system_actor(team_id=NO_TEAM, door=Door.TASK)
    return notices.announce_question(actor=actor, request_id=row.id, tries=tries, now=SOON)


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
    }
    for word in (value["stateToken"], value["ackToken"], "roof", "Yes", "yes", only_row(value).digest, secret):
        assert word not in sent


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
    row = only_row(at_question(desk, human=True))

    assert (board.connections, announce(row)) == (0, False)


def test_another_team_is_told_nothing(desk, board):
    stranger = run_cast.replace(desk.owner, team_id=desk.stranger.team_id)
    webhooks.set_webhook(actor=stranger, url=board.url, now=NOW)

    at_question(desk, human=True)

    assert board.connections == 0


def test_a_question_is_told_once_however_often_the_task_runs(desk, board, secret):
    row = only_row(at_question(desk, human=True))

    assert [announce(row) for _ in range(3)] == [False, False, False]
    assert len(board.received) == 1


def test_a_question_that_is_asked_again_in_other_words_is_told_again(desk, board, secret):
    value = at_question(desk, human=True, context={"goal": "the roof"})

    advanced(desk.agent, value, context={"goal": "the cellar"})

    assert [body["checkpoint"] for body in board.bodies] == [to_text(Prefix.CHECKPOINT, row.id) for row in rows(value)]


def test_what_was_answered_meanwhile_is_not_told(desk, board, secret):
    Webhook.objects.update(url="https://localhost:1/")
    value = at_question(desk, human=True)
    Webhook.objects.update(url=board.url)
    answer(desk.person, only_row(value))

    assert announce(only_row(value)) is False
    assert board.connections == 0


def test_a_notice_that_is_not_taken_is_tried_again_and_not_for_ever(desk, board, secret):
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"

    value = at_question(desk, human=True)

    hook = Webhook.objects.get()
    assert len(board.received) == len(notices.WAITS) + 1
    assert (hook.delivered_at, hook.failure) == (None, f"{board.url.split('/')[2]} answered 503.")
    assert only_row(value).announced_at is None
    assert_healthy(value)


def test_what_was_taken_at_last_clears_the_failure(desk, board, secret):
    board.reply = b"HTTP/1.1 503 Busy\r\n\r\n"
    row = only_row(at_question(desk, human=True))
    board.reply = b"HTTP/1.0 200 OK\r\n\r\n"

    assert announce(row, tries=2) is True

    hook = Webhook.objects.get()
    assert (hook.delivered_at, hook.failed_at, hook.failure) == (SOON, None, "")


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
    row = only_row(at_question(desk))

    assert announce(row, tries=len(notices.WAITS)) is False
    assert says in Webhook.objects.get().failure
    assert board.connections == 1


def test_a_server_that_never_answers_is_left(desk, board, secret, monkeypatch):
    monkeypatch.setattr(outgoing, "TOTAL_SECONDS", 0.3)
    board.reply = None
    row = only_row(at_question(desk))

    assert announce(row, tries=len(notices.WAITS)) is False
    assert "it took too long" in Webhook.objects.get().failure


def test_a_certificate_that_does_not_verify_is_not_trusted(desk, board, secret, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    row = only_row(at_question(desk))

    assert announce(row, tries=len(notices.WAITS)) is False
    assert "its certificate does not verify" in Webhook.objects.get().failure
    assert board.received == []


def test_a_certificate_of_another_name_is_not_trusted(desk, tmp_path, monkeypatch):
    other = NoticeBoard(tmp_path, names=("chat.example.com",))
    monkeypatch.setenv("SSL_CERT_FILE", str(other.certificate))
    webhooks.set_webhook(actor=desk.owner, url=other.url, now=NOW)
    row = only_row(at_question(desk))

    assert announce(row, tries=len(notices.WAITS)) is False
    other.close()
    assert "its certificate does not verify" in Webhook.objects.get().failure
    assert other.received == []


def test_machines_behind_our_own_walls_are_not_called(desk, board, secret, settings):
    settings.WEBHOOK_PRIVATE_HOSTS = ()
    row = only_row(at_question(desk))

    assert announce(row, tries=len(notices.WAITS)) is False
    assert Webhook.objects.get().failure == "localhost has an address that is not one of the Internet."
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
    row = only_row(at_question(desk))

    for actor in (desk.agent, desk.owner):
        with pytest.raises(ForbiddenError):
            notices.announce_question(actor=actor, request_id=row.id, tries=0, now=SOON)
        with pytest.raises(ForbiddenError):
            webhooks.deliver(actor=actor, notice={}, now=SOON)
    assert board.connections == 0


def test_the_task_is_found_by_its_name_and_may_run_twice(desk, board, secret):
    from celery import signature

    from sessions_app import jobs
    from workrail_site.celery import app

    row = only_row(at_question(desk))

    told = [signature(jobs.ANNOUNCE_QUESTION, args=(str(row.id), 0), app=app).apply_async().get() for _ in range(2)]

    assert (told, len(board.received)) == ([True, False], 1)
