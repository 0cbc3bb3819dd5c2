"""Workflows written at random, and an agent that does anything in them: nothing is reached that stands behind a gate."""

import os

import pytest

from tests.gate_journeys import Traveller, beyond
from tests.gate_walks import unhealthy

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = 150
IN_SUITE, AT_LENGTH = 5, 400


def assert_held(floor, seed):
    traveller = Traveller(floor, seed)

    traveller.walk(STEPS)

    assert beyond(traveller) == [], traveller.written
    assert unhealthy() == [], traveller.written


@pytest.mark.parametrize("seed", range(IN_SUITE))
def test_nobody_comes_to_what_stands_behind_a_gate(floor, seed):
    assert_held(floor, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(AT_LENGTH))
def test_in_many_workflows_nobody_comes_to_what_stands_behind_a_gate(floor, seed):
    assert_held(floor, int(os.environ.get("WALK_SEED", "1000")) + seed)
