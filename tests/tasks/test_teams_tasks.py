"""What the workers do for teams, and how they are asked."""

from datetime import timedelta
from uuid import uuid4

import pytest
from celery import signature
from django.db import transaction

from tests.cast import LATER, NOW, audited, issue

pytestmark = pytest.mark.django_db


def record(now):
    from teams_app.services.keys import record_expiries

    return record_expiries(now=now)


def test_each_expired_key_is_told_to_the_log_of_its_own_team_once(house):
    from teams_app.models import AuditEntry

    issue(house.alice.actor, expires_at=LATER, name="hers")
    issue(house.charlie.actor, expires_at=LATER, name="his")
    issue(house.alice.actor, expires_at=LATER + timedelta(days=1), name="later")
    issue(house.alice.actor, name="never")

    counts = [record(NOW), record(LATER), record(LATER)]

    assert counts == [0, 2, 0]
    entries = AuditEntry.objects.filter(action="key.expired")
    assert {(entry.team_id, entry.details["name"]) for entry in entries} == {
        (house.team.pk, "hers"),
        (house.other_team.pk, "his"),
    }
    assert {(entry.actor_id, entry.door) for entry in entries} == {("system", "task")}


def test_a_key_that_was_revoked_before_does_not_expire(house):
    from teams_app.services.keys import revoke_key

    issued = issue(house.alice.actor, expires_at=LATER)
    revoke_key(actor=house.alice.actor, key_id=issued.key.id, now=NOW)

    assert record(LATER) == 0
    assert "key.expired" not in audited(house.team)


def test_the_task_is_found_by_its_name_and_may_run_twice(house):
    from teams_app import jobs
    from workrail_site.celery import app

    issue(house.alice.actor, now=NOW - timedelta(days=9000), expires_at=NOW - timedelta(days=8999))

    for _ in range(2):
        signature(jobs.EXPIRE_KEYS, app=app).apply_async()

    assert audited(house.team) == ["key.issued", "key.expired"]


def test_the_schedule_asks_for_tasks_that_exist():
    from workrail_site.celery import app

    assert app.conf.beat_schedule
    for entry in app.conf.beat_schedule.values():
        assert entry["task"] in app.tasks


def test_a_short_lived_key_asks_to_be_looked_at_when_it_expires(house, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as soon:
        issue(house.alice.actor, expires_at=NOW + timedelta(minutes=5))
    with django_capture_on_commit_callbacks() as much_later:
        issue(house.alice.actor, expires_at=NOW + timedelta(days=5))

    assert (len(soon), len(much_later)) == (1, 0)


def test_a_key_is_issued_even_when_nobody_can_be_asked(house, django_capture_on_commit_callbacks, monkeypatch):
    from celery.canvas import Signature

    def be_gone(*_args, **_kwargs):
        raise OSError("no broker")

    monkeypatch.setattr(Signature, "apply_async", be_gone)

    with django_capture_on_commit_callbacks(execute=True):
        issued = issue(house.alice.actor, expires_at=NOW + timedelta(minutes=5))

    assert issued.text
    assert audited(house.team) == ["key.issued"]


@pytest.fixture
def broker_that_fails(settings, monkeypatch):
    """What it was asked for; it has an address of its own, by which it is remembered."""
    from celery.canvas import Signature
    from kombu.exceptions import OperationalError

    asked = []

    def fail(signature, **_options):
        asked.append(signature.task)
        raise OperationalError("no broker")

    settings.CELERY_BROKER_URL = f"redis://{uuid4()}/0"
    monkeypatch.setattr(Signature, "apply_async", fail)
    return asked


def test_a_broker_that_failed_is_left_alone_for_a_while_and_then_asked_again(broker_that_fails, monkeypatch):
    from teams_app import jobs

    for _ in range(5):
        jobs._ask(signature(jobs.DELIVER_NOTICES), {}, is_made_up_for=True)
    assert broker_that_fails == [jobs.DELIVER_NOTICES]

    monkeypatch.setattr(jobs.time, "monotonic", lambda now=jobs.time.monotonic: now() + jobs._REST_SECONDS)
    for _ in range(5):
        jobs._ask(signature(jobs.SEND_MAILS), {}, is_made_up_for=True)
    assert broker_that_fails == [jobs.DELIVER_NOTICES, jobs.SEND_MAILS]


def test_what_no_schedule_makes_up_for_is_asked_for_also_of_a_broker_that_is_left_alone(broker_that_fails):
    from sessions_app import jobs as sessions_jobs
    from teams_app import jobs

    jobs._ask(signature(jobs.DELIVER_NOTICES), {}, is_made_up_for=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transaction, "on_commit", lambda work, **_how: work())
        for _ in range(2):
            sessions_jobs.ask_to_forget_traces(team_id=uuid4(), session_ids=[uuid4()])
            sessions_jobs.ask_to_announce()

    assert broker_that_fails == [jobs.DELIVER_NOTICES, *[sessions_jobs.FORGET_TRACES] * 2]


def test_workers_take_json_only_and_give_back_what_they_did_not_finish():
    from workrail_site.celery import app

    assert app.conf.accept_content == ["json"]
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.task_soft_time_limit < app.conf.task_time_limit


@pytest.fixture
def lines_of_tasks(caplog):
    """What the log of a worker says of a task that came and was done."""
    import logging

    from workrail_site.celery import app, keep_our_logging

    loggers = [logging.getLogger(name) for name in ("celery.app.trace", "celery.worker.strategy", "celery.beat")]
    before = [(logger, logger.level, [*logger.filters]) for logger in loggers]
    keep_our_logging()

    def lines(task, **arguments):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            app.tasks[task].apply(kwargs=arguments)
            logging.getLogger("celery.worker.strategy").info("Task %(name)s received", {"name": task})
        return [record.getMessage() for record in caplog.records if record.name.startswith("celery")]

    yield lines
    for logger, level, filters in before:
        logger.setLevel(level)
        logger.filters[:] = filters


def test_what_the_clock_asks_all_the_time_has_a_line_when_it_found_something_to_do(house, lines_of_tasks):
    from teams_app import jobs

    assert lines_of_tasks(jobs.EXPIRE_KEYS) == []

    issue(house.alice.actor, expires_at=LATER)
    (done,) = lines_of_tasks(jobs.EXPIRE_KEYS)

    assert "succeeded" in done
    assert done.endswith(": 1")


def test_what_is_asked_once_a_day_has_its_lines_also_when_it_found_nothing(house, lines_of_tasks):
    from teams_app import jobs

    done, received = lines_of_tasks(jobs.FORGET_DELIVERIES)

    assert "succeeded" in done
    assert "received" in received
