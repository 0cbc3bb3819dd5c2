"""What comes next for a client that keeps its own place."""

import pytest

from sessions_app.engine.prompts import pending_of
from tests.activity_folders import activity, checkpoint, equals, folder, program_of, step
from tests.engine_play import played
from tests.step_documents import loop, program_of as program, step as work, workflow
from workflows_app.engine.lookup import find_item, find_next, unknown_steps
from workflows_app.engine.step_documents import issues_of, next_json, workflow_document


def keys(found, context=None, *, most=20):
    """Every key that is told when each is added to the completed ones."""
    completed = []
    while len(completed) < most:
        ahead = find_next(program=found, completed=completed, context=context or {})
        if ahead.item is None:
            return completed
        completed.append(ahead.key)
    return completed


def test_steps_come_in_order_and_a_condition_that_does_not_hold_passes_one_over():
    found = program(workflow(work("one"), work("two", runCondition={"var": "big", "equals": True}), work("three")))

    assert keys(found) == ["one", "three"]
    assert keys(found, {"big": True}) == ["one", "two", "three"]


def test_steps_that_are_done_out_of_their_order_are_done():
    found = program(workflow(work("one"), work("two"), work("three")))

    assert find_next(program=found, completed=["two"], context={}).key == "one"
    assert find_next(program=found, completed=["two", "one"], context={}).key == "three"


def test_steps_of_a_loop_are_named_with_their_round():
    each = loop("each", [work("fix", prompt="Fix {{file}}.")], type="forEach", items="files", itemVar="file")
    found = program(workflow(each, work("last")))

    assert keys(found, {"files": ["a", "b"]}) == ["each@0::fix", "each@1::fix", "last"]
    second = find_next(program=found, completed=["each@0::fix"], context={"files": ["a", "b"]})
    assert next_json(found, second)["step"]["prompt"] == "Fix b."


def test_a_loop_whose_id_is_completed_is_left():
    decided = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control"}
    asked = work("try", outputContract={"contractRef": "wr.contracts.loop_control"})
    again = loop("again", [asked], type="while", conditionSource=decided)
    found = program(workflow(again, work("last")))

    assert find_next(program=found, completed=["again@0::try"], context={}).key == "again@1::try"
    assert find_next(program=found, completed=["again@0::try", "again"], context={}).key == "last"


def within_rounds():
    inner = loop("inner", [work("try")], type="while", condition={"var": "more", "equals": "yes"}, maxIterations=2)
    return program(workflow(work("first"), loop("outer", [inner], type="for", count=2), work("last")))


def within_activities():
    again = {
        "id": "again",
        "name": "Again",
        "type": "while",
        "condition": equals("more", "yes"),
        "maxIterations": 2,
        "steps": [step("try")],
    }
    back = activity("back", steps=[step("first")], transitions=[{"to": "work", "condition": equals("more", "yes")}])
    return program_of(
        folder(activity("work", steps=[step("first")], loops=[again], transitions=[{"to": "back"}]), back)
    )


LEFT = {
    "rounds": (
        within_rounds,
        ["first", "outer@0/inner@0::try"],
        ("outer@0::inner", "outer@1/inner@0::try"),
        ("inner", "last"),
    ),
    "visits": (
        within_activities,
        ["work@0::first", "work@0/again@0::try", "back@0::first", "work@1::first"],
        ("work@0::again", "work@1/again@0::try"),
        ("again", "back@1::first"),
    ),
}


@pytest.mark.parametrize("case", LEFT)
def test_a_loop_is_left_where_its_key_says_and_by_its_id_alone_wherever_it_stands(case):
    made, done, (key, then), (bare, after) = LEFT[case]
    found = made()
    ahead = {
        name: find_next(program=found, completed=[*done, name], context={"more": "yes"}).key for name in (key, bare)
    }

    assert ahead == {key: then, bare: after}


@pytest.mark.parametrize("case", LEFT)
def test_a_loop_that_is_spent_is_named_by_the_key_that_leaves_it_where_it_stands(case):
    found = LEFT[case][0]()
    done = []
    while (ahead := find_next(program=found, completed=done, context={"more": "yes"})).failure is None:
        done.append(ahead.key)

    onward = find_next(program=found, completed=[*done, ahead.key], context={"more": "yes"})

    assert (ahead.key, onward.failure) == (LEFT[case][2][0], None)
    assert onward.key not in {"last", ""}


def test_a_definition_names_a_loop_as_it_is_left():
    found = within_activities()
    (named,) = [each["id"] for each in workflow_document(found)["steps"] if each.get("type") == "loop"]
    done = ["work@0::first", "work@0/again@0::try"]

    assert find_next(program=found, completed=[*done, named], context={"more": "yes"}).key == "back@0::first"


def test_a_loop_that_lacks_its_list_says_which_variable():
    each = loop("each", [work("fix", prompt="Fix {{file}}.")], type="forEach", items="files", itemVar="file")

    ahead = find_next(program=program(workflow(each)), completed=[], context={})

    assert ahead.item is None
    assert ahead.failure.keys == ("files",)


def activities():
    return program_of(
        folder(
            activity(
                "plan",
                steps=[step("think")],
                checkpoints=[
                    checkpoint(
                        "go",
                        options=[
                            {"id": "yes", "label": "Yes", "effect": {"setVariable": {"agreed": "yes"}}},
                            {"id": "no", "label": "No"},
                        ],
                    )
                ],
                transitions=[
                    {"to": "build", "condition": equals("agreed", "yes")},
                    {"to": "workflow-end", "isDefault": True},
                ],
            ),
            activity("build", steps=[step("make")]),
        )
    )


def test_an_activity_workflow_is_walked_with_the_answers_that_the_context_gives():
    found = activities()

    refused = keys(found, {"go": "no"})
    agreed = keys(found, {"go": "yes"})

    assert [key.partition("@")[0] for key in refused] == ["plan", "plan"]
    assert agreed[-1] == "build@0::make"
    asked = next(
        told["step"]
        for count in range(2)
        if (told := next_json(found, find_next(program=found, completed=agreed[:count], context={})))["step"].get(
            "requireConfirmation"
        )
    )
    assert "- yes: Yes" in asked["prompt"]
    assert '{"go": "<option id>"}' in asked["prompt"]


def test_the_keys_of_a_definition_are_those_of_its_steps():
    found = activities()

    told = [each["id"] for each in workflow_document(found)["steps"]]

    assert set(keys(found, {"go": "yes"})) == set(told)
    assert unknown_steps(program=found, named=[*told, "plan@7::think", "nowhere"]) == ("nowhere",)
    assert find_item(program=found, step_id="build@0::make").id == "make"


def test_the_output_of_a_step_is_held_against_its_rules_and_its_contract():
    rule = {"type": "contains", "value": "tests", "message": "Say which tests ran.", "condition": {"var": "big"}}
    found = program(
        workflow(
            work("one", validationCriteria=[rule]),
            work("two", outputContract={"contractRef": "wr.contracts.loop_control"}),
        )
    )
    one, two = (find_item(program=found, step_id=name) for name in ("one", "two"))

    assert issues_of(program=found, item=one, output="Nothing.", context={}) == ()
    assert issues_of(program=found, item=one, output="Nothing.", context={"big": True}) == ("Say which tests ran.",)
    assert issues_of(program=found, item=one, output=" ", context={}) == ("The output is empty.",)
    assert issues_of(program=found, item=two, output="stop", context={})
    assert issues_of(program=found, item=two, output='{"kind":"wr.loop_control","decision":"stop"}', context={}) == ()


FAN = {
    "id": "fan",
    "type": "parallel",
    "title": "Fan out",
    "parallelDelegations": [
        {"workflowId": "team.deep", "goal": "Look at {{kind}}", "runCondition": {"var": "deep", "equals": True}},
        {"workflowId": "team.wide", "goal": "Look", "contextMapping": {"kind": "theirs", "at.path": "place"}},
    ],
    "synthesis": {"prompt": "Join what was found of {{kind}}."},
}


def test_what_is_handed_out_side_by_side_is_told_as_in_a_run_that_is_led():
    found = program(workflow(FAN))
    for context in ({"kind": "bugs", "at": {"path": ["a.py"]}}, {"kind": "bugs", "deep": True}, {}):
        told = next_json(found, find_next(program=found, completed=[], context=context))
        _, led = played(found, context=context)

        assert told["step"]["prompt"] == pending_of(program=found, snapshot=led.snapshot).prompt


def test_values_stand_in_the_role_and_in_what_is_checked():
    ask = [{"type": "contains", "value": "Risks:", "message": "Name the risks of {{file}}."}]
    found = program(workflow(work("one", agentRole="You own {{file}}.", validationCriteria=ask)))

    told = next_json(found, find_next(program=found, completed=[], context={"file": "a.py"}))

    assert told["step"]["agentRole"] == "You own a.py."
    assert "You own a.py." in told["guidance"]["prompt"]
    assert all("risks of a.py" in each for each in told["guidance"]["validationCriteria"])


@pytest.mark.parametrize(
    "asked", [{"var": "risky", "equals": True}, {"kind": "human_approval", "condition": {"var": "risky"}}]
)
def test_a_confirmation_is_asked_for_where_its_condition_holds(asked):
    found = program(workflow(work("one", requireConfirmation=asked)))

    for context, holds in (({"risky": True}, True), ({"risky": False}, False), ({}, False)):
        told = next_json(found, find_next(program=found, completed=[], context=context))["guidance"]
        assert told["requiresConfirmation"] is holds
        assert ("signed-in person" in told["prompt"]) is (holds and "kind" in asked)


OUTER = {"id": "outer", "round": 1, "atMost": 4, "total": 1}


def test_the_round_is_told_and_how_many_there_are_and_those_around_it():
    inner = loop("inner", [work("deep")], type="for", count=2, maxIterations=3)
    found = program(workflow(work("first"), loop("outer", [work("step"), inner], type="for", count=1, maxIterations=4)))

    told = {
        key: next_json(found, find_next(program=found, completed=keys(found)[:at], context={}))["guidance"]
        for at, key in enumerate(keys(found))
    }

    assert {key: each.get("loop") for key, each in told.items()} == {
        "first": None,
        "outer@0::step": OUTER,
        "outer@0/inner@0::deep": {"id": "inner", "round": 1, "atMost": 3, "total": 2, "within": OUTER},
        "outer@0/inner@1::deep": {"id": "inner", "round": 2, "atMost": 3, "total": 2, "within": OUTER},
    }
