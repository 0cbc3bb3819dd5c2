"""Functions: defined once, shown to the steps that name them, and called with the arguments they ask for."""

import pytest

from tests.step_documents import errors_of, items_of, loop, program_of, step, warnings_of, workflow

FINDING = {"name": "finding", "definition": "One line for each."}
TYPED = {
    "name": "report",
    "definition": "Writes it down.",
    "parameters": [
        {"name": "level", "type": "string", "required": True, "enum": ["low", "high"]},
        {"name": "count", "type": "number"},
        {"name": "tags", "type": "array", "required": True, "default": []},
    ],
}


def called(arguments, definition=TYPED):
    return workflow(
        step("first", functionCalls=[{"name": "report", "args": arguments}]), functionDefinitions=[definition]
    )


def test_only_the_functions_that_a_step_names_are_shown_to_it():
    document = workflow(
        step("first", functionReferences=["finding()"]),
        step("second"),
        functionDefinitions=[FINDING, {"name": "other", "definition": "Unused."}],
    )
    items = items_of(document)
    assert [function.name for function in items["first"].functions] == ["finding"]
    assert items["second"].functions == ()
    assert [function.name for function in program_of(document).functions] == ["finding", "other"]
    assert warnings_of(document) == [("ignored_field", "functionDefinitions[1]")]


def test_a_reference_is_written_as_a_call():
    document = workflow(step("first", functionReferences=["finding"]), functionDefinitions=[FINDING])
    assert errors_of(document) == [("bad_value", "steps[0].functionReferences[0]")]


def test_an_unknown_function_is_an_error():
    document = workflow(step("first", functionReferences=["fnding()"]), functionDefinitions=[FINDING])
    assert errors_of(document) == [("unknown_function", "steps[0].functionReferences[0]")]


def test_the_nearest_definition_counts():
    def definition(text):
        return [{"name": "finding", "definition": text}]

    around = loop(
        "again", [step("inner", functionReferences=["finding()"]), step("own", functionReferences=["finding()"])]
    )
    around["functionDefinitions"] = definition("of the loop")
    around["body"][1]["functionDefinitions"] = definition("of the step")
    document = workflow(
        step("first", functionReferences=["finding()"]), around, functionDefinitions=definition("of the workflow")
    )
    items = items_of(document)
    assert items["first"].functions[0].definition == "of the workflow"
    assert items["inner"].functions[0].definition == "of the loop"
    assert items["own"].functions[0].definition == "of the step"


def test_a_function_of_a_loop_is_not_seen_outside_it():
    around = loop("again", [step("inner", functionReferences=["finding()"])])
    around["functionDefinitions"] = [FINDING]
    document = workflow(around, step("after", functionReferences=["finding()"]))
    assert errors_of(document) == [("unknown_function", "steps[1].functionReferences[0]")]


def test_functions_that_nobody_names_are_warned_of_in_every_place():
    around = loop("again", [step("inner", functionDefinitions=[{**FINDING, "name": "of_step"}])])
    around["functionDefinitions"] = [{**FINDING, "name": "of_loop"}]
    assert warnings_of(workflow(around, functionDefinitions=[FINDING])) == [
        ("ignored_field", "functionDefinitions[0]"),
        ("ignored_field", "steps[0].body[0].functionDefinitions[0]"),
        ("ignored_field", "steps[0].functionDefinitions[0]"),
    ]


def test_a_scope_that_is_not_where_it_stands_is_warned_of():
    document = workflow(
        step("first", functionReferences=["finding()"]), functionDefinitions=[{**FINDING, "scope": "loop"}]
    )
    assert warnings_of(document) == [("ignored_field", "functionDefinitions[0].scope")]


def test_one_name_is_defined_once_in_one_place():
    document = workflow(
        step("first", functionReferences=["finding()"]),
        functionDefinitions=[FINDING, {**FINDING, "definition": "Another."}],
    )
    assert errors_of(document) == [("duplicate_id", "functionDefinitions[1].name")]


def test_a_call_keeps_its_arguments_and_shows_the_function():
    item = items_of(called({"level": "low", "count": 2}))["first"]
    (call,) = item.function_calls
    assert (call.name, call.arguments) == ("report", {"level": "low", "count": 2})
    assert [function.name for function in item.functions] == ["report"]


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        ({}, "missing_argument", "level"),
        ({"level": "middle"}, "bad_value", "level"),
        ({"level": 1}, "wrong_type", "level"),
        ({"level": "low", "count": "2"}, "wrong_type", "count"),
        ({"level": "low", "count": True}, "wrong_type", "count"),
        ({"level": "low", "levle": "x"}, "unknown_argument", "levle"),
    ],
)
def test_arguments_are_checked_against_the_parameters(arguments, code, name):
    assert errors_of(called(arguments)) == [(code, f"steps[0].functionCalls[0].args.{name}")]


def test_a_value_that_the_run_fills_in_is_not_checked_before_it():
    assert errors_of(called({"level": "{{level}}"})) == []


def test_a_function_without_parameters_takes_what_it_is_given():
    assert errors_of(called({"any": 1}, {"name": "report", "definition": "Free."})) == []
