"""Items of one name in several loops of an activity are several items: what is said of one passes nobody who is asked by another."""

import pytest

from tests.activity_folders import equals, step as activity_step
from tests.gate_play import FOLDER, asking_folder, nav, nav_start, nav_step, rail_ack, rail_start, reached

pytestmark = pytest.mark.django_db(transaction=True)

BEHIND = {"after", "make"}
AGAIN = equals("again", value=True)


def rounds(*body, kind="doWhile"):
    return {"kind": "loop", "id": "rounds", "name": "Rounds", "loopType": kind, "condition": AGAIN, "steps": list(body)}


NEVER_DONE = activity_step("work", condition=equals("deep", value=True))
ASKED = activity_step("work", checkpoint="agreed")
SHAPES = {
    "a step of a loop that has no round": [rounds(NEVER_DONE, kind="while"), ASKED],
    "a step of a loop before": [rounds(activity_step("turn"), NEVER_DONE), ASKED],
    "a step of a loop behind": [ASKED, rounds(NEVER_DONE, kind="while")],
    "a step of a loop in this one": [rounds({**rounds(NEVER_DONE), "id": "deep-rounds"}, ASKED)],
    "a loop in this one": [rounds(rounds(activity_step("deep")), ASKED)],
    "a loop in this one behind a step": [rounds(activity_step("turn"), rounds(activity_step("deep")), ASKED)],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_that_is_led_asks_all_the_same(floor, shape):
    asking_folder(floor.desk, authority="human", steps=[activity_step("draft"), *SHAPES[shape], activity_step("after")])
    at = rail_start(floor, FOLDER)
    for number in range(6):
        told = rail_ack(floor, at, notes=f"Did {number}.")
        at = told if "ackToken" in told else at

    assert "agreed" in {name.rpartition(".")[2] for name in reached()}
    assert not reached() & BEHIND


@pytest.mark.parametrize("shape", SHAPES)
def test_by_hand_nobody_is_passed(floor, shape):
    asking_folder(floor.desk, authority="human", steps=[activity_step("draft"), *SHAPES[shape], activity_step("after")])
    at = nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")
    calls = [
        ("advance_loop", {"loop_id": "rounds"}),
        *(("complete_step", {"step_id": name}) for name in ("turn", "deep", "work", "rounds", "deep-rounds", "after")),
        ("transition", {"activity_id": "build"}),
    ]
    for action, named in calls * 4:
        told = nav(floor, at["state"], action, **named)
        at = told if told.get("success") else at

    assert not reached() & BEHIND
