"""The questions that steps name are asked after their step, and only if the step was done."""

import pytest

from workflows_app.engine import walker
from workflows_app.engine.program import (
    Activity,
    Checkpoint,
    Compare,
    ConditionMode,
    Family,
    Gate,
    Loop,
    LoopKind,
    Operator,
    Option,
    Program,
    Step,
)
from workflows_app.engine.simulate import simulate

IS_LARGE = Compare(path=("size",), operator=Operator.EQUALS, value="large")


def program(*body, checkpoint: Checkpoint | None = None) -> Program:
    asked = checkpoint or Checkpoint(id="go", name="Go", message="Go?", options=(Option(id="yes", label="Yes"),))
    activity = Activity(id="plan", title="Plan", body=body, checkpoints=(asked,))
    return Program(
        compiler=1,
        family=Family.ACTIVITIES,
        id="t.gates",
        title="Gates",
        version="1.0.0",
        conditions=ConditionMode.STRICT,
        activities=(activity,),
        initial_activity="plan",
    )


def keys(body, **variables) -> list[str]:
    found = simulate(program=program(*body), variables=variables, answers={}).keys
    return [key.partition("::")[2] for key in found]


STEP = Step(id="split", title="Split", run_condition=IS_LARGE)
GATE = Gate(id="go", checkpoint="go", step="split")
LAST = Step(id="last", title="Last")


def test_a_question_follows_the_step_that_names_it():
    assert keys((STEP, GATE, LAST), size="large") == ["split", "go", "last"]


def test_the_question_of_a_step_that_was_passed_over_is_not_asked():
    assert keys((STEP, GATE, LAST), size="small") == ["last"]


@pytest.mark.parametrize(("size", "expected"), [("large", ["split", "go", "last"] * 2), ("small", ["last"] * 2)])
def test_inside_a_loop_too(size, expected):
    loop = Loop(id="each", title="Each", loops=LoopKind.FOR, count=2, body=(STEP, GATE, LAST))

    assert keys((loop,), size=size) == expected


def test_a_question_that_stands_for_itself_is_asked():
    assert keys((Gate(id="go", checkpoint="go"), LAST)) == ["go", "last"]


def test_a_question_without_options_does_not_end_a_simulation():
    asked = Checkpoint(id="go", name="Go", message="Go?", options=())
    found = simulate(program=program(Gate(id="go", checkpoint="go"), LAST, checkpoint=asked), variables={}, answers={})

    assert [key.partition("::")[2] for key in found.keys] == ["go", "last"]


def test_the_walk_starts_at_the_question_when_it_comes_first():
    walk = walker.start(program=program(Gate(id="go", checkpoint="go"), LAST), variables={})

    assert walk.position.pending == "plan@0::go"
