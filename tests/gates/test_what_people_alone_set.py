"""What only people's answers set, and what says whether people are asked, is nobody else's to say: not even before the first answer."""

import pytest
from django.utils import timezone

from sessions_app.models import Run
from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step
from tests.checkpoint_cast import answer, publish_folder
from tests.gate_play import (
    FOLDER,
    HANDED_OVER,
    hand_in,
    nav,
    nav_start,
    questions,
    rail_ack,
    rail_start,
    reached,
    rest_floor,
    said,
)
from tests.gates.test_answers_and_children import DIALECTS, child_of, run_of
from tests.gates.test_shown_questions import CHILD
from tests.gates.test_what_leads_past_people import ASKS, FIRST, about, does, told

pytestmark = pytest.mark.django_db(transaction=True)

EVERY_DIALECT = ["rail", "navigation", *HANDED_OVER]
UNLESS = {**equals("approved", value=True), "operator": "!="}
YES = {"id": "yes", "label": "Yes", "effect": {"setVariable": {"approved": True}}}
NO = {"id": "no", "label": "No", "effect": {"setVariable": {"approved": False}}}
# By what it is said whether the person is asked.
SAYS = ("question", "step", "rounds", "mode", "way")
# What an agent says of it.
CLAIMS = {
    "the value": ("approved", {"approved": True}),
    "in a whole": ("review.approved", {"review": {"approved": True}}),
    "by its name": ("review.approved", {"review.approved": True}),
}


def presuming(says="question", name="approved", workflow_id=FOLDER, others=(), variables=(), **before):
    """A person is asked in `plan` unless they have said yes before, which no way reads."""
    unless = {**UNLESS, "variable": name}
    options = [{**YES, "effect": {"setVariable": {name: True}}}, {**NO, "effect": {"setVariable": {name: False}}}]
    asked = activity_step("asked", checkpoint="agreed", **({"condition": unless} if says == "step" else {}))
    if says == "rounds":
        kind = {"kind": "loop", "id": "rounds", "name": "Rounds", "loopType": "while", "condition": unless}
        asked = {**kind, "maxIterations": 2, "steps": [asked]}
    condition = {"condition": unless} if says == "question" else {}
    plan = activity(
        "plan",
        checkpoints=[checkpoint("agreed", options=options, **condition, **ASKS)],
        steps=[asked, activity_step("after")],
        transitions=[{"to": "build"}],
    )
    past = [{"to": "build", "condition": equals(name, value=True)}] if says == "way" else []
    ways = [*past, {"to": "plan", "isDefault": True}]
    prepare = activity("prepare", steps=[activity_step("look")], transitions=ways, **before)
    mode = {"id": "m", "name": "m", "activationVariable": name, "skipActivities": ["plan"]}
    modes = {"modes": [mode]} if says == "mode" else {}
    build = activity("build", steps=[activity_step("make")])
    return folder(
        prepare, plan, build, *others, about=about(variables=list(variables), **modes) | FIRST | {"id": workflow_id}
    )


def begins(floor, dialect, activity_id="prepare"):
    if dialect == "rail":
        return rail_start(floor, FOLDER)
    if dialect == "navigation":
        return nav_start(floor, FOLDER)
    return {"session_token": hand_in(floor, dialect, FOLDER, activity_id)}


def goes_on(floor, dialect, at):
    """As far as an agent comes that tries whatever leads to `build`."""
    if dialect == "rail":
        for _ in range(4):
            at = rail_ack(floor, at) if at.get("stateToken") else at
    elif dialect == "navigation":
        for action, named in (
            ("transition", {"activity_id": "plan"}),
            ("complete_step", {"step_id": "asked"}),
            ("complete_step", {"step_id": "after"}),
            ("transition", {"activity_id": "build"}),
        ):
            done = nav(floor, at["state"], action, **named)
            at = done if done.get("success") else at
    else:
        at = at | told(floor, dialect, at["session_token"], "plan", ("look", {}))
        told(floor, dialect, at["session_token"], "build", ("asked", {}), ("after", {}))
        told(floor, dialect, at["session_token"], "build", ("after", {}))


@pytest.mark.parametrize("claims", CLAIMS)
@pytest.mark.parametrize("says", SAYS)
@pytest.mark.parametrize("dialect", EVERY_DIALECT)
def test_no_agent_says_what_only_a_person_is_asked_for(floor, dialect, says, claims):
    name, claim = CLAIMS[claims]
    publish_folder(floor.desk, presuming(says, name), FOLDER)
    at = begins(floor, dialect)

    early = does(floor, dialect, at, "look", claim, then="build" if says == "way" else "plan")
    goes_on(floor, dialect, at if "state" not in early and "stateToken" not in early else early)

    assert "make" not in reached()


@pytest.mark.parametrize("says", SAYS)
def test_a_person_is_asked_whatever_an_agent_has_tried_to_say_before(floor, says):
    publish_folder(floor.desk, presuming(says), FOLDER)
    at = rail_start(floor, FOLDER)

    refused = rail_ack(floor, at, context={"approved": True})
    goes_on(floor, "rail", at)

    assert refused["details"]["reason"] == "SET_BY_ANSWER"
    assert refused["details"]["keys"] == ["approved"]
    (row,) = questions()
    floor.read_it()
    answer(floor.desk.person, row, "yes", now=timezone.now())
    assert [row.option_id for row in questions()] == ["yes"]


@pytest.mark.parametrize("says", SAYS)
@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_nobody_begins_with_what_only_a_person_is_asked_for(floor, dialect, says):
    publish_folder(floor.desk, presuming(says), FOLDER)
    claim = {"approved": True}

    if dialect == "rail":
        refused = floor.rail.raw("start_workflow", workflowId=FOLDER, goal="Try it", context=claim)
    else:
        refused = floor.navigation.raw("nav_start", workflow_id=FOLDER, initial_variables=claim)

    assert "Only people's answers set approved" in str(said(refused))
    assert not Run.objects.exists()


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_nothing_of_a_manifest_is_recorded_that_says_what_only_a_person_is_asked_for(floor, dialect):
    publish_folder(floor.desk, presuming(), FOLDER)
    at = begins(floor, dialect)
    before = reached()

    refused = told(floor, dialect, at["session_token"], "plan", ("look", {"context": {"approved": True, "more": 1}}))

    assert "Only people's answers set approved" in str(refused)
    assert reached() == before
    assert "session_token" in told(floor, dialect, at["session_token"], "plan", ("look", {"context": {"more": 1}}))


def led_by(doors, doored, player):
    """Every tool called by REST: by an agent's key, or by a person who is signed in."""
    return rest_floor(doored, getattr(doors, player))


@pytest.mark.parametrize(("player", "is_heard"), [("agent", False), ("person", True)])
@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_a_person_who_drives_a_run_says_it_and_an_agent_does_not(doors, doored, player, is_heard, dialect):
    publish_folder(doors.desk, presuming("way"), FOLDER)
    floor = led_by(doors, doored, player)
    at = begins(floor, dialect)

    does(floor, dialect, at, "look", {"approved": True}, then="build")

    assert ("make" in reached()) is is_heard


@pytest.mark.parametrize(("player", "is_heard"), [("agent", False), ("person", True)])
def test_a_person_who_leads_a_loop_names_its_items_and_an_agent_does_not(doors, doored, player, is_heard):
    """Where the items are what only people's options set, and whether a person is asked goes by them."""
    some = {"id": "some", "label": "Some", "effect": {"setVariable": {"parts": ["a"]}}}
    none = {"id": "none", "label": "None", "effect": {"setVariable": {"parts": []}}}
    asked = {"kind": "checkpoint", "id": "sure", "message": "Sure of {{part}}?", "options": [some, none], **ASKS}
    loop = {
        "kind": "loop",
        "id": "rounds",
        "name": "Rounds",
        "loopType": "forEach",
        "over": "parts",
        "variable": "part",
    }
    body = activity("prepare", steps=[{**loop, "steps": [asked, activity_step("after")]}])
    publish_folder(doors.desk, folder(body, about=about() | FIRST), FOLDER)
    floor = led_by(doors, doored, player)

    turned = nav(floor, nav_start(floor, FOLDER)["state"], "advance_loop", loop_id="rounds", loop_items=["b"])

    assert turned["success"] is is_heard, turned
    assert ("SET_BY_ANSWER" in str(turned) or "Only people's answers" in str(turned)) is not is_heard


@pytest.mark.parametrize("player", ["agent", "person"])
@pytest.mark.parametrize("dialect", ["rail", "navigation"])
def test_neither_a_person_nor_an_agent_begins_with_it(doors, doored, player, dialect):
    publish_folder(doors.desk, presuming(), FOLDER)
    floor, claim = led_by(doors, doored, player), {"approved": True}

    if dialect == "rail":
        refused = floor.rail.raw("start_workflow", workflowId=FOLDER, goal="Try it", context=claim)
    else:
        refused = floor.navigation.raw("nav_start", workflow_id=FOLDER, initial_variables=claim)

    assert "Only people's answers set approved" in str(said(refused))


def test_of_many_parts_that_only_people_say_a_refusal_names_a_few(floor):
    publish_folder(floor.desk, presuming(), FOLDER)

    refused = rail_ack(floor, rail_start(floor, FOLDER), context={f"approved.part{number}": 1 for number in range(500)})

    assert refused["details"]["reason"] == "SET_BY_ANSWER"
    assert len(refused["details"]["keys"]) == 20
    assert "and 480 more" in str(refused)


ALSO_SET = {
    "by an action": {"entryActions": [{"action": "set", "target": "approved", "value": True}]},
    "by an agent's answer": {
        "checkpoints": [checkpoint("easy", options=[YES, NO], message="Is it easy?")],
        "steps": [activity_step("asks", checkpoint="easy")],
    },
}


@pytest.mark.parametrize("by", ALSO_SET)
def test_what_others_set_as_well_is_left_to_the_agent(floor, by):
    other = activity("other", **{"steps": [activity_step("more")], **ALSO_SET[by]})
    publish_folder(floor.desk, presuming(others=[other]), FOLDER)
    at = rail_ack(floor, rail_start(floor, FOLDER), context={"approved": True})

    assert at.get("stateToken"), at
    rail_ack(floor, at)
    assert not questions()


@pytest.mark.parametrize("says", SAYS)
@pytest.mark.parametrize("dialect", EVERY_DIALECT)
def test_another_part_that_the_workflow_sets_leaves_a_persons_part_to_them(floor, dialect, says):
    notes = {"entryActions": [{"action": "set", "target": "review.notes", "value": "none"}]}
    other = activity("other", steps=[activity_step("more")], **notes)
    publish_folder(floor.desk, presuming(says, "review.approved", others=[other]), FOLDER)
    at = begins(floor, dialect)

    claim = {"review": {"approved": True}}
    early = does(floor, dialect, at, "look", claim, then="build" if says == "way" else "plan")
    goes_on(floor, dialect, at if "state" not in early and "stateToken" not in early else early)

    assert "make" not in reached()


def without_people(workflow_id, **more):
    """A workflow that asks nobody; whoever is in it says what only people say in another."""
    early = activity("early", steps=[activity_step("say")], transitions=[{"to": "plan"}])
    plan = activity("plan", steps=[activity_step("draft")], **more)
    variables = [{"name": "approved", "type": "boolean"}]
    return folder(early, plan, about=about(variables=variables) | {"id": workflow_id, "initialActivity": "early"})


TRIGGERS = {"triggers": [{"workflow": CHILD, "passContext": ["approved"]}]}
CLAIM = {"approved": True}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_person_is_asked_in_a_child_whatever_an_agent_says_in_its_parent(floor, dialect):
    publish_folder(floor.desk, presuming(workflow_id=CHILD), CHILD)
    publish_folder(floor.desk, without_people(FOLDER, **TRIGGERS), FOLDER)
    at = begins(floor, dialect, "early")
    parent = does(floor, dialect, at, "say", CLAIM, then="plan")
    assert "draft" in reached()

    child = child_of(floor, dialect, parent, activity_id="prepare")
    child = does(floor, dialect, child, "look", then="plan")
    goes_on(floor, dialect, child)

    assert "make" not in reached(run_of(CHILD))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_person_is_asked_in_a_parent_whatever_an_agent_says_in_its_child(floor, dialect):
    publish_folder(floor.desk, without_people(CHILD), CHILD)
    publish_folder(floor.desk, presuming(**TRIGGERS), FOLDER)
    parent = begins(floor, dialect)

    child = child_of(floor, dialect, parent, activity_id="early")
    child = does(floor, dialect, child, "say", CLAIM, then="plan")
    does(floor, dialect, child, "draft", then="workflow-end")
    assert "complete" in reached(run_of(CHILD))
    goes_on(floor, dialect, does(floor, dialect, caught_up(floor, dialect, parent), "look", then="plan"))

    assert "make" not in reached(run_of(FOLDER))


def caught_up(floor, dialect, at):
    if dialect == "navigation":
        return floor.navigation("nav_situation", state=at["state"])
    return floor.orchestrator("get_workflow_status", session_token=at["session_token"])


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("dialect", EVERY_DIALECT)
def test_no_way_is_open_on_an_agents_word_that_reads_what_only_a_person_is_asked_for(floor, dialect, declared):
    variables = [{"name": "approved", "type": "boolean", **({"defaultValue": False} if declared else {})}]
    publish_folder(floor.desk, presuming("way", variables=variables), FOLDER)
    at = begins(floor, dialect)

    does(floor, dialect, at, "look", then="build")
    if dialect in HANDED_OVER:
        said(
            floor[dialect].raw(
                "next_activity",
                session_token=at["session_token"],
                activity_id="build",
                transition_condition="approved == true",
                step_manifest=[{"step_id": "look", "output": "Looked."}],
            )
        )
    goes_on(floor, dialect, at)

    assert "make" not in reached()
