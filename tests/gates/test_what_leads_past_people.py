"""Ways by which something that is said or left unsaid might lead past people: an answer, a variable, a condition."""

import pytest
from django.utils import timezone

from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step, workflow
from tests.checkpoint_cast import answer, publish_folder
from tests.gate_play import (
    APPROVAL,
    COMPLETE,
    FOLDER,
    HANDED_OVER,
    STEPS,
    asking_folder,
    hand_in,
    hand_next,
    hand_start,
    lacking,
    nav,
    nav_start,
    nav_step,
    person_answers,
    questions,
    rail_ack,
    rail_at_gate,
    rail_read,
    rail_start,
    reached,
    said,
)
from tests.gate_walks import unhealthy
from tests.run_cast import notes_free, published
from tests.step_documents import loop
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Source, SourceFormat, Strictness
from workflows_app.services.workflows import create_workflow

pytestmark = pytest.mark.django_db(transaction=True)

BEHIND = {"after", "make"}

ASKS = {"message": "May it go on?", "authority": "human"}


def asking():
    """The activity in which a person is asked, on the way to the one that is built in."""
    return activity(
        "asks",
        checkpoints=[checkpoint("agreed", **ASKS)],
        steps=[activity_step("asked", checkpoint="agreed")],
        transitions=[{"to": "build"}],
    )


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
    return responded(floor, dialect, token, name, condition_not_met=True)


def person_says(floor, dialect, token, option_id):
    """The session token after a person has answered `agreed`, whatever else is open."""
    if dialect == "orchestrator":
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
    (row,) = [row for row in questions() if row.checkpoint_id == "agreed" and row.state == "open"]
    floor.read_it()
    answer(floor.desk.person, row, option_id, now=timezone.now())
    if dialect == "session":
        return token
    resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=asked["checkpoint_handle"]))
    return resumed.get("session_token", token)


def responded(floor, dialect, token, name, **said_of_it):
    """The session token after the agent has asked the question and told what became of it."""
    named = {"checkpoint_id": name} if dialect == "session" else {}
    if dialect == "orchestrator":
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id=name))
        token = asked.get("checkpoint_handle", token)
    floor.read_it()
    answered = said(floor[dialect].raw("respond_checkpoint", session_token=token, **named, **said_of_it))

    token = answered.get("session_token", token)
    if dialect == "orchestrator":
        resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=token))
        token = resumed.get("session_token", token)
    return token


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_question_whose_condition_turns_true_after_it_was_dismissed_is_asked(floor, dialect):
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", **ASKS, condition=equals("risk", "high"))],
        steps=[activity_step("draft", checkpoint="agreed"), activity_step("after")],
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "risk", "type": "string", "defaultValue": "none"}]
    files = folder(plan, activity("build", steps=[activity_step("make")]), about=about(variables=variables))
    publish_folder(floor.desk, files, FOLDER)
    token = dismissed(floor, dialect, hand_in(floor, dialect, FOLDER, "plan"))

    told(floor, dialect, token, "build", ("draft", {"context": {"risk": "high"}}), ("after", {}))

    assert not reached() & {"after", "make"}
    if dialect == "orchestrator":
        asked = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
        person_answers(floor, "yes")
        resumed = said(floor.orchestrator.raw("resume_checkpoint", session_token=asked["checkpoint_handle"]))
        told(floor, dialect, resumed["session_token"], "build", ("draft", {"context": {"risk": "high"}}), ("after", {}))
        assert "make" in reached()


def ways_by(variable="review"):
    return [{"to": "asks", "condition": equals(variable, value=True)}, {"to": "build", "isDefault": True}]


SET = {"action": "set", "target": "review", "value": True}
SETTERS = {
    "entry": {"entryActions": [SET]},
    "step": {"steps": [{"id": "sets", "name": "Sets", "kind": "action", "actions": [SET]}]},
    "exit": {"exitActions": [SET]},
}


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("first", ["plan", "check"])
@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_an_activity_sets_leads_on_whoever_would_jump_over_it(floor, dialect, setter, first, declared):
    check = activity("check", **{"steps": [activity_step("look")], "transitions": ways_by(), **SETTERS[setter]})
    asks = asking()
    plan = activity("plan", steps=[activity_step("draft")], transitions=[{"to": "check"}])
    variables = {"variables": [{"name": "review", "type": "boolean", "defaultValue": False}]} if declared else {}
    acts = (plan, check) if first == "plan" else (check,)
    files = folder(
        *acts,
        asks,
        activity("build", steps=[activity_step("make")]),
        about=about(**variables) | {"initialActivity": first},
    )
    publish_folder(floor.desk, files, FOLDER)
    token = hand_start(floor, dialect, FOLDER)
    hand_next(floor, dialect, token, "build")
    if first == "plan":
        token = hand_next(floor, dialect, token, "plan")["session_token"]
        hand_next(floor, dialect, token, "build", "draft")

    assert not reached() & {"make", COMPLETE}


@pytest.mark.parametrize("first", ["plan", "check"])
@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_is_left_out_on_the_way_to_an_activity_sets_what_is_read_behind_that(floor, dialect, setter, first):
    check = activity(
        "check", **{"steps": [activity_step("look")], "transitions": [{"to": "middle"}], **SETTERS[setter]}
    )
    middle = activity("middle", steps=[activity_step("more")], transitions=ways_by())
    asks = asking()
    plan = activity("plan", steps=[activity_step("draft")], transitions=[{"to": "check"}])
    variables = {"variables": [{"name": "review", "type": "boolean", "defaultValue": False}]}
    acts = (plan, check) if first == "plan" else (check,)
    files = folder(
        *acts,
        middle,
        asks,
        activity("build", steps=[activity_step("make")]),
        about=about(**variables) | {"initialActivity": first},
    )
    publish_folder(floor.desk, files, FOLDER)
    token = hand_start(floor, dialect, FOLDER)
    over = hand_next(floor, dialect, token, "middle")
    if setter == "step" or first == "plan":
        token = over.get("session_token", token)
        token = hand_next(floor, dialect, token, first).get("session_token", token)
        over = hand_next(floor, dialect, token, "middle", *(["draft"] if first == "plan" else []))
    token = over.get("session_token", token)

    hand_next(floor, dialect, token, "build", "more")
    assert not reached() & {"make", COMPLETE}

    token = hand_next(floor, dialect, token, "check", *(["draft"] if first == "plan" else [])).get(
        "session_token", token
    )
    done = ["sets"] if setter == "step" else ["look"]
    token = hand_next(floor, dialect, token, "middle", *done)["session_token"]
    hand_next(floor, dialect, token, "asks", "more")
    assert "asked" in reached() or any(row.checkpoint_id == "agreed" for row in questions())


LOG = {"action": "log", "message": "Done."}
FOUND_OUT = {"context": {"review": True}}
# What the step does, and what is told of the steps of its activity.
IN_LOOP = {
    "a loop that is gone through once at least": {"loopType": "doWhile", "condition": equals("on", value=True)},
    "a loop that is gone through": {
        "loopType": "while",
        "condition": {**equals("review", value=True), "operator": "!="},
    },
}


@pytest.mark.parametrize("kind", IN_LOOP)
def test_what_a_loop_sets_leads_on_whoever_leaves_it_by_hand(floor, kind):
    sets = {"kind": "action", "id": "sets", "name": "Sets", "actions": [SET]}
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **IN_LOOP[kind], "steps": [sets]}
    plan = activity("plan", steps=[activity_step("draft"), rounds], transitions=ways_by())
    asks = activity("asks", checkpoints=[checkpoint("agreed", **ASKS)], steps=[activity_step("asked")])
    variables = {"variables": [{"name": "review", "type": "boolean", "defaultValue": False}]}
    files = folder(plan, asks, activity("build", steps=[activity_step("make")]), about=about(**variables))
    publish_folder(floor.desk, files, FOLDER)
    at = nav_start(floor, FOLDER)
    for action, named in (
        ("complete_step", {"step_id": "draft"}),
        ("transition", {"activity_id": "build"}),
        ("complete_step", {"step_id": "rounds"}),
        ("transition", {"activity_id": "build"}),
        ("advance_loop", {"loop_id": "rounds"}),
        ("complete_step", {"step_id": "rounds"}),
        ("transition", {"activity_id": "build"}),
    ):
        told = nav(floor, at["state"], action, **named)
        at = told if told.get("success") else at

    assert not reached() & {"make", COMPLETE}


@pytest.mark.parametrize("kind", IN_LOOP)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_a_loop_sets_leads_on_whoever_leaves_it_out(floor, dialect, kind):
    sets = {"kind": "action", "id": "sets", "name": "Sets", "actions": [SET]}
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **IN_LOOP[kind], "steps": [sets]}
    plan = activity("plan", steps=[activity_step("draft"), rounds], transitions=ways_by())
    asks = activity("asks", checkpoints=[checkpoint("agreed", **ASKS)], steps=[activity_step("asked")])
    variables = {"variables": [{"name": "review", "type": "boolean", "defaultValue": False}]}
    files = folder(plan, asks, activity("build", steps=[activity_step("make")]), about=about(**variables))
    publish_folder(floor.desk, files, FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")

    for done in ([], ["draft"]):
        hand_next(floor, dialect, token, "build", *done)
        assert not reached() & {"make", COMPLETE}

    hand_next(floor, dialect, token, "asks", "draft", "sets")
    assert any(row.checkpoint_id == "agreed" for row in questions()) or "agreed" in reached()


TOLD_OF = {
    "nothing": (SET, []),
    "the step": (SET, [("check", {})]),
    "another step": (SET, [("more", {})]),
    "all steps": (SET, [("check", {}), ("more", {})]),
    "what one step found out": (LOG, [("check", FOUND_OUT)]),
    "what the last step found out": (LOG, [("check", {}), ("more", FOUND_OUT)]),
}


@pytest.mark.parametrize("of", TOLD_OF)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_the_steps_of_an_activity_set_leads_on_whatever_is_told_of_them(floor, dialect, of):
    does, entries = TOLD_OF[of]
    action = {"kind": "action", "id": "check", "name": "Check", "actions": [does]}
    plan = activity("plan", steps=[action, activity_step("more")], transitions=ways_by())
    asks = asking()
    publish_folder(
        floor.desk, folder(plan, asks, activity("build", steps=[activity_step("make")]), about=about()), FOLDER
    )
    token = hand_in(floor, dialect, FOLDER, "plan")

    told(floor, dialect, token, "build", *entries)
    assert not reached() & {"make", COMPLETE}
    at = told(floor, dialect, token, "asks", *entries)
    assert at["activity_id"] == "asks" if "activity_id" in at else at["id"] == "asks", at


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_a_mode_sets_leads_on_whoever_would_jump_over_the_first(floor, dialect):
    check = activity("check", steps=[activity_step("look")], transitions=ways_by())
    asks = asking()
    variables = {
        "variables": [
            {"name": "review", "type": "boolean", "defaultValue": False},
            {"name": "careful", "type": "boolean", "defaultValue": True},
        ],
        "modes": [{"id": "m", "name": "m", "activationVariable": "careful", "defaults": {"review": True}}],
    }
    files = folder(
        check,
        asks,
        activity("build", steps=[activity_step("make")]),
        about=about(**variables) | {"initialActivity": "check"},
    )
    publish_folder(floor.desk, files, FOLDER)
    token = hand_start(floor, dialect, FOLDER)
    hand_next(floor, dialect, token, "build")

    assert not reached() & {"make", COMPLETE}


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
    token = person_says(floor, dialect, hand_in(floor, dialect, FOLDER, "plan"), "no")
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
    hand_next(floor, dialect, token, "build")
    hand_next(floor, dialect, token, "build", "draft", "after")

    assert "make" not in reached()


SKIPS = [{"id": "go", "label": "Go", "effect": {"skipActivities": ["asks"]}}]


def publish_skipping(floor, order, *, leads):
    """Whoever leads away is asked before what leaves people out, or behind it; or that has no place in the order of work."""
    first, second = ("leads", "skips") if order == "behind" else ("skips", "leads")
    steps = [activity_step("draft", checkpoint=first), activity_step("after", checkpoint=second)]
    if order == "unnamed":
        steps = [activity_step("draft", checkpoint="leads"), activity_step("after")]
    away = [{"id": "no", "label": "No", "effect": {"transitionTo": "asks"}}, {"id": "yes", "label": "Yes"}]
    asked = [
        checkpoint("leads", options=away, **leads),
        checkpoint("skips", options=SKIPS, required=order != "unnamed"),
    ]
    plan = activity("plan", checkpoints=asked, steps=steps, transitions=[{"to": "asks"}])
    files = folder(plan, asking(), activity("build", steps=[activity_step("make")]), about=about())
    publish_folder(floor.desk, files, FOLDER)


def no_to_leading(floor, dialect, token, *, by_person):
    if not by_person:
        return responded(floor, dialect, token, "leads", option_id="no")
    if dialect == "orchestrator":
        token = floor.orchestrator("yield_checkpoint", session_token=token, checkpoint_id="leads")["session_token"]
    (row,) = [row for row in questions() if row.checkpoint_id == "leads"]
    floor.read_it()
    answer(floor.desk.person, row, "no", now=timezone.now())
    if dialect == "orchestrator":
        token = floor.orchestrator("resume_checkpoint", session_token=token)["session_token"]
    return token


@pytest.mark.parametrize("turn", ["first", "then"])
@pytest.mark.parametrize("order", ["before", "behind", "unnamed"])
@pytest.mark.parametrize("by_person", [True, False])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_an_answer_behind_one_that_leads_elsewhere_leaves_nobody_out(floor, dialect, by_person, order, turn):
    """Of the question behind it the agent may tell at any time; the work never comes to it."""
    publish_skipping(floor, order, leads=ASKS if by_person else {})
    token = hand_in(floor, dialect, FOLDER, "plan")
    if turn == "then":
        token = no_to_leading(floor, dialect, token, by_person=by_person)
    token = responded(floor, dialect, token, "skips", option_id="go")
    if turn == "first":
        token = no_to_leading(floor, dialect, token, by_person=by_person)

    hand_next(floor, dialect, token, "build", "draft")
    hand_next(floor, dialect, token, "asks", "draft")

    assert ("make" in reached()) is (order == "before")


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_work_behind_people_is_not_done_where_an_answer_before_them_leads_elsewhere(floor, dialect):
    steps = [
        activity_step("draft", checkpoint="shortcut"),
        activity_step("check", checkpoint="agreed"),
        activity_step("after"),
    ]
    plan = activity(
        "plan",
        checkpoints=[checkpoint("shortcut", options=GO_LEADS), checkpoint("agreed", **ASKS)],
        steps=steps,
        transitions=[{"to": "build"}],
    )
    publish_folder(floor.desk, folder(plan, activity("build", steps=[activity_step("make")]), about=about()), FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")
    token = responded(floor, dialect, token, "shortcut", option_id="go")

    for done in (["after"], ["draft", "check", "after"]):
        hand_next(floor, dialect, token, "build", *done)
        assert not reached() & {"after", "make"}

    went = hand_next(floor, dialect, token, "build", "draft")
    assert "make" in reached(), went


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


def acknowledged(floor, at, **given):
    return rail_ack(floor, at, **given)


def completed(floor, at, **given):
    return nav(floor, at["state"], "complete_step", step_id="gated", **given)


@pytest.mark.parametrize("count", [1, 9, 10, 20])
@pytest.mark.parametrize(("begin", "hand_in"), [(rail_start, acknowledged), (nav_start, completed)])
def test_whatever_else_blocks_an_attempt_its_words_do_not_lift_the_question(floor, begin, hand_in, count):
    asks = {**APPROVAL, "condition": {"var": "risk", "not_equals": "none"}}
    published(floor.desk, notes_free("gated", requireConfirmation=asks), notes_free("after"), workflow_id=STEPS)
    at = begin(floor, STEPS)

    blocked = hand_in(floor, at, artifacts=[lacking(count)], context={"risk": "none"})
    hand_in(floor, blocked)

    assert reached() == {"gated"}
    assert [row.checkpoint_id for row in questions()] == ["gated"]
    assert unhealthy() == []


NOT_FALSE = {**equals("approved", value=False), "operator": "!="}
# What `no` sets, what is read of it, and what an agent sends to have it read otherwise.
SAID_OTHERWISE = {
    "a part of it by name": (
        {"approved": {"given": False}},
        equals("approved.given", value=True),
        {"approved.given": True},
    ),
    "a part of a part": ({"approved": {"by": {"her": 0}}}, equals("approved.by.her", 1), {"approved.by.her": 1}),
    "a list of it": ({"approved": ["no"]}, equals("approved.0", "yes"), {"approved.0": "yes"}),
    "its length": ({"approved": ["no"]}, equals("approved.length", 2), {"approved.length": 2}),
    "a number that is false": ({"approved": False}, NOT_FALSE, {"approved": 0}),
    "a broken number that is false": ({"approved": False}, NOT_FALSE, {"approved": 0.0}),
    "false for a number": ({"approved": 0}, {**NOT_FALSE, "value": 0}, {"approved": False}),
    "one for true": ({"approved": True}, {**NOT_FALSE, "value": True}, {"approved": 1}),
    "a number in a list": ({"approved": [False]}, {**NOT_FALSE, "variable": "approved.0"}, {"approved": [0]}),
    "a number in a part": ({"approved": {"a": False}}, {**NOT_FALSE, "variable": "approved.a"}, {"approved": {"a": 0}}),
    "nothing": ({"approved": False}, NOT_FALSE, {"approved": None}),
    "the part of a dotted one": ({"approved.a": False}, {**NOT_FALSE, "variable": "approved.a"}, {"approved.a": 0}),
}


def at_no(floor, way):
    """A run that is led, behind a person's `no`, and what is sent to have it read otherwise."""
    sets, condition, given = SAID_OTHERWISE[way]
    options = [
        {"id": "yes", "label": "Yes"},
        {"id": "no", "label": "No", "effect": {"setVariable": sets}},
    ]
    ways = [{"to": "build", "condition": condition}, {"to": "redo", "isDefault": True}]
    asking_folder(floor.desk, authority="human", options=options, transitions=ways)
    at = rail_at_gate(floor, FOLDER)
    person_answers(floor, "no")
    return rail_read(floor, at), given


@pytest.mark.parametrize("way", SAID_OTHERWISE)
@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_what_a_person_answered_is_read_as_they_answered(floor, dialect, way):
    at, given = at_no(floor, way)

    if dialect == "rail":
        told = rail_ack(floor, at, context=given)
    else:
        state = at["stateToken"]
        told = nav(floor, state, "complete_step", step_id="after", context=given)
        nav(floor, told.get("state", state), "transition", activity_id="build")

    assert "make" not in reached()
    assert "SET_BY_ANSWER" in str(told) or "again" in reached() or not told.get("success", True)


@pytest.mark.parametrize("way", SAID_OTHERWISE)
def test_what_nobody_says_otherwise_goes_on(floor, way):
    at, _ = at_no(floor, way)

    rail_ack(floor, at, context={"mood": 1, **SAID_OTHERWISE[way][0]})

    assert "again" in reached()


DOTTED = {"action": "set", "target": "review.needed", "value": True}


@pytest.mark.parametrize("target", ["review", "review.needed"])
@pytest.mark.parametrize("kind", ["while", "doWhile"])
def test_what_a_loop_sets_by_a_dotted_name_leads_on_whoever_leaves_it_by_hand(floor, kind, target):
    read = equals(target, value=True)
    sets = {"kind": "action", "id": "sets", "name": "Sets", "actions": [{**DOTTED, "target": target}]}
    held = {**read, "operator": "!="} if kind == "while" else equals("on", value=True)
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", "loopType": kind, "condition": held, "steps": [sets]}
    ways = [{"to": "asks", "condition": read}, {"to": "build", "isDefault": True}]
    plan = activity("plan", steps=[activity_step("draft"), rounds], transitions=ways)
    asks = activity("asks", checkpoints=[checkpoint("agreed", **ASKS)], steps=[activity_step("asked")])
    publish_folder(
        floor.desk, folder(plan, asks, activity("build", steps=[activity_step("make")]), about=about()), FOLDER
    )
    at = nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")

    for action, named in (
        ("complete_step", {"step_id": "rounds"}),
        ("transition", {"activity_id": "build"}),
        ("advance_loop", {"loop_id": "rounds"}),
        ("complete_step", {"step_id": "rounds"}),
        ("transition", {"activity_id": "build"}),
    ):
        told = nav(floor, at["state"], action, **named)
        at = told if told.get("success") else at

    assert not reached() & {"make", COMPLETE}


def answered_no(floor, dialect, *steps):
    """Where the run stands after a person's `no` to the question behind `draft`: the state or token to go on with. What `steps`
    tell of first is told before it.
    """
    if dialect == "rail":
        at = rail_start(floor, FOLDER)
        for context in (*steps, {}):
            at = rail_ack(floor, at, context=context)
        person_answers(floor, "no")
        return said(floor.rail.raw("continue_workflow", stateToken=at["stateToken"]))
    if dialect == "navigation":
        state = nav_start(floor, FOLDER)["state"]
        for name, context in zip(("first", "draft") if steps else ("draft",), (*steps, {}), strict=True):
            state = nav(floor, state, "complete_step", step_id=name, context=context)["state"]
        person_answers(floor, "no")
        return said(floor.navigation.raw("nav_situation", state=state))
    token = hand_in(floor, dialect, FOLDER, "plan")
    if dialect == "orchestrator":
        token = said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))[
            "checkpoint_handle"
        ]
    person_answers(floor, "no")
    if dialect == "orchestrator":
        token = said(floor.orchestrator.raw("resume_checkpoint", session_token=token))["session_token"]
    return {"session_token": token}


def goes_to_build(floor, dialect, at, claim):
    if dialect == "rail":
        return rail_ack(floor, at, context=claim)
    if dialect == "navigation":
        done = nav(floor, at["state"], "complete_step", step_id="after", context=claim)
        return nav(floor, done.get("state", at["state"]), "transition", activity_id="build")
    return told(floor, dialect, at["session_token"], "build", ("draft", {}), ("after", {"context": claim}))


def publish_answers(floor, no, *, to_build=None, to_redo=None, steps=(), ways=()):
    ways = ways or [{"to": "build", "condition": to_build}, {"to": "redo", "isDefault": True}]
    if to_redo is not None:
        ways = [{"to": "redo", "condition": to_redo}, {"to": "build", "isDefault": True}]
    options = [{"id": "no", "label": "No", "effect": {"setVariable": no}}, {"id": "yes", "label": "Yes"}]
    publish_options(floor, options, ways, steps=steps)


def publish_options(floor, options, ways, *, steps=(), **asks):
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, **(asks or ASKS))],
        steps=[*steps, activity_step("draft", checkpoint="agreed"), activity_step("after")],
        transitions=ways,
    )
    others = (activity("build", steps=[activity_step("make")]), activity("redo", steps=[activity_step("again")]))
    publish_folder(floor.desk, folder(plan, *others, about=about()), FOLDER)


def turn(operator, value):
    return {"type": "simple", "variable": "turn", "operator": operator, "value": value}


# A loop that counts its rounds by its own variable, and the rounds after which a person has to have been asked once more.
COUNTED = {
    "at most two": ("while", turn("<=", 2), (0, 1)),
    "fewer than three": ("while", turn("<", 3), (0, 1)),
    "the first alone": ("while", turn("==", 1), (0,)),
    "from the second on": ("doWhile", turn(">=", 2), (0, 1, 2)),
    "not once more": ("doWhile", turn("!=", 2), (0,)),
    "but for the first": ("doWhile", turn("!=", 1), (0, 1, 2)),
}
NAMES = {"its own name": "turn", "the usual name": "currentIteration"}


def publish_counted(floor, kind, condition, name, *, within=False):
    steps = [activity_step("work", checkpoint="agreed")]
    counted = {"loopType": kind, "condition": {**condition, "variable": name}, "maxIterations": 9}
    named = {"variable": name} if name == "turn" else {}
    rounds = {"kind": "loop", "id": "rounds", "name": "Rounds", **counted, **named, "steps": steps}
    around = {
        "kind": "loop",
        "id": "outer",
        "name": "Outer",
        "loopType": "forEach",
        "over": "items",
        "variable": "item",
    }
    body = {**around, "steps": [rounds]} if within else rounds
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", **ASKS)],
        steps=[activity_step("draft"), body, activity_step("after")],
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "items", "type": "array", "defaultValue": ["one"]}]
    build = activity("build", steps=[activity_step("make")])
    publish_folder(floor.desk, folder(plan, build, about=about(variables=variables)), FOLDER)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("counted", COUNTED)
def test_by_hand_nobody_leaves_a_loop_in_which_people_are_asked_before_its_own_count_ends_it(
    floor, counted, name, within
):
    kind, condition, rounds = COUNTED[counted]
    publish_counted(floor, kind, condition, NAMES[name], within=within)
    state = nav_step(floor, nav_start(floor, FOLDER)["state"], "draft")["state"]
    if within:
        state = nav(floor, state, "advance_loop", loop_id="outer")["state"]

    for _ in rounds:
        left = nav(floor, state, "complete_step", step_id="rounds")
        assert not left["success"]
        state = nav(floor, left["state"], "advance_loop", loop_id="rounds")["state"]
        state = nav_step(floor, state, "work")["state"]
        person_answers(floor, "yes")
        state = said(floor.navigation.raw("nav_situation", state=state))["state"]

    assert not reached() & BEHIND
    if counted not in {"from the second on", "but for the first"}:
        assert nav(floor, state, "complete_step", step_id="rounds")["success"]


@pytest.mark.parametrize("asks", ["the step", "the loop"])
@pytest.mark.parametrize("kind", ["while", "until"])
def test_by_hand_a_loop_of_steps_that_counts_its_rounds_is_left_no_sooner(floor, kind, asks):
    test = {"var": "currentIteration", **({"lt": 3} if kind == "while" else {"equals": 3})}
    asked = {"requireConfirmation": APPROVAL}
    body = [notes_free("work", **(asked if asks == "the step" else {}))]
    rounds = loop("rounds", body, type=kind, condition=test, maxIterations=9) | (asked if asks == "the loop" else {})
    published(floor.desk, notes_free("before"), rounds, notes_free("after"), workflow_id=STEPS)
    state = nav_step(floor, nav_start(floor)["state"], "before")["state"]

    left = nav(floor, state, "complete_step", step_id="rounds")
    nav_step(floor, left["state"], "after")

    assert not reached() & {"after", COMPLETE}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("counted", COUNTED)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_no_manifest_leaves_out_a_round_that_a_loop_counts_itself(floor, dialect, counted, name):
    kind, condition, _ = COUNTED[counted]
    publish_counted(floor, kind, condition, NAMES[name])
    token = hand_in(floor, dialect, FOLDER, "plan")

    hand_next(floor, dialect, token, "build", "draft", "after")

    assert not reached() & BEHIND


OK, READY = equals("plan.ok", value=True), equals("ready", value=True)
# A way that a person's `no` rules out, though it asks for what nobody has set as well.
RULED_OUT = {
    "one of two": {"type": "and", "conditions": [OK, READY]},
    "the other of two": {"type": "and", "conditions": [READY, OK]},
    "deep within": {
        "type": "and",
        "conditions": [READY, {"type": "or", "conditions": [OK, {"type": "and", "conditions": [OK, READY]}]}],
    },
    "the contrary": {"type": "not", "condition": {"type": "or", "conditions": [equals("plan.ok", value=False), READY]}},
    "a part that the answer does not have": equals("plan.fine", value=True),
    "a part of what is no object": equals("plan.ok.fine", value=True),
}


@pytest.mark.parametrize("condition", RULED_OUT)
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_no_word_of_an_agent_opens_what_an_answer_rules_out(floor, dialect, condition):
    publish_answers(floor, {"plan": {"ok": False}}, to_build=RULED_OUT[condition])

    goes_to_build(floor, dialect, answered_no(floor, dialect), {})

    assert "make" not in reached()


@pytest.mark.parametrize("dialect", ["navigation", *HANDED_OVER])
def test_what_an_answer_leaves_open_goes_by_the_word_of_an_agent(floor, dialect):
    publish_answers(floor, {"plan": {"ok": True}}, to_build=RULED_OUT["one of two"])

    goes_to_build(floor, dialect, answered_no(floor, dialect), {})

    assert "make" in reached()


@pytest.mark.parametrize("dialect", ["navigation", *HANDED_OVER])
def test_no_word_of_an_agent_opens_a_way_past_people_that_what_is_set_rules_out(floor, dialect):
    around = {"type": "and", "conditions": [equals("review", value=False), READY]}
    sets = {"kind": "action", "id": "sets", "name": "Sets", "actions": [SET]}
    ways = [{"to": "build", "condition": around}, {"to": "asks", "isDefault": True}]
    files = folder(
        activity("plan", steps=[sets], transitions=ways),
        asking(),
        activity("build", steps=[activity_step("make")]),
        about=about(),
    )
    publish_folder(floor.desk, files, FOLDER)

    if dialect == "navigation":
        at = nav_step(floor, nav_start(floor, FOLDER)["state"], "sets")
        nav(floor, at["state"], "transition", activity_id="build")
    else:
        hand_next(floor, dialect, hand_in(floor, dialect, FOLDER, "plan"), "build", "sets")

    assert "make" not in reached()


NO = equals("approved", value=False)
# Ways behind the one to which a person's `no` leads, which hold as well, or which an agent might claim.
BEHIND_NO = {
    "without a condition": {},
    "by a condition": {"condition": {**NO, "operator": "exists"}},
    "by what nobody has set": {"condition": READY},
    "as the default, by what nobody has set": {"condition": READY, "isDefault": True},
    "as the default that stands first": {"condition": READY, "isDefault": True, "stands": 0},
}


@pytest.mark.parametrize("way", BEHIND_NO)
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_the_first_way_that_holds_is_the_one_where_an_answer_leads(floor, dialect, way):
    behind = {"to": "build", **BEHIND_NO[way]}
    ways = [{"to": "redo", "condition": NO}]
    ways.insert(behind.pop("stands", 1), behind)
    publish_answers(floor, {"approved": False}, ways=ways)

    goes_to_build(floor, dialect, at := answered_no(floor, dialect), {})

    assert "make" not in reached()
    if dialect == "navigation":
        nav(floor, at["state"], "transition", activity_id="redo")
        done = nav_step(floor, at["state"], "after")
        assert nav(floor, done["state"], "transition", activity_id="redo")["success"]


@pytest.mark.parametrize("dialect", ["navigation", *HANDED_OVER])
def test_nobody_goes_behind_the_first_way_that_holds_past_people(floor, dialect):
    sets = {"kind": "action", "id": "sets", "name": "Sets", "actions": [SET]}
    ways = [{"to": "asks", "condition": equals("review", value=True)}, {"to": "build"}]
    plan = activity("plan", steps=[sets], transitions=ways)
    files = folder(plan, asking(), activity("build", steps=[activity_step("make")]), about=about())
    publish_folder(floor.desk, files, FOLDER)

    if dialect == "navigation":
        at = nav_step(floor, nav_start(floor, FOLDER)["state"], "sets")
        refused = nav(floor, at["state"], "transition", activity_id="build")
        assert "Another way applies" in str(refused["availableActions"]["blocked"])
    else:
        hand_next(floor, dialect, hand_in(floor, dialect, FOLDER, "plan"), "build", "sets")

    assert "make" not in reached()


@pytest.mark.parametrize("first", [{}, {"condition": READY}])
@pytest.mark.parametrize("dialect", ["navigation", *HANDED_OVER])
def test_where_no_condition_holds_an_agent_chooses_among_the_ways(floor, dialect, first):
    publish_answers(floor, {"approved": False}, ways=[{"to": "redo", **first}, {"to": "build"}])

    goes_to_build(floor, dialect, answered_no(floor, dialect), {})

    assert "make" in reached()


# What a person's answer sets, and what an agent says instead: all but a condition would take one for the other.
ALIKE = {"no for 0": (False, 0), "no for 0.0": (False, 0.0), "yes for 1": (True, 1), "1 for yes": (1, True)}


@pytest.mark.parametrize("alike", ALIKE)
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_no_agent_puts_another_kind_of_value_in_place_of_what_an_answer_set(floor, dialect, alike):
    given, claim = ALIKE[alike]
    publish_answers(floor, {"approved": given}, to_redo=equals("approved", given))

    goes_to_build(floor, dialect, answered_no(floor, dialect), {"approved": claim})

    assert "make" not in reached()


@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_no_dotted_name_hides_what_an_answer_set(floor, dialect):
    publish_answers(floor, {"plan": {"ok": False}}, to_build=equals("plan.ok", value=True))

    goes_to_build(floor, dialect, answered_no(floor, dialect), {"plan.ok": True})

    assert "make" not in reached()


@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_no_dotted_name_that_was_there_before_hides_what_an_answer_sets(floor, dialect):
    publish_answers(
        floor, {"plan": {"ok": False}}, to_build=equals("plan.ok", value=True), steps=[activity_step("first")]
    )

    goes_to_build(floor, dialect, answered_no(floor, dialect, {"plan.ok": True}), {})

    assert "make" not in reached()


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_no_dotted_name_from_an_activity_before_hides_what_an_answer_sets(floor, dialect):
    plan = activity(
        "plan",
        checkpoints=[
            checkpoint(
                "agreed",
                options=[{"id": "no", "label": "No", "effect": {"setVariable": {"plan": {"ok": False}}}}],
                **ASKS,
            )
        ],
        steps=[activity_step("draft", checkpoint="agreed"), activity_step("after")],
        transitions=[{"to": "build", "condition": equals("plan.ok", value=True)}, {"to": "redo", "isDefault": True}],
    )
    files = folder(
        activity("start", steps=[activity_step("first")], transitions=[{"to": "plan"}]),
        plan,
        activity("build", steps=[activity_step("make")]),
        activity("redo", steps=[activity_step("again")]),
        about=about() | {"initialActivity": "start"},
    )
    publish_folder(floor.desk, files, FOLDER)
    token = hand_in(floor, dialect, FOLDER, "start")
    token = told(floor, dialect, token, "plan", ("first", {"context": {"plan.ok": True}}))["session_token"]
    if dialect == "orchestrator":
        said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
    person_answers(floor, "no")

    hand_next(floor, dialect, token, "build", "draft", "after")

    assert "make" not in reached()


# What the activity that is jumped over sets, what the agent says of it instead, and what is read of it.
UNSET = {
    "1 for yes": ("review", True, {"review": 1}, "review"),
    "a dotted name": ("review.on", True, {}, "review.on"),
    "a whole for a dotted name": ("review.on", True, {"review": {"on": False}}, "review.on"),
    "a dotted name for a whole": ("review", {"on": True}, {"review.on": False}, "review.on"),
}


@pytest.mark.parametrize("unset", UNSET)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_is_jumped_over_sets_more_than_what_looks_alike(floor, dialect, unset):
    target, value, claim, read = UNSET[unset]
    files = folder(
        activity("plan", steps=[activity_step("draft")], transitions=[{"to": "check"}]),
        activity(
            "check",
            steps=[activity_step("look")],
            exitActions=[{"action": "set", "target": target, "value": value}],
            transitions=[{"to": "middle"}],
        ),
        activity("middle", steps=[activity_step("more")], transitions=ways_by(read)),
        asking(),
        activity("build", steps=[activity_step("make")]),
        about=about(),
    )
    publish_folder(floor.desk, files, FOLDER)
    found = {"context": claim}
    token = hand_in(floor, dialect, FOLDER, "plan")

    over = told(floor, dialect, token, "middle", ("draft", found))
    token = told(floor, dialect, over.get("session_token", token), "build", ("more", {})).get("session_token", token)
    assert "make" not in reached()

    token = told(floor, dialect, token, "check", ("draft", found))["session_token"]
    token = told(floor, dialect, token, "middle", ("look", found))["session_token"]
    assert "code" in told(floor, dialect, token, "build", ("more", {}))
    assert "code" not in told(floor, dialect, token, "asks", ("more", {}))


ORDERS = {"before": ("relayed", "agreed"), "behind": ("agreed", "relayed")}


@pytest.mark.parametrize("where", ["top", "loop"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_an_answer_relayed_out_of_turn_changes_nothing_that_a_person_has_set(floor, dialect, order, where):
    """The work comes to one of the questions first, and whatever is answered there is set by the other one anew."""
    first, second = ORDERS[order]
    go = [{"id": "go", "label": "Go", "effect": {"setVariable": {"approved": True}}}]
    steps = [activity_step("draft", checkpoint=first), activity_step("after", checkpoint=second)]
    if where == "loop":
        steps = [
            {
                "kind": "loop",
                "id": "rounds",
                "name": "Rounds",
                "loopType": "forEach",
                "over": "items",
                "variable": "item",
                "maxIterations": 5,
                "steps": steps,
            }
        ]
    plan = activity(
        "plan",
        checkpoints=[checkpoint("relayed", options=go), checkpoint("agreed", options=SETS, **ASKS)],
        steps=steps,
        transitions=[{"to": "build", "condition": equals("approved", value=True)}, {"to": "redo", "isDefault": True}],
    )
    files = folder(
        plan,
        activity("build", steps=[activity_step("make")]),
        activity("redo", steps=[activity_step("again")]),
        about=about(variables=[{"name": "items", "type": "array", "defaultValue": ["one"]}]),
    )
    publish_folder(floor.desk, files, FOLDER)
    token = person_says(floor, dialect, hand_in(floor, dialect, FOLDER, "plan"), "no")

    token = responded(floor, dialect, token, "relayed", option_id="go")
    hand_next(floor, dialect, token, "build", "draft", "after")

    assert ("make" in reached()) is (order == "behind")


RELEASES = {
    "kind": "action",
    "id": "release",
    "name": "Release",
    "actions": [{"action": "set", "target": "approved", "value": True}],
}
CLEARED = equals("cleared", value=True)
# Where the step stands that sets anew what the answer has set, once it is cleared.
IN_TURN = {
    "condition": {**RELEASES, "condition": CLEARED},
    "left to the agent": {**RELEASES, "condition": CLEARED, "actions": [{"action": "set", "target": "approved"}]},
    "no round": {"loopType": "while", "condition": CLEARED, "maxIterations": 1, "steps": [RELEASES]},
    "loop left out": {
        "loopType": "forEach",
        "over": "items",
        "variable": "item",
        "maxIterations": 1,
        "condition": CLEARED,
        "steps": [RELEASES],
    },
}


@pytest.mark.parametrize("option", ["no", "later"])
@pytest.mark.parametrize("where", IN_TURN)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_an_answer_has_set_is_set_anew_by_a_step_in_its_turn_alone(floor, dialect, where, option):
    options = [
        {"id": name, "label": name, "effect": {"setVariable": {"approved": False, "cleared": name == "later"}}}
        for name in ("no", "later")
    ]
    release, says = IN_TURN[where], {"context": {"approved": True}} if where == "left to the agent" else {}
    if "loopType" in release:
        release = {"kind": "loop", "id": "rounds", "name": "Rounds", **release}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, **ASKS)],
        steps=[activity_step("draft", checkpoint="agreed"), release],
        transitions=[{"to": "build", "condition": equals("approved", value=True)}, {"to": "redo", "isDefault": True}],
    )
    redo = activity(
        "redo",
        checkpoints=[checkpoint("again", **ASKS)],
        steps=[activity_step("asked", checkpoint="again")],
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "items", "type": "array", "defaultValue": ["one"]}]
    files = folder(plan, redo, activity("build", steps=[activity_step("make")]), about=about(variables=variables))
    publish_folder(floor.desk, files, FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")
    if dialect == "orchestrator":
        token = floor.orchestrator("yield_checkpoint", session_token=token, checkpoint_id="agreed")["session_token"]
    person_answers(floor, option)
    if dialect == "orchestrator":
        token = floor.orchestrator("resume_checkpoint", session_token=token)["session_token"]

    told(floor, dialect, token, "build", ("draft", {}), ("release", says))
    assert ("make" in reached()) is (option == "later")

    if option == "no":
        went = hand_next(floor, dialect, token, "redo", "draft", "release")
        assert "approved stays as an answer has set it" in str(went["warnings"])


APPROVED = equals("approved", value=True)
# What an option does that a person's answer rules out, as the condition of its question or of its step says.
ASKED_UNDER_NO = {
    "leads": {"transitionTo": "build"},
    "sets": {"setVariable": {"approved": True}},
    "leaves out": {"skipActivities": ["asks"]},
}


@pytest.mark.parametrize("turn", ["first", "then"])
@pytest.mark.parametrize("by", ["question", "step"])
@pytest.mark.parametrize("does", ASKED_UNDER_NO)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_question_that_a_persons_answer_rules_out_does_nothing(floor, dialect, does, by, turn):
    options = [{"id": "go", "label": "Go", "effect": ASKED_UNDER_NO[does]}]
    condition = {"condition": APPROVED}
    plan = activity(
        "plan",
        checkpoints=[
            checkpoint("agreed", options=SETS, **ASKS),
            checkpoint("other", options=options, **(condition if by == "question" else {})),
        ],
        steps=[
            activity_step("draft", checkpoint="agreed"),
            activity_step("ship", checkpoint="other", **(condition if by == "step" else {})),
        ],
        transitions=[{"to": "build", "condition": APPROVED}, {"to": "asks", "isDefault": True}],
    )
    publish_folder(
        floor.desk, folder(plan, asking(), activity("build", steps=[activity_step("make")]), about=about()), FOLDER
    )
    token = hand_in(floor, dialect, FOLDER, "plan")
    if turn == "first":
        token = responded(floor, dialect, token, "other", option_id="go")
    token = person_says(floor, dialect, token, "no")
    if turn == "then":
        token = responded(floor, dialect, token, "other", option_id="go")

    hand_next(floor, dialect, token, "build", "draft")
    went = hand_next(floor, dialect, token, "asks", "draft")

    assert "make" not in reached()
    assert went.get("id", went.get("activity_id")) == "asks"


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_question_that_nobody_rules_out_does_what_its_option_says(floor, dialect):
    """What its condition reads is found out by the agent, who tells of it later."""
    options = [{"id": "go", "label": "Go", "effect": {"transitionTo": "build"}}]
    found = {"type": "and", "conditions": [APPROVED, equals("found", value=True)]}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=SETS, **ASKS), checkpoint("other", options=options, condition=found)],
        steps=[activity_step("draft", checkpoint="agreed"), activity_step("ship", checkpoint="other")],
        transitions=[{"to": "asks"}],
    )
    variables = [{"name": "found", "type": "boolean", "defaultValue": False}]
    files = folder(plan, asking(), activity("build", steps=[activity_step("make")]), about=about(variables=variables))
    publish_folder(floor.desk, files, FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")
    token = person_says(floor, dialect, token, "yes")
    token = responded(floor, dialect, token, "other", option_id="go")

    hand_next(floor, dialect, token, "build", "draft", "ship")

    assert "make" in reached()


# What the other option of a person's question sets, and what they have chosen sets nothing of.
SILENT = {
    "nothing": {"id": "no", "label": "No"},
    "something else": {"id": "no", "label": "No", "effect": {"setVariable": {"why": "too early"}}},
}
YES = {"id": "yes", "label": "Yes", "effect": {"setVariable": {"approved": True}}}
BY_APPROVED = [{"to": "build", "condition": equals("approved", value=True)}, {"to": "redo", "isDefault": True}]


@pytest.mark.parametrize("silent", SILENT)
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_what_a_person_did_not_choose_is_not_the_agents_to_set(floor, dialect, silent):
    publish_options(floor, [YES, SILENT[silent]], BY_APPROVED)

    at = answered_no(floor, dialect)
    refused = goes_to_build(floor, dialect, at, {"approved": True})

    assert "make" not in reached()
    if dialect != "navigation":
        assert (refused["details"]["reason"], refused["details"]["keys"]) == ("SET_BY_ANSWER", ["approved"])
    on = goes_to_build(floor, dialect, at, {})
    if dialect in HANDED_OVER:
        told(floor, dialect, on.get("session_token", at["session_token"]), "redo", ("draft", {}), ("after", {}))
    elif dialect == "navigation":
        assert not on["success"]
        nav(floor, on.get("state", at["state"]), "transition", activity_id="redo")
    assert {"again"} <= reached()


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_what_an_agents_user_did_not_choose_stays_the_agents(floor, dialect):
    """What is passed on is the agent's word either way."""
    publish_options(floor, [YES, SILENT["nothing"]], BY_APPROVED, message="Is it right?")
    token = hand_in(floor, dialect, FOLDER, "plan")
    if dialect == "orchestrator":
        said(floor.orchestrator.raw("yield_checkpoint", session_token=token, checkpoint_id="agreed"))
    floor.read_it()
    token = responded(floor, dialect, token, "agreed", option_id="no")

    goes_to_build(floor, dialect, {"session_token": token}, {"approved": True})

    assert "make" in reached()


# What reads a part of a variable that an option would have set by its dotted name, and what an agent says of the whole.
WHOLES = {
    "a part": ("review.approved", {"review": {"approved": True}}),
    "a part of a part": ("review.of.approved", {"review": {"of": {"approved": True}}}),
    "a member of a list": ("reviews.0", {"reviews": [True]}),
}


@pytest.mark.parametrize("whole", WHOLES)
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_what_a_person_did_not_choose_is_not_set_with_the_whole_of_which_it_is_a_part(floor, dialect, whole):
    name, claim = WHOLES[whole]
    yes = {"id": "yes", "label": "Yes", "effect": {"setVariable": {name: True}}}
    ways = [{"to": "build", "condition": equals(name, value=True)}, {"to": "redo", "isDefault": True}]
    publish_options(floor, [yes, SILENT["nothing"]], ways)

    at = answered_no(floor, dialect)
    goes_to_build(floor, dialect, at, claim)

    assert "make" not in reached()


@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_what_else_is_in_a_whole_is_the_agents(floor, dialect):
    yes = {"id": "yes", "label": "Yes", "effect": {"setVariable": {"review.approved": True}}}
    ways = [{"to": "build", "condition": equals("review.done", value=True)}, {"to": "redo", "isDefault": True}]
    publish_options(floor, [yes, SILENT["nothing"]], ways)

    at = answered_no(floor, dialect)
    goes_to_build(floor, dialect, at, {"review": {"done": True}})

    assert "make" in reached()


@pytest.mark.parametrize("is_cleared", [True, False])
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_what_a_step_leaves_to_the_agent_by_a_condition_is_theirs_where_it_holds(floor, dialect, is_cleared):
    leaves = {"action": "set", "target": "approved", "condition": equals("cleared", value=True)}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=SETS, **ASKS)],
        steps=[
            activity_step("draft", checkpoint="agreed"),
            {"kind": "action", "id": "after", "name": "After", "actions": [leaves]},
        ],
        transitions=BY_APPROVED,
    )
    variables = [{"name": "cleared", "type": "boolean", "defaultValue": is_cleared}]
    others = (activity("build", steps=[activity_step("make")]), activity("redo", steps=[activity_step("again")]))
    publish_folder(floor.desk, folder(plan, *others, about=about(variables=variables)), FOLDER)

    at = answered_no(floor, dialect)
    goes_to_build(floor, dialect, at, {"approved": True})

    assert ("make" in reached()) is is_cleared


# Where the way leads nowhere that the person's answer opens, which leaves that activity out.
DEAD_ENDS = {
    "by the next way": (
        {"to": "redo", "condition": equals("approved", value=False)},
        {"to": "build", "condition": APPROVED},
    ),
    "by the way before": (
        {"to": "build", "condition": APPROVED},
        {"to": "redo", "condition": equals("approved", value=False)},
    ),
    "by the default": (
        {"to": "redo", "condition": equals("approved", value=False)},
        {"to": "build", "isDefault": True},
    ),
}


@pytest.mark.parametrize("ways", DEAD_ENDS)
def test_by_hand_no_other_way_opens_where_the_one_that_a_person_chose_leads_nowhere(floor, ways):
    no = {"id": "no", "label": "No", "effect": {"setVariable": {"approved": False}, "skipActivities": ["redo"]}}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=[YES, no], **ASKS)],
        steps=[activity_step("draft", checkpoint="agreed"), activity_step("after")],
        transitions=list(DEAD_ENDS[ways]),
    )
    back = [{"to": "plan", "condition": equals("again", value=True)}]
    redo = activity("redo", steps=[activity_step("again")], transitions=back)
    publish_folder(
        floor.desk, folder(plan, redo, activity("build", steps=[activity_step("make")]), about=about()), FOLDER
    )

    at = answered_no(floor, "navigation")
    refused = goes_to_build(floor, "navigation", at, {})

    assert "make" not in reached()
    ended = nav(floor, refused["state"], "transition", activity_id="end-workflow")
    assert ended["success"]
    assert COMPLETE in reached()


REVIEW = equals("review", value=True)
# What is asked once a step before it is done, by what that step sets.
ASKED_THEN = {
    "the question of a step": {**activity_step("asks", checkpoint="agreed"), "condition": REVIEW},
    "a question of its own": {"kind": "checkpoint", "id": "agreed", "options": SETS, **ASKS, "condition": REVIEW},
    "a loop": {
        "kind": "loop",
        "id": "rounds",
        "name": "Rounds",
        "loopType": "doWhile",
        "condition": REVIEW,
        "when": REVIEW,
        "steps": [activity_step("asks", checkpoint="agreed")],
    },
}


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("asked", ASKED_THEN)
def test_by_hand_nothing_is_done_before_people_whom_a_step_before_it_asks(floor, asked, value):
    sets = {"kind": "action", "id": "sets", "name": "Sets", "actions": [{**SET, "value": value}]}
    inline = ASKED_THEN[asked].get("kind") == "checkpoint"
    plan = activity(
        "plan",
        checkpoints=[] if inline else [checkpoint("agreed", **ASKS)],
        steps=[sets, ASKED_THEN[asked], activity_step("after")],
        transitions=[{"to": "build"}],
    )
    variables = [{"name": "review", "type": "boolean", "defaultValue": False}]
    files = folder(plan, activity("build", steps=[activity_step("make")]), about=about(variables=variables))
    publish_folder(floor.desk, files, FOLDER)
    at = nav_start(floor, FOLDER)

    early = nav_step(floor, at["state"], "after")

    assert early["success"] is not value
    done = nav_step(floor, early.get("state", at["state"]), "sets")
    assert done["success"]


def asking_twice(options, ways, **before):
    """`prepare` before the question of `plan`, which may be come back to."""
    prepare = activity("prepare", steps=[activity_step("look")], transitions=[{"to": "plan"}], **before)
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, **ASKS)],
        steps=[activity_step("draft", checkpoint="agreed"), activity_step("after")],
        transitions=ways,
    )
    redo = activity("redo", steps=[activity_step("again")], transitions=[{"to": "plan"}])
    return folder(prepare, plan, redo, activity("build", steps=[activity_step("make")]), about=about() | FIRST)


FIRST = {"initialActivity": "prepare"}
# When an agent says what a person is still to be asked.
CLAIMED = ("at the start", "before the activity", "in the activity", "where it waits", "before it is asked once more")


def says_no(floor, dialect, at):
    if dialect in HANDED_OVER:
        return {"session_token": person_says(floor, dialect, at["session_token"], "no")}
    (row,) = [row for row in questions() if row.state == "open"]
    floor.read_it()
    answer(floor.desk.person, row, "no", now=timezone.now())
    if dialect == "rail":
        return said(floor.rail.raw("continue_workflow", stateToken=at["stateToken"]))
    return said(floor.navigation.raw("nav_situation", state=at["state"]))


def does(floor, dialect, at, name, claim=None, *, then=""):
    """A step is done, with what the agent claims; `then` is the activity that follows it."""
    more = {"context": claim} if claim else {}
    if dialect == "rail":
        return rail_ack(floor, at, **more)
    if dialect == "navigation":
        at = nav(floor, at["state"], "complete_step", step_id=name, **more)
        return nav(floor, at["state"], "transition", activity_id=then) if then else at
    if then:
        names = ("draft", "after") if name == "after" else (name,)
        entries = [(each, more if each == name else {}) for each in names]
        return at | told(floor, dialect, at["session_token"], then, *entries)
    return at


def comes_to_no(floor, dialect, when, claim):
    """Where the run stands after a `no` to a question of which the agent has said the answer before."""

    def if_then(moment):
        return claim if when == moment else None

    if dialect == "rail":
        at = rail_start(floor, FOLDER, **({"context": claim} if when == "at the start" else {}))
    elif dialect == "navigation":
        at = nav_start(floor, FOLDER, **(if_then("at the start") or {}))
    else:
        at = {"session_token": hand_in(floor, dialect, FOLDER, "prepare")}
    at = does(floor, dialect, at, "look", if_then("before the activity"), then="plan")
    at = does(floor, dialect, at, "draft", if_then("in the activity"))
    if when == "where it waits":
        rail_ack(floor, at, context=claim)
    at = says_no(floor, dialect, at)
    if when == "before it is asked once more":
        at = does(floor, dialect, at, "after", then="redo")
        at = does(floor, dialect, at, "again", claim, then="plan")
        at = says_no(floor, dialect, does(floor, dialect, at, "draft"))
    return at


SAID_BEFORE = [
    *(("rail", when) for when in CLAIMED if when != "at the start"),
    *(("navigation", when) for when in CLAIMED if when != "where it waits"),
    *((dialect, when) for dialect in HANDED_OVER for when in ("before the activity", "before it is asked once more")),
]
# What the person's `yes` would set, what an agent says of it, and how it is read.
CLAIMS = {
    "the same": ("approved", {"approved": True}, equals("approved", value=True)),
    "what holds as well": ("approved", {"approved": "yes"}, {**equals("approved", value=False), "operator": "exists"}),
    "the same in a whole": ("review.approved", {"review": {"approved": True}}, equals("review.approved", value=True)),
    "the same by its name": ("review.approved", {"review.approved": True}, equals("review.approved", value=True)),
    "another one that holds": ("heat", {"heat": 1300}, {**equals("heat", value=1000), "operator": ">"}, 1200),
    "one in another form": ("who", {"who": ""}, {**equals("who", value=False), "operator": "exists"}, "ann"),
    "more than it": ("plan", {"plan": {"ok": True, "by": "it"}}, equals("plan.ok", value=True), {"ok": True}),
    "another list": ("parts", {"parts": ["b", "c"]}, {**equals("parts", value=False), "operator": "exists"}, ["a"]),
    "a part of what must hold": (
        "heat",
        {"heat": 1300},
        {"type": "and", "conditions": [{**equals("heat", value=1000), "operator": ">"}, equals("ready", value=True)]},
        1200,
    ),
}


@pytest.mark.parametrize("claims", CLAIMS)
@pytest.mark.parametrize(("dialect", "when"), SAID_BEFORE)
def test_what_an_agent_said_before_is_no_answer_that_a_person_did_not_choose(floor, dialect, when, claims):
    name, claim, condition, *value = CLAIMS[claims]
    yes = {"id": "yes", "label": "Yes", "effect": {"setVariable": {name: value[0] if value else True}}}
    ways = [{"to": "build", "condition": condition}, {"to": "redo", "isDefault": True}]
    publish_folder(floor.desk, asking_twice([yes, SILENT["nothing"]], ways), FOLDER)

    at = comes_to_no(floor, dialect, when, claim)
    does(floor, dialect, at, "after", {"ready": True} if claims == "a part of what must hold" else None, then="build")

    assert "make" not in reached()


@pytest.mark.parametrize("kind", ["another value", "what the workflow sets"])
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_what_an_agent_found_out_stays_where_a_person_leaves_it(floor, dialect, kind):
    """Nobody has declined what is there."""
    more = {"id": "yes", "label": "More", "effect": {"setVariable": {"depth": "full"}}}
    found = "short" if kind == "another value" else "full"
    ways = [{"to": "build", "condition": equals("depth", value=found)}, {"to": "redo", "isDefault": True}]
    sets = {"exitActions": [{"action": "set", "target": "depth", "value": found}]} if found == "full" else {}
    publish_folder(floor.desk, asking_twice([more, SILENT["nothing"]], ways, **sets), FOLDER)

    at = comes_to_no(floor, dialect, "before the activity", {"depth": found})
    does(floor, dialect, at, "after", then="build")

    assert "make" in reached()


# By what it is said whether a person is asked further on: a question, its step, the rounds around it, or a mode.
FURTHER_ON = ("question", "step", "rounds", "mode")


@pytest.mark.parametrize("further", FURTHER_ON)
@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_what_a_person_answered_stays_theirs_where_it_says_whether_people_are_asked_further_on(floor, dialect, further):
    """The way has read it, and the agent says otherwise before it is read again."""
    name = {"mode": "quick", "rounds": "approved"}.get(further, "risk")
    asked_if = equals(name, "high") if name == "risk" else equals(name, value=False)
    options = [
        {"id": answered, "label": answered, "effect": {"setVariable": {name: value}}}
        for answered, value in (("no", asked_if["value"]), ("yes", "low" if name == "risk" else True))
    ]
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, **ASKS)],
        steps=[activity_step("draft", checkpoint="agreed")],
        transitions=[{"to": "middle", "condition": asked_if}, {"to": "build", "isDefault": True}],
    )
    asked = activity_step("asked", checkpoint="again", **({"condition": asked_if} if further == "step" else {}))
    if further == "rounds":
        asked = {"kind": "loop", "id": "rounds", "name": "Rounds", "loopType": "while", "condition": asked_if} | {
            "maxIterations": 1,
            "steps": [asked],
        }
    condition = {"condition": asked_if} if further == "question" else {}
    asks = activity(
        "asks", checkpoints=[checkpoint("again", **condition, **ASKS)], steps=[asked], transitions=[{"to": "build"}]
    )
    middle = activity("middle", steps=[activity_step("after")], transitions=[{"to": "asks"}])
    mode = {"id": "m", "name": "m", "activationVariable": "quick", "skipActivities": ["asks"]}
    modes = {"modes": [mode]} if further == "mode" else {}
    build = activity("build", steps=[activity_step("make")])
    publish_folder(floor.desk, folder(plan, middle, asks, build, about=about(**modes)), FOLDER)

    at = answered_no(floor, dialect)
    claim = {name: options[1]["effect"]["setVariable"][name]}
    if dialect == "rail":
        at = rail_ack(floor, at, context=claim)
    elif dialect == "navigation":
        at = nav(floor, at["state"], "transition", activity_id="middle")
        done = nav(floor, at["state"], "complete_step", step_id="after", context=claim)
        for target in ("asks", "build"):
            done = nav(floor, done.get("state", at["state"]), "transition", activity_id=target)
    else:
        at = told(floor, dialect, at["session_token"], "middle", ("draft", {}))
        for target in ("asks", "build"):
            at |= told(floor, dialect, at["session_token"], target, ("after", {"context": claim}))
        told(floor, dialect, at["session_token"], "build", ("asked", {}))

    assert "make" not in reached()
    if dialect == "rail":
        assert at["details"]["reason"] == "SET_BY_ANSWER"


@pytest.mark.parametrize("dialect", ["rail", "navigation", *HANDED_OVER])
def test_a_question_is_asked_again_whose_condition_reads_what_a_person_has_answered(floor, dialect):
    options = [YES, {"id": "no", "label": "No", "effect": {"setVariable": {"approved": False}}}]
    unless = {**equals("approved", value=True), "operator": "!="}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, condition=unless, **ASKS)],
        steps=[activity_step("draft", checkpoint="agreed")],
        transitions=BY_APPROVED,
    )
    redo = activity("redo", steps=[activity_step("after")], transitions=[{"to": "plan"}])
    publish_folder(
        floor.desk, folder(plan, redo, activity("build", steps=[activity_step("make")]), about=about()), FOLDER
    )
    claim = {"approved": True}

    at = answered_no(floor, dialect)
    if dialect == "rail":
        rail_ack(floor, at, context=claim)
        at = rail_ack(floor, at)
        rail_ack(floor, at)
    elif dialect == "navigation":
        at = nav(floor, at["state"], "transition", activity_id="redo")
        done = nav(floor, at["state"], "complete_step", step_id="after", context=claim)
        assert not done.get("success")
        at = nav_step(floor, at["state"], "after")
        at = nav(floor, at["state"], "transition", activity_id="plan")
        at = nav_step(floor, at["state"], "draft")
        nav(floor, at["state"], "transition", activity_id="build")
    else:
        at = told(floor, dialect, at["session_token"], "redo", ("draft", {}))
        at |= told(floor, dialect, at["session_token"], "plan", ("after", {"context": claim}))
        at |= told(floor, dialect, at["session_token"], "plan", ("after", {}))
        told(floor, dialect, at["session_token"], "build", ("draft", {}))
    assert "make" not in reached()

    if dialect == "orchestrator":
        person_says(floor, dialect, at["session_token"], "yes")
    else:
        person_answers(floor, "yes")
    assert [row.option_id for row in questions()] == ["no", "yes"]


@pytest.mark.parametrize("target", ["build", "plan"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_nobody_begins_anew_behind_a_persons_no(floor, dialect, target):
    """What leads around people from the first activity leads around them at the start alone."""
    plan = activity("plan", steps=[activity_step("look")], transitions=ways_by())
    asks = activity(
        "asks",
        checkpoints=[checkpoint("agreed", options=SETS, **ASKS)],
        steps=[activity_step("draft", checkpoint="agreed")],
        transitions=BY_APPROVED,
    )
    redo = activity("redo", steps=[activity_step("again")], transitions=[{"to": "asks"}])
    build = activity("build", steps=[activity_step("make")])
    publish_folder(floor.desk, folder(plan, asks, redo, build, about=about()), FOLDER)
    at = {"session_token": hand_in(floor, dialect, FOLDER, "plan")}
    at |= told(floor, dialect, at["session_token"], "asks", ("look", {"context": {"review": True}}))
    at = says_no(floor, dialect, at)
    at |= told(floor, dialect, at["session_token"], "redo", ("draft", {}))

    at |= told(floor, dialect, at["session_token"], target, ("again", {"context": {"review": False}}))
    told(floor, dialect, at["session_token"], "build", ("look", {}))

    assert "make" not in reached()
    assert "asks" in str(told(floor, dialect, at["session_token"], "asks", ("again", {})))


# A person's `no` leads to what is no activity, as older readers let it pass: by its option, or by the way that holds.
NOWHERE = {
    "option": ({"transitionTo": "abort"}, [{"to": "build"}]),
    "way": ({"setVariable": {"approved": False}}, [{"to": "abort", "condition": NO}, {"to": "build"}]),
}


@pytest.mark.parametrize("by", NOWHERE)
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_where_a_persons_no_leads_to_no_activity_the_run_ends(floor, dialect, by):
    effect, ways = NOWHERE[by]
    options = [{"id": "no", "label": "No", "effect": effect}, {"id": "yes", "label": "Yes"}]
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, **ASKS)],
        steps=[activity_step("draft", checkpoint="agreed")],
        transitions=ways,
    )
    source = Source(
        format=SourceFormat.ACTIVITY_FOLDER,
        files=folder(plan, activity("build", steps=[activity_step("make")]), about=about()),
        strictness=Strictness.LEGACY,
    )
    saved = create_workflow(actor=floor.desk.person, source=source, message="", now=NOW)
    publish(floor.desk.person, FOLDER, saved.revision.number)

    at = answered_no(floor, dialect)
    told(floor, dialect, at["session_token"], "build", ("draft", {}))
    told(floor, dialect, at["session_token"], "plan", ("draft", {}))
    assert not reached() & {"make", COMPLETE}

    told(floor, dialect, at["session_token"], "workflow-end", ("draft", {}))
    assert COMPLETE in reached()


def deciding(asks):
    """A step, and a loop, that are done only where the answer was yes."""
    options = [
        {"id": "yes", "label": "Yes", "effect": {"setVariable": {"approved": True}}},
        {"id": "no", "label": "No", "effect": {"setVariable": {"approved": False}}},
        {"id": "later", "label": "Later"},
    ]
    sends = {"id": "rounds", "name": "Rounds", "type": "forEach", "over": "list", "maxIterations": 3}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, **asks)],
        steps=[
            activity_step("draft", checkpoint="agreed"),
            activity_step("send", condition=equals("approved", value=True)),
            activity_step("free"),
        ],
        loops=[{**sends, "condition": equals("approved", value=True), "steps": [activity_step("copy")]}],
        transitions=[{"to": "build"}],
    )
    variables = [
        {"name": "approved", "type": "boolean", "defaultValue": False},
        {"name": "list", "type": "array", "defaultValue": ["one"]},
    ]
    return folder(plan, activity("build", steps=[activity_step("make")]), about=about(variables=variables))


@pytest.mark.parametrize("step_id", ["send", "copy", "free"])
@pytest.mark.parametrize("option_id", ["yes", "no", "later"])
@pytest.mark.parametrize("asks", [ASKS, {}], ids=["a person", "the agent's user"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_a_step_that_an_answer_has_ruled_out_is_not_told_as_done_without_a_word(
    floor, dialect, asks, option_id, step_id
):
    publish_folder(floor.desk, deciding(asks), FOLDER)
    token = hand_in(floor, dialect, FOLDER, "plan")
    if asks:
        token = person_says(floor, dialect, token, option_id)
    else:
        token = responded(floor, dialect, token, "agreed", option_id=option_id)

    reply = told(floor, dialect, token, "build", ("draft", {}), (step_id, {}))

    named = [each for each in reply.get("warnings", []) if repr(step_id) in each and "approved" in each]
    is_ruled_out = option_id == "no" or (option_id == "later" and bool(asks))
    assert len(named) == (step_id != "free" and is_ruled_out), reply
    assert step_id in reached()
