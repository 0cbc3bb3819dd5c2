"""Exports and imports by a worker: done once, whoever dies, and kept for a day."""

import gzip
import io
import os
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection

from sessions_app.engine.bundles import BundleJobState, BundleTooLargeError
from sessions_app.models import BundleJob, BundlePart, WorkSession
from sessions_app.selectors.bundle_jobs import list_bundle_jobs, read_bundle_file, read_bundle_job
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.bundles import bundle_jobs
from sessions_app.services.bundles.bundle_jobs import SILENCE
from sessions_app.services.bundles.files import open_bundle, verify_bundle
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError, NotFoundError, RateLimitedError
from teams_app.engine.pages import PageRequest
from tests import logs, run_cast
from tests.bundle_play import export
from tests.run_cast import NOW, advanced, begin, plain_steps, session_id

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
SEEDS = 20


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def value(desk):
    return advanced(desk.agent, begin(desk, *plain_steps(3)))


@pytest.fixture
def _no_worker(settings):
    """What is asked for waits in the queue."""
    settings.CELERY_TASK_ALWAYS_EAGER = False


class Killed(BaseException):
    """As the kernel does it: nothing of ours catches it."""


def dies(chance):
    """A worker that dies at one of the places that it passes, or at none."""
    left = chance.randrange(1, 8)

    def fail(_place):
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    return fail


def test_an_export_is_done_by_a_worker_and_its_file_is_a_bundle(desk, value):
    asked = bundle_jobs.ask_to_export(actor=desk.viewer, session_id=session_id(value), now=NOW)
    done = read_bundle_job(actor=desk.viewer, job_id=asked.id)
    assert done.state is BundleJobState.DONE
    file = read_bundle_file(actor=desk.viewer, job_id=asked.id, now=NOW)
    data = b"".join(file.pieces)
    assert len(data) == done.size_bytes
    with open_bundle(io.BytesIO(data)) as source:
        assert verify_bundle(source=source).event_count == logs.count_events()


def test_an_import_is_done_by_a_worker_as_whoever_asked(desk, value):
    data = export(desk.person, session_id(value))
    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[data], now=NOW, max_bytes=10**6)
    done = read_bundle_job(actor=desk.person, job_id=asked.id)
    assert done.state is BundleJobState.DONE
    assert len(done.result["sessions"]) == 1
    assert WorkSession.objects.count() == 2
    assert WorkSession.objects.filter(created_by=desk.person.id).count() == 1


def test_an_import_that_comes_too_soon_after_others_waits_for_its_minute(desk, value, monkeypatch):
    asked_to_run(monkeypatch)
    data = export(desk.person, session_id(value))
    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[data], now=NOW, max_bytes=10**6)

    def too_much(**_given):
        raise RateLimitedError("Too much within a minute.", suggestion="Wait.")

    with monkeypatch.context() as patch:
        patch.setattr(bundle_jobs, "import_bundle", too_much)
        assert run(asked.id, after=timedelta(0)) is BundleJobState.WAITING
    assert run(asked.id, after=timedelta(seconds=59)) is BundleJobState.WAITING
    assert run(asked.id, after=timedelta(seconds=60)) is BundleJobState.DONE
    assert WorkSession.objects.count() == 2


def run(job_id, *, after):
    return bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=job_id, now=NOW + after)


def test_a_file_that_is_no_bundle_is_a_failed_job_with_its_code(desk):
    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[b"hello\n"], now=NOW, max_bytes=10**6)
    done = read_bundle_job(actor=desk.person, job_id=asked.id)
    assert done.state is BundleJobState.FAILED
    assert done.result["code"] == "BUNDLE_INVALID_FORMAT"


REFUSED = {
    "no bundle": lambda data: b"hello\n",
    "a key of ours": lambda data: gzip.compress(data + b"wr_key_" + b"abcdefgh" * 5),
    "larger than one part": lambda data: os.urandom(3 * bundle_jobs.PART_BYTES),
    "a bundle that was changed": lambda data: gzip.compress(data.replace(b"Try it", b"Try me")),
}


@pytest.mark.parametrize("file", REFUSED)
def test_a_file_that_is_refused_goes_with_its_refusal_and_the_job_says_why(desk, value, file):
    data = REFUSED[file](export(desk.person, session_id(value)))
    kept = BundlePart.objects.count()

    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[data], now=NOW, max_bytes=10**8)

    done = read_bundle_job(actor=desk.person, job_id=asked.id)
    assert done.state is BundleJobState.FAILED
    assert done.result["code"].startswith("BUNDLE_")
    assert not BundlePart.objects.filter(job_id=BundleJob.objects.get(kind="import").pk).exists()
    assert BundlePart.objects.count() == kept


@pytest.mark.usefixtures("_no_worker")
def test_who_has_lost_a_job_takes_no_file_from_it(desk, value):
    """What one worker refused in vain another may have still to read."""
    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[b"hello\n"], now=NOW, max_bytes=10**6)

    def taken_over(place):
        BundleJob.objects.update(attempt_id=uuid4())

    bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=asked.id, now=NOW, fail=taken_over)

    assert BundleJob.objects.get().state == "running"
    assert BundlePart.objects.count() == 1


def test_what_is_too_large_is_not_kept(desk):
    with pytest.raises(BundleTooLargeError):
        bundle_jobs.ask_to_import(actor=desk.person, pieces=[b"x" * 2000], now=NOW, max_bytes=1000)
    assert not BundleJob.objects.exists()
    assert not BundlePart.objects.exists()


def test_agents_and_viewers_import_nothing_and_strangers_see_no_job(desk, value):
    for actor in (desk.agent, desk.viewer):
        with pytest.raises(ForbiddenError):
            bundle_jobs.ask_to_import(actor=actor, pieces=[b"x"], now=NOW, max_bytes=10)
    asked = bundle_jobs.ask_to_export(actor=desk.viewer, session_id=session_id(value), now=NOW)
    stranger = replace(desk.owner, team_id=desk.stranger.team_id)
    with pytest.raises(NotFoundError):
        bundle_jobs.ask_to_export(actor=stranger, session_id=session_id(value), now=NOW)
    with pytest.raises(NotFoundError):
        read_bundle_job(actor=stranger, job_id=asked.id)
    assert list_bundle_jobs(actor=stranger, page=PageRequest()).items == ()


def test_a_file_expires_and_is_deleted(desk, value):
    asked = bundle_jobs.ask_to_export(actor=desk.viewer, session_id=session_id(value), now=NOW)
    later = read_bundle_job(actor=desk.viewer, job_id=asked.id).expires_at
    with pytest.raises(NotFoundError):
        read_bundle_file(actor=desk.viewer, job_id=asked.id, now=later)
    assert bundle_jobs.forget_expired(actor=SYSTEM, now=later) == 1
    assert not BundlePart.objects.exists()


@pytest.mark.usefixtures("_no_worker")
def test_a_job_whose_request_was_lost_is_asked_for_again(desk, value, redis_client):
    bundle_jobs.ask_to_export(actor=desk.viewer, session_id=session_id(value), now=NOW)
    redis_client.flushdb()
    assert bundle_jobs.ask_again(actor=SYSTEM, now=NOW) == 0
    assert bundle_jobs.ask_again(actor=SYSTEM, now=NOW + timedelta(minutes=2)) == 1
    assert redis_client.llen("celery") == 1


@pytest.mark.usefixtures("_no_worker")
@pytest.mark.parametrize("kind", ["export", "import"])
@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n < 3 else [pytest.mark.slow]) for n in range(SEEDS)])
def test_a_worker_that_dies_anywhere_loses_and_doubles_nothing(desk, value, kind, seed):
    chance = random.Random(f"{kind} {seed}")
    if kind == "export":
        asked = bundle_jobs.ask_to_export(actor=desk.person, session_id=session_id(value), now=NOW)
    else:
        data = export(desk.person, session_id(value))
        asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[data], now=NOW, max_bytes=10**6)
    now, state, tries = NOW, BundleJobState.WAITING, 0
    while state is not BundleJobState.DONE:
        tries += 1
        assert tries < 20
        try:
            state = bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=asked.id, now=now, fail=dies(chance))
        except Killed:
            now += SILENCE + timedelta(seconds=1)
    sessions = list(WorkSession.objects.values_list("id", flat=True))
    assert len(sessions) == (1 if kind == "export" else 2)
    assert [str(finding) for each in sessions for finding in verify_session(each)] == []
    if kind == "export":
        data = b"".join(read_bundle_file(actor=desk.person, job_id=asked.id, now=now).pieces)
        with open_bundle(io.BytesIO(data)) as source:
            assert verify_bundle(source=source).event_count == logs.count_events()


@pytest.mark.usefixtures("_no_worker")
def test_a_job_that_is_under_way_is_not_begun_by_a_second_worker(desk, value):
    data = export(desk.person, session_id(value))
    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[data], now=NOW, max_bytes=10**6)
    seen = []

    def meanwhile(_place):
        seen.append(bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=asked.id, now=NOW))

    assert bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=asked.id, now=NOW, fail=meanwhile) is BundleJobState.DONE
    assert set(seen) <= {BundleJobState.RUNNING, BundleJobState.DONE}
    assert WorkSession.objects.count() == 2


@pytest.mark.usefixtures("_no_worker")
def test_a_worker_that_was_thought_dead_writes_nothing_after_another_has_taken_over(desk, value):
    data = export(desk.person, session_id(value))
    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[data], now=NOW, max_bytes=10**6)
    later = NOW + SILENCE + timedelta(seconds=1)

    def slow(place):
        if place == "fetched":
            assert bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=asked.id, now=later) is BundleJobState.DONE

    bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=asked.id, now=NOW, fail=slow)
    assert WorkSession.objects.count() == 2
    assert read_bundle_job(actor=desk.person, job_id=asked.id).state is BundleJobState.DONE


def asked_to_run(monkeypatch):
    asked = []
    monkeypatch.setattr(bundle_jobs.jobs, "ask_to_run_bundle_job", lambda *, job_id: asked.append(job_id))
    return asked


def done_by_turns(first, *, now=NOW):
    """Of which teams jobs are done, one after the other, as a worker that is told of one of them does them."""
    served = []

    def note(place):
        if place in {"written", "committed"}:
            served.append(BundleJob.objects.get(state="running").team_id)

    for _ in range(BundleJob.objects.count()):
        bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=first, now=now, fail=note)
        now += timedelta(seconds=1)
    return served


def desks(count):
    """People of so many teams, each with a session."""
    made = [run_cast.make_desk() for _ in range(count)]
    return [(each, session_id(advanced(each.agent, begin(each, *plain_steps(1))))) for each in made]


def asks(who, *, now=NOW):
    desk, session = who
    return bundle_jobs.ask_to_export(actor=desk.viewer, session_id=session, now=now).id


def test_jobs_of_one_team_are_done_one_at_a_time(monkeypatch, settings):
    settings.BUNDLE_JOBS_AT_ONCE = 3
    asked = asked_to_run(monkeypatch)
    one, other = desks(2)
    mine = [asks(one) for _ in range(3)]
    theirs = asks(other)
    seen = []

    def run(job_id, fail=lambda _place: None):
        return bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=job_id, now=NOW, fail=fail)

    def meanwhile(_place):
        seen.append((run(theirs), run(mine[1]), run(mine[2])))

    asked.clear()
    assert run(mine[0], meanwhile) is BundleJobState.DONE
    assert set(seen) == {(BundleJobState.DONE, BundleJobState.WAITING, BundleJobState.WAITING)}
    assert asked == [mine[1]]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_no_more_jobs_are_done_at_once_than_may_be_of_however_many_teams(monkeypatch, settings, at_once):
    """What notices, and happens by the clock, has the other threads of the worker."""
    settings.BUNDLE_JOBS_AT_ONCE = at_once
    asked_to_run(monkeypatch)
    jobs = [asks(each) for each in desks(4)]
    most = []

    def meanwhile(place):
        most.append(BundleJob.objects.filter(state="running").count())
        if place == "written":
            bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=jobs[-1], now=NOW, fail=meanwhile)

    for job_id in jobs:
        bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=job_id, now=NOW, fail=meanwhile)

    assert max(most) == at_once
    assert set(BundleJob.objects.values_list("state", flat=True)) == {"done"}


def test_workers_who_come_together_begin_one_job(monkeypatch):
    """They count under one lock."""
    asked_to_run(monkeypatch)
    jobs = [asks(each) for each in desks(4)]

    def claim(_place):
        try:
            return bundle_jobs._claim(NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(jobs)) as pool:
        claimed = list(pool.map(claim, jobs))

    assert len([each for each in claimed if each is not None]) == 1
    assert BundleJob.objects.filter(state="running").count() == 1


def test_the_teams_take_turns_however_much_one_has_asked_for(monkeypatch):
    asked_to_run(monkeypatch)
    greedy, second, third = desks(3)
    of_greedy = [asks(greedy) for _ in range(6)]
    for each in (second, third, second, third):
        asks(each)

    teams = [each[0].team_id for each in (greedy, second, third)]
    assert done_by_turns(of_greedy[-1]) == [*teams, *teams, *[teams[0]] * 4]


def test_who_asks_late_comes_before_a_team_that_was_served_already(monkeypatch):
    asked_to_run(monkeypatch)
    greedy, late = desks(2)
    of_greedy = [asks(greedy) for _ in range(3)]
    bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=of_greedy[0], now=NOW)
    of_late = asks(late)

    # The message that comes is of the other team's.
    bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=of_greedy[1], now=NOW + timedelta(seconds=1))

    assert BundleJob.objects.get(pk=of_late).state == "done"
    assert BundleJob.objects.filter(state="waiting").count() == 2


def test_when_a_job_has_ended_the_next_is_asked_for_of_the_team_whose_turn_it_is(monkeypatch):
    asked = asked_to_run(monkeypatch)
    greedy, other = desks(2)
    of_greedy = [asks(greedy) for _ in range(3)]
    of_other = asks(other)
    asked.clear()

    bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=of_greedy[0], now=NOW)

    assert asked == [of_other]


def test_a_job_whose_worker_is_gone_is_in_the_way_of_other_teams_for_half_a_minute(monkeypatch):
    asked_to_run(monkeypatch)
    one, other = desks(2)
    mine, mine_too, theirs, theirs_too = asks(one), asks(one), asks(other), asks(other)

    def killed(_place):
        raise Killed

    with pytest.raises(Killed):
        bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=mine, now=NOW, fail=killed)

    def state_of(job_id, *, after):
        return bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=job_id, now=NOW + after)

    assert state_of(theirs, after=timedelta(seconds=30)) is BundleJobState.WAITING
    assert state_of(theirs, after=timedelta(seconds=31)) is BundleJobState.DONE
    assert state_of(theirs_too, after=timedelta(seconds=32)) is BundleJobState.DONE
    assert state_of(mine_too, after=SILENCE) is BundleJobState.WAITING
    assert state_of(mine, after=SILENCE + timedelta(seconds=1)) is BundleJobState.DONE
    assert state_of(mine_too, after=SILENCE + timedelta(seconds=2)) is BundleJobState.DONE


def test_a_job_that_fails_unexpectedly_is_in_nobodys_way_and_is_tried_again(monkeypatch):
    asked = asked_to_run(monkeypatch)
    one, other = desks(2)
    mine, theirs = asks(one), asks(other)
    asked.clear()

    def broken(_place):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=mine, now=NOW, fail=broken)

    # At once it would fail again, and again.
    assert asked == []
    assert BundleJob.objects.get(pk=mine).state == "waiting"
    assert bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=mine, now=NOW) is BundleJobState.WAITING
    assert BundleJob.objects.get(pk=theirs).state == "done"
    assert bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=mine, now=NOW) is BundleJobState.DONE


def test_of_each_team_the_first_lost_job_is_asked_for_again(desk, value, monkeypatch):
    asked = asked_to_run(monkeypatch)
    mine = [bundle_jobs.ask_to_export(actor=desk.viewer, session_id=session_id(value), now=NOW) for _ in range(3)]
    asked.clear()

    assert bundle_jobs.ask_again(actor=SYSTEM, now=NOW + timedelta(minutes=2)) == 1
    assert asked == [mine[0].id]


def test_a_long_job_that_goes_on_is_not_thought_dead(desk, value, monkeypatch):
    asked_to_run(monkeypatch)
    job = bundle_jobs.ask_to_export(actor=desk.viewer, session_id=session_id(value), now=NOW)
    clock, seen = iter(range(0, 100_000, 200)), []
    monkeypatch.setattr(bundle_jobs.time, "monotonic", lambda: next(clock))

    def meanwhile(place):
        if place == "written":
            late = NOW + SILENCE + timedelta(seconds=60)
            seen.append(bundle_jobs._claim(late))

    monkeypatch.setattr("sessions_app.services.bundles.files._EVENTS_BETWEEN_WORD", 1)
    done = bundle_jobs.run_bundle_job(actor=SYSTEM, job_id=job.id, now=NOW, fail=meanwhile)

    assert (done, seen) == (BundleJobState.DONE, [None])
