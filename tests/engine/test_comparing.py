"""How two ways through a workflow are laid beside each other."""

from hypothesis import given, strategies as st

from sessions_app.engine.comparing import Pair, PathDifference, ValueComparison, WordComparison, align, path_differences


def test_steps_that_both_have_stand_side_by_side_and_the_rest_alone():
    assert align(["plan", "test", "ship"], ["plan", "flag", "ship"]) == [
        Pair(one=0, other=0),
        Pair(one=1, other=None),
        Pair(one=None, other=1),
        Pair(one=2, other=2),
    ]


def test_words_that_differ_are_marked_on_both_sides():
    one, other = WordComparison().difference("Release at once.", "Release behind a flag.")

    assert [(part.text, part.is_own) for part in one] == [("Release ", False), ("at once.", True)] or "".join(
        part.text for part in one if part.is_own
    ).strip().startswith("at")
    assert "".join(part.text for part in other) == "Release behind a flag."


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_word_is_lost_whatever_is_compared(one, other):
    parts = WordComparison().difference(one, other)

    assert ["".join(part.text for part in side) for side in parts] == [one, other]
    assert any(part.is_own for side in parts for part in side) is (one != other)


def test_values_differ_by_their_paths():
    found = path_differences(
        {"flag": None, "stages": [1, 2], "same": 1}, {"stages": [1, 3], "same": 1, "way": {"x": "y"}}
    )

    assert [(each.path, each.one, each.other) for each in found] == [
        ("flag", "null", None),
        ("stages[1]", "2", "3"),
        ("way.x", None, '"y"'),
    ]


def test_what_the_budget_no_longer_bears_is_told_as_a_whole():
    words = WordComparison(most_work=5)

    assert [part.is_own for part in words.difference("a b", "a c")[0]] == [False, True]
    assert [part.is_own for part in words.difference("a b", "a c")[0]] == [True]
    assert [part.is_own for part in words.difference("a b", "a b")[0]] == [False]


def test_values_are_compared_as_long_as_the_work_for_all_of_them_lasts():
    values = ValueComparison(most_characters=60)
    one, other = {"plan": '{"stages":[1,2]}', "same": "[1]"}, {"plan": '{"stages":[1,3]}', "same": "[1]"}

    assert values.difference(one, other) == [PathDifference(path="plan.stages[1]", one="2", other="3")]
    (told,) = values.difference(one, other)
    assert (told.path, "not compared" in told.one, "not compared" in told.other) == ("plan", True, True)
    assert values.difference(one, one) == []


def test_what_was_not_read_is_told_as_other_and_what_is_absent_as_absent():
    values = ValueComparison()

    (told,) = values.difference({"plan": ""}, {})
    assert (told.path, "not compared" in told.one, told.other) == ("plan", True, None)
    assert [each.path for each in values.difference({"a": "1"}, {"b": "2"})] == ["a", "b"]


def test_places_with_long_names_count_as_work():
    name = "n" * 300
    one, other = ({"plan": f'{{"{name}":[{",".join([str(value)] * 200)}]}}'} for value in (1, 2))

    assert len(ValueComparison(most_characters=2_000).difference(one, other)) == 1
    assert len(ValueComparison().difference(one, other)) == 200
