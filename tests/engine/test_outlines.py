"""A program as it is shown before a run."""

from tests.step_documents import loop, program_of, step, workflow
from workflows_app.engine.outlines import first_step, outline


def test_the_first_step_is_the_one_that_a_run_without_context_begins_with():
    program = program_of(
        workflow(step("only-later", runCondition={"var": "later", "equals": True}), step("at-once"), step("then-this"))
    )

    assert first_step(program).step_id == "at-once"


def test_values_of_a_run_stay_as_they_are_written():
    program = program_of(workflow(step("at-once", prompt="Look at {{ticketId}}.")))

    assert first_step(program).prompt == "Look at {{ticketId}}."


def test_a_program_whose_every_step_waits_for_a_condition_has_no_first_step():
    program = program_of(workflow(step("only-later", runCondition={"var": "later", "equals": True})))

    assert first_step(program) is None


def test_the_outline_has_loops_with_what_they_hold():
    program = program_of(workflow(step("before-it"), loop("each-one", [step("inner-one"), step("inner-two")])))

    shown = [item.as_json() for item in outline(program)]

    assert [(item["id"], item["kind"]) for item in shown] == [("before-it", "step"), ("each-one", "loop")]
    assert [item["id"] for item in shown[1]["items"]] == ["inner-one", "inner-two"]
