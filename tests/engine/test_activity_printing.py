"""Programs of either family told in the words of activity workflows."""

import json

import pytest

from tests import step_documents
from tests.activity_folders import activity, checkpoint, folder, program_of, step, workflow
from workflows_app.engine.activity_documents import (
    activity_json,
    instructions_json,
    overview_json,
    shortened,
    workflow_json,
)

MODE = {"id": "fast", "name": "Fast", "activationVariable": "fast"}
ROLES = {"roles": [{"id": "planner", "description": "Plans."}]}


def of_steps(*steps):
    return step_documents.program_of(step_documents.workflow(*steps))


def test_an_overview_has_everything_that_is_read_before_the_first_activity_also_where_it_is_empty():
    told = overview_json(program_of(folder(activity("work", steps=[step("do")]))), with_modes=True)

    assert list(told) == [
        "id",
        "version",
        "title",
        "description",
        "rules",
        "variables",
        "executionModel",
        "modes",
        "initialActivity",
        "activities",
    ]
    assert (told["rules"], told["variables"], told["executionModel"], told["modes"]) == ([], [], {"roles": []}, [])
    assert told["activities"] == [{"id": "work", "name": "Work", "required": True}]


def test_modes_are_told_to_those_who_ask_for_them():
    program = program_of(folder(about=workflow(modes=[MODE], executionModel=ROLES, initialActivity="work")))

    assert overview_json(program, with_modes=True)["modes"][0]["id"] == "fast"
    assert "modes" not in overview_json(program, with_modes=False)
    assert workflow_json(program)["executionModel"] == ROLES


def test_a_step_of_the_other_family_says_how_it_is_done_and_who_agrees():
    program = of_steps(
        step_documents.step(
            "ship",
            prompt="Ship it.",
            agentRole="You are careful.",
            guidance=["Slowly"],
            requireConfirmation={"kind": "human_approval"},
        )
    )

    (told,) = activity_json(program, program.activities[0])["steps"]

    assert told["description"].startswith("Ship it.")
    assert (told["agentRole"], told["guidance"]) == ("You are careful.", ["Slowly"])
    assert told["requireConfirmation"] == "human_approval"


def test_such_a_step_is_told_as_a_skill_of_its_own():
    program = of_steps(step_documents.step("ship", title="Ship", prompt="Ship it.", guidance=["Slowly"]))

    told = instructions_json(program, program.activities[0].body[0])

    assert (told["id"], told["version"], told["capability"]) == ("ship", "1.0.0", "Ship")
    assert told["instructions"].startswith("Ship it.")
    assert told["guidance"] == ["Slowly"]


def test_a_shortened_activity_keeps_every_step_and_the_beginning_of_what_it_says():
    long = "Read this with care. " * 200
    loop = {"id": "each", "name": "Each", "type": "while", "steps": [step("inner", description=long)]}
    program = program_of(folder(activity("work", steps=[step("do", description=long)], loops=[loop])))
    printed = activity_json(program, program.activities[0])

    told = shortened(printed, text_bytes=200)

    assert len(json.dumps(told)) < 2_000 < len(json.dumps(printed))
    assert [item["id"] for item in told["steps"]] == ["do"]
    assert told["loops"][0]["steps"][0]["description"].startswith("Read this with care.")
    assert printed["steps"][0]["description"] == long


def newest(*steps):
    about = b"id: team.oven\nversion: 1.0.0\ntitle: Oven\n"
    written = {"id": "bake", "version": "1.0.0", "name": "Bake", "steps": list(steps)}
    program = program_of({"workflow.yaml": about, "activities/01-bake.yaml": json.dumps(written).encode()})
    return activity_json(program, program.activities[0])


ACT = {"kind": "action", "id": "shape"}
ASK = {"kind": "checkpoint", "id": "sure", "message": "?", "options": [{"id": "yes", "label": "Yes"}]}
REPEAT = {
    "kind": "loop",
    "id": "batches",
    "loopType": "forEach",
    "over": "loaves",
    "steps": [{"kind": "action", "id": "bake-one"}],
}


def test_what_is_done_after_what_is_told_where_steps_questions_and_loops_alternate():
    assert newest(REPEAT, ACT)["order"] == ["batches", "shape"]
    assert newest(ACT, ASK, {**ACT, "id": "sell"})["order"] == ["shape", "sure", "sell"]
    assert newest(ASK, ACT, REPEAT, {**ASK, "id": "done"})["order"] == ["sure", "shape", "batches", "done"]


@pytest.mark.parametrize("steps", [(), (ACT,), (ASK, ACT), (ACT, REPEAT), (ASK, ACT, REPEAT)])
def test_it_is_not_told_where_questions_come_first_and_loops_last(steps):
    assert "order" not in newest(*steps)


def test_nor_where_a_step_names_its_checkpoint():
    asks = step("ask", checkpoint="sure")
    program = program_of(folder(activity(checkpoints=[checkpoint("sure")], steps=[step("do"), asks, step("end")])))

    assert "order" not in activity_json(program, program.activities[0])


def test_a_loop_tells_when_it_is_begun_at_all():
    (loop,) = newest({**REPEAT, "when": "hot"})["loops"]

    assert loop["runCondition"] == {"type": "simple", "variable": "hot", "operator": "truthy"}
