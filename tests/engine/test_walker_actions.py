"""What activities set when they are entered and left, seen by the conditions that come next."""

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
