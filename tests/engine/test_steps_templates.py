"""A routine's steps in place of the step that calls it, and what the caller asks of them."""

import pytest

from tests.step_documents import (
    call,
    compiled,
    errors_of,
    items_of,
    loop,
    program_of,
    routine,
    step,
    warnings_of,
    workflow,
)
from workflows_app.engine.program import AllOf
from workflows_app.engine.source import Library, Source, SourceFormat
from workflows_app.selectors.library import with_sources

QUICK = {"var": "mode", "equals": "quick"}
SMALL = {"var": "size", "equals": "small"}


def library(*steps, **fields):
    return Library(routines={"sample": routine(*steps, **fields)})


def test_the_routines_steps_stand_in_the_callers_place_under_its_id():
    document = workflow(step("before"), call("look"), step("after"))
    body = program_of(document, library=library(step("one"), step("two"))).activities[0].body
    assert [item.id for item in body] == ["before", "look.one", "look.two", "after"]


def test_every_injected_step_tells_where_it_came_from():
    program = program_of(workflow(call("look")), library=library(step("one"), loop("again", [step("two")])))
    origins = {origin.at: origin for origin in program.provenance}
    assert {"look.one", "look.again", "look.two"} <= origins.keys()
    assert origins["look.two"].source == "wr.templates.routine.sample"
    assert origins["look.two"].digest.startswith("sha256:")


def test_the_callers_title_says_what_the_steps_are_part_of():
    made = library(step("one"), loop("again", [step("two")]))
    items = items_of(workflow(call("look", title="Look around")), library=made)
    assert (items["look.one"].title, items["look.one"].description) == ("Title of one", "Look around")
    assert items["look.again"].description == "Look around"


def test_one_routine_may_be_called_twice():
    document = workflow(call("here"), call("there"))
    assert set(items_of(document, library=library(step("one")))) == {"here.one", "there.one"}


def test_arguments_are_written_into_the_texts():
    made = library(
        step("one", title="Look at {what}", prompt="Read {what} in {place}.", guidance=["Not {{what}}."]),
        metaGuidance=["Think of {place}."],
        agentRole="You know {place}.",
    )
    document = workflow(call("look", arguments={"what": "the code", "place": "src"}))
    item = items_of(document, library=made)["look.one"]
    assert (item.title, item.prompt) == ("Look at the code", "Read the code in src.")
    assert item.guidance == ("Think of src.", "Not {{what}}.")
    assert item.agent_role == "You know src."


def test_arguments_that_are_no_text_are_written_as_json():
    made = library(step("one", prompt="{number} {flag} {list}"))
    document = workflow(call("look", arguments={"number": 3, "flag": True, "list": [1, "a"]}))
    assert items_of(document, library=made)["look.one"].prompt == '3 true [1,"a"]'


def test_patterns_and_schemas_are_no_place_for_arguments():
    rules = [
        {"type": "regex", "pattern": "\\p{L}+ {what}", "message": "Say {what}."},
        {"type": "schema", "schema": {"const": "{what}"}, "message": "JSON."},
    ]
    document = workflow(call("look", arguments={"what": "it"}))
    made = items_of(document, library=library(step("one", validationCriteria=rules)))["look.one"]
    assert [rule.message for rule in made.validation.rules] == ["Say it.", "JSON."]
    assert made.validation.rules[0].pattern == "\\p{L}+ {what}"
    assert made.validation.rules[1].schema == {"const": "{what}"}


def test_a_missing_argument_is_an_error_at_the_call():
    compilation = compiled(workflow(call("look")), library=library(step("one", prompt="Read {what}.")))
    (problem,) = compilation.errors
    assert (problem.code, problem.path) == ("missing_argument", "steps[0].templateCall.args.what")
    assert "steps[0].prompt" in problem.message


def test_an_argument_without_a_place_is_a_warning():
    document = workflow(call("look", arguments={"waht": "x", "what": "y"}))
    compilation = compiled(document, library=library(step("one", prompt="Read {what}.")))
    (problem,) = compilation.warnings
    assert (problem.code, problem.path) == ("unknown_argument", "steps[0].templateCall.args.waht")
    assert problem.suggestion == "Did you mean 'what'?"


def test_arguments_cannot_blow_a_text_up():
    made = library(step("one", prompt="{a}" * 1000))
    document = workflow(call("look", arguments={"a": "x" * 1000}))
    assert errors_of(document, library=made) == [("too_long", "steps[0].templateCall.args")]


def test_the_callers_condition_holds_for_every_step():
    made = library(step("one"), step("two", runCondition=SMALL), loop("again", [step("three")]))
    items = items_of(workflow(call("look", runCondition=QUICK)), library=made)
    assert items["look.one"].run_condition.path == ("mode",)
    both = items["look.two"].run_condition
    assert isinstance(both, AllOf)
    assert [part.path for part in both.conditions] == [("mode",), ("size",)]
    assert items["look.again"].run_condition.path == ("mode",)
    assert items["look.three"].run_condition is None


def test_the_callers_confirmation_stands_on_the_last_step():
    items = items_of(workflow(call("look", requireConfirmation=True)), library=library(step("one"), step("two")))
    assert items["look.one"].confirmation is None
    assert items["look.two"].confirmation.confirms == "always"


@pytest.mark.parametrize(
    "asked",
    [
        {"requireConfirmation": {"kind": "human_approval"}},
        {"requireConfirmation": True},
        {"outputContract": {"contractRef": "wr.contracts.review_verdict"}},
    ],
)
def test_what_the_caller_asks_of_a_last_step_that_may_be_left_out_is_a_warning(asked):
    (key,) = asked
    conditional = library(step("one"), step("two", runCondition=QUICK))
    told = ("conflicting_keys", f"steps[0].{key}")
    plain = library(step("one"), step("two"))

    assert told in warnings_of(workflow(call("look", **asked)), library=conditional)
    assert told not in warnings_of(workflow(call("look", **asked)), library=plain)
    assert told not in warnings_of(workflow(call("look", runCondition=SMALL, **asked)), library=plain)


@pytest.mark.parametrize(
    ("callers", "own", "kind", "conditional"),
    [
        (True, {"kind": "human_approval"}, "human_approval", False),
        (QUICK, SMALL, "conditional", True),
        (QUICK, True, "always", False),
        ({"kind": "coordinator_eval", "condition": QUICK}, {"kind": "human_approval"}, "human_approval", False),
        (False, QUICK, "conditional", True),
    ],
)
def test_two_confirmations_ask_at_least_as_much_as_each(callers, own, kind, conditional):
    made = library(step("one", requireConfirmation=own))
    item = items_of(workflow(call("look", requireConfirmation=callers)), library=made)["look.one"]
    assert item.confirmation.confirms == kind
    assert (item.confirmation.condition is not None) == conditional


def test_the_routines_guidance_becomes_that_of_its_steps():
    made = library(step("one", guidance=["Own."]), metaGuidance=["Of the routine."])
    items = items_of(workflow(call("look", guidance=["Of the caller."])), library=made)
    assert items["look.one"].guidance == ("Of the routine.", "Of the caller.", "Own.")


def test_roles_go_from_the_step_over_the_caller_and_the_routine_to_the_workflow():
    made = library(step("one"), step("two", agentRole="Role of the step."), agentRole="Role of the routine.")
    called = items_of(
        workflow(call("look"), call("spot", agentRole="Role of the caller."), agentRole="Role of the workflow."),
        library=made,
    )
    assert called["look.one"].agent_role == "Role of the routine."
    assert called["spot.one"].agent_role == "Role of the caller."
    assert called["spot.two"].agent_role == "Role of the step."


def test_what_must_be_handed_in_stands_at_the_end_and_files_at_the_beginning():
    document = workflow(
        call(
            "look",
            outputContract={"contractRef": "wr.contracts.gate_verdict"},
            askForFiles=True,
            modelTier="heavy",
            audit={"prompt": "Look again."},
            promptFragments=[{"id": "more", "text": "More."}],
        ),
    )
    items = items_of(document, library=library(step("one"), step("two", modelTier="mid")))
    first, last = items["look.one"], items["look.two"]
    assert (first.ask_for_files, last.ask_for_files) == (True, False)
    assert (first.contract, last.contract.contract) == (None, "wr.contracts.gate_verdict")
    assert (first.notes_required, last.notes_required) == (True, False)
    assert (first.model_tier, last.model_tier) == ("heavy", "mid")
    assert last.prompt == "Do two.\n\n## Audit your result\nLook again."
    assert [fragment.id for fragment in (*first.fragments, *last.fragments)] == ["more", "more"]


def test_two_gates_cannot_stand_on_one_step():
    contract = {"contractRef": "wr.contracts.gate_verdict"}
    made = library(step("one", outputContract=contract))
    document = workflow(call("look", outputContract=contract))
    assert errors_of(document, library=made) == [("conflicting_keys", "steps[0].templateCall")]


def test_a_gate_needs_a_step_to_stand_on():
    made = library(loop("again", [step("one")]))
    document = workflow(call("look", audit={"prompt": "Look again."}, askForFiles=True))
    assert set(errors_of(document, library=made)) == {
        ("conflicting_keys", "steps[0].audit"),
        ("conflicting_keys", "steps[0].askForFiles"),
    }


def test_functions_of_the_caller_are_shown_to_the_routines_steps():
    document = workflow(
        call("look", functionReferences=["finding()"]),
        functionDefinitions=[{"name": "finding", "definition": "One line."}],
    )
    assert [f.name for f in items_of(document, library=library(step("one")))["look.one"].functions] == ["finding"]


def test_a_routine_brings_its_functions_assessments_slots_references_and_features():
    made = library(
        step(
            "one",
            functionReferences=["mine()"],
            assessmentRefs=["ready"],
            promptBlocks={"goal": "Use {{wr.bindings.eye}}."},
        ),
        functionDefinitions=[{"name": "mine", "definition": "Own."}],
        assessments=[
            {"id": "ready", "purpose": "p", "dimensions": [{"id": "d", "purpose": "p", "levels": ["a", "b"]}]}
        ],
        extensionPoints=[{"slotId": "eye", "purpose": "p", "default": "wr.routine-eye"}],
        references=[{"id": "rules", "title": "t", "source": "s", "purpose": "p", "authoritative": True}],
        features=["wr.features.capabilities"],
    )
    program = program_of(workflow(call("look")), library=made)
    (item,) = program.activities[0].body
    assert [function.name for function in item.functions] == ["mine"]
    assert item.assessments == ("ready",)
    assert "Use wr.routine-eye." in item.prompt
    assert "Try one before you rely on it." in item.prompt
    assert [assessment.id for assessment in program.assessments] == ["ready"]
    assert [point.slot for point in program.extension_points] == ["eye"]
    assert [reference.id for reference in program.references] == ["rules"]


def test_an_assessment_that_means_two_things_is_an_error():
    scale = {"id": "ready", "purpose": "p", "dimensions": [{"id": "d", "purpose": "p", "levels": ["a", "b"]}]}
    made = library(step("one", assessmentRefs=["ready"]), assessments=[{**scale, "purpose": "q"}])
    document = workflow(call("look"), step("own", assessmentRefs=["ready"]), assessments=[scale])
    assert errors_of(document, library=made) == [("duplicate_id", "steps[0].templateCall")]


def test_loops_of_a_routine_may_name_its_own_steps():
    made = library(step("one"), loop("again", "two", type="for", count=2), step("two"))
    body = program_of(workflow(call("look")), library=made).activities[0].body
    assert [item.id for item in body] == ["look.one", "look.again"]
    assert [item.id for item in body[1].body] == ["look.two"]


def test_a_routine_may_stand_in_the_body_of_a_loop():
    items = items_of(workflow(loop("again", [call("look")])), library=library(step("one"), step("two")))
    assert [item.id for item in items["again"].body] == ["look.one", "look.two"]


def test_a_decision_inside_a_routine_may_name_the_loop_as_its_author_knew_it():
    contract = {"contractRef": "wr.contracts.loop_control"}
    source = {"kind": "artifact_contract", **contract}
    made = library(loop("again", [step("decide", outputContract=contract)], conditionSource=source))
    again = items_of(workflow(call("look")), library=made)["look.again"]
    assert (again.id, again.decision_loop_id) == ("look.again", "again")


def test_a_routine_cannot_call_a_routine():
    made = Library(routines={"sample": routine(call("inner", "other")), "other": routine(step("one"))})
    (problem,) = compiled(workflow(call("look")), library=made).errors
    assert (problem.code, problem.path) == ("recursive_template", "steps[0].templateCall")
    assert "In the routine 'sample', steps[0].templateCall.templateId" in problem.message


def test_unknown_routines_and_templates_get_the_ones_that_were_meant():
    made = library(step("one"))
    (problem,) = compiled(workflow(call("look", "smaple")), library=made).errors
    assert (problem.code, problem.path) == ("unknown_routine", "steps[0].templateCall.templateId")
    assert problem.suggestion == "Did you mean 'wr.templates.routine.sample'?"
    document = workflow(step("look", templateCall={"templateId": "wr.templates.capability_prob"}))
    (problem,) = compiled(document, library=made).errors
    assert (problem.code, problem.suggestion) == ("unknown_template", "Did you mean 'wr.templates.capability_probe'?")


def test_what_is_wrong_with_a_routine_is_told_at_the_call():
    made = library(step("one", wrong=1))
    (problem,) = compiled(workflow(step("before"), call("look")), library=made).errors
    assert (problem.code, problem.path) == ("unknown_key", "steps[1].templateCall")
    assert problem.message.startswith("In the routine 'sample', steps[0].wrong: ")


@pytest.mark.parametrize(
    "document", [None, [], "text", {"steps": 1}, {"steps": [None]}, {"id": "\ud800"}, {"id": 10**400}]
)
def test_a_routine_that_is_no_workflow_is_an_error_and_no_exception(document):
    made = Library(routines={"sample": document})
    assert compiled(workflow(call("look")), library=made).program is None


def test_a_small_document_cannot_become_a_huge_program():
    made = library(*(step(f"step-{index}") for index in range(200)))
    compilation = compiled(workflow(*(call(f"call-{index}") for index in range(50))), library=made)
    assert "too_large" in [problem.code for problem in compilation.errors]


def test_a_long_step_cannot_be_repeated_by_a_thousand_loops():
    long = step("long", prompt="x" * 8000, guidance=["y" * 30_000])
    document = workflow(long, *(loop(f"loop-{index}", "long", type="for", count=1) for index in range(1000)))
    assert "too_large" in [problem.code for problem in compiled(document).errors]


def test_the_callers_id_is_taken():
    document = workflow(call("look"), step("look"))
    assert errors_of(document, library=library(step("one"))) == [("duplicate_id", "steps[1].id")]


def test_notes_may_be_left_out_in_the_whole_routine():
    items = items_of(workflow(call("look", notesOptional=True)), library=library(step("one"), step("two")))
    assert [item.notes_required for item in items.values()] == [False, False]


def test_warnings_about_a_routines_text_stand_at_the_call():
    made = library(step("one", prompt="Round {{n + 1}}."))
    assert warnings_of(workflow(call("look")), library=made) == [("expression_placeholder", "steps[0].templateCall")]


def test_a_routine_that_cannot_be_read_is_the_one_problem_and_is_not_said_to_be_missing():
    broken = Source(format=SourceFormat.STEPS_JSON, files={"routine.json": b'{"id": "team.routine-look", '})
    library = with_sources(Library(), {"team.routine-look": broken}, within="team.sample")

    (problem,) = compiled(workflow(call("look", "team.look")), library=library).problems

    assert (problem.code.value, problem.path) == ("unreadable", "steps[0].templateCall")
    assert "team.look" in problem.message
