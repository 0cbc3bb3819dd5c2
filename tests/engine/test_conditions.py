import pytest

from workflows_app.engine import conditions
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import (
    AllOf,
    AnyOf,
    Broken,
    Compare,
    ConditionMode,
    Not,
    Operator,
    Truthy,
)

STRICT, LENIENT = ConditionMode.STRICT, ConditionMode.LENIENT
HOLDS, FAILS = {"and": []}, {"or": []}


def read(value, mode=STRICT):
    return conditions.parse_steps_condition(value, path="runCondition", mode=mode)


def holds(value, variables, mode=STRICT):
    return conditions.evaluate(read(value, mode)[0], variables=variables, mode=mode)


def read_activity(value):
    return conditions.parse_activity_condition(value, path="condition", file="activities/01-a.toon")


def holds_activity(value, variables):
    condition, problems = read_activity(value)
    assert not [problem for problem in problems if problem.severity is Severity.ERROR]
    return conditions.evaluate(condition, variables=variables, mode=STRICT)


def codes(problems):
    return [(problem.code, problem.path) for problem in problems]


# What strict and lenient mean


@pytest.mark.parametrize(
    ("value", "wanted", "strict", "lenient"),
    [
        ("a", "a", True, True),
        (" A", "a ", False, True),
        ("\ufeffa", "a", False, True),
        (1, "1", False, True),
        ("1.0", 1, False, True),
        (" 1e3 ", 1000, False, True),
        ("0x10", 16, False, True),
        ("1_0", 10, False, False),
        ("", 0, False, True),
        ("nan", 1, False, False),
        (1.0, 1, True, True),
        (True, 1, False, False),
        (True, "YES", False, True),
        ("0", False, False, True),
        ("", False, False, False),
        (True, "on", False, False),
        (None, None, True, True),
        (0, None, False, False),
        ("null", None, False, False),
        ([1], [1], False, False),
        ({"a": 1}, {"a": 1}, False, False),
    ],
)
def test_equality_in_both_modes(value, wanted, strict, lenient):
    condition = {"var": "x", "equals": wanted}

    assert holds(condition, {"x": value}) is strict
    assert holds(condition, {"x": value}, LENIENT) is lenient
    assert holds({"var": "x", "not_equals": wanted}, {"x": value}) is not strict
    assert holds({"var": "x", "not_equals": wanted}, {"x": value}, LENIENT) is not lenient


def test_missing_and_null_differ_only_when_strict():
    condition = {"var": "x", "equals": None}

    assert not holds(condition, {})
    assert holds(condition, {"x": None})
    assert holds(condition, {}, LENIENT)


@pytest.mark.parametrize("mode", [STRICT, LENIENT])
@pytest.mark.parametrize(
    ("variables", "exists"), [({}, False), ({"x": None}, False), ({"x": ""}, True), ({"x": 0}, True)]
)
def test_what_exists_is_neither_missing_nor_null(variables, exists, mode):
    assert holds({"var": "x", "exists": True}, variables, mode) is exists
    assert holds({"var": "x", "notExists": True}, variables, mode) is not exists
    assert holds({"var": "x", "exists": False}, variables, mode) is not exists


@pytest.mark.parametrize("mode", [STRICT, LENIENT])
@pytest.mark.parametrize("value", ["5", True, None, [5], {}])
def test_only_numbers_are_ordered(value, mode):
    for operator in ("gt", "gte", "lt", "lte"):
        assert not holds({"var": "x", operator: 1}, {"x": value}, mode)


def test_numbers_are_ordered():
    assert holds({"var": "x", "gt": 1}, {"x": 1.5})
    assert holds({"var": "x", "gte": 1}, {"x": 1})
    assert holds({"var": "x", "lt": 1}, {"x": -1})
    assert not holds({"var": "x", "lte": 1}, {"x": 2})


@pytest.mark.parametrize(
    ("condition", "value", "strict", "lenient"),
    [
        ({"contains": "SEC"}, "security", False, True),
        ({"contains": "sec"}, "security", True, True),
        ({"contains": "sec"}, ["a", "security"], False, True),
        ({"contains": "security"}, ["a", "security"], True, True),
        ({"contains": 2}, [1, 2], True, True),
        ({"startsWith": "Sec"}, " security", False, True),
        ({"endsWith": "ty"}, "security", True, True),
        ({"matches": "^SEC"}, "security", False, True),
        ({"matches": "^sec"}, ["security"], False, True),
        ({"in": ["a", 1]}, "A", False, True),
        ({"in": ["a", 1]}, 1, True, True),
        ({"in": []}, 1, False, False),
    ],
)
def test_texts_and_lists_in_both_modes(condition, value, strict, lenient):
    assert holds({"var": "x", **condition}, {"x": value}) is strict
    assert holds({"var": "x", **condition}, {"x": value}, LENIENT) is lenient


@pytest.mark.parametrize(
    ("value", "truthy"),
    [(1, True), ("a", True), ([], True), ({}, True), (0, False), ("", False), (None, False), (False, False)],
)
def test_a_bare_variable_holds_as_in_javascript(value, truthy):
    assert holds({"var": "x"}, {"x": value}) is truthy


# Paths


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("plan.name", "a"),
        ("plan.steps.1", "y"),
        ("plan.steps.length", 2),
        ("plan.size.length", 5),
        ("flat.key", "whole"),
    ],
)
def test_a_dotted_path_leads_into_objects_and_lists(path, value):
    variables = {
        "plan": {"name": "a", "steps": ["x", "y"], "size": {"length": 5}},
        "flat.key": "whole",
        "flat": {"key": "part"},
    }

    assert conditions.lookup(tuple(path.split(".")), variables=variables) == value


@pytest.mark.parametrize(
    "path",
    ["x.y", "plan.2", "plan.-1", "plan.01x", "text.length", "plan.length.z", "__proto__", "constructor.name", "a"],
)
def test_a_path_that_leads_nowhere_is_missing(path):
    variables = {"plan": [1, 2], "text": "abc"}

    assert conditions.lookup(tuple(path.split(".")), variables=variables) is conditions.MISSING


def test_names_of_prototypes_are_ordinary_keys():
    assert not holds({"var": "__proto__"}, {})
    assert holds({"var": "__proto__.x", "equals": 1}, {"__proto__": {"x": 1}})


# Reading the form of step workflows


@pytest.mark.parametrize("value", [None, {}])
def test_saying_nothing_holds(value):
    condition, problems = read(value)

    assert condition is None
    assert problems == ()
    assert conditions.evaluate(condition, variables={}, mode=STRICT)


def test_a_condition_becomes_a_tree():
    condition, problems = read(
        {"and": [{"var": "a.b", "gt": 1}, {"or": [{"not": {"var": "c"}}, {"var": "d", "in": [1]}]}]}
    )

    assert problems == ()
    assert condition == AllOf(
        conditions=(
            Compare(path=("a", "b"), operator=Operator.GT, value=1),
            AnyOf(
                conditions=(
                    Not(condition=Truthy(path=("c",))),
                    Compare(path=("d",), operator=Operator.IN, value=[1]),
                ),
            ),
        ),
    )


def test_the_first_operator_in_the_fixed_order_wins_and_the_author_is_told():
    condition, problems = read({"gt": 5, "not_equals": "b", "equals": "a", "var": "x", "and": []})

    assert condition == Compare(path=("x",), operator=Operator.EQUALS, value="a")
    assert codes(problems) == [(ProblemCode.CONFLICTING_KEYS, "runCondition")]
    assert problems[0].severity is Severity.WARNING


def test_and_counts_before_or_and_not():
    condition, problems = read({"not": HOLDS, "or": [HOLDS], "and": [{"var": "x"}]})

    assert condition == AllOf(conditions=(Truthy(path=("x",)),))
    assert [problem.code for problem in problems] == [ProblemCode.CONFLICTING_KEYS]


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ({"var": "x", "equal": 1}, ProblemCode.UNKNOWN_OPERATOR, "runCondition.equal"),
        ({"and": [{"var": "x"}, {"foo": 1}]}, ProblemCode.UNKNOWN_OPERATOR, "runCondition.and[1].foo"),
        ({"equals": 1}, ProblemCode.BAD_CONDITION, "runCondition"),
        ({"var": ""}, ProblemCode.BAD_CONDITION, "runCondition.var"),
        ({"var": "a..b"}, ProblemCode.BAD_CONDITION, "runCondition.var"),
        ({"var": 5}, ProblemCode.WRONG_TYPE, "runCondition.var"),
        ({"var": "x" * 300}, ProblemCode.TOO_LONG, "runCondition.var"),
        ({"var": "x", "gt": "many"}, ProblemCode.WRONG_TYPE, "runCondition.gt"),
        ({"var": "x", "gt": True}, ProblemCode.WRONG_TYPE, "runCondition.gt"),
        ({"var": "x", "in": "a"}, ProblemCode.WRONG_TYPE, "runCondition.in"),
        ({"var": "x", "in": [0] * 501}, ProblemCode.TOO_LONG, "runCondition.in"),
        ({"var": "x", "contains": ["a"]}, ProblemCode.WRONG_TYPE, "runCondition.contains"),
        ({"var": "x", "exists": "yes"}, ProblemCode.WRONG_TYPE, "runCondition.exists"),
        ({"var": "x", "matches": 1}, ProblemCode.WRONG_TYPE, "runCondition.matches"),
        ({"var": "x", "matches": "["}, ProblemCode.BAD_PATTERN, "runCondition.matches"),
        ({"var": "x", "matches": "(a)\\1"}, ProblemCode.BAD_PATTERN, "runCondition.matches"),
        ({"and": {"var": "x"}}, ProblemCode.WRONG_TYPE, "runCondition.and"),
        ({"or": [5]}, ProblemCode.WRONG_TYPE, "runCondition.or[0]"),
        ({"not": None}, ProblemCode.WRONG_TYPE, "runCondition.not"),
        ("x == 1", ProblemCode.WRONG_TYPE, "runCondition"),
        ([], ProblemCode.WRONG_TYPE, "runCondition"),
    ],
)
def test_what_is_no_condition_is_an_error_with_its_place_and_never_holds(value, code, path):
    condition, problems = read(value)

    assert (code, path) in codes(problems)
    assert any(problem.severity is Severity.ERROR for problem in problems)
    assert not conditions.evaluate(condition, variables={}, mode=STRICT)


def test_a_misspelt_operator_is_told_what_was_meant():
    _, problems = read({"var": "x", "not_equal": 1})

    assert problems[0].suggestion == "Did you mean 'not_equals'?"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"and": [{}]}, ProblemCode.BAD_CONDITION),
        ({"or": []}, ProblemCode.BAD_CONDITION),
        ({"var": "x", "equals": [1]}, ProblemCode.BAD_CONDITION),
        ({"var": "x", "in": [[1]]}, ProblemCode.BAD_CONDITION),
        ({"var": "x", "gt": "5"}, ProblemCode.WRONG_TYPE),
    ],
)
def test_what_says_less_than_it_seems_is_a_warning(value, code):
    _, problems = read(value)

    assert [(problem.code, problem.severity) for problem in problems] == [(code, Severity.WARNING)]


def test_a_quoted_number_is_read_as_the_number():
    assert holds({"var": "x", "gt": "5"}, {"x": 6})


@pytest.mark.parametrize("inner", [{}, {"foo": 1}, None])
def test_a_part_that_is_no_condition_makes_the_whole_false_also_under_not(inner):
    assert not holds({"not": inner}, {})
    assert not holds({"and": [inner]}, {})
    assert not holds({"not": {"and": [{"not": inner}]}}, {})


def test_a_part_that_is_not_reached_does_no_harm():
    assert holds({"or": [{"var": "x"}, {"foo": 1}]}, {"x": 1})
    assert not holds({"or": [{"var": "x"}, {"foo": 1}]}, {})


def test_depth_and_size_are_bounded():
    deep = {"var": "x"}
    for _ in range(5_000):
        deep = {"not": deep}

    condition, problems = read(deep)

    assert [problem.code for problem in problems] == [ProblemCode.TOO_DEEP]
    assert not conditions.evaluate(condition, variables={}, mode=STRICT)
    assert [problem.code for problem in read({"and": [{"var": "x"}] * 2_000})[1]] == [ProblemCode.TOO_LARGE]


def test_a_tree_deeper_than_any_that_is_read_does_not_hold_and_does_not_raise():
    condition = Truthy(path=("x",))
    for _ in range(10_000):
        condition = Not(condition=condition)

    assert not conditions.evaluate(condition, variables={"x": 1}, mode=STRICT)


# Reading the form of activity workflows


@pytest.mark.parametrize(
    ("operator", "value", "held"),
    [
        ("==", 5, True),
        ("!=", 5, False),
        (">", 4, True),
        ("<", 4, False),
        (">=", 5, True),
        ("<=", 4, False),
        ("exists", None, True),
        ("notExists", None, False),
        ("in", [4, 5], True),
    ],
)
def test_operators_of_activity_workflows(operator, value, held):
    condition = {"type": "simple", "variable": "x.y", "operator": operator, "value": value}

    assert holds_activity(condition, {"x": {"y": 5}}) is held


def test_groups_of_activity_workflows():
    flag = {"type": "simple", "variable": "a", "operator": "==", "value": True}
    other = {"type": "simple", "variable": "b", "operator": "notExists"}

    assert holds_activity({"type": "and", "conditions": [flag, other]}, {"a": True})
    assert holds_activity({"type": "or", "conditions": [flag, {"type": "not", "condition": other}]}, {"b": 1})


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ({}, ProblemCode.MISSING_KEY, "condition"),
        ({"type": "simpel"}, ProblemCode.BAD_CONDITION, "condition.type"),
        ({"type": ["and"]}, ProblemCode.BAD_CONDITION, "condition.type"),
        ({"type": "simple", "operator": "=="}, ProblemCode.MISSING_KEY, "condition"),
        ({"type": "simple", "variable": "x", "operator": "=="}, ProblemCode.MISSING_KEY, "condition"),
        (
            {"type": "simple", "variable": "x", "operator": "=", "value": 1},
            ProblemCode.UNKNOWN_OPERATOR,
            "condition.operator",
        ),
        (
            {"type": "simple", "variable": "x", "operator": "==", "value": [1]},
            ProblemCode.WRONG_TYPE,
            "condition.value",
        ),
        (
            {"type": "simple", "variable": "x", "operator": ">", "value": "high"},
            ProblemCode.WRONG_TYPE,
            "condition.value",
        ),
        (
            {"type": "simple", "variable": "x", "operator": "exists", "vlaue": 1},
            ProblemCode.UNKNOWN_KEY,
            "condition.vlaue",
        ),
        ({"type": "and"}, ProblemCode.MISSING_KEY, "condition"),
        ({"type": "and", "conditions": ["a"]}, ProblemCode.TOO_SHORT, "condition.conditions"),
        ({"type": "and", "conditions": "a"}, ProblemCode.WRONG_TYPE, "condition.conditions"),
        ({"type": "or", "conditions": ["a", {"type": "not"}]}, ProblemCode.MISSING_KEY, "condition.conditions[1]"),
        (5, ProblemCode.WRONG_TYPE, "condition"),
    ],
)
def test_what_is_no_activity_condition_is_an_error_with_its_place(value, code, path):
    _, problems = read_activity(value)

    assert (code, path) in codes(problems)
    assert {problem.file for problem in problems} == {"activities/01-a.toon"}


@pytest.mark.parametrize(
    ("written", "meant"), [("=", "'=='"), ("===", "'=='"), ("<>", "'!='"), ("=>", "'>='"), ("gte", "'>='")]
)
def test_a_foreign_operator_is_told_its_spelling_here(written, meant):
    _, problems = read_activity({"type": "simple", "variable": "x", "operator": written, "value": 1})

    assert problems[0].suggestion == f"Did you mean {meant}?"


def test_a_value_beside_exists_is_ignored_and_said():
    _, problems = read_activity({"type": "simple", "variable": "x", "operator": "exists", "value": True})

    assert [(p.code, p.severity) for p in problems] == [(ProblemCode.IGNORED_FIELD, Severity.WARNING)]


# Conditions written as one line


@pytest.mark.parametrize(
    ("line", "held"),
    [
        ("flag", True),
        ("!flag", False),
        ("!!flag", True),
        ("missing", False),
        ("kind == completion", True),
        ("kind == 'completion'", True),
        ('kind != "other" && count > 2', True),
        ("count >= 3 && count <= 3.0 && !(count < 3)", True),
        ("(missing && flag) || count == 3", True),
        ("missing && (flag || count == 3)", False),
        ("!missing == 1", True),
        ("plan.steps.length == 2", True),
        ("nothing == null", True),
        ("missing == null", False),
        ("missing != null", True),
        ("offset == -1", True),
        ("true", True),
        ("false || flag", True),
        ("quote == 'it\\'s'", True),
    ],
)
def test_a_line_is_a_condition(line, held):
    variables = {
        "flag": True,
        "kind": "completion",
        "count": 3,
        "plan": {"steps": [1, 2]},
        "nothing": None,
        "offset": -1,
        "quote": "it's",
    }

    assert holds_activity(line, variables) is held


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("a && b || c", "(a && b) || c"),
        ("a || (b && c || d)", "(a && b) || c"),
        ("a = 1", "=="),
        ("a === 1", "=="),
        ("a !== 1", "!="),
        ("a & b", "&&"),
        ("a | b", "||"),
        ("a and b", "&&"),
        ("a or b", "||"),
        ("5 > a", "left"),
        ('a == "open', "quotes"),
        ("(a", ""),
        ("a)", ""),
        ("a ==", ""),
        ("a == b c", ""),
        ("", "name a variable"),
        ("   ", "name a variable"),
        ("a..b", ""),
        ("a == 1.2.3", ""),
        ("a; b", ""),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_with_a_hint(line, hint):
    condition, problems = read_activity(line)

    assert [problem.code for problem in problems] == [ProblemCode.BAD_CONDITION]
    assert hint in problems[0].suggestion
    assert isinstance(condition, Broken)


@pytest.mark.parametrize("line", ["!" * 3_000 + "a", "(" * 1_000 + "a" + ")" * 1_000, "a" * 5_000, "a && " * 700 + "a"])
def test_a_line_is_bounded(line):
    condition, problems = read_activity(line)

    assert problems
    assert not conditions.evaluate(condition, variables={"a": 1}, mode=STRICT)


# Asking about a condition


def test_the_variables_of_a_condition_are_its_dotted_paths():
    condition, _ = read({"and": [{"var": "a.b", "gt": 1}, {"not": {"or": [{"var": "c"}, {"foo": 1}]}}]})

    assert conditions.variables_of(condition) == {"a.b", "c"}
    assert conditions.variables_of(None) == frozenset()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("skip_optional_activities == true", "skip_optional_activities == true"),
        ({"type": "simple", "variable": "x", "operator": "exists"}, "x exists"),
        ({"type": "simple", "variable": "x", "operator": "notExists"}, "x notExists"),
        ({"type": "and", "conditions": ["a == 'x'", "b != null"]}, 'a == "x" AND b != null'),
        ({"type": "or", "conditions": ["a > 1.50", "!b"]}, "a > 1.5 OR NOT (b)"),
        ({"type": "simple", "variable": "x.y", "operator": "in", "value": [1, "a"]}, 'x.y in [1,"a"]'),
        ({"type": "simple", "variable": "x", "operator": "matches", "value": "a\nb"}, 'x matches "a\\nb"'),
        ("true", "true"),
        ("a && b || c", "false"),
    ],
)
def test_a_condition_is_said_in_one_line(value, text):
    assert conditions.describe(read_activity(value)[0]) == text
