from hypothesis import given, settings, strategies as st

from workflows_app.engine import conditions
from workflows_app.engine.problems import Severity
from workflows_app.engine.program import ConditionMode, Not

PROFILE = settings(derandomize=True, database=None, deadline=None, max_examples=200)

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(["x", "y", "x.y", "x.0", "x.length", "__proto__", "", "a..b"])
operators = st.sampled_from(
    ["equals", "not_equals", "gt", "gte", "lt", "lte", "contains", "startsWith", "endsWith", "matches", "in", "exists"],
)
patterns = st.sampled_from(["^a", "(a+)+$", "[", "(?i)b", "(?!x)", "\\s", "."])
simple = st.builds(
    lambda name, operator, value: {"var": name, operator: value}, names, operators, json_values | patterns
)
step_conditions = st.recursive(
    simple | json_values,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"and": parts}, st.lists(inner, max_size=3)),
        st.builds(lambda parts: {"or": parts}, st.lists(inner, max_size=3)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=8,
)
activity_conditions = st.recursive(
    json_values
    | st.builds(
        lambda name, operator, value: {"type": "simple", "variable": name, "operator": operator, "value": value},
        names,
        st.sampled_from(["==", "!=", ">", "exists", "in", "matches"]),
        json_values,
    ),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"type": "and", "conditions": parts}, st.lists(inner, max_size=3)),
        st.builds(lambda part: {"type": "not", "condition": part}, inner),
    ),
    max_leaves=6,
)
contexts = st.dictionaries(st.sampled_from(["x", "y", "x.y", "__proto__"]), json_values, max_size=3)
modes = st.sampled_from(ConditionMode)
lines = st.text(alphabet="ab.!()&|=<>'\" 012true", max_size=40)


@PROFILE
@given(value=step_conditions, variables=contexts, mode=modes)
def test_any_step_condition_evaluates_to_a_truth_value_in_any_context(value, variables, mode):
    condition, _ = conditions.parse_steps_condition(value, path="c", mode=mode)

    assert conditions.evaluate(condition, variables=variables, mode=mode) in {True, False}
    assert isinstance(conditions.describe(condition), str)
    assert all(isinstance(name, str) for name in conditions.variables_of(condition))


@PROFILE
@given(value=activity_conditions | lines, variables=contexts)
def test_any_activity_condition_evaluates_to_a_truth_value_in_any_context(value, variables):
    condition, _ = conditions.parse_activity_condition(value, path="c")

    assert conditions.evaluate(condition, variables=variables, mode=ConditionMode.STRICT) in {True, False}
    assert isinstance(conditions.describe(condition), str)


@PROFILE
@given(value=step_conditions, variables=contexts, mode=modes)
def test_denying_a_sound_condition_turns_it_around(value, variables, mode):
    condition, problems = conditions.parse_steps_condition(value, path="c", mode=mode)
    if condition is None or problems:
        return

    held = conditions.evaluate(condition, variables=variables, mode=mode)

    assert conditions.evaluate(Not(condition=condition), variables=variables, mode=mode) is not held


@PROFILE
@given(value=step_conditions, mode=modes)
def test_reading_is_deterministic_over_the_order_of_keys(value, mode):
    def reversed_keys(part):
        if isinstance(part, dict):
            return {key: reversed_keys(child) for key, child in reversed(part.items())}
        return [reversed_keys(child) for child in part] if isinstance(part, list) else part

    # repr, because NaN differs from itself
    there = conditions.parse_steps_condition(reversed_keys(value), path="c", mode=mode)
    assert repr(there[1]) == repr(conditions.parse_steps_condition(value, path="c", mode=mode)[1])


@PROFILE
@given(name=st.sampled_from(["x", "y"]), value=scalars, variables=contexts, mode=modes)
def test_not_equals_is_the_opposite_of_equals(name, value, variables, mode):
    def held(operator):
        condition, problems = conditions.parse_steps_condition({"var": name, operator: value}, path="c", mode=mode)
        assert not [problem for problem in problems if problem.severity is Severity.ERROR]
        return conditions.evaluate(condition, variables=variables, mode=mode)

    assert held("equals") is not held("not_equals")
