"""Ways by which something that is said or left unsaid might lead past people: an answer, a variable, a condition."""

import pytest
from django.utils import timezone

from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import answer, publish_folder
from tests.gate_play import (
    FOLDER,
    HANDED_OVER,
    hand_in,
    hand_next,
    nav,
    nav_start,
    nav_step,
    person_answers,
    questions,
    rail_ack,
    rail_start,
    reached,
    said,
)

pytestmark = pytest.mark.django_db(transaction=True)

ASKS = {"message": "May it go on?", "authority": "human"}


def about(**more):
    return workflow(id=FOLDER, description="Asks before it goes on.", initialActivity="plan", **more)


def told(floor, dialect, token, activity_id, *entries):
    manifest = [{"step_id": name, "output": f"Did {name}.", **more} for name, more in entries]
    return said(
        floor[dialect].raw(
            "next_activity", session_token=token, activity_id=activity_id, step_manifest=manifest or None
        )
    )


def dismissed(floor, dialect, token, name="agreed"):
    named = {"checkpoint_id": name} if dialect == "session" else {}
    if dialect == "orchestrator":
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id=name))
        token = asked.get("checkpoint_handle", token)
    answered = said(floor[dialect].raw("respond_checkpoint", session_token=token, **named, condition_not_met=True))

    token = answered.get("session_token", token)
    if dialect == "orchestrator":
        resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=token))
        token = resumed.get("session_token", token)
    return token


NO_LEADS = [
    {"id": "yes", "label": "Yes"},
    {"id": "no", "label": "No", "effect": {"transitionTo": "redo"}},
]
GO_LEADS = [
    {"id": "go", "label": "Go", "effect": {"transitionTo": "build"}},
    {"id": "stay", "label": "Stay"},
]


@pytest.mark.parametrize("order", ["before", "behind", "unnamed"])
@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_no_agents_answer_leads_elsewhere_than_a_persons_did(floor, dialect, required, order):
    steps = {
        "behind": [activity_step("draft", checkpoint="agreed"), activity_step("after", checkpoint="shortcut")],
        "before": [activity_step("draft", checkpoint="shortcut"), activity_step("after", checkpoint="agreed")],
        "unnamed": [activity_step("draft", checkpoint="agreed"), activity_step("after")],
    }[order]
    plan = activity(
        "plan",
        checkpoints=[
            checkpoint("agreed", options=NO_LEADS, **ASKS),
            checkpoint("shortcut", options=GO_LEADS, required=required),
        ],
        steps=steps,
        transitions=[{"to": "build"}],
    )
    files = folder(
        plan,
        activity("build", steps=[activity_step("make")]),
        activity("redo", steps=[activity_step("again")]),
        about=about(),
    )
    publish_folder(floor.desk, files, FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")
    if dialect == "orchestrator":
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
    (asked_row,) = [row for row in questions() if row.checkpoint_id == "agreed"]
    floor.read_it()
    answer(floor.desk.person, asked_row, "no", now=timezone.now())
    if dialect == "orchestrator":
        resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=asked["checkpoint_handle"]))
        token = resumed.get("session_token", token)
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="shortcut"))
        token = asked.get("checkpoint_handle", token)
    floor.read_it()
    named = {"checkpoint_id": "shortcut"} if dialect == "session" else {}
    answered = said(floor[dialect].raw("respond_checkpoint", session_token=token, **named, option_id="go"))
    token = answered.get("session_token", token)
    if dialect == "orchestrator":
        resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=token))
        token = resumed.get("session_token", token)
    hand_next(floor, dialect, token, "build")
    hand_next(floor, dialect, token, "build", "draft", "after")

    assert "make" not in reached()


SETS = [
    {"id": "yes", "label": "Yes", "effect": {"setVariable": {"approved": True}}},
    {"id": "no", "label": "No", "effect": {"setVariable": {"approved": False}}},
]


@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_what_a_person_answered_is_theirs_until_the_transition_that_reads_it(floor, dialect):
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=SETS, **ASKS)],
        steps=[
            activity_step("draft", checkpoint="agreed"),
            activity_step("mend", condition=equals("approved", value=False)),
        ],
        transitions=[{"to": "middle"}],
    )
    middle = activity(
        "middle",
        steps=[activity_step("write")],
        transitions=[{"to": "build", "condition": equals("approved", value=True)}, {"to": "redo", "isDefault": True}],
    )
    files = folder(
        plan,
        middle,
        activity("build", steps=[activity_step("make")]),
        activity("redo", steps=[activity_step("again")]),
        about=about(),
    )
    publish_folder(floor.desk, files, FOLDER)
    claim = {"approved": True}
    if dialect == "rail":
        at = rail_ack(floor, rail_start(floor, FOLDER))
        person_answers(floor, "no")
        at = said(floor.rail.raw("continue_workflow", stateToken=at["stateToken"]))
        at = rail_ack(floor, at)
        rail_ack(floor, at, context=claim)
    elif dialect == "navigation":
        at = nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")
        person_answers(floor, "no")
        at = said(floor.navigation.raw("nav_situation", state=at["state"]))
        at = nav_step(floor, at["state"], "mend")
        at = nav(floor, at["state"], "transition", activity_id="middle")
        at = nav(floor, at["state"], "complete_step", step_id="write", context=claim)
        nav(floor, at.get("state", "x"), "transition", activity_id="build")
    else:
        token = hand_in(floor, dialect, FOLDER, "plan")
        if dialect == "orchestrator":
            asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
        person_answers(floor, "no")
        if dialect == "orchestrator":
            resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=asked["checkpoint_handle"]))
            token = resumed.get("session_token", token)
        at = hand_next(floor, dialect, token, "middle", "draft", "mend")
        told(floor, dialect, at["session_token"], "build", ("write", {"context": claim}))

    assert "make" not in reached()
