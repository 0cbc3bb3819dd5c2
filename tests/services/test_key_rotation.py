"""A rotation of the keys never strands an agent at work."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from io import StringIO
from uuid import UUID

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.utils import timezone

from sessions_app.engine.tokens import TokenBadSignatureError
from sessions_app.models import TokenKey
from sessions_app.services.store import signing_keys
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import PreconditionFailedError
from tests import run_cast
from tests.handover_cast import entered, handed
from tests.key_turns import rotate_long_ago
from tests.run_cast import advance, begin, plain_steps, rehydrate
from traces_app.engine.spans import mint_trace_token, read_trace_token
from workrail_site.dialects.activities.entering import entered as printed

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


@pytest.fixture
def desk():
    yield run_cast.make_desk()
    signing_keys.forget_keys()


def rotate(now):
    return signing_keys.rotate_keys(actor=SYSTEM, now=now, entropy=os.urandom)


def test_what_was_signed_before_several_rotations_is_good_as_long_as_an_agent_may_be_idle(desk, settings):
    value = begin(desk, *plain_steps(3))
    unused = run_cast.start(desk).value
    now = timezone.now()
    for days in (40, 30, 20, 10, 0):
        rotate(now - timedelta(days=days))

    assert rehydrate(desk.agent, value).value["pending"] == value["pending"]
    assert advance(desk.agent, value).value["kind"] == "ok"

    settings.TOKEN_TRUST_DAYS = 15
    signing_keys.forget_keys()
    with pytest.raises(TokenBadSignatureError):
        advance(desk.agent, unused)


class Process:
    """One of several that serve: each remembers the keys that it has read."""

    def __init__(self):
        self.cache = signing_keys._Cache()

    def __enter__(self):
        self.before, signing_keys._cache = signing_keys._cache, self.cache

    def __exit__(self, *_):
        signing_keys._cache = self.before


def test_a_process_that_read_its_keys_just_before_a_rotation_knows_every_token_of_another(desk):
    one, other = Process(), Process()
    with one:
        value = begin(desk, *plain_steps(4))
    with other:
        signing_keys.current_keys()
    rotate(timezone.now())
    with one:
        signing_keys.forget_keys()
        value = advance(desk.agent, value).value
        trace = trace_token()
    with other:
        assert advance(desk.agent, value).value["kind"] == "ok"
        assert read_trace_token(keyring=signing_keys.current_keys().ring, text=trace)


def trace_token():
    keyring = signing_keys.current_keys().ring
    return mint_trace_token(keyring=keyring, run_id=UUID(int=1), since=run_cast.NOW, until=run_cast.NOW)


def test_the_next_key_signs_once_every_process_knows_it(desk):
    begin(desk, *plain_steps(1))
    rotate(timezone.now())
    assert signing_keys.current_keys().generation == 0

    rotated(seconds_ago=signing_keys.CACHE_SECONDS * 2)
    signing_keys.forget_keys()
    assert signing_keys.current_keys().generation == 1


def rotated(*, seconds_ago):
    from sessions_app.models import TokenKey

    TokenKey.objects.update(created_at=timezone.now() - timedelta(seconds=seconds_ago))


def test_the_clock_of_the_machine_that_rotates_does_not_matter(desk):
    value = begin(desk, *plain_steps(3))
    for year in (1999, 2099):
        with time_machine.travel(datetime(year, 1, 1, tzinfo=UTC)):
            call_command("keys", "rotate", stdout=StringIO())
    with pytest.raises(CommandError, match="within a day"):
        call_command("keys", "rotate", stdout=StringIO())

    signing_keys.forget_keys()
    assert advance(desk.agent, value).value["kind"] == "ok"


def test_two_rotations_at_once_are_one_and_a_word_to_the_other(desk):
    def rotate_by_command(_):
        try:
            call_command("keys", "rotate", stdout=StringIO())
        except CommandError as error:
            return str(error)
        finally:
            connections.close_all()
        return ""

    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(rotate_by_command, range(6)))

    assert said.count("") in {1, 2}
    assert all("changed" in words for words in said if words)


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("exchange", range(6))
def test_no_third_rotation_comes_between_two_exchanges_of_another(desk, exchange, others):
    now = timezone.now()
    seen = []

    def let_others_rotate(execute, sql, params, many, context):
        if len(seen) == exchange:
            seen.append(sql)
            with ThreadPoolExecutor(1) as pool:
                for _ in range(others):
                    pool.submit(rotate_and_leave, now).result()
        else:
            seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(let_others_rotate), suppress(PreconditionFailedError):
        rotate(now)

    assert TokenKey.objects.count() <= 2


def rotate_and_leave(now):
    try:
        rotate(now)
    finally:
        connections.close_all()


def test_a_third_rotation_within_a_day_is_refused_and_says_why(desk):
    now = timezone.now()
    assert [rotate(now), rotate(now)] == [1, 2]

    with pytest.raises(PreconditionFailedError, match="60 days"):
        rotate(now + timedelta(seconds=15))

    assert rotate(now + timedelta(days=2)) == 3


def test_the_command_refuses_it_with_the_same_words(desk):
    for _ in range(2):
        call_command("keys", "rotate", stdout=StringIO())

    with pytest.raises(CommandError, match="WORKRAIL_TOKEN_KEY"):
        call_command("keys", "rotate", stdout=StringIO())


def test_one_long_ago_leaves_the_key_before_it_trusted(desk):
    value = begin(desk, *plain_steps(3))
    rotate_long_ago()

    assert advance(desk.agent, value).value["kind"] == "ok"


def test_a_repeated_call_prints_the_same_trace_token_after_a_rotation(desk):
    held = handed(desk)
    first = entered(desk, held.token, "plan")
    then = entered(desk, first["session_token"], "build")

    def text():
        return printed(
            dict(then), run_id=held.standing.run_id if hasattr(held, "standing") else held.handle.run_id, definition={}
        )

    before = text()
    rotate(timezone.now())

    assert "trace_token" in str(before)
    assert text() == before
    assert entered(desk, first["session_token"], "build") == then
