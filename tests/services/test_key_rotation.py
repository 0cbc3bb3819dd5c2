"""A rotation of the keys never strands an agent at work."""

import os
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from sessions_app.engine.tokens import TokenBadSignatureError
from sessions_app.services.store import signing_keys
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import PreconditionFailedError
from tests import run_cast
from tests.handover_cast import entered, handed
from tests.key_turns import rotate_long_ago
from tests.run_cast import advance, begin, plain_steps, rehydrate
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
