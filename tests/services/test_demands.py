"""What a `validate` action demands is looked at by the server, in every dialect: told when it does not hold, and kept."""

import itertools

import pytest

from sessions_app.engine import failures
from tests import logs
from tests.activity_folders import activity, checkpoint, equals, folder, program_of, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.matrix_play import DIALECTS, Script
from tests.run_cast import make_desk
from workflows_app.engine import demands, walker
from workflows_app.selectors.sources import read_program

HELD = {
    "name": ({"plan": "drawn"}, {}),
    "a.b == true": ({"a": {"b": True}}, {"a": {"b": "true"}}),
    "a.b": ({"a": {"b": 1}}, {"a": {"b": 0}}),
    "found == []": ({"found": []}, {"found": ["x"]}),
    "found != []": ({"found": ["x"]}, {"found": []}),
    "found.length == 0": ({"found": []}, {"found": [1]}),
    "path exists": ({"path": ""}, {"path": None}),
    "path != null": ({"path": "x"}, {"path": None}),
    "list": ({"list": ["x"]}, {"list": []}),
    "a == 1 && !b": ({"a": 1}, {"a": 1, "b": True}),
    "gh.auth.status == 0": ({"gh": {"auth": {"status": 0}}}, {"gh": {"auth": {}}}),
}


@pytest.mark.parametrize("target", [each for each in HELD if each != "name"])
def test_each_form_of_a_demand_is_read(target):
    holds, lacks = HELD[target]
    program = program_of(
        folder(activity(entryActions=[{"action": "validate", "target": target, "message": "M"}], steps=[step("do")]))
    )

    assert walker.start(program=program, variables=holds).passed == ()
    (unmet,) = walker.start(program=program, variables=lacks).passed
    assert f"work demands {target}" in unmet.message
    assert unmet.message.endswith("M")
    assert failures.as_gap(unmet).severity.value == "warning"


SETS = {"action": "set", "target": "branch"}
KNOWN_BY = {
    "a declaration": ({"variables": [{"name": "branch", "type": "string"}]}, {}),
    "an action": ({}, {"exitActions": [{**SETS, "value": "x"}]}),
    "an action without a value": ({}, {"steps": [step("do", actions=[SETS])]}),
    "an option": (
        {},
        {
            "checkpoints": [
                checkpoint("c", options=[{"id": "y", "label": "Y", "effect": {"setVariable": {"branch": "x"}}}])
            ]
        },
    ),
    "a loop": (
        {},
        {"loops": [{"id": "l", "name": "L", "type": "forEach", "over": "b", "variable": "branch", "steps": []}]},
    ),
}


@pytest.mark.parametrize(
    "target", ["branch", "branch exists", "branch.length == 0", "branch == true", "branch.at == 0"]
)
def test_a_name_that_is_no_variable_of_the_run_is_left_to_the_agent(target):
    demand = {"action": "validate", "target": target, "message": "M"}
    bare = program_of(folder(activity(entryActions=[demand], steps=[step("do")])))

    assert walker.start(program=bare, variables={}).passed == ()
    assert len(walker.start(program=bare, variables={"branch": None}).passed) == 1
    for what, (about, more) in KNOWN_BY.items():
        later = activity("later", **{"steps": [step("do")], **more})
        first = activity("work", entryActions=[demand], steps=[step("do")])
        program = program_of(folder(first, later, about=workflow(initialActivity="work", **about)))

        assert len(walker.start(program=program, variables={}).passed) == 1, what


@pytest.mark.parametrize("target", ["", "Run the tests", "a ===", "x" * 600, "a == [1]", "f(x)", "'text'"])
def test_what_is_no_test_is_left_to_the_agent(target):
    assert demands.demanded(target) is None


PLACES = {
    "entry": lambda demand: activity(entryActions=[demand], steps=[step("draft")]),
    "exit": lambda demand: activity(exitActions=[demand], steps=[step("draft")]),
    "step": lambda demand: activity(steps=[step("draft", actions=[demand])]),
}
DEMAND = {"action": "validate", "target": "approved", "message": "Have {what} approved first."}
UNDER = {**DEMAND, "condition": equals("strict", "yes")}
CASES = list(itertools.product(PLACES, DIALECTS))


@pytest.mark.django_db
@pytest.mark.parametrize(("place", "dialect"), CASES)
@pytest.mark.parametrize(
    ("demand", "knows", "is_told"),
    [
        (DEMAND, {"what": "the plan"}, True),
        (DEMAND, {"approved": True}, False),
        (UNDER, {"strict": "no"}, False),
        (UNDER, {"strict": "yes", "what": "the plan"}, True),
    ],
)
def test_a_demand_that_does_not_hold_is_told_and_stops_nobody(place, dialect, demand, knows, is_told):
    desk = make_desk()
    last = activity("close", steps=[step("finish")])
    first = {**PLACES[place](demand), "transitions": [{"to": "close", "isDefault": True}]}
    about = workflow(
        initialActivity="work", variables=[_declared(*each) for each in {"approved": None, **knows}.items()]
    )
    workflow_id = publish_folder(desk, folder(first, last, about=about))
    program = read_program(actor=desk.person, workflow_id=workflow_id)

    run, warnings = DIALECTS[dialect](desk, workflow_id, program, Script())

    said = [gap["summary"] for gap in _gaps(run) if gap["severity"] == "warning"]
    assert [text for text in said if "demands approved" in text and "the plan approved first" in text] == said
    assert len(said) == is_told
    if dialect in {"session", "orchestrator"}:
        assert warnings == said


def _declared(name, value):
    default = {} if value is None else {"defaultValue": value}
    return {"name": name, "type": "string" if isinstance(value, str) else "boolean", **default}


def _gaps(run):
    return [event["data"] for event in logs.told("gap_recorded", session_id=run.session_id)]
