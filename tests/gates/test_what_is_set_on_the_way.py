"""What steps set on the way decides whether people are asked, whoever leaves these steps out, tells of them late or jumps over them."""

from itertools import pairwise

import pytest

from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step
from tests.checkpoint_cast import publish_folder
from tests.gate_play import (
    COMPLETE,
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
from tests.gates.test_what_leads_past_people import ASKS, SET, about, asking, told, ways_by

pytestmark = pytest.mark.django_db(transaction=True)

BUILD = activity("build", steps=[activity_step("make")])
REVIEWED = equals("review", value=True)
VARIABLES = [
    {"name": "review", "type": "boolean", "defaultValue": False},
    {"name": "risk", "type": "string", "defaultValue": "high"},
    {"name": "flag", "type": "boolean", "defaultValue": True},
    {"name": "items", "type": "array", "defaultValue": ["one"]},
]


def sets(name="sets", **more):
    """A step that sets `review`, or what its action says."""
    of_step = {key: more.pop(key) for key in ("condition", "required") if key in more}
    return {"kind": "action", "id": name, "name": "Sets", **of_step, "actions": [{**SET, **more}]}


def action(condition):
    """A step whose action has that condition."""
    step = sets()
    return {**step, "actions": [{**SET, "condition": condition}]}


def rounds(*steps):
    listed = {"loopType": "forEach", "over": "items", "variable": "item", "maxIterations": 100}
    return {"kind": "loop", "id": "rounds", "name": "Rounds", **listed, "steps": list(steps)}


def publish(floor, *activities, variables=VARIABLES):
    publish_folder(floor.desk, folder(*activities, BUILD, about=about(variables=variables)), FOLDER)


def in_one_activity(*setters, gated):
    """Whoever is asked in it is asked where `review` is set."""
    steps = [activity_step("draft"), *setters, activity_step("gated", checkpoint="agreed", **gated)]
    return activity(
        "plan",
        checkpoints=[checkpoint("agreed", **ASKS, **({} if gated else {"condition": REVIEWED}))],
        steps=[*steps, activity_step("after")],
        transitions=[{"to": "build"}],
    )


def answered(floor, dialect, token):
    """A person has agreed to the question that the agent came to."""
    if dialect == "orchestrator":
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
        token = asked["checkpoint_handle"]
    person_answers(floor, "yes")
    if dialect == "orchestrator":
        token = said(floor.orchestrator.raw("resume_checkpoint", session_token=token))["session_token"]
    return token


CHAIN = [
    sets("first", target="flagged", value=True),
    {"kind": "action", "id": "sets", "name": "S", "actions": [SET], "condition": equals("flagged", value=True)},
]


@pytest.mark.parametrize("setters", [[sets()], CHAIN, [rounds(sets())]])
@pytest.mark.parametrize("gated", [{}, {"condition": REVIEWED}])
@pytest.mark.parametrize("done", [[], ["draft"], ["after"], ["draft", "after"], ["gated", "after"]])
def test_a_step_left_out_lifts_no_question_behind_it(floor, done, gated, setters):
    publish(floor, in_one_activity(*setters, gated=gated))
    token = hand_in(floor, "orchestrator", FOLDER, "plan")

    for _ in range(2):
        token = hand_next(floor, "orchestrator", token, "build", *done).get("session_token", token)

    assert not reached() & {"after", "make"}


@pytest.mark.parametrize("gated", [{}, {"condition": REVIEWED}])
def test_the_question_behind_what_sets_it_is_asked_and_led_on_from(floor, gated):
    publish(floor, in_one_activity(sets(), gated=gated))
    token = answered(floor, "orchestrator", hand_in(floor, "orchestrator", FOLDER, "plan"))

    hand_next(floor, "orchestrator", token, "build", "draft", "sets", "gated", "after")

    assert "make" in reached()


def test_an_optional_step_that_is_left_out_asks_nobody(floor):
    publish(floor, in_one_activity(sets(required=False), gated={}))
    token = hand_in(floor, "orchestrator", FOLDER, "plan")

    hand_next(floor, "orchestrator", token, "build", "draft", "gated", "after")

    assert "make" in reached()


HIGH = equals("risk", "high")
# What the step sets, or whether it is done, depends on what another one finds out.
BY_CONDITION = {"action": action(HIGH), "step": sets(condition=HIGH), "value": sets(value="{flag}")}
LOWERS = {"context": {"risk": "low", "flag": False}}
ORDERS = {"left out": [("more", LOWERS)], "late": [("more", LOWERS), ("sets", {})]}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("where", ["top", "loop"])
@pytest.mark.parametrize("by", BY_CONDITION)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_a_step_sets_is_as_it_was_in_its_turn(floor, dialect, by, where, order):
    steps = [BY_CONDITION[by], activity_step("more")]
    body = [rounds(*steps)] if where == "loop" else steps
    publish(floor, activity("plan", steps=[activity_step("draft"), *body], transitions=ways_by()), asking())
    token = hand_in(floor, dialect, FOLDER, "plan")

    told(floor, dialect, token, "build", ("draft", {}), *ORDERS[order])
    told(floor, dialect, token, "build", *ORDERS[order])
    assert not reached() & {"make", COMPLETE}

    told(floor, dialect, token, "asks", ("draft", {}), ("sets", {}), ("more", LOWERS))
    assert "asked" in reached() or questions()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("where", ["top", "loop"])
@pytest.mark.parametrize("by", BY_CONDITION)
def test_within_an_activity_what_a_step_sets_is_as_it_was_in_its_turn(floor, by, where, order):
    steps = [BY_CONDITION[by], activity_step("more")]
    body = [rounds(*steps)] if where == "loop" else steps
    publish(floor, in_one_activity(*body, gated={"condition": REVIEWED}))
    token = hand_in(floor, "orchestrator", FOLDER, "plan")

    told(floor, "orchestrator", token, "build", ("draft", {}), *ORDERS[order], ("after", {}))
    assert not reached() & {"after", "make"}

    token = answered(floor, "orchestrator", token)
    entries = [("draft", {}), ("sets", {}), ("more", LOWERS), ("gated", {}), ("after", {})]
    told(floor, "orchestrator", token, "build", *entries)
    assert "make" in reached()


@pytest.mark.parametrize("where", ["top", "loop"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_decides_nothing_is_left_out_freely(floor, dialect, where):
    steps = [{**action(HIGH), "actions": [{**SET, "target": "seen", "condition": HIGH}]}, activity_step("more")]
    body = [rounds(*steps)] if where == "loop" else steps
    publish(floor, activity("plan", steps=[activity_step("draft"), *body], transitions=ways_by()), asking())
    token = hand_in(floor, dialect, FOLDER, "plan")

    told(floor, dialect, token, "build", ("draft", {}), ("more", LOWERS))

    assert "make" in reached()


MODES = [{"id": "express", "name": "Express", "activationVariable": "express", "skipActivities": ["asks"]}]
SLOWS = {"action": "set", "target": "express", "value": False}
# Where the mode ends by which people are left out.
SLOWED = {
    "entry": {"steps": [activity_step("look")], "entryActions": [SLOWS]},
    "step": {"steps": [{"kind": "action", "id": "look", "name": "Look", "actions": [SLOWS]}]},
    "loop": {"steps": [rounds({"kind": "action", "id": "look", "name": "Look", "actions": [SLOWS]})]},
    "exit": {"steps": [activity_step("look")], "exitActions": [SLOWS]},
}


def publish_in_haste(floor, *activities):
    express = {"name": "express", "type": "boolean", "defaultValue": True}
    told_of = about(variables=[*VARIABLES, express], modes=MODES)
    publish_folder(floor.desk, folder(*activities, asking(), BUILD, about=told_of), FOLDER)


@pytest.mark.parametrize("setter", SLOWED)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_nobody_jumps_over_what_ends_the_mode_that_leaves_people_out(floor, dialect, setter):
    check = activity("check", transitions=[{"to": "asks"}], **SLOWED[setter])
    publish_in_haste(floor, activity("plan", steps=[activity_step("draft")], transitions=[{"to": "check"}]), check)
    token = hand_in(floor, dialect, FOLDER, "plan")

    for target in ("build", "asks", "workflow-end"):
        hand_next(floor, dialect, token, target, "draft")
        assert not reached() & {"make", COMPLETE}

    token = hand_next(floor, dialect, token, "check", "draft")["session_token"]
    hand_next(floor, dialect, token, "asks", "look")
    assert "asked" in reached() or questions()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("by", ["action", "step"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_ends_the_mode_that_leaves_people_out_is_as_it_was_in_its_turn(floor, dialect, by, order):
    slows = {"kind": "action", "id": "sets", "name": "Slows", "actions": [SLOWS | {"condition": HIGH}]}
    if by == "step":
        slows = {**slows, "condition": HIGH, "actions": [SLOWS]}
    steps = [activity_step("draft"), slows, activity_step("more")]
    publish_in_haste(floor, activity("plan", steps=steps, transitions=[{"to": "asks"}]))
    token = hand_in(floor, dialect, FOLDER, "plan")

    for target in ("build", "asks"):
        told(floor, dialect, token, target, ("draft", {}), *ORDERS[order])
        assert not reached() & {"make", COMPLETE}

    told(floor, dialect, token, "asks", ("draft", {}), ("sets", {}), ("more", LOWERS))
    assert "asked" in reached() or questions()


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_whoever_a_mode_leaves_out_is_jumped_over_with_what_stands_before_them(floor, dialect):
    check = activity("check", steps=[activity_step("look")], transitions=[{"to": "asks"}])
    publish_in_haste(floor, activity("plan", steps=[activity_step("draft")], transitions=[{"to": "check"}]), check)
    token = hand_in(floor, dialect, FOLDER, "plan")

    hand_next(floor, dialect, token, "build", "draft")

    assert "make" in reached()


LOOPS = {
    "while": ({"loopType": "while", "condition": equals("on", value=True)}, True, {"defaultValue": False}),
    "forEach": ({"loopType": "forEach", "over": "on", "variable": "item"}, ["one"], {"defaultValue": []}),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_nobody_jumps_over_what_sets_how_often_people_are_asked(floor, kind):
    looped, value, default = LOOPS[kind]
    asked = activity_step("asked", checkpoint="agreed")
    loop = {"kind": "loop", "id": "rounds", "name": "Rounds", "maxIterations": 3, **looped, "steps": [asked]}
    publish(
        floor,
        activity("plan", steps=[activity_step("draft")], transitions=[{"to": "check"}]),
        activity(
            "check",
            steps=[activity_step("look")],
            exitActions=[{"action": "set", "target": "on", "value": value}],
            transitions=[{"to": "asks"}],
        ),
        activity("asks", checkpoints=[checkpoint("agreed", **ASKS)], steps=[loop], transitions=[{"to": "build"}]),
        variables=[*VARIABLES, {"name": "on", "type": "array" if kind == "forEach" else "boolean", **default}],
    )
    token = hand_in(floor, "orchestrator", FOLDER, "plan")

    token = hand_next(floor, "orchestrator", token, "asks", "draft").get("session_token", token)
    hand_next(floor, "orchestrator", token, "build")
    assert "make" not in reached()

    token = hand_next(floor, "orchestrator", token, "check", "draft")["session_token"]
    token = hand_next(floor, "orchestrator", token, "asks", "look")["session_token"]
    hand_next(floor, "orchestrator", token, "build")
    assert "make" not in reached()


# The review is set in one round, far behind the first.
LATE = {
    "step": {**sets(), "condition": equals("item", value=True)},
    "action": action(equals("item", value=True)),
    "value": sets(value="{item}"),
}


@pytest.mark.parametrize("done", [[], ["draft"], ["draft", "sets"]])
@pytest.mark.parametrize("by", LATE)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_late_round_sets_what_leads_to_people_whoever_leaves_it_out(floor, dialect, by, done):
    items = [False] * 39 + [True]
    variables = [VARIABLES[0], {"name": "items", "type": "array", "defaultValue": items}]
    plan = activity("plan", steps=[activity_step("draft"), rounds(LATE[by])], transitions=ways_by())
    publish(floor, plan, asking(), variables=variables)
    token = hand_in(floor, dialect, FOLDER, "plan")

    hand_next(floor, dialect, token, "build", *done)

    assert not reached() & {"make", COMPLETE}


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_chain_of_rounds_is_followed_to_its_end(floor, dialect):
    """Each round lets one more step be done, against the order of the steps."""
    names = ["risk", *(f"link-{number}" for number in range(30)), "review"]
    links = [
        {
            "kind": "action",
            "id": f"sets-{after}",
            "name": "Sets",
            "actions": [{"action": "set", "target": after, "value": True, "condition": held(before)}],
        }
        for before, after in pairwise(names)
    ]
    variables = [{"name": name, "type": "boolean", "defaultValue": name == "risk"} for name in names]
    variables.append({"name": "items", "type": "array", "defaultValue": ["one"] * 60})
    plan = activity("plan", steps=[activity_step("draft"), rounds(*reversed(links))], transitions=ways_by())
    publish(floor, plan, asking(), variables=variables)
    token = hand_in(floor, dialect, FOLDER, "plan")

    hand_next(floor, dialect, token, "build", "draft")

    assert not reached() & {"make", COMPLETE}


def held(name):
    return equals(name, value=True)


# What makes the condition of the step false, on which it is done and people are asked about it.
ENDED_BY = {
    "word": ({}, LOWERS),
    "action": ({"kind": "action", "actions": [{"action": "set", "target": "risk", "value": "low"}]}, {}),
}


def after_the_step(floor, dialect, claim):
    """The step is told of, and what follows it; gives the call that goes on when a person has answered."""
    if dialect == "rail":
        at = rail_ack(floor, rail_ack(floor, rail_start(floor, FOLDER)), **claim)
        return lambda: rail_ack(floor, said(floor.rail.raw("continue_workflow", stateToken=at["stateToken"])))
    if dialect == "navigation":
        at = nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")
        at = nav(floor, at["state"], "advance_loop", loop_id="rounds")
        at = nav(floor, at["state"], "complete_step", step_id="fix", **claim)
        nav_step(floor, at["state"], "end")
        return lambda: nav_step(floor, said(floor.navigation.raw("nav_situation", state=at["state"]))["state"], "end")
    token, steps = hand_in(floor, dialect, FOLDER, "plan"), (("draft", {}), ("fix", claim), ("end", {}))
    told(floor, dialect, token, "build", *steps)
    asked = said(floor[dialect].raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
    return lambda: told(floor, dialect, asked["session_token"], "build", *steps)


@pytest.mark.parametrize("by", ENDED_BY)
@pytest.mark.parametrize("dialect", ["rail", "navigation", "orchestrator"])
def test_the_question_of_a_step_in_a_loop_is_asked_whatever_the_step_has_set(floor, dialect, by):
    more, claim = ENDED_BY[by]
    fix = activity_step("fix", checkpoint="agreed", condition=HIGH, **more)
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", **ASKS)],
        steps=[activity_step("draft"), rounds(fix, activity_step("end"))],
        transitions=[{"to": "build"}],
    )
    publish(floor, plan)

    goes_on = after_the_step(floor, dialect, claim)
    assert not reached() & {"end", "make"}

    person_answers(floor, "yes")
    goes_on()
    assert "end" in reached()
