"""Warnings for what compiles and will not work as meant."""

import pytest

from tests.step_documents import compiled, loop, step, warnings_of, workflow


def unreachable(condition):
    document = workflow(step("first", prompt="Set mode and size.", runCondition=condition))
    return [path for code, path in warnings_of(document) if code == "unreachable"]


@pytest.mark.parametrize(
    "condition",
    [
        {"or": []},
        {"and": [{"var": "mode"}, {"or": []}]},
        {"and": [{"var": "mode", "equals": "quick"}, {"var": "mode", "equals": "deep"}]},
        {"not": {"and": []}},
        {"or": [{"or": []}, {"not": {"not": {"or": []}}}]},
    ],
)
def test_a_condition_that_no_values_meet_is_told(condition):
    assert unreachable(condition) == ["steps[0].runCondition"]


@pytest.mark.parametrize(
    "condition",
    [
        {"var": "mode"},
        {"and": []},
        {"not": {"or": []}},
        {"or": [{"or": []}, {"var": "mode"}]},
        {"and": [{"var": "mode", "equals": "quick"}, {"var": "size", "equals": "deep"}]},
        {"and": [{"var": "mode", "equals": "Quick "}, {"var": "mode", "equals": "quick"}]},
        {"and": [{"var": "mode", "equals": "true"}, {"var": "mode", "equals": "yes"}]},
        {"and": [{"var": "mode", "equals": "1"}, {"var": "mode", "equals": "1.0"}]},
        {"and": [{"var": "mode", "not_equals": "quick"}, {"var": "mode", "not_equals": "deep"}]},
    ],
)
def test_a_condition_that_some_values_meet_is_not_told(condition):
    assert unreachable(condition) == []


def test_a_variable_that_no_text_speaks_of_is_told_once_with_its_uses():
    document = workflow(
        step("first", runCondition={"var": "complexty", "equals": "high"}),
        step("second", requireConfirmation={"var": "complexty"}, prompt="Say the complexity."),
    )
    (problem,) = compiled(document).warnings
    assert (problem.code, problem.path) == ("undeclared_variable", "steps[0].runCondition")
    assert "It decides in 2 places." in problem.message


@pytest.mark.parametrize(
    "fields",
    [
        {"metaGuidance": ["Set depth."]},
        {"clarificationPrompts": ["Which depth?"]},
        {"preconditions": ["depth is known."]},
        {"about": "Set depth."},
        {"description": "Uses depth."},
        {"steps": [step("first", runCondition={"var": "depth"}, prompt="Set depth.")]},
        {"steps": [step("first", runCondition={"var": "depth"}, guidance=["Set depth."])]},
        {"steps": [step("first", runCondition={"var": "depth"}, promptFragments=[{"id": "f", "text": "depth"}])]},
        {
            "steps": [
                step("first", runCondition={"var": "depth"}),
                step("x-1", promptBlocks={"outputRequired": {"depth": "!"}}),
            ]
        },
    ],
)
def test_a_variable_that_some_text_speaks_of_is_not_told(fields):
    document = workflow(**{"steps": [step("first", runCondition={"var": "depth.level"})], **fields})
    assert warnings_of(document) == []


def test_variables_that_loops_set_are_known_inside():
    body = [step("inner", runCondition={"and": [{"var": "file.path"}, {"var": "place"}, {"var": "currentIteration"}]})]
    document = workflow(loop("again", body, type="forEach", items="goal", itemVar="file", indexVar="place"))
    assert warnings_of(document) == []


def test_the_list_and_the_count_of_a_loop_must_be_spoken_of():
    document = workflow(
        loop("one", [step("inner-one")], type="forEach", items="findings.open"),
        loop("two", [step("inner-two")], type="for", count="rounds"),
    )
    assert warnings_of(document) == [
        ("undeclared_variable", "steps[0].loop.items"),
        ("undeclared_variable", "steps[1].loop.count"),
    ]


def test_operators_of_which_one_counts_are_told():
    document = workflow(step("first", prompt="Set size.", runCondition={"var": "size", "equals": "small", "gt": 5}))
    assert [code for code, _ in warnings_of(document)] == ["conflicting_keys"]


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        ("Look at {{fiels}}.", True),
        ("Look at {{fiels.first}} and {{ fiels }}.", True),
        ("Set `fiels`, then look at {{fiels}}.", False),
        ("Look at {{currentItem}} of {{goal}}.", False),
        ("Look at fields.", False),
    ],
)
def test_a_name_that_only_braces_speak_of_is_told_where_it_stands(prompt, told):
    document = workflow(step("first", prompt="Set fields."), step("second", prompt=prompt))
    assert warnings_of(document) == ([("undeclared_variable", "steps[1].prompt")] if told else [])


def test_a_name_that_is_misspelt_in_braces_is_told_with_the_right_one():
    document = workflow(
        step("first", prompt="Set fields."), step("second", prompt="Look at {{fiels}}.", runCondition={"var": "fields"})
    )
    (problem,) = compiled(document).problems
    assert problem.suggestion == "Did you mean 'fields'?"
