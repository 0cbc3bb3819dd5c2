"""Workflows written at random, and an agent that does anything in them: nothing is reached that stands behind a gate."""

import os
from functools import partial

import pytest

from tests.crews import hiring
from tests.gate_histories import (
    answered_otherwise,
    beyond,
    histories,
    moved_while_stopped,
    overwritten,
    unapproved,
    waived_by_nobody,
)
from tests.gate_journeys import Attended, Traveller
from tests.gate_people import Governed
from tests.gate_walks import not_taken_in, unhealthy

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = 150
IN_SUITE, AT_LENGTH = 3, 400
PUBLIC_URL = "https://rails.example.com"


hire = pytest.fixture(hiring)


@pytest.fixture
def among_people(doors, doored, hire, settings):
    settings.PUBLIC_URL = PUBLIC_URL
    governed = partial(Governed, doors=doors, crew=hire(2))
    return lambda seed, steps=STEPS: assert_held(doored, seed, governed, steps=steps)


def assert_held(floor, seed, traveller=Traveller, *, steps=STEPS):
    traveller = traveller(floor, seed)

    traveller.walk(steps)

    assert passed(traveller) == [], traveller.written
    assert not_taken_in(floor.desk.owner) == [], traveller.written


def passed(traveller):
    """What no run may have done, in words."""
    stood = histories(traveller)
    found = [*beyond(stood, is_lenient=traveller.is_lenient), *unapproved(stood), *answered_otherwise(stood)]
    found += [*overwritten(stood), *moved_while_stopped(stood), *waived_by_nobody(stood, traveller.waived)]
    return [*found, *unhealthy()]


@pytest.mark.parametrize("seed", range(IN_SUITE))
def test_nobody_comes_to_what_stands_behind_a_gate(floor, seed):
    assert_held(floor, seed)


@pytest.mark.parametrize("seed", range(IN_SUITE))
def test_where_people_answer_nobody_goes_on_but_as_they_said(floor, seed):
    assert_held(floor, seed, Attended)


@pytest.mark.parametrize("seed", range(IN_SUITE))
def test_where_people_steer_nobody_goes_on_but_as_they_said(among_people, seed):
    among_people(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(AT_LENGTH))
def test_in_many_workflows_nobody_comes_to_what_stands_behind_a_gate(floor, seed):
    assert_held(floor, int(os.environ.get("WALK_SEED", "1000")) + seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(AT_LENGTH))
def test_in_many_workflows_where_people_answer_nobody_goes_on_but_as_they_said(floor, seed):
    assert_held(floor, int(os.environ.get("WALK_SEED", "1000")) + seed, Attended)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(AT_LENGTH))
def test_in_many_workflows_where_people_steer_nobody_goes_on_but_as_they_said(among_people, seed):
    among_people(int(os.environ.get("WALK_SEED", "1000")) + seed, steps=2 * STEPS)
