"""What a person's answer has set is theirs in the runs that go on with it too: in a child, and in the parent that takes it back."""

import pytest

from sessions_app.models import Run
from tests.activity_folders import activity, checkpoint, equals, folder, step as activity_step
from tests.checkpoint_cast import publish_folder
from tests.gate_play import FOLDER, hand_in, hand_next, nav, nav_start, nav_step, reached, said
from tests.gates.test_shown_questions import CHILD, agrees, waiting
from tests.gates.test_what_leads_past_people import ASKS, SETS, about, asking, told

pytestmark = pytest.mark.django_db(transaction=True)

WAYS = [{"to": "build", "condition": equals("approved", value=True)}, {"to": "asks", "isDefault": True}]
CLAIM = {"context": {"approved": True}}


def publish(floor, *, asks, reads, default, workflow_id=FOLDER, child=None, options=SETS, ways=WAYS, passed="approved"):
    """A workflow in which somebody is asked, and what they answer leads on, as said."""
    asked = {"checkpoints": [checkpoint("agreed", options=options, **ASKS)]} if asks else {}
    draft = activity_step("draft", **({"checkpoint": "agreed"} if asks else {}))
    plan = activity(
        "plan",
        steps=[draft, activity_step("after")],
        transitions=ways if reads else [],
        **asked,
        **({"triggers": [{"workflow": child, "passContext": [passed]}]} if child else {}),
    )
    others = [asking(), activity("build", steps=[activity_step("make")])]
    variables = [{"name": passed, "type": "boolean", **({} if default is None else {"defaultValue": default})}]
    files = folder(plan, *(others if reads else ()), about={**about(variables=variables), "id": workflow_id})
    publish_folder(floor.desk, files, workflow_id)


def at_no(floor, dialect, at, option="no"):
    """The person says no to the question of `draft`."""
    if dialect == "navigation":
        at = nav_step(floor, at["state"], "draft")
        agrees(floor, waiting(), option)
        return said(floor.navigation.raw("nav_situation", state=at["state"]))
    at = floor.orchestrator("yield_checkpoint", session_token=at["session_token"], checkpoint_id="agreed")
    agrees(floor, waiting(), option)
    return floor.orchestrator("resume_checkpoint", session_token=at["session_token"])


def begun(floor, dialect):
    if dialect == "navigation":
        return nav_start(floor, FOLDER)
    return {"session_token": hand_in(floor, "orchestrator", FOLDER, "plan")}


def child_of(floor, dialect, at, *, activity_id="plan", **variables):
    floor.clock.shift(1)
    if dialect == "navigation":
        offers = floor.navigation("nav_situation", state=at["state"])["availableActions"]["optional"]
        (offered,) = [each for each in offers if each["action"] == "nav_start"]
        return said(
            floor.navigation.raw(
                "nav_start", workflow_id=CHILD, initial_variables={**offered["initial_variables"], **variables}
            )
        )
    token = floor.orchestrator("get_workflow_status", session_token=at["session_token"])["session_token"]
    child = floor.orchestrator("start_session", workflow_id=CHILD, agent_id="works", parent_session_token=token)
    return {"session_token": hand_next(floor, "orchestrator", child["session_token"], activity_id)["session_token"]}


def goes_on(floor, dialect, at, target, claim=CLAIM):
    """All of the activity is done, with the agent's claim, and it is left."""
    if dialect == "navigation":
        state = floor.navigation("nav_situation", state=at["state"])["state"]
        for name in ("draft", "after"):
            for more in (claim, {}):
                state = nav(floor, state, "complete_step", step_id=name, **more).get("state", state)
        return nav(floor, state, "transition", activity_id=target)
    token = floor.orchestrator("get_workflow_status", session_token=at["session_token"])["session_token"]
    for more in (claim, {}):
        reply = told(floor, "orchestrator", token, target, ("draft", {}), ("after", more))
    return reply


def run_of(workflow_id):
    return Run.objects.get(workflow_id=workflow_id)


DIALECTS = ("navigation", "orchestrator")


@pytest.mark.parametrize("before", [None, False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_person_answered_in_a_child_is_theirs_in_its_parent(floor, dialect, before):
    publish(floor, asks=False, reads=True, default=before, child=CHILD)
    publish(floor, asks=True, reads=False, default=None, workflow_id=CHILD)
    parent = begun(floor, dialect)
    child = at_no(floor, dialect, child_of(floor, dialect, parent))
    goes_on(floor, dialect, child, "workflow-end")
    assert "complete" in reached(run_of(CHILD))

    refused = goes_on(floor, dialect, parent, "build")
    assert "make" not in reached(run_of(FOLDER))
    goes_on(floor, dialect, {**parent, **refused}, "asks")
    assert "asked" in reached(run_of(FOLDER))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_person_answered_is_theirs_in_a_child_that_it_is_passed_on_to(floor, dialect):
    publish(floor, asks=True, reads=False, default=None, child=CHILD)
    publish(floor, asks=False, reads=True, default=None, workflow_id=CHILD)
    parent = at_no(floor, dialect, begun(floor, dialect))

    if dialect == "navigation":
        assert "An answer has set approved" in str(child_of(floor, dialect, parent, approved=True))
    child = child_of(floor, dialect, parent)
    refused = goes_on(floor, dialect, child, "build")
    assert "make" not in reached(run_of(CHILD))
    goes_on(floor, dialect, {**child, **refused}, "asks")
    assert "asked" in reached(run_of(CHILD))


# What the person's `no` sets: nothing, or a part of a variable, by its dotted name.
PARTS = [
    {"id": name, "label": name, "effect": {"setVariable": {"review.approved": name == "yes"}}} for name in ("yes", "no")
]
WAYS_BY_PART = [{"to": "build", "condition": equals("review.approved", value=True)}, {"to": "asks", "isDefault": True}]
REVIEWED = {"context": {"review": {"approved": True}}}
NOT_CHOSEN = {
    "nothing": {"options": [SETS[0], {"id": "no", "label": "No"}]},
    "a part": {"options": PARTS, "ways": WAYS_BY_PART, "passed": "review"},
    "nothing of a part": {
        "options": [PARTS[0], {"id": "no", "label": "No"}],
        "ways": WAYS_BY_PART,
        "passed": "review",
    },
}


@pytest.mark.parametrize("chosen", NOT_CHOSEN)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_person_in_a_child_did_not_choose_is_not_the_agents_in_its_parent(floor, dialect, chosen):
    claim = CLAIM if chosen == "nothing" else REVIEWED
    publish(floor, asks=False, reads=True, default=None, child=CHILD, **NOT_CHOSEN[chosen])
    publish(floor, asks=True, reads=False, default=None, workflow_id=CHILD, **NOT_CHOSEN[chosen])
    parent = begun(floor, dialect)
    child = at_no(floor, dialect, child_of(floor, dialect, parent))
    goes_on(floor, dialect, child, "workflow-end", claim)
    assert "complete" in reached(run_of(CHILD))

    refused = goes_on(floor, dialect, parent, "build", claim)
    assert "make" not in reached(run_of(FOLDER))
    goes_on(floor, dialect, {**parent, **refused}, "asks", claim)
    assert "asked" in reached(run_of(FOLDER))


@pytest.mark.parametrize("chosen", NOT_CHOSEN)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_person_did_not_choose_is_not_the_agents_in_a_child_that_it_is_passed_on_to(floor, dialect, chosen):
    claim = CLAIM if chosen == "nothing" else REVIEWED
    publish(floor, asks=True, reads=False, default=None, child=CHILD, **NOT_CHOSEN[chosen])
    publish(floor, asks=False, reads=True, default=None, workflow_id=CHILD, **NOT_CHOSEN[chosen])
    parent = at_no(floor, dialect, begun(floor, dialect))

    if dialect == "navigation" and chosen != "a part":
        assert "An answer has set" in str(child_of(floor, dialect, parent, **claim["context"]))
    child = child_of(floor, dialect, parent)
    refused = goes_on(floor, dialect, child, "build", claim)
    assert "make" not in reached(run_of(CHILD))
    goes_on(floor, dialect, {**child, **refused}, "asks", claim)
    assert "asked" in reached(run_of(CHILD))


@pytest.mark.parametrize("options", [("yes", "no"), ("no", "yes")])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_person_answered_last_counts_of_two_runs_that_are_given_back(floor, dialect, options):
    publish(floor, asks=False, reads=True, default=None, child=CHILD)
    publish(floor, asks=True, reads=False, default=None, workflow_id=CHILD)
    parent = begun(floor, dialect)
    for option in options:
        child = at_no(floor, dialect, child_of(floor, dialect, parent), option)
        goes_on(floor, dialect, child, "workflow-end", {})
        if dialect == "navigation":
            parent = said(floor.navigation.raw("nav_situation", state=parent["state"]))

    goes_on(floor, dialect, parent, "build", {})

    assert ("make" in reached(run_of(FOLDER))) is (options[-1] == "yes")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_an_agents_user_answered_in_a_child_changes_no_persons_answer(floor, dialect):
    publish(floor, asks=True, reads=True, default=None, child=CHILD)
    agreed = checkpoint("agreed", message="Is it right?", options=SETS)
    plan = activity("plan", checkpoints=[agreed], steps=[activity_step("draft", checkpoint="agreed")])
    publish_folder(floor.desk, folder(plan, about={**about(), "id": CHILD}), CHILD)
    parent = at_no(floor, dialect, begun(floor, dialect))
    child = child_of(floor, dialect, parent)
    floor.read_it()
    if dialect == "navigation":
        child = nav_step(floor, child["state"], "draft")
        floor.read_it()
        nav(floor, child["state"], "respond_to_checkpoint", checkpoint_id="agreed", option_id="yes")
    else:
        asked = floor.orchestrator("yield_checkpoint", session_token=child["session_token"], checkpoint_id="agreed")
        floor.read_it()
        floor.orchestrator("respond_checkpoint", session_token=asked["session_token"], option_id="yes")
        child = floor.orchestrator("resume_checkpoint", session_token=asked["session_token"])
        hand_next(floor, "orchestrator", child["session_token"], "workflow-end", "draft")
    assert any("complete" in reached(run) for run in Run.objects.filter(workflow_id=CHILD))

    goes_on(floor, dialect, parent, "build", {})

    assert "make" not in reached(run_of(FOLDER))


# Where nobody at all is asked in the run that goes by the answer of another one.
PLAIN_WAYS = [{"to": "build", "condition": equals("approved", value=True)}, {"to": "rest", "isDefault": True}]
NO_AND_YES = {
    "no": ("no", SETS, PLAIN_WAYS, "build", "rest"),
    "nothing": ("no", [SETS[0], {"id": "no", "label": "No"}], PLAIN_WAYS, "build", "rest"),
    "a part": ("no", PARTS, [{**WAYS_BY_PART[0]}, PLAIN_WAYS[1]], "build", "rest"),
    "yes": ("yes", SETS, PLAIN_WAYS, "rest", "build"),
}


def publish_plain(floor, *, ways, passed, workflow_id, child=None):
    """A workflow that asks nobody and goes by what was answered elsewhere."""
    plan = activity(
        "plan",
        steps=[activity_step("draft"), activity_step("after")],
        transitions=ways,
        **({"triggers": [{"workflow": child, "passContext": [passed]}]} if child else {}),
    )
    others = (activity("build", steps=[activity_step("make")]), activity("rest", steps=[activity_step("wait")]))
    variables = [{"name": passed, "type": "object" if passed == "review" else "boolean"}]
    publish_folder(
        floor.desk, folder(plan, *others, about=about(variables=variables) | {"id": workflow_id}), workflow_id
    )


@pytest.mark.parametrize("answered", NO_AND_YES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_parent_that_asks_nobody_goes_by_what_a_person_answered_in_its_child(floor, dialect, answered):
    option, options, ways, closed, open_to = NO_AND_YES[answered]
    passed = "review" if answered == "a part" else "approved"
    publish_plain(floor, ways=ways, passed=passed, workflow_id=FOLDER, child=CHILD)
    publish(floor, asks=True, reads=False, default=None, workflow_id=CHILD, options=options, passed=passed)
    parent = begun(floor, dialect)
    child = at_no(floor, dialect, child_of(floor, dialect, parent), option)
    goes_on(floor, dialect, child, "workflow-end", {})
    before = len(reached(run_of(FOLDER)))

    refused = goes_on(floor, dialect, parent, closed, {})
    steps = {"build": "make", "rest": "wait"}
    assert steps[closed] not in reached(run_of(FOLDER)), before
    goes_on(floor, dialect, {**parent, **refused}, open_to, {})
    assert steps[open_to] in reached(run_of(FOLDER))


@pytest.mark.parametrize("answered", NO_AND_YES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_child_that_asks_nobody_goes_by_what_a_person_answered_in_its_parent(floor, dialect, answered):
    option, options, ways, closed, open_to = NO_AND_YES[answered]
    passed = "review" if answered == "a part" else "approved"
    publish(floor, asks=True, reads=False, default=None, child=CHILD, options=options, passed=passed)
    publish_plain(floor, ways=ways, passed=passed, workflow_id=CHILD)
    parent = at_no(floor, dialect, begun(floor, dialect), option)
    child = child_of(floor, dialect, parent)

    refused = goes_on(floor, dialect, child, closed, {})
    steps = {"build": "make", "rest": "wait"}
    assert steps[closed] not in reached(run_of(CHILD))
    goes_on(floor, dialect, {**child, **refused}, open_to, {})
    assert steps[open_to] in reached(run_of(CHILD))


# What an agent has said in the parent before, of what a person in the child then declines by an option that says nothing of it.

WARM = {"type": "simple", "variable": "heat", "operator": ">", "value": 1000}
HOT = {
    "id": "yes",
    "label": "Yes",
    "effect": {"setVariable": {"heat": 1200}},
}
DECLINED = {
    # What is declared, what the agent said, by which condition the way is open, what *yes* sets, and whether the word goes.
    "another number that reads like it": ({"type": "number"}, {"heat": 1300}, WARM, HOT, True),
    "the same": ({"type": "number"}, {"heat": 1200}, WARM, HOT, True),
    "beside a default": ({"type": "number", "defaultValue": 20}, {"heat": 1300}, WARM, HOT, True),
    "what nobody takes for it": (
        {"type": "number"},
        {"heat": 700},
        {**WARM, "value": 600},
        {**HOT, "effect": {"setVariable": {"heat": 500}}},
        False,
    ),
    "a part": (
        {"type": "object"},
        {"heat": {"ok": True, "by": "me"}},
        equals("heat.ok", value=True),
        {**HOT, "effect": {"setVariable": {"heat.ok": True}}},
        True,
    ),
}


def publish_heat(floor, workflow_id, *, declared, reads=None, asks=None, child=None, first=()):
    asked = {"checkpoints": [checkpoint("agreed", options=[asks, {"id": "no", "label": "No"}], **ASKS)]} if asks else {}
    ways = [{"to": "build", "condition": reads}, {"to": "rest", "isDefault": True}] if reads else []
    plan = activity(
        "plan",
        steps=[activity_step("draft", **({"checkpoint": "agreed"} if asks else {})), activity_step("after")],
        transitions=ways,
        **asked,
        **({"triggers": [{"workflow": child, "passContext": ["heat"]}]} if child else {}),
    )
    others = (activity("build", steps=[activity_step("make")]), activity("rest", steps=[activity_step("wait")]))
    described = about(variables=[{"name": "heat", **declared}]) | {"id": workflow_id}
    begins = {"initialActivity": first[0]["id"]} if first else {}
    publish_folder(floor.desk, folder(*first, plan, *(others if ways else ()), about=described | begins), workflow_id)


def triggered(floor, at, workflow_id, *, passes):
    floor.clock.shift(1)
    offers = floor.navigation("nav_situation", state=at["state"])["availableActions"]["optional"]
    (offered,) = [each for each in offers if each["action"] == "nav_start"]
    given = offered["initial_variables"] if passes else {"parent_state": offered["initial_variables"]["parent_state"]}
    return floor.navigation("nav_start", workflow_id=workflow_id, initial_variables=given)


@pytest.mark.parametrize("between", [False, True], ids=["child", "grandchild"])
@pytest.mark.parametrize("passes", [False, True], ids=["alone", "passed on"])
@pytest.mark.parametrize("said_before", ["at the start", "with a step"])
@pytest.mark.parametrize("what", DECLINED)
def test_what_an_agent_said_in_a_parent_is_declined_by_a_person_in_a_child(floor, what, said_before, passes, between):
    declared, word, reads, asks, goes = DECLINED[what]
    middle = "team.between"
    publish_heat(floor, FOLDER, declared=declared, reads=reads, child=middle if between else CHILD)
    publish_heat(floor, middle, declared=declared, child=CHILD)
    publish_heat(floor, CHILD, declared=declared, asks=asks)
    at_start = said_before == "at the start"
    parent = floor.navigation("nav_start", workflow_id=FOLDER, initial_variables=word if at_start else {})
    parent = nav(floor, parent["state"], "complete_step", step_id="draft", **({} if at_start else {"context": word}))
    above = parent
    if between:
        above = triggered(floor, parent, middle, passes=passes)
        above = nav(floor, above["state"], "complete_step", step_id="draft")
    child = at_no(floor, "navigation", triggered(floor, above, CHILD, passes=passes))
    nav(floor, child["state"], "complete_step", step_id="after")
    if between:
        nav(floor, floor.navigation("nav_situation", state=above["state"])["state"], "complete_step", step_id="after")
    assert "complete" in reached(run_of(CHILD))

    state = floor.navigation("nav_situation", state=parent["state"])["state"]
    for more in ({"context": word}, {}):
        state = nav(floor, state, "complete_step", step_id="after", **more).get("state", state)
    nav(floor, state, "transition", activity_id="build")

    assert ("make" in reached(run_of(FOLDER))) is (not goes and not between)


@pytest.mark.parametrize("what", DECLINED)
def test_what_an_agent_told_of_an_earlier_activity_of_a_parent_is_declined_in_a_child(floor, what):
    declared, word, reads, asks, goes = DECLINED[what]
    first = activity("first", steps=[activity_step("look")], transitions=[{"to": "plan"}])
    publish_heat(floor, FOLDER, declared=declared, reads=reads, child=CHILD, first=[first])
    publish_heat(floor, CHILD, declared=declared, asks=asks)
    token = hand_in(floor, "orchestrator", FOLDER, "first")
    parent = told(floor, "orchestrator", token, "plan", ("look", {"context": word}))
    child = at_no(floor, "orchestrator", child_of(floor, "orchestrator", parent))
    goes_on(floor, "orchestrator", child, "workflow-end", {})
    assert "complete" in reached(run_of(CHILD))

    goes_on(floor, "orchestrator", parent, "build", {"context": word})

    assert ("make" in reached(run_of(FOLDER))) is (not goes)
