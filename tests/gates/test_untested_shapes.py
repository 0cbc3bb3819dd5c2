"""Shapes of workflows in which people are asked, that no single rule of passing thinks of: each is tried by every dialect."""

import pytest

from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import publish_folder
from tests.gate_play import (
    APPROVAL,
    FOLDER,
    HANDED_OVER,
    STEPS,
    hand_in,
    hand_next,
    nav_start,
    nav_step,
    rail_ack,
    rail_start,
    reached,
    said,
)
from tests.run_cast import notes_free, published
from tests.step_documents import loop

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = {"var": "on", "equals": True}
NO_ROUND = loop("empty", [notes_free("never")], type="while", condition=ROUNDS)
# What stands before the first step that is done in the loop: nothing of it is work.
BODIES = {
    "a loop without a round": [NO_ROUND, notes_free("inner"), notes_free("second")],
    "a step that is left out": [notes_free("never", runCondition=ROUNDS), notes_free("inner"), notes_free("second")],
    "a round without a step": [
        notes_free("inner", runCondition={"var": "currentIteration", "gt": 1}),
        notes_free("second", runCondition={"var": "currentIteration", "gt": 1}),
    ],
    "a loop whose first round has no step": [
        loop("within", [notes_free("inner", runCondition={"var": "currentIteration", "gt": 1})], type="for", count=2),
        notes_free("second"),
    ],
}


@pytest.mark.parametrize("body", BODIES)
def test_the_approval_of_a_loop_is_asked_with_the_first_work_in_it(floor, body):
    rounds = loop("rounds", BODIES[body], type="for", count=2) | {"requireConfirmation": APPROVAL}
    published(floor.desk, notes_free("before"), rounds, notes_free("after"), workflow_id=STEPS)
    told = rail_ack(floor, rail_start(floor))
    for turn in range(3):
        told = rail_ack(floor, told, f"Did it {turn}.")

    assert reached() == {"before", "inner"}


ASKS = {"message": "May it go on?", "authority": "human"}
LEADS = [
    {"id": "go", "label": "Go", "effect": {"transitionTo": "build"}},
    {"id": "stay", "label": "Stay"},
]


def _leading_folder(desk, *, declared):
    """`draft` is followed by what is asked of people, `after` by a question whose answer may lead on at once."""
    questions = {
        "agreed": checkpoint("agreed", **ASKS),
        "shortcut": checkpoint("shortcut", options=LEADS, required=declared != "on demand"),
    }
    order = ("shortcut", "agreed") if declared == "before" else ("agreed", "shortcut")
    plan = activity(
        "plan",
        checkpoints=[questions[name] for name in order],
        steps=[
            activity_step("draft", checkpoint="agreed"),
            activity_step("after", checkpoint="shortcut"),
            activity_step("last"),
        ],
        transitions=[{"to": "build"}],
    )
    about = workflow(id=FOLDER, description="Asks before it goes on.", initialActivity="plan")
    return publish_folder(desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about), FOLDER)


@pytest.mark.parametrize("declared", ["before", "behind", "on demand"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_an_answer_that_leads_on_passes_nobody_who_is_asked_before_it(floor, dialect, declared):
    _leading_folder(floor.desk, declared=declared)
    token = hand_in(floor, dialect, FOLDER, "plan")
    if dialect == "orchestrator":
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="shortcut"))
        token = asked.get("checkpoint_handle", token)
    floor.read_it()
    named = {"checkpoint_id": "shortcut"} if dialect == "session" else {}
    answered = said(floor[dialect].raw("respond_checkpoint", session_token=token, **named, option_id="go"))
    token = answered.get("session_token", token)
    if dialect == "orchestrator":
        resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=token))
        token = resumed.get("session_token", token)

    for done in ((), ("draft", "after")):
        hand_next(floor, dialect, token, "build", *done)

    assert "make" not in reached()


ENTERED = {
    "a condition that does not hold": {"loopType": "while", "condition": equals("on", value=True)},
    "an empty list": {"loopType": "forEach", "over": "files", "variable": "file"},
    "a round": {"loopType": "doWhile", "condition": equals("on", value=True)},
}


ROUND_BY_ROUND = {
    "while": {"loopType": "while", "condition": {**equals("on", value=True), "operator": "!="}},
    "forEach": {"loopType": "forEach", "over": "files", "variable": "file"},
    "doWhile": ENTERED["a round"],
}


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("kind", ROUND_BY_ROUND)
def test_a_loop_behind_a_step_that_may_be_left_out_is_gone_through_by_hand(floor, kind, nested, asked):
    options = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    question = {"kind": "checkpoint", "id": "agreed", "name": "Agreed", "options": options, **ASKS}
    body = [*([question] if asked else []), activity_step("inner")]
    if nested:
        body = [{"kind": "loop", "id": "within", "name": "Within", **ROUND_BY_ROUND[kind], "steps": body}]
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **ROUND_BY_ROUND[kind], "steps": body}
    plan = activity("plan", steps=[activity_step("free", required=False), rounds, activity_step("after")])
    about = workflow(
        id=FOLDER,
        description="Asks in each round.",
        initialActivity="plan",
        variables=[{"name": "files", "type": "array", "defaultValue": ["one"]}],
    )
    publish_folder(floor.desk, folder(plan, about=about), FOLDER)

    begun = nav_start(floor, FOLDER)

    assert [(each["action"], each["loop"]) for each in begun["availableActions"]["required"]] == [
        ("advance_loop", "rounds")
    ]
    assert not nav_step(floor, begun["state"], "after").get("success")
    assert nav_step(floor, begun["state"], "free")["success"]
    assert "after" not in reached()


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("entered", ENTERED)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_round_that_is_told_of_is_one_in_which_people_were_asked(floor, dialect, entered, nested):
    options = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    question = {"kind": "checkpoint", "id": "agreed", "name": "Agreed", "options": options, **ASKS}
    body = [question, activity_step("inner")]
    if nested:
        body = [{"kind": "loop", "id": "within", "name": "Within", **ENTERED[entered], "steps": body}]
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **ENTERED[entered], "steps": body}
    plan = activity(
        "plan", steps=[activity_step("draft"), rounds, activity_step("after")], transitions=[{"to": "build"}]
    )
    about = workflow(
        id=FOLDER,
        description="Asks in each round.",
        initialActivity="plan",
        variables=[{"name": "files", "type": "array", "defaultValue": []}],
    )
    files = folder(plan, activity("build", steps=[activity_step("make")]), about=about)
    publish_folder(floor.desk, files, FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")

    for done in (("inner",), ("draft", "inner"), ("draft", "inner", "after"), ("draft", "inner", "inner")):
        hand_next(floor, dialect, token, "build", *done)

    assert not reached() & {"inner", "after", "make"}
