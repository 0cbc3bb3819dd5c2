"""A run from its start to its end: what each call answers and what stands in the log afterwards."""

import pytest

from tests import run_cast
from tests.run_cast import advanced, assert_healthy, begin, events, notes_free, plain_steps, rehydrate
from tests.step_documents import step

# To tell a lost chat where it stands, a transaction is begun that only reads, which Postgres allows outermost only.
pytestmark = pytest.mark.django_db(transaction=True)


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


def test_steps_with_checks_audits_and_delegations_are_passed_and_told_again(desk):
    """What the compiler adds to a prompt is in the program that the run is pinned to."""
    delegation = {"workflowId": "team.sample", "goal": "Look at it."}
    value = begin(
        desk,
        notes_free("check-it", verification={"command": "make test", "prompt": "Quote the end."}),
        notes_free("audit-it", audit={"prompt": "Look again.", "rubric": ["True?"]}),
        {
            "id": "hand-it-out",
            "type": "parallel",
            "title": "Hand it out",
            "parallelDelegations": [delegation],
            "synthesis": {"prompt": "Compare what came back."},
            "notesOptional": True,
        },
        step("last-step"),
    )
    for said in ("make test", "Look again.", "Compare what came back.", "Do last-step."):
        told = rehydrate(desk.agent, value).value
        assert said in value["pending"]["prompt"]
        assert told["pending"] == value["pending"]
        value = advanced(desk.agent, told)

    assert value["isComplete"]
    assert rehydrate(desk.agent, value).value["isComplete"]
    assert_healthy(value)
