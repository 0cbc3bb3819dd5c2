"""The landscape offers exactly what the actions accept, wherever a run by hand may stand."""

import random

import pytest

from sessions_app.engine.actions import AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.landscape import Waiting, survey
from sessions_app.engine.steering_refusals import REFUSALS, InvalidTransitionError
from sessions_app.engine.ways import valid_targets
from tests.activity_folders import activity, checkpoint, equals, folder, program_of, step, workflow
from tests.hand_play import ITEMS, begun, situation_at, steered
from workflows_app.engine.program import Loop, Parallel, Step, walk_items
from workflows_app.engine.walker import TERMINAL_TARGETS


def offered(program, snapshot):
    """The actions that are required or optional."""
    told = situation_at(program, snapshot)["availableActions"]
    named = [*told["required"], *told["optional"]]
    return {action for each in named for action in actions_of(each, snapshot, program)}


def actions_of(each, snapshot, program):
    match each["action"]:
        case "complete_step":
            return [CompleteStep(step_id=each["step"])]
        case "respond_to_checkpoint":
            options = survey(program=program, snapshot=snapshot).checkpoint.options
            return [RespondToCheckpoint(checkpoint_id=each["checkpoint"], option_id=option.id) for option in options]
        case "transition":
            return [TakeTransition(activity_id=each["activity"])]
        case "advance_loop":
            return [AdvanceLoop(loop_id=each["loop"], items=ITEMS if "needs" in each else None)]
        case _:
            return []


def thinkable(program, snapshot):
    """Every action that names something which the program has."""
    here = program.activity(snapshot.position.activity)
    items = list(walk_items(here.body))
    needs = survey(program=program, snapshot=snapshot).needs_items
    yield from (CompleteStep(step_id=item.id) for item in items if isinstance(item, Step | Parallel | Loop))
    yield from (
        AdvanceLoop(loop_id=item.id, items=ITEMS if needs else None) for item in items if isinstance(item, Loop)
    )
    for asked in here.checkpoints:
        yield from (RespondToCheckpoint(checkpoint_id=asked.id, option_id=option.id) for option in asked.options)
    targets = [*(known.id for known in program.activities), *TERMINAL_TARGETS]
    yield from (TakeTransition(activity_id=target) for target in targets)


def is_accepted(program, snapshot, action):
    try:
        steered(program, snapshot, action)
    except REFUSALS:
        return False
    return True


LOOPED = workflow(variables=[{"name": "tasks", "type": "array"}, {"name": "again", "type": "boolean"}])
PROGRAMS = {
    "optional steps": folder(
        activity(
            steps=[step("first", required=False), step("do"), step("last", required=False)],
            transitions=[{"to": "next", "isDefault": True}],
        ),
        activity("next", steps=[step("end", required=False)]),
    ),
    "gates": folder(
        activity(
            steps=[step("do"), step("look")],
            checkpoints=[
                checkpoint("sure"),
                checkpoint("never", condition=equals("tasks", "x")),
                checkpoint("more", condition={"type": "simple", "variable": "tasks", "operator": "notExists"}),
            ],
            transitions=[{"to": "next"}],
        ),
        activity("next", steps=[step("end")]),
        about=LOOPED,
    ),
    "loops": folder(
        activity(
            steps=[step("plan")],
            loops=[
                {"id": "each", "name": "Each", "type": "forEach", "over": "tasks", "steps": [step("a"), step("b")]},
                {
                    "id": "while",
                    "name": "While",
                    "type": "while",
                    "condition": equals("again", "yes"),
                    "steps": [step("c", required=False), step("d"), step("e", required=False)],
                },
                {
                    "id": "do",
                    "name": "Do",
                    "type": "doWhile",
                    "condition": equals("again", "yes"),
                    "steps": [step("f")],
                },
            ],
            transitions=[{"to": "next", "condition": equals("again", "yes")}, {"to": "work", "isDefault": True}],
        ),
        activity("next", steps=[step("end")]),
        about=LOOPED,
    ),
    "decisions": folder(
        activity(
            steps=[step("do")],
            decisions=[
                {
                    "id": "which",
                    "name": "Which",
                    "branches": [
                        {"id": "one", "label": "One", "condition": equals("again", "yes"), "transitionTo": "next"},
                        {"id": "two", "label": "Two", "transitionTo": "other", "isDefault": True},
                    ],
                }
            ],
        ),
        activity("next", steps=[step("end")]),
        activity("other", steps=[step("end")]),
        about=LOOPED,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("variables", [{}, {"again": "yes", "tasks": ["x"]}], ids=["unset", "set"])
def test_what_is_offered_is_accepted_and_nothing_else_is(name, seed, variables):
    program = program_of(PROGRAMS[name])
    chance = random.Random(seed)
    snapshot = begun(program, **variables)

    for _ in range(25):
        may = offered(program, snapshot)
        accepted = {action for action in thinkable(program, snapshot) if is_accepted(program, snapshot, action)}
        assert accepted == may
        if snapshot.position.complete:
            assert not may
            break
        assert may, snapshot
        snapshot = steered(program, snapshot, chance.choice(sorted(may, key=repr)))


def test_the_first_activity_begins_a_workflow_that_names_none():
    program = program_of(folder(activity("one", steps=[step("a")]), activity("two", steps=[step("b")])))

    assert begun(program).position.activity == "one"


def test_a_gate_whose_condition_does_not_hold_is_not_asked():
    files = folder(activity(steps=[step("do")], checkpoints=[checkpoint("never", condition=equals("x", "y"))]))
    program = program_of(files)

    land = survey(program=program, snapshot=begun(program, x="z"))

    assert (land.waiting, land.step.id) == (Waiting.STEP, "do")


def test_after_the_last_step_the_ways_are_told_with_what_their_conditions_say():
    files = folder(
        activity(
            steps=[step("do")],
            transitions=[
                {"to": "a", "condition": equals("way", "a")},
                {"to": "b", "condition": equals("way", "b")},
                {"to": "c", "isDefault": True},
            ],
        ),
        *(activity(name, steps=[step("end")]) for name in "abc"),
    )
    program = program_of(files)

    def ways(**variables):
        done = steered(program, begun(program, **variables), CompleteStep(step_id="do"))
        land = survey(program=program, snapshot=done)
        return {way.target: (way.holds, way.is_open) for way in land.ways}

    assert ways(way="b") == {"a": (False, False), "b": (True, True), "c": (False, False)}
    assert ways(way="z") == {"a": (False, False), "b": (False, False), "c": (True, True)}
    assert ways() == {"a": (False, True), "b": (False, True), "c": (True, True)}


def test_a_way_is_told_with_the_condition_by_which_it_holds():
    """One that holds because nothing else does has a condition that does not."""
    files = folder(
        activity(
            steps=[step("do")],
            transitions=[{"to": "a", "condition": equals("way", "a")}, {"to": "b", "condition": equals("way", "b")}],
            decisions=[
                {
                    "id": "d",
                    "name": "D",
                    "branches": [
                        {"id": "x", "label": "X", "transitionTo": "b", "condition": equals("way", "c")},
                        {"id": "y", "label": "Y", "transitionTo": "a", "isDefault": True},
                    ],
                }
            ],
        ),
        *(activity(name, steps=[step("end")]) for name in "ab"),
    )
    program = program_of(files)

    def ways(**variables):
        done = steered(program, begun(program, **variables), CompleteStep(step_id="do"))
        land = survey(program=program, snapshot=done)
        return {way.target: (way.condition, way.holds) for way in land.ways}

    assert ways(way="z") == {"b": ('way == "c" or way == "b"', False), "a": ("", True)}
    assert ways() == {"b": ('way == "c" or way == "b"', False), "a": ("", True)}
    assert ways(way="a") == {"b": ('way == "c" or way == "b"', False), "a": ('way == "a"', True)}
    assert ways(way="b") == {"b": ('way == "c" or way == "b"', True), "a": ('way == "a"', False)}


def test_a_way_to_what_is_left_out_and_leads_nowhere_is_not_told_by_its_condition():
    transitions = [{"to": "skipped", "condition": equals("way", "on")}, {"to": "b", "isDefault": True}]
    mode = {"id": "quick", "name": "Quick", "activationVariable": "quick", "skipActivities": ["skipped"]}
    files = folder(
        activity(steps=[step("do")], transitions=transitions),
        activity("skipped", steps=[step("end")], transitions=[{"to": "b", "condition": equals("way", "never")}]),
        activity("b", steps=[step("end")]),
        about=workflow(modes=[mode]),
    )
    program = program_of(files)
    done = steered(program, begun(program, way="on", quick=True), CompleteStep(step_id="do"))

    (blocked,) = situation_at(program, done)["availableActions"]["blocked"]
    assert (blocked["activity"], blocked["holds"]) == ("skipped", True)
    assert blocked["reason"] == "It is left out in this run, and nothing leads on from there."
    with pytest.raises(InvalidTransitionError, match="It is left out in this run"):
        steered(program, done, TakeTransition(activity_id="skipped"))


def test_the_targets_of_an_activity_are_those_of_transitions_decisions_and_effects():
    asked = checkpoint("sure")
    asked["options"][0]["effect"] = {"transitionTo": "c"}
    branches = [
        {"id": "x", "label": "X", "transitionTo": "b", "condition": equals("v", "x")},
        {"id": "y", "label": "Y", "transitionTo": "a", "isDefault": True},
    ]
    files = folder(
        activity(
            steps=[step("do")],
            checkpoints=[asked],
            decisions=[{"id": "d", "name": "D", "branches": branches}],
            transitions=[{"to": "a"}],
        ),
        *(activity(name, steps=[step("end")]) for name in "abc"),
    )

    program = program_of(files)

    assert set(valid_targets(program, program.activity("work"))) == {"a", "b", "c"}


def test_where_no_condition_holds_and_nothing_is_the_default_the_workflow_ends():
    files = folder(
        activity(steps=[step("do")], transitions=[{"to": "work", "condition": equals("again", "yes")}]),
    )
    program = program_of(files)
    done = steered(program, begun(program, again="no"), CompleteStep(step_id="do"))

    land = survey(program=program, snapshot=done)

    assert [(way.target, way.holds, way.is_open) for way in land.ways] == [
        ("work", False, False),
        ("end-workflow", True, True),
    ]
    assert steered(program, done, TakeTransition(activity_id="end-workflow")).position.complete


def test_a_branch_that_no_condition_decides_is_the_agents_to_choose():
    branches = [
        {"id": "x", "label": "X", "transitionTo": "a"},
        {"id": "y", "label": "Y", "transitionTo": "b", "isDefault": True},
    ]
    files = folder(
        activity(steps=[step("do")], decisions=[{"id": "d", "name": "D", "branches": branches}]),
        *(activity(name, steps=[step("end")]) for name in "ab"),
    )
    program = program_of(files)
    done = steered(program, begun(program), CompleteStep(step_id="do"))

    ways = {way.target: (way.holds, way.is_open) for way in survey(program=program, snapshot=done).ways}

    assert ways == {"a": (False, True), "b": (True, True)}


def test_entering_an_activity_again_begins_it_afresh():
    files = folder(
        activity(steps=[step("do")], checkpoints=[checkpoint("sure")], transitions=[{"to": "work"}]),
    )
    program = program_of(files)
    once = begun(program)
    asked = RespondToCheckpoint(checkpoint_id="sure", option_id="yes")
    done = steered(program, steered(program, once, asked), CompleteStep(step_id="do"))

    again = survey(program=program, snapshot=steered(program, done, TakeTransition(activity_id="work")))

    assert (again.waiting, again.checkpoint.id) == (Waiting.CHECKPOINT, "sure")
