"""Shapes of workflows in which people are asked, that no single rule of passing thinks of: each is tried by every dialect."""

import pytest

from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import publish_folder
from tests.gate_play import (
    APPROVAL,
    COMPLETE,
    FOLDER,
    HANDED_OVER,
    NEVER_STOP,
    STEPS,
    hand_in,
    hand_next,
    nav_start,
    nav_step,
    person_answers,
    questions,
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


LATE = {"type": "for", "count": 1}
GATED = notes_free("gated", requireConfirmation=APPROVAL)
# What the loop has, and what is told of, `late` behind a part of the loop or before all of it.
TOLD_LATE = {
    "before any work in the loop": ([GATED], [("late", "gated")]),
    "before any work in the loop, and not of that": ([GATED], [("late",)]),
    "behind work in the loop": ([notes_free("inner"), GATED], [("inner", "late", "after")]),
    "behind work that comes back": ([GATED], [("gated",), ("late", "after"), ("late",)]),
    "behind work in a loop within": ([loop("within", [notes_free("inner"), GATED], **LATE)], [("inner", "late")]),
}


@pytest.mark.parametrize("of", TOLD_LATE)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_is_told_of_late_leads_nobody_out_of_a_loop_past_people(floor, dialect, of):
    body, calls = TOLD_LATE[of]
    late = notes_free("late", runCondition=ROUNDS)
    published(floor.desk, late, loop("rounds", body, **LATE), notes_free("after"), workflow_id=STEPS)
    token = hand_in(floor, dialect, STEPS, "main")

    for done in calls:
        token = hand_next(floor, dialect, token, "workflow-end", *done).get("session_token", token)
        if any(row.state == "open" for row in questions()):
            person_answers(floor, "send_back", reason="Not yet.")
    hand_next(floor, dialect, token, "workflow-end", "after")

    assert not reached() & {"after", COMPLETE}


def _long_loops(desk):
    """So many rounds without a step that no call goes through them all."""
    never = [notes_free(f"never-{number}", runCondition=ROUNDS) for number in range(3)]
    many = {"type": "for", "count": 100, "maxIterations": 100}
    rounds = loop("rounds", [loop("within", never, **many)], **many)
    gated = notes_free("gated", requireConfirmation=APPROVAL)
    return published(desk, notes_free("before"), rounds, gated, notes_free("after"), workflow_id=STEPS)


def _endless_activities(desk):
    """An activity without a step, which leads to itself for as long as the agent says so."""
    again = equals("on", value=True)
    plan = activity("plan", steps=[activity_step("before")], transitions=[{"to": "round"}])
    never = activity_step("never", condition=equals("never", value=True))
    turning = activity("round", steps=[never], transitions=[{"to": "round", "condition": again}, {"to": "asks"}])
    asks = activity("asks", checkpoints=[checkpoint("agreed", **ASKS)], steps=[activity_step("after")])
    about = workflow(id=STEPS, description="Asks in the end.", initialActivity="plan")
    return publish_folder(desk, folder(plan, turning, asks, about=about), STEPS)


@pytest.mark.parametrize("mode", [None, NEVER_STOP])
@pytest.mark.parametrize("write", [_long_loops, _endless_activities])
def test_where_no_call_comes_to_people_the_run_does_not_end_without_them(floor, write, mode):
    write(floor.desk)
    begun = rail_start(floor, preferences=mode)

    told = rail_ack(floor, begun, context={"on": write is _endless_activities})

    assert not told["isComplete"]
    assert told["blockers"]
    assert "after" not in reached()
    assert COMPLETE not in reached()
