"""Workflows written at random, and an agent that does anything in them: nothing is reached that stands behind a gate."""

import os

import pytest

from tests.gate_histories import answered_otherwise, beyond, histories, overwritten, unapproved
from tests.gate_journeys import Attended, Traveller
from tests.gate_walks import not_taken_in, unhealthy

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = 150
IN_SUITE, AT_LENGTH = 3, 400


def assert_held(floor, seed, traveller=Traveller):
    traveller = traveller(floor, seed)

    traveller.walk(STEPS)

    assert passed(traveller) == [], traveller.written
    assert not_taken_in(floor.desk.owner) == [], traveller.written


def passed(traveller):
    """What no run may have done, in words."""
    stood = histories(traveller)
    found = [*beyond(stood, is_lenient=traveller.is_lenient), *unapproved(stood), *answered_otherwise(stood)]
    return [*found, *overwritten(stood), *unhealthy()]


@pytest.mark.parametrize("seed", range(IN_SUITE))
def test_nobody_comes_to_what_stands_behind_a_gate(floor, seed):
    assert_held(floor, seed)


@pytest.mark.parametrize("seed", range(IN_SUITE))
def test_where_people_answer_nobody_goes_on_but_as_they_said(floor, seed):
    assert_held(floor, seed, Attended)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(AT_LENGTH))
def test_in_many_workflows_nobody_comes_to_what_stands_behind_a_gate(floor, seed):
    assert_held(floor, int(os.environ.get("WALK_SEED", "1000")) + seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(AT_LENGTH))
def test_in_many_workflows_where_people_answer_nobody_goes_on_but_as_they_said(floor, seed):
    assert_held(floor, int(os.environ.get("WALK_SEED", "1000")) + seed, Attended)
