"""What activities set when they are entered and left, seen by the conditions that come next."""

import pytest

from tests.activity_folders import activity, equals, folder, program_of, step, workflow
from workflows_app.engine import simulate, walker
from workflows_app.engine.walks import Position


def setting(name, value, **more):
    return {"action": "set", "target": name, "value": value, **more}


ABOUT = workflow(initialActivity="plan")
FILES = folder(
    activity(
        "plan",
        entryActions=[setting("planned", "yes")],
        exitActions=[setting("done", "yes"), setting("never", "yes", condition=equals("planned", "no"))],
        steps=[step("draft", condition={"type": "simple", "variable": "planned", "operator": "==", "value": "yes"})],
        transitions=[
            {"to": "good", "condition": {"type": "simple", "variable": "done", "operator": "==", "value": "yes"}},
            {"to": "bad", "isDefault": True},
        ],
    ),
    activity("good", steps=[step("cheer")]),
    activity("bad", steps=[step("weep")]),
    about=ABOUT,
)


def test_what_an_activity_sets_on_entry_decides_its_first_step():
    walk = walker.start(program=program_of(FILES), variables={})

    assert walk.position.pending == "plan@0::draft"
    assert walk.assigned == {"planned": "yes"}


def test_what_it_sets_on_leaving_decides_the_way_out():
    program = program_of(FILES)
    started = walker.start(program=program, variables={})

    walk = walker.complete_pending(program=program, position=started.position, variables=dict(started.assigned))

    assert walk.position.activity == "good"
    assert walk.assigned == {"done": "yes"}


def test_an_action_whose_condition_is_false_sets_nothing():
    program = program_of(FILES)
    walk = walker.enter_activity(
        program=program,
        position=Position(activity="plan", visits={"plan": 1}),
        activity_id="bad",
        variables={"planned": "no"},
    )

    assert walk.assigned == {"done": "yes", "never": "yes"}


def test_a_simulation_goes_the_way_that_the_actions_open():
    told = simulate.simulate(program=program_of(FILES), variables={}, answers={})

    assert [stop.key for stop in told.path] == ["plan@0::draft", "good@0::cheer"]
    assert told.variables == {"planned": "yes", "done": "yes"}


SET = [
    ("{plan.first}", "a"),
    (" {plan} ", {"first": "a"}),
    ("{none}", None),
    ("{plan.none}", None),
    ("Go to {plan.first}, then {none}", "Go to a, then {none}"),
    ("{{plan.first}}", "{{plan.first}}"),
    ({"as": "{plan.first}"}, {"as": "{plan.first}"}),
    (None, None),
    (False, False),
]


@pytest.mark.parametrize(("value", "put"), SET)
def test_a_value_may_name_the_value_of_another_variable(value, put):
    """By an action and by an option alike."""
    files = folder(
        activity(
            "one",
            steps=[step("do", actions=[setting("by_action", value)], checkpoint="ask")],
            checkpoints=[asking(value)],
        )
    )
    told = simulate.simulate(program=program_of(files), variables={"plan": {"first": "a"}}, answers={})

    assert (told.variables["by_action"], told.variables["by_option"]) == (put, put)


def asking(value):
    effect = {"setVariable": {"by_option": value}}
    return {"id": "ask", "name": "Ask", "message": "?", "options": [{"id": "yes", "label": "Yes", "effect": effect}]}


def test_actions_are_done_at_once():
    actions = [setting("a", 1), setting("b", "{a}"), setting("c", 1, condition=equals("a", 1))]
    told = simulate.simulate(
        program=program_of(folder(activity("one", steps=[step("do", actions=actions)]))), variables={}, answers={}
    )

    assert told.variables == {"a": 1, "b": None}


def test_an_action_without_a_value_leaves_it_to_the_agent_and_null_clears():
    actions = [{"action": "set", "target": "kept", "message": "As you find it."}, setting("gone", None)]
    program = program_of(folder(activity("one", steps=[step("do", actions=actions)])))
    told = simulate.simulate(program=program, variables={"kept": 1, "gone": 1}, answers={})

    assert told.variables == {"kept": 1, "gone": None}
    assert "- Set `gone` to null" in program.activities[0].body[0].prompt


def test_in_a_loop_the_item_at_hand_can_be_set():
    loop = {
        "id": "each",
        "name": "Each",
        "type": "forEach",
        "variable": "task",
        "over": "tasks",
        "steps": [step("do", actions=[setting("last", "{task.id}")])],
    }
    told = simulate.simulate(
        program=program_of(folder(activity("one", loops=[loop]))),
        variables={"tasks": [{"id": "x"}, {"id": "y"}]},
        answers={},
    )

    assert told.variables["last"] == "y"


FAST = {
    "id": "fast",
    "name": "Fast",
    "activationVariable": "fast",
    "defaults": {"depth": "low", "note": "n", "kept": 2},
}
MODES = folder(
    activity("one", steps=[step("do", condition=equals("depth", "low"))], transitions=[{"to": "two"}]),
    activity("two", steps=[step("more")]),
    about=workflow(
        initialActivity="one",
        variables=[
            {"name": "fast", "type": "boolean", "defaultValue": False},
            {"name": "depth", "type": "string", "defaultValue": "high"},
            {"name": "note", "type": "string"},
            {"name": "kept", "type": "number", "defaultValue": 1},
        ],
        modes=[FAST],
    ),
)


@pytest.mark.parametrize(("fast", "path"), [(True, ["one@0::do", "two@0::more"]), (False, ["two@0::more"])])
def test_a_mode_that_a_run_begins_in_sets_its_defaults(fast, path):
    told = simulate.simulate(program=program_of(MODES), variables={"fast": fast, "kept": 3}, answers={})

    assert [stop.key for stop in told.path] == path
    assert (told.variables["depth"], told.variables.get("note"), told.variables["kept"]) == (
        ("low", "n", 3) if fast else ("high", None, 3)
    )


def test_a_mode_that_comes_later_overrides_nothing():
    program = program_of(MODES)
    at = Position(activity="one", visits={"one": 1})
    walk = walker.enter_activity(
        program=program, position=at, activity_id="two", variables={"fast": True, "depth": "high"}
    )

    assert walk.assigned == {}
