"""The approval of a loop, where the work in it stands in a loop of its own that the agent may leave by a word."""

import pytest

from tests.gate_play import APPROVAL, COMPLETE, STEPS, nav, nav_start, reached
from tests.run_cast import notes_free, published
from tests.step_documents import loop

pytestmark = pytest.mark.django_db(transaction=True)

INNER = {
    "while": {"type": "while", "condition": {"var": "mood", "not_equals": "none"}},
    "until": {"type": "until", "condition": {"var": "mood", "equals": "none"}},
}


@pytest.mark.parametrize("inner", INNER)
def test_a_loop_that_people_approve_is_not_passed_by_leaving_the_loop_in_it(floor, inner):
    within = loop("within", [notes_free("inner")], **INNER[inner], maxIterations=3)
    rounds = loop("rounds", [within], type="for", count=1) | {"requireConfirmation": APPROVAL}
    published(floor.desk, notes_free("before"), rounds, notes_free("after"), workflow_id=STEPS)
    at = nav_start(floor)
    at = nav(floor, at["state"], "complete_step", step_id="before")
    calls = [
        ("advance_loop", {"loop_id": "rounds"}),
        ("complete_step", {"step_id": "within"}),
        ("advance_loop", {"loop_id": "rounds"}),
        ("complete_step", {"step_id": "rounds"}),
        ("complete_step", {"step_id": "after"}),
    ]
    for action, named in calls:
        at = nav(floor, at["state"], action, **named)

    assert not reached() & {"after", COMPLETE}
