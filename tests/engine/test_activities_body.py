"""The order of work in an activity, whichever generation wrote it."""

import pytest

from tests.activity_folders import activity, checkpoint, codes, compiled, equals, folder, only, program_of, skill, step
from workflows_app.engine.problems import ProblemCode
from workflows_app.engine.program import AllOf, Gate, Loop, LoopKind, Step


def body_of(*args, **more):
    return program_of(folder(activity(*args, **more))).activities[0].body


def outline(items):
    """Ids in order; gates in brackets, loops with what they hold."""
    shown = []
    for item in items:
        match item:
            case Loop():
                shown.append([item.id, *outline(item.body)])
            case Gate():
                shown.append((item.id, item.checkpoint))
            case _:
                shown.append(item.id)
    return shown


def test_steps_come_before_loops_wherever_the_document_has_them():
    loop = {"id": "round", "name": "Round", "type": "forEach", "over": "tasks", "steps": [step("b")]}
    body = body_of(loops=[loop], steps=[step("a"), step("c")])
    assert outline(body) == ["a", "c", ["round", "b"]]


def test_checkpoints_that_no_step_names_are_asked_first():
    body = body_of(steps=[step("a")], checkpoints=[checkpoint("one"), checkpoint("two")])
    assert outline(body) == [("one", "one"), ("two", "two"), "a"]


def test_a_checkpoint_that_is_not_required_waits_to_be_asked_for():
    body = body_of(steps=[step("a")], checkpoints=[checkpoint("one", required=False), checkpoint("two")])
    assert outline(body) == [("two", "two"), "a"]


def test_a_gate_follows_the_step_that_names_its_checkpoint():
    steps = [step("a"), step("b", checkpoint="sure"), step("c")]
    body = body_of(steps=steps, checkpoints=[checkpoint("sure"), checkpoint("other")])
    assert outline(body) == ["a", "b", ("sure", "sure"), "c"]
    assert body[2].step == "b"


def test_a_checkpoint_named_twice_has_a_gate_for_each_step():
    loop = {"id": "round", "name": "Round", "type": "forEach", "over": "x", "steps": [step("c", checkpoint="sure")]}
    steps = [step("a", checkpoint="sure"), step("b", checkpoint="sure")]
    body = body_of(steps=steps, loops=[loop], checkpoints=[checkpoint("sure")])
    assert outline(body) == [
        "a",
        ("a.sure", "sure"),
        "b",
        ("b.sure", "sure"),
        ["round", "c", ("c.sure", "sure")],
    ]


def test_a_step_of_a_loop_that_names_a_checkpoint_keeps_the_others_on_demand():
    loop = {"id": "round", "name": "Round", "type": "forEach", "over": "x", "steps": [step("c", checkpoint="sure")]}
    body = body_of(steps=[step("a")], loops=[loop], checkpoints=[checkpoint("sure"), checkpoint("other")])
    assert outline(body) == ["a", ["round", "c", ("sure", "sure")]]


def test_a_gate_never_takes_the_id_of_a_step():
    body = body_of(steps=[step("sure", checkpoint="sure")], checkpoints=[checkpoint("sure")])
    assert outline(body) == ["sure", ("sure.sure", "sure")]
    entry = body_of(steps=[step("sure")], checkpoints=[checkpoint("sure")])
    assert outline(entry) == [("entry.sure", "sure"), "sure"]


def test_a_checkpoint_that_is_named_wrongly_is_a_warning_and_is_still_asked():
    compilation = compiled(folder(activity(steps=[step("a", checkpoint="shure")], checkpoints=[checkpoint("sure")])))
    problem = only(compilation.warnings, ProblemCode.UNKNOWN_CHECKPOINT)
    assert (problem.path, problem.suggestion) == ("steps[0].checkpoint", "Did you mean 'sure'?")
    body = compilation.program.activities[0].body
    assert outline(body) == [("sure", "sure"), "a"]
    assert body[1].checkpoint == "shure"


def test_a_loop_that_lists_steps_of_its_activity_holds_them():
    loop = {"id": "round", "name": "Round", "type": "forEach", "over": "x", "activities": ["b", "c"]}
    steps = [step("a"), step("b", checkpoint="sure"), step("c"), step("d")]
    body = body_of(steps=steps, loops=[loop], checkpoints=[checkpoint("sure")])
    assert outline(body) == ["a", "d", ["round", "b", ("sure", "sure"), "c"]]


def test_a_loop_that_lists_activities_names_them_for_the_agent():
    loop = {
        "id": "round",
        "name": "Round",
        "type": "while",
        "condition": equals("x", value=True),
        "activities": ["later"],
    }
    program = program_of(folder(activity("first", loops=[loop]), activity("later", steps=[step("a")])))
    (found,) = program.activities[0].body
    assert (found.activities, found.body) == (("later",), ())


def test_what_a_loop_lists_and_nobody_has_is_a_warning_and_kept():
    loop = {
        "id": "round",
        "name": "Round",
        "type": "forEach",
        "over": "x",
        "steps": [step("b")],
        "activities": ["a", "nowhere"],
    }
    compilation = compiled(folder(activity(steps=[step("a")], loops=[loop])))
    unknown = [p for p in compilation.warnings if p.code is ProblemCode.UNKNOWN_ACTIVITY]
    assert [p.path for p in unknown] == ["loops[0].activities[0]", "loops[0].activities[1]"]
    found = compilation.program.activities[0].body[1]
    assert (outline([found]), found.extra) == ([["round", "b"]], {"activities": ["a", "nowhere"]})


def test_two_loops_cannot_hold_the_same_step():
    loops = [
        {"id": name, "name": name, "type": "forEach", "over": "x", "activities": ["a"]} for name in ("first", "second")
    ]
    compilation = compiled(folder(activity(steps=[step("a")], loops=loops)))
    assert outline(compilation.program.activities[0].body) == [["first", "a"], ["second"]]
    assert only(compilation.warnings, ProblemCode.UNKNOWN_ACTIVITY).path == "loops[1].activities[0]"


def test_a_loop_over_a_list_has_its_item_and_a_conditional_one_its_counter():
    each = {"id": "e", "name": "E", "type": "forEach", "variable": "task", "over": "plan.tasks", "steps": [step("a")]}
    again = {
        "id": "w",
        "name": "W",
        "type": "doWhile",
        "variable": "n",
        "condition": equals("more", value=True),
        "breakCondition": equals("stop", value=True),
        "maxIterations": 7,
        "description": "Again",
        "steps": [step("b")],
    }
    first, second = body_of(loops=[each, again])
    assert (first.loops, first.items, first.item_variable) == (LoopKind.FOR_EACH, ("plan", "tasks"), "task")
    assert (first.max_iterations, first.iteration_variable) == (100, "")
    assert (second.loops, second.iteration_variable, second.max_iterations) == (LoopKind.DO_WHILE, "n", 7)
    assert (second.condition.path, second.break_condition.path) == (("more",), ("stop",))
    assert second.description == "Again"


def test_the_same_id_twice_in_one_list_is_told_and_both_are_done():
    compilation = compiled(folder(activity(steps=[step("a"), step("a"), step("a.2"), step("a")])))
    assert outline(compilation.program.activities[0].body) == ["a", "a.3", "a.2", "a.4"]
    assert codes(compilation.warnings).count("duplicate_id") == 2


def test_the_same_id_inside_and_outside_a_loop_is_told_and_kept():
    loop = {"id": "round", "name": "Round", "type": "forEach", "over": "x", "steps": [step("a")]}
    compilation = compiled(folder(activity(steps=[step("a")], loops=[loop])))
    assert outline(compilation.program.activities[0].body) == ["a", ["round", "a"]]
    assert only(compilation.warnings, ProblemCode.DUPLICATE_ID).file == "activities/01-work.toon"


def test_a_condition_of_a_step_is_when_it_runs():
    (found,) = body_of(steps=[step("a", condition=equals("x", value=True), when="y == 1")])
    assert isinstance(found.run_condition, AllOf)
    assert [part.path for part in found.run_condition.conditions] == [("x",), ("y",)]


PROMPTS = [
    (step("a"), "A"),
    (step("a", description="  Do it well. "), "Do it well."),
    (
        step("a", description="Do.", skill="s", skill_args={"b": 1, "a": "x"}),
        'Do.\n\nApply the skill `s`: Does s\n- with `a` = "x"\n- with `b` = 1',
    ),
    (step("a", description="Do.", skill="gone"), "Do.\n\nApply the skill `gone`."),
    (
        step(
            "a",
            description="Do.",
            actions=[
                {"action": "log", "message": "Begun"},
                {"action": "validate", "target": "branch", "message": "Be on a branch"},
                {"action": "set", "target": "done", "value": True},
                {
                    "action": "set",
                    "target": "kind",
                    "description": "as detected",
                    "condition": equals("new", value=True),
                },
                {"action": "emit", "target": "ready"},
                {"action": "message", "message": "Look"},
            ],
        ),
        (
            "Do.\n\n- Log: Begun\n- Check `branch`: Be on a branch\n- Set `done` to true\n"
            "- If new == true: Set `kind`: as detected\n- Announce `ready`\n- Tell the user: Look"
        ),
    ),
    (
        step(
            "a", description="Do.", triggers=[{"workflow": "w", "description": "the child", "passContext": ["x", "y"]}]
        ),
        "Do.\n\nStart the workflow `w`: the child. Pass on: x, y.",
    ),
]


@pytest.mark.parametrize(("written", "prompt"), PROMPTS)
def test_a_prompt_says_what_to_do_and_with_which_skill(written, prompt):
    program = program_of(folder(activity(steps=[written]), **{"skills__00-s.toon": skill("s")}))
    (found,) = program.activities[0].body
    assert isinstance(found, Step)
    assert found.prompt == prompt


def test_a_prompt_leaves_the_parts_it_was_made_of():
    written = step("a", description="Do.", skill="s", skill_args={"n": 1}, actions=[{"action": "log", "message": "m"}])
    (found,) = body_of(steps=[written])
    assert (found.title, found.description, found.skill, found.skill_arguments) == ("A", "Do.", "s", {"n": 1})
    assert found.actions[0].message == "m"
