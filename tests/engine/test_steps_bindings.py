"""What `{{wr.…}}` stands for, and where it may not be left."""

import pytest

from tests.step_documents import compiled, errors_of, items_of, loop, program_of, step, warnings_of, workflow
from workflows_app.engine.program import workflow_hash
from workflows_app.engine.source import Library
from workflows_app.engine.steps import refs

SLOT = {"slotId": "review", "purpose": "Looks at it.", "default": "wr.routine-look"}


def with_slot(prompt="Use {{wr.bindings.review}}.", **fields):
    return workflow(step("first", prompt=prompt), **{"extensionPoints": [SLOT], **fields})


def test_a_slot_is_its_default_until_a_team_binds_it():
    assert items_of(with_slot())["first"].prompt == "Use wr.routine-look."
    bound = Library(bindings={"review": "team.our-review", "other": "team.other"})
    assert items_of(with_slot(), library=bound)["first"].prompt == "Use team.our-review."


def test_the_program_tells_what_a_slot_was_bound_to_and_where_it_stands():
    program = program_of(with_slot(), library=Library(bindings={"review": "team.our-review"}))
    (point,) = program.extension_points
    assert (point.slot, point.default, point.bound_to) == ("review", "wr.routine-look", "team.our-review")
    (origin,) = program.provenance
    assert (origin.at, origin.kind, origin.source) == ("first", "binding", "review=team.our-review")


def test_another_binding_is_another_program():
    bound = Library(bindings={"review": "team.our-review"})
    assert workflow_hash(program_of(with_slot())) != workflow_hash(program_of(with_slot(), library=bound))


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({"guidance": ["By {{wr.bindings.review}}."]}, lambda item: item.guidance[0]),
        ({"agentRole": "You are {{wr.bindings.review}}."}, lambda item: item.agent_role),
        ({"title": "Ask {{wr.bindings.review}}"}, lambda item: item.title),
        ({"promptBlocks": {"goal": "Ask {{wr.bindings.review}}"}}, lambda item: item.prompt),
        ({"promptBlocks": {"outputRequired": {"notes": "{{wr.bindings.review}}"}}}, lambda item: item.prompt),
        ({"promptFragments": [{"id": "f", "text": "{{ wr.bindings.review }}"}]}, lambda item: item.fragments[0].text),
    ],
)
def test_slots_are_filled_in_wherever_an_agent_reads(fields, read):
    document = workflow(step("first", **fields), extensionPoints=[SLOT])
    assert "wr.routine-look" in read(items_of(document)["first"])


def test_slots_are_filled_in_at_the_top_of_the_document_as_well():
    document = with_slot(metaGuidance=["By {{wr.bindings.review}}."], agentRole="You are {{wr.bindings.review}}.")
    program = program_of(document)
    assert program.guidance == ("By wr.routine-look.",)
    assert program.activities[0].body[0].agent_role == "You are wr.routine-look."


def test_slots_are_filled_in_inside_loops():
    document = workflow(loop("again", [step("inner", prompt="{{wr.bindings.review}}")]), extensionPoints=[SLOT])
    assert items_of(document)["inner"].prompt == "wr.routine-look"


def test_a_reference_may_stand_in_plain_text():
    program = program_of(workflow(step("first", prompt="{{wr.refs.memory_query}} Then go.")))
    assert program.activities[0].body[0].prompt == f"{refs.TEXTS['wr.refs.memory_query']} Then go."
    assert [origin.kind for origin in program.provenance] == ["ref"]


def test_an_unknown_slot_gets_the_one_that_was_meant():
    (problem,) = compiled(with_slot("Use {{wr.bindings.reveiw}}.")).errors
    assert (problem.code, problem.path) == ("unknown_binding", "steps[0].prompt")
    assert problem.suggestion == "Did you mean 'review'?"


@pytest.mark.parametrize(
    "left", ["{{wr.}}", "{{wr.nothing}}", "{{ wr.refs.none }}", "{{wr.bindings.review", "{{wr.a{{b}}"]
)
def test_nothing_of_ours_is_left_in_a_prompt(left):
    assert errors_of(with_slot(f"Use {left} now.")) == [("leftover_token", "steps[0].prompt")]


def test_a_token_written_with_escapes_is_a_token():
    data = b'{"id":"team.x","name":"n","description":"d","version":"1.0.0","steps":[{"id":"one","title":"t",'
    data += b'"prompt":"\\u007b\\u007bwr.none}}"}]}'
    assert errors_of(data) == [("leftover_token", "steps[0].prompt")]


def test_prose_about_the_workflow_may_speak_of_tokens():
    assert errors_of(workflow(about="Write {{wr.bindings.slot}} to name a slot.")) == []


def test_a_slot_bound_to_nothing_known_is_warned_of():
    known = Library(workflow_ids=frozenset({"team.known"}), routines={"look": {"id": "wr.routine-look"}})
    assert warnings_of(with_slot(), library=known) == []
    lost = Library(workflow_ids=frozenset({"team.known"}))
    assert warnings_of(with_slot(), library=lost) == [("unknown_routine", "extensionPoints[0].default")]


def test_a_slot_bound_to_the_wrong_kind_is_warned_of():
    document = with_slot(extensionPoints=[{**SLOT, "acceptedKinds": ["workflow"]}])
    library = Library(workflow_ids=frozenset({"team.known"}), routines={"look": {}})
    assert warnings_of(document, library=library) == [("bad_value", "extensionPoints[0].acceptedKinds")]
