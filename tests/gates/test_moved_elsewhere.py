"""Who looks at a run, or acts on it, at the address of another dialect than the one that moves it is told so and offered nothing."""

import pytest

from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step
from tests.checkpoint_cast import publish_folder
from tests.gate_play import FOLDER, HANDED_OVER, hand_next, hand_start, nav, nav_start, rail_ack, rail_start, said
from tests.gates.test_what_leads_past_people import about

pytestmark = pytest.mark.django_db(transaction=True)

STANDS = ("before the first activity", "in an activity", "at a question")


def two_activities():
    plan = activity(
        "plan",
        checkpoints=[checkpoint("soft", message="Which?"), checkpoint("agreed", message="May it?", authority="human")],
        steps=[activity_step("draft", checkpoint="soft"), activity_step("more", checkpoint="agreed")],
        transitions=[{"to": "build"}],
    )
    return folder(plan, activity("build", steps=[activity_step("make")]), about=about())


def state_of(floor):
    """The state of the run as the rail finds it."""
    found = floor.rail("resume_session", workflowId=FOLDER)["candidates"][0]
    return found.get("stateToken") or found["nextCall"]["params"]["stateToken"]


@pytest.mark.parametrize("stands", STANDS)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_navigation_offers_nothing_in_a_run_that_it_does_not_move(floor, dialect, stands):
    publish_folder(floor.desk, two_activities(), FOLDER)
    token = hand_start(floor, dialect, FOLDER)
    if stands != "before the first activity":
        token = hand_next(floor, dialect, token, "plan")["session_token"]
    if stands == "at a question" and dialect == "orchestrator":
        said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="soft"))
    state = state_of(floor)

    seen = floor.navigation("nav_situation", state=state)
    waits = floor.navigation("nav_checkpoint", state=state)
    refused = nav(floor, state, "complete_step", step_id="draft")

    assert seen["movedElsewhere"]["code"] == "PRECONDITION_FAILED"
    assert "session token" in seen["message"]
    assert not any(seen["availableActions"].values())
    assert waits["active"] is False
    assert "session token" in waits["message"]
    assert refused["code"] == "PRECONDITION_FAILED"
    assert "session token" in str(refused)


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_navigation_looks_at_what_a_run_waits_for_before_that_has_begun(floor, dialect):
    """The state is the one that navigation itself has told."""
    starts = activity("plan", steps=[activity_step("draft")], triggers=[{"workflow": "team.child"}])
    publish_folder(floor.desk, folder(starts, about=about()), FOLDER)
    child = folder(
        activity("first", steps=[activity_step("look")]),
        about={**about(), "id": "team.child", "initialActivity": "first"},
    )
    publish_folder(floor.desk, child, "team.child")
    token = hand_next(floor, dialect, hand_start(floor, dialect, FOLDER), "plan")["session_token"]
    floor.clock.shift(1)
    named = {"workflow_id": "team.child", "agent_id": "works"}
    floor[dialect]("start_session", **named, parent_session_token=token) if dialect == "orchestrator" else floor[
        dialect
    ]("start_session", **named)
    found = floor.rail("resume_session", workflowId="team.child")["candidates"][0]

    seen = floor.navigation("nav_situation", state=found["nextCall"]["params"]["stateToken"])

    assert seen["position"]["workflow"] == "team.child"
    assert seen["movedElsewhere"]


LOST = {
    "transition": {"activity_id": "build"},
    "respond_to_checkpoint": {"checkpoint_id": "soft", "option_id": "yes"},
    "advance_loop": {"loop_id": "rounds"},
}


@pytest.mark.parametrize("handed_in", [{"notes": "Seen."}, {"context": {"a": 1}}, {"artifacts": [{"kind": "x.y"}]}])
@pytest.mark.parametrize("action", LOST)
def test_nothing_is_handed_in_with_an_action_that_would_lose_it(floor, action, handed_in):
    publish_folder(floor.desk, two_activities(), FOLDER)
    at = nav_start(floor, FOLDER)

    refused = nav(floor, at["state"], action, **LOST[action], **handed_in)

    (name,) = handed_in
    assert f"{action} takes no {name}; nothing was done." in str(refused)
    assert "complete_step" in str(refused)


def test_a_list_of_items_is_not_handed_in_with_a_step(floor):
    publish_folder(floor.desk, two_activities(), FOLDER)
    at = nav_start(floor, FOLDER)

    refused = nav(floor, at["state"], "complete_step", step_id="draft", loop_items=["a"])
    empty = nav(floor, at["state"], "complete_step", step_id="draft", loop_items=[], notes="Did it.")

    assert "complete_step takes no loop_items; nothing was done." in str(refused)
    assert empty["success"], empty


def test_an_answer_that_goes_beyond_the_limit_of_a_loop_leaves_the_others_open(floor):
    """It was told that an answer had set the variable, and to tell the user that a person ends the run."""
    options = [
        {"id": name, "label": name, "effect": {"setVariable": {"again": name == "more"}}} for name in ("more", "enough")
    ]
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", "loopType": "doWhile", "maxIterations": 2}
    rounds |= {"condition": equals("again", value=True), "steps": [activity_step("feed", checkpoint="feed-more")]}
    plan = activity("plan", checkpoints=[checkpoint("feed-more", message="More?", options=options)], steps=[rounds])
    publish_folder(floor.desk, folder(plan, about=about()), FOLDER)
    at = rail_start(floor, FOLDER)
    for name in ("more", "more"):
        at = rail_ack(floor, at)
        floor.clock.shift(10)
        before, at = at, rail_ack(floor, at, artifacts=[chosen(name)])

    assert at["blockers"][0]["suggestedFix"] == "Choose another option, or have the workflow mended."
    floor.clock.shift(10)
    assert rail_ack(floor, at if at.get("ackToken") else before, artifacts=[chosen("enough")])["isComplete"]


def chosen(option_id):
    return {"kind": "wr.checkpoint_answer", "checkpointId": "feed-more", "optionId": option_id}
