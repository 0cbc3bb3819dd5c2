"""Work that a person has sent back, or that lacked something, is done before all else, whatever the agent says meanwhile.

A step may be done on a condition, and people may be asked about it on a condition. What comes with its own work does not change
either: whether it is to be done, and who is asked, was settled when the run came to it.
"""

import pytest

from tests.gate_play import (
    COMPLETE,
    HANDED_OVER,
    STEPS,
    hand_in,
    nav,
    nav_start,
    nav_step,
    person_answers,
    rail_ack,
    rail_at_gate,
    rail_read,
    reached,
    said,
)
from tests.run_cast import notes_free, published
from tests.step_documents import loop, step

pytestmark = pytest.mark.django_db(transaction=True)

HIGH = {"var": "risk", "not_equals": "low"}
LOWERS = {"risk": "low"}
APPROVAL = {"kind": "human_approval"}
VERDICT = {"outputContract": {"contractRef": "wr.contracts.review_verdict"}}
# What of the step the agent's word would change: whether it is done at all, or whether people are asked about it.
READERS = {
    "run": {"runCondition": HIGH, "requireConfirmation": APPROVAL},
    "confirmation": {"requireConfirmation": APPROVAL | {"condition": HIGH}},
    "both": {"runCondition": HIGH, "requireConfirmation": APPROVAL | {"condition": HIGH}},
}
# The same of a step that lacks something at first.
LACKING = {name: {**asked, **VERDICT} for name, asked in READERS.items()} | {
    "demand": {"runCondition": HIGH, **VERDICT}
}
SHAPES = ("top", "loop")
BEHIND = {"after", "beside", COMPLETE}


def publish(desk, asked, shape):
    """`late` is to be done once the risk is low."""
    gated = step("gated", notesOptional=True, **asked)
    late = notes_free("late") | {"runCondition": {"var": "risk", "equals": "low"}}
    body = (late, gated, notes_free("beside"))
    if shape == "loop":
        body = (loop("rounds", list(body), type="for", count=2, maxIterations=3),)
    published(desk, notes_free("before"), *body, notes_free("after"), workflow_id=STEPS)


def by_hand(floor, shape):
    """Where `gated` is at hand."""
    at = nav_step(floor, nav_start(floor)["state"], "before")
    return nav(floor, at["state"], "advance_loop", loop_id="rounds") if shape == "loop" else at


def acts(floor, at, *calls):
    """Each in turn, at the state that it led to or else where it was."""
    for action, named in calls:
        reply = nav(floor, at["state"], action, **named)
        at = reply if reply.get("state") else at
    return at


def steps(*names):
    return [("complete_step", {"step_id": name, "notes": f"Did {name}."}) for name in names]


TURNS = [("advance_loop", {"loop_id": "rounds"}), ("complete_step", {"step_id": "rounds"})]
TRIES = [
    *steps("late", "gated", "beside", "after"),
    *TURNS,
    *steps("late", "gated", "beside", "after"),
    ("transition", {"activity_id": "workflow-end"}),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", READERS)
def test_by_hand_what_was_sent_back_is_left_out_by_nothing(floor, reader, shape):
    publish(floor.desk, READERS[reader], shape)
    at = acts(floor, by_hand(floor, shape), ("complete_step", {"step_id": "gated", "context": LOWERS}))
    person_answers(floor, "send_back", reason="No.")

    acts(floor, floor.navigation("nav_situation", state=at["state"]), *TRIES)

    assert not reached() & BEHIND


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", READERS)
def test_by_hand_what_was_sent_back_goes_on_when_it_is_approved(floor, reader, shape):
    publish(floor.desk, READERS[reader], shape)
    at = acts(floor, by_hand(floor, shape), ("complete_step", {"step_id": "gated", "context": LOWERS}))
    person_answers(floor, "send_back", reason="No.")
    at = floor.navigation("nav_situation", state=at["state"])

    assert [each["step"] for each in at["availableActions"]["required"]] == ["gated"]
    at = acts(floor, at, *steps("gated"))
    person_answers(floor, "approve")
    acts(floor, floor.navigation("nav_situation", state=at["state"]), *steps("late", "beside"))

    assert "beside" in reached()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("asked", LACKING)
@pytest.mark.parametrize("first", ["navigation", "rail"])
def test_by_hand_what_lacks_something_is_left_out_by_nothing_that_came_with_it(floor, first, asked, shape):
    publish(floor.desk, LACKING[asked], shape)
    if first == "rail":
        at = {"state": rail_ack(floor, rail_at_gate(floor), context=LOWERS)["stateToken"]}
    else:
        at = acts(floor, by_hand(floor, shape), ("complete_step", {"step_id": "gated", "context": LOWERS}))

    acts(floor, at, *TRIES)

    assert not reached() & BEHIND


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("told", [(), ("late",), ("gated",), ("late", "gated"), ("beside",), ("gated", "beside")])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_no_manifest_leaves_out_what_was_sent_back(floor, dialect, reader, shape, told):
    publish(floor.desk, READERS[reader], shape)
    token = hand_in(floor, dialect, STEPS, "main")
    tell(floor, dialect, token, ("before", {}), ("gated", {"context": LOWERS}))
    person_answers(floor, "send_back", reason="No.")

    for name in told:
        tell(floor, dialect, token, (name, {}))
    tell(floor, dialect, token, *((name, {}) for name in told))
    tell(floor, dialect, token, *((name, {}) for name in (*told, "after")))

    assert not reached() & BEHIND


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_was_sent_back_is_told_of_anew_and_goes_on_when_it_is_approved(floor, dialect, reader, shape):
    publish(floor.desk, READERS[reader], shape)
    token = hand_in(floor, dialect, STEPS, "main")
    tell(floor, dialect, token, ("before", {}), ("gated", {"context": LOWERS}))
    person_answers(floor, "send_back", reason="No.")

    refused = tell(floor, dialect, token, ("late", {}))
    again = {"output": "Did it better."}
    tell(floor, dialect, token, ("gated", again))
    person_answers(floor, "approve")
    tell(floor, dialect, token, ("beside", {}), ("beside", {}), ("after", {}))

    assert refused["code"] == "STEP_NOT_DONE"
    assert "beside" in reached() or COMPLETE in reached()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("asked", LACKING)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_no_manifest_says_of_a_step_at_hand_that_it_is_not_to_be_done(floor, dialect, asked, shape):
    publish(floor.desk, LACKING[asked], shape)
    token = hand_in(floor, dialect, STEPS, "main")
    tell(floor, dialect, token, ("before", {}), ("gated", {"context": LOWERS}))
    tell(floor, dialect, token, ("before", {}), ("gated", {"context": LOWERS}), ("beside", {}), ("after", {}))
    tell(floor, dialect, token, ("gated", {}), ("beside", {}), ("after", {}))

    assert not reached() & BEHIND


def tell(floor, dialect, token, *entries):
    manifest = [{"step_id": name, "output": f"Did {name}.", **more} for name, more in entries]
    return said(
        floor[dialect].raw(
            "next_activity", session_token=token, activity_id="workflow-end", step_manifest=manifest or None
        )
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", READERS)
def test_on_the_rail_it_is_pending_until_it_is_approved(floor, reader, shape):
    publish(floor.desk, READERS[reader], shape)
    at = rail_ack(floor, rail_at_gate(floor), context=LOWERS)
    person_answers(floor, "send_back", reason="No.")

    for _ in range(3):
        at = rail_ack(floor, rail_read(floor, at), notes="Did it again.")

    assert not reached() & BEHIND
