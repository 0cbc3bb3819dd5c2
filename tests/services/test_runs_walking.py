"""A run from its start to its end: what each call answers and what stands in the log afterwards."""

import pytest

from tests import run_cast
from tests.run_cast import advanced, assert_healthy, begin, events, plain_steps

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk():
    return run_cast.make_desk()


def test_a_start_hands_out_the_first_step_and_nothing_of_later_ones(desk):
    value = begin(desk, *plain_steps(3))

    assert value["pending"]["stepId"] == "step-0"
    assert "step-1" not in str(value)
    assert_healthy(value)


def test_a_run_ends_when_no_step_is_left(desk):
    value = begin(desk, *plain_steps(2))

    last = advanced(desk.agent, advanced(desk.agent, value))

    assert (last["isComplete"], last["pending"], last["nextCall"]) == (True, None, None)
    assert last["nextIntent"] == "complete"
    (completed,) = events(last, "run_completed")
    assert completed["data"]["nodeId"] == events(last, "node_created")[-1]["scope"]["nodeId"]
    assert_healthy(last)
