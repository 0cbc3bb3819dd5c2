"""Notices and mails of one team leave the workers to the others: one task is asked for, one is at it, and it makes room soon."""

import base64
import json
import threading
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction

from sessions_app import jobs as sessions_jobs
from sessions_app.models import Announcement
from sessions_app.services.bundles import bundle_jobs
from sessions_app.services.people import notices
from teams_app import jobs
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.fail_points import go_on
from teams_app.engine.webhooks import NoticeKind
from teams_app.models import NoticeDelivery, NoticeMail, WorkTurn
from teams_app.services import deliveries, mails, timely, webhooks
from tests import run_cast, run_doors
from tests.checkpoint_cast import SOON
from tests.step_documents import step
from tests.workflow_cast import NOW, seated

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
SENDS = {
    "notices": (jobs.DELIVER_NOTICES, deliveries.deliver_due, deliveries.ask_for_due, NoticeDelivery),
    "mails": (jobs.SEND_MAILS, mails.send_due, mails.ask_for_due, NoticeMail),
}


@pytest.fixture
def desk(settings, board, redis_client):
    """Two teams with an address and one who is mailed in each; what is asked for waits in the queue."""
    settings.PUBLIC_URL = "https://rails.example.com"
    settings.WEBHOOK_PRIVATE_HOSTS = ("localhost",)
    settings.EMAIL_HOST = "mail.example.com"
    settings.CELERY_TASK_ALWAYS_EAGER = False
    made = run_cast.make_desk()
    for owner in (made.owner, replace(made.owner, team_id=made.stranger.team_id)):
        seated(owner)
        run_doors.enrol(owner)
        webhooks.set_webhook(actor=owner, url=board.url, now=NOW)
        webhooks.choose_notices(actor=owner, endpoint_id=owner.team_id, kinds=list(NoticeKind), now=NOW)
        mails.choose_mails(actor=owner, email="ann@example.com", kinds=list(NoticeKind), now=NOW)
    return made


@pytest.fixture
def queue(redis_client):
    return Queue(redis_client)


class Queue:
    """What workers are asked for, the first one first."""

    def __init__(self, client):
        self._client = client

    @property
    def asked(self):
        return [_read(raw) for raw in reversed(self._client.lrange("celery", 0, -1))]

    def count(self, name, team_id=None):
        return sum(task == name and (team_id is None or args == [str(team_id)]) for task, args in self.asked)

    def take(self):
        return _read(self._client.rpop("celery"))


def _read(raw):
    message = json.loads(raw)
    return message["headers"]["task"], json.loads(base64.b64decode(message["body"]))[0]


class Slow:
    """Each call of the other side takes so long, and something else happens in the meantime."""

    def __init__(self, takes, meanwhile=go_on):
        self.now, self.takes, self.meanwhile = SOON, takes, meanwhile

    def clock(self):
        return self.now

    def fail(self, place):
        self.now += self.takes if place == "taken" else timedelta()
        self.meanwhile(place)


def of_team(team_id):
    return system_actor(team_id=team_id, door=Door.TASK)


def queued(team_id, count=1):
    for _ in range(count):
        with transaction.atomic():
            deliveries.queue_notice(
                actor=of_team(team_id), notice_id=uuid4(), kind=NoticeKind.RUN_STARTED, body={"text": "x"}, now=SOON
            )


def announced(team_id, count, at=SOON):
    Announcement.objects.bulk_create(
        Announcement(id=uuid4(), team_id=team_id, session_id=uuid4(), run_id=uuid4(), kind="run_started", at=at)
        for _ in range(count)
    )


def teams_of(desk):
    return desk.team_id, desk.stranger.team_id


@pytest.mark.parametrize("kind", SENDS)
def test_however_many_notices_of_a_team_there_are_one_task_is_asked_for(desk, queue, kind):
    name, *_ = SENDS[kind]
    for team_id in teams_of(desk):
        queued(team_id, 30)

    assert [queue.count(name, team_id) for team_id in teams_of(desk)] == [1, 1]
    assert queue.count(name) == 2


def test_starts_of_runs_cost_one_task_for_all_their_notices(desk, queue):
    workflow_id = run_cast.published(desk, step("first-step"))
    for _ in range(12):
        run_cast.start(desk, workflow_id)
    assert queue.asked == []
    notices.announce(actor=SYSTEM, now=SOON)

    assert NoticeDelivery.objects.count() == 12
    assert sorted(queue.asked) == sorted((name, [str(desk.team_id)]) for name, *_ in SENDS.values())


@pytest.mark.parametrize("kind", SENDS)
def test_what_the_schedule_finds_is_asked_for_once_more_only_when_it_seems_lost(desk, queue, kind):
    name, _send, ask_for_due, _rows = SENDS[kind]
    for team_id in teams_of(desk):
        queued(team_id, 3)

    assert ask_for_due(actor=SYSTEM, now=SOON + timedelta(seconds=5)) == 2
    assert queue.count(name) == 2
    ask_for_due(actor=SYSTEM, now=SOON + timedelta(seconds=11))
    assert [queue.count(name, team_id) for team_id in teams_of(desk)] == [2, 2]


@pytest.mark.parametrize("place", ["taken", "sent"])
@pytest.mark.parametrize("kind", SENDS)
def test_what_comes_while_a_team_is_served_is_found_without_a_task_of_its_own(desk, queue, kind, place):
    name, send, _ask, rows = SENDS[kind]
    queued(desk.team_id)
    queue._client.flushdb()
    seen, more = [], iter(range(5))

    def meanwhile(at):
        if at == place and next(more, None) is not None:
            queued(desk.team_id)
            seen.append((queue.count(name), send(actor=of_team(desk.team_id), clock=lambda: SOON)))

    slow = Slow(timedelta(), meanwhile)
    assert send(actor=of_team(desk.team_id), clock=slow.clock, fail=slow.fail) == 6

    assert seen == [(0, 0)] * 5
    assert (queue.count(name), set(rows.objects.values_list("tries", flat=True))) == (0, {1})


@pytest.mark.parametrize("kind", SENDS)
def test_what_comes_when_the_last_look_was_over_is_asked_for(desk, queue, kind):
    name, send, *_ = SENDS[kind]
    queued(desk.team_id)
    queue._client.flushdb()
    came = []

    def comes_before_it_lets_go(execute, sql, params, many, context):
        if 'SET "held_until" = NULL' in sql and not came:
            came.append(sql)
            other = threading.Thread(target=_queued_by_another, args=[desk.team_id])
            other.start()
            other.join()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(comes_before_it_lets_go):
        assert send(actor=of_team(desk.team_id), clock=lambda: SOON) == 1

    assert (len(came), queue.count(name, desk.team_id)) == (1, 1)
    assert send(actor=of_team(desk.team_id), clock=lambda: SOON) == 1


def _queued_by_another(team_id):
    queued(team_id)
    connection.close()


@pytest.mark.parametrize("kind", SENDS)
def test_a_team_that_has_very_many_makes_room_after_a_moment_behind_what_waits(desk, queue, kind):
    name, send, *_ = SENDS[kind]
    queued(desk.team_id, 20)
    queue._client.flushdb()
    queued(desk.stranger.team_id)
    begun = run_cast.begin(desk, step("first-step"))
    bundle_jobs.ask_to_export(actor=desk.owner, session_id=run_cast.session_id(begun), now=SOON)
    slow = Slow(timedelta(seconds=1))

    assert send(actor=of_team(desk.team_id), clock=slow.clock, fail=slow.fail) == 2

    assert (name, [str(desk.stranger.team_id)]) in queue.asked
    assert queue.asked[-1] == (name, [str(desk.team_id)])
    assert queue.asked[-2][0] == sessions_jobs.RUN_BUNDLE_JOB


@pytest.mark.parametrize("kind", SENDS)
def test_each_task_of_a_backlog_asks_for_one_until_all_is_sent_and_others_come_between(desk, queue, kind):
    name, send, _ask, rows = SENDS[kind]
    busy, other = teams_of(desk)
    queued(busy, 20)
    queued(other, 1)
    slow, served = Slow(timedelta(seconds=1)), []
    while queue.asked:
        task, arguments = queue.take()
        if task == name:
            assert queue.count(name, busy) <= 1
            served.append(arguments)
            actor = of_team(type(busy)(arguments[0]))
            send(actor=actor, clock=slow.clock, fail=slow.fail)
            if arguments == [str(busy)] and len(served) < 8:
                queued(busy)

    assert served.index([str(other)]) <= 1
    assert set(rows.objects.values_list("state", "tries")) == {("delivered", 1)}
    assert len(served) <= 2 + rows.objects.count() // 2


@pytest.mark.parametrize("kind", SENDS)
def test_a_worker_that_died_holds_its_team_for_a_moment_only(desk, queue, kind):
    name, send, ask_for_due, _rows = SENDS[kind]
    queued(desk.team_id, 3)
    queue._client.flushdb()

    class DiedError(BaseException):
        pass

    def die(_place):
        raise DiedError

    with pytest.raises(DiedError):
        send(actor=of_team(desk.team_id), clock=lambda: SOON, fail=die)
    # As the kernel ends it: it lets nothing go.
    WorkTurn.objects.filter(team_id=desk.team_id, work=kind).update(held_until=SOON + timely.HELD_FOR)

    ask_for_due(actor=SYSTEM, now=SOON + timedelta(seconds=10))
    assert queue.count(name) == 0
    after = SOON + timely.HELD_FOR + timedelta(seconds=1)
    ask_for_due(actor=SYSTEM, now=after)
    assert queue.count(name, desk.team_id) == 1
    assert send(actor=of_team(desk.team_id), clock=lambda: after) == 2


@pytest.mark.parametrize("kind", SENDS)
def test_a_mark_of_a_clock_that_is_far_ahead_keeps_nobody_waiting(desk, queue, kind):
    name, send, *_ = SENDS[kind]
    ahead = SOON + timedelta(minutes=50)
    WorkTurn.objects.create(team_id=desk.team_id, work=kind, asked_until=ahead, held_until=ahead)

    queued(desk.team_id)

    assert queue.count(name, desk.team_id) == 1
    assert send(actor=of_team(desk.team_id), clock=lambda: SOON) == 1


def test_a_team_that_announces_very_much_keeps_no_other_waiting(desk, queue):
    busy, other = teams_of(desk)
    announced(busy, 700)
    announced(other, 2, at=SOON + timedelta(seconds=1))

    assert notices.announce(actor=SYSTEM, now=SOON) == 300

    assert set(Announcement.objects.values_list("team_id", flat=True)) == {busy}
    assert queue.asked == [(sessions_jobs.ANNOUNCE, [])]
    assert [notices.announce(actor=SYSTEM, now=SOON) for _ in range(3)] == [300, 102, 0]


def test_one_worker_at_a_time_announces(desk, queue):
    announced(desk.team_id, 150)
    seen = []

    def another_comes(place):
        if place == "announced":
            seen.append(notices.announce(actor=SYSTEM, now=SOON))

    assert notices.announce(actor=SYSTEM, now=SOON, fail=another_comes) == 150
    assert (seen, queue.asked) == ([0, 0, 0], [])


def test_a_question_that_comes_when_the_last_look_was_over_is_announced_without_the_schedule(desk, queue):
    announced(desk.team_id, 1)
    looks = []

    def asks_at_the_end(place):
        if place == "announced":
            looks.append(place)
        if len(looks) == 2:
            fields = {"session_id": uuid4(), "kind": NoticeKind.CHECKPOINT_ASKED.value, "at": SOON}
            Announcement.objects.create(id=uuid4(), team_id=desk.team_id, **fields)
            # Its own task comes by while this one is at it.
            assert notices.announce(actor=SYSTEM, now=SOON) == 0

    assert notices.announce(actor=SYSTEM, now=SOON, fail=asks_at_the_end) == 1

    assert queue.asked == [(sessions_jobs.ANNOUNCE, [])]
    assert notices.announce(actor=SYSTEM, now=SOON) == 1
