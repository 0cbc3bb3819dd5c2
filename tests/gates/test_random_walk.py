"""Whatever an agent calls, with whatever token, in whatever dialect: nothing behind a gate of people is reached."""

import os

import pytest

from tests.gate_walks import Wanderer, behind_people, unhealthy

pytestmark = pytest.mark.django_db(transaction=True)

STEPS_IN_SUITE = 400
STEPS_AT_LENGTH = 100_000
# The tables are looked at after so many calls, and the runs begun anew after so many looks.
STEPS_AT_ONCE = 2_000


def test_an_agent_that_does_anything_reaches_nothing_behind_people(floor):
    wanderer = Wanderer(floor, seed=9)

    wanderer.walk(STEPS_IN_SUITE)

    assert list(behind_people(wanderer)) == []
    assert unhealthy() == []
    # It did not only knock: every kind of call was taken now and then.
    assert len(wanderer.accepted) >= 9, wanderer.accepted


def test_what_people_answer_is_passed_and_nothing_else(floor):
    wanderer = Wanderer(floor, seed=10)

    for _ in range(STEPS_IN_SUITE // 10):
        wanderer.walk(10)
        wanderer.person_answers()

    assert unhealthy() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(STEPS_AT_LENGTH // STEPS_AT_ONCE))
def test_at_length_nothing_behind_people_is_reached(floor, seed):
    wanderer = Wanderer(floor, seed=int(os.environ.get("WALK_SEED", "0")) + seed)

    wanderer.walk(STEPS_AT_ONCE)

    assert list(behind_people(wanderer)) == []
