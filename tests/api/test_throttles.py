"""How often somebody may ask."""

import os
import signal
from datetime import timedelta

import pytest
import redis

from teams_app.engine.errors import RateLimitedError
from tests.cast import NOW, issue
from tests.deaths import Broker
from workrail_site import redis_pool, throttle
from workrail_site.local.temporary import short_folder

pytestmark = pytest.mark.django_db


def spend(bucket, limit, now=NOW):
    from workrail_site.throttle import spend as spend_one

    spend_one(bucket=bucket, limit=limit, now=now)


def allowed(bucket, limit, tries, now=NOW):
    """How many of so many tries go through."""
    through = 0
    for _ in range(tries):
        try:
            spend(bucket, limit, now)
        except RateLimitedError:
            continue
        through += 1
    return through


def as_another_process():
    """Forgets what this process has taken, as another one would not know it."""
    throttle._leases.clear()


def test_as_many_requests_as_the_limit_go_through():
    assert allowed("exact", 3, tries=10) == 3


def test_the_next_minute_begins_anew():
    allowed("minute", 3, tries=10)

    assert allowed("minute", 3, tries=10, now=NOW + timedelta(minutes=1)) == 3


def test_a_refusal_says_when_the_minute_is_over():
    moment = NOW + timedelta(seconds=20)
    allowed("wait", 1, tries=1, now=moment)

    with pytest.raises(RateLimitedError) as refused:
        spend("wait", 1, now=moment)

    assert refused.value.retry.after_ms == 40_000


def test_processes_share_one_limit():
    first = allowed("shared", 10, tries=6)
    as_another_process()

    assert first + allowed("shared", 10, tries=20) == 10


def test_with_a_large_limit_no_process_takes_more_than_its_share_at_once():
    first = allowed("large", 1000, tries=1)
    as_another_process()

    assert first + allowed("large", 1000, tries=2000) == 1000 - 9


def test_no_limit_is_no_limit():
    assert allowed("none", 0, tries=100) == 100


def test_without_redis_each_process_counts_for_itself(settings):
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    redis_pool.client.cache_clear()
    try:
        assert allowed("alone", 5, tries=10) == 5
        assert allowed("alone too", 5, tries=10) == 5
    finally:
        redis_pool.client.cache_clear()
        throttle._rest.end()


def test_redis_is_left_alone_for_a_while_when_it_did_not_answer(settings, monkeypatch):
    from teams_app import jobs

    asked = []
    monkeypatch.setattr(jobs, "_REST_SECONDS", 1_000)
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    redis_pool.client.cache_clear()
    monkeypatch.setattr(throttle.log, "warning", lambda *_said, **_more: asked.append(1))
    try:
        for number in range(20):
            spend(f"left alone {number}", 5)
    finally:
        redis_pool.client.cache_clear()
        throttle._rest.end()

    assert len(asked) == 1


@pytest.fixture
def hanging(settings):
    """A Redis that can be stopped, so that it takes what is sent and says nothing."""
    with short_folder(None) as folder:
        server = Broker(folder)
        server.start()
        settings.REDIS_URL = server.url
        as_another_process()
        redis_pool.client.cache_clear()
        yield server
        os.kill(server.process.pid, signal.SIGCONT)
        server.kill()
        redis_pool.client.cache_clear()
        throttle._rest.end()


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_redis_that_hangs_is_asked_once_and_then_left_alone(hanging, is_connected):
    with redis.Redis.from_url(hanging.url) as beside:
        if is_connected:
            spend("before", 5)
        before = beside.info("stats")["total_connections_received"]
        os.kill(hanging.process.pid, signal.SIGSTOP)
        through = [allowed(f"meanwhile {number}", 5, tries=10) for number in range(3)]
        os.kill(hanging.process.pid, signal.SIGCONT)
        came = beside.info("stats")["total_connections_received"] - before

    assert through == [5, 5, 5]
    # One that was there already is not made anew: that too would be waited for.
    assert came == (0 if is_connected else 1)


def test_a_connection_that_redis_closed_while_it_rested_is_made_anew(hanging):
    spend("before", 5)
    with redis.Redis.from_url(hanging.url) as beside:
        beside.client_kill_filter(_type="normal", skipme=True)
    spend("after", 5)

    assert not throttle._rest.is_on()
    as_another_process()
    assert allowed("after", 5, tries=10) == 4


def test_a_key_that_asks_too_often_is_told_to_wait(house, as_key, settings):
    settings.THROTTLE_ACTOR_PER_MINUTE = 2
    agent = as_key(issue(house.alice.actor).text)

    answers = [agent.get("/api/v1/whoami") for _ in range(6)]

    refused = next(answer for answer in answers if answer.status_code == 429)
    assert [answer.status_code for answer in answers].count(200) in {2, 4}
    assert refused.json()["code"] == "RATE_LIMITED"
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert refused.json()["retry"]["kind"] == "retryable_after_ms"


def test_the_keys_of_a_team_share_its_limit(house, as_key, settings):
    settings.THROTTLE_TEAM_PER_MINUTE = 2
    agents = [as_key(issue(house.alice.actor, name=f"{number}").text) for number in range(6)]
    stranger = as_key(issue(house.charlie.actor).text)

    answers = [agent.get("/api/v1/whoami").status_code for agent in agents]

    assert answers.count(429) >= 2
    assert stranger.get("/api/v1/whoami").status_code == 200


def test_guessing_a_password_is_slowed_down(house, client, settings):
    settings.THROTTLE_SIGN_IN_PER_MINUTE = 2
    form = {"username": "guessed", "password": "wrong"}

    answers = [client.post("/studio/login/", form).status_code for _ in range(6)]

    assert 429 in answers


def test_pages_of_the_studio_count_against_the_same_limits(house, settings):
    from django.test import Client

    settings.THROTTLE_ACTOR_PER_MINUTE = 2
    client = Client()
    client.force_login(house.alice.person)

    answers = [client.get("/studio/") for _ in range(6)]

    refused = next(answer for answer in answers if answer.status_code == 429)
    assert answers[0].status_code == 200
    assert 1 <= int(refused["Retry-After"]) <= 60


@pytest.mark.parametrize("limit", ["THROTTLE_ACTOR_PER_MINUTE", "THROTTLE_TEAM_PER_MINUTE"])
def test_the_limits_that_are_set_bite_below_what_one_machine_bears(settings, limit):
    """On two cores about 200 advances a second are answered; a limit above that is none."""
    assert 0 < getattr(settings, limit) / 60 <= 100


TYPED = ["a-password-by-mistake", "wr_link_" + "abcdefgh" * 5, "ghp_0123456789abcdefABCDEF"]


@pytest.mark.parametrize("typed", TYPED)
def test_what_strangers_type_is_not_told_to_redis(client, house, redis_client, typed):
    """Limits are counted there for whoever is guessed at, under a name that everybody sees who sees Redis."""
    client.post("/studio/login/", {"username": typed, "password": typed})
    for page in ("join", "password"):
        client.post(f"/studio/{page}/{typed}/", {"way": "known", "password": typed})

    names = [name.decode() if isinstance(name, bytes) else name for name in redis_client.scan_iter("*")]
    assert len([name for name in names if name.startswith("workrail:throttle:")]) > 3
    assert [name for name in names if typed.lower() in name.lower()] == []
