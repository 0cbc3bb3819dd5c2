import pytest

from workflows_app.engine.placeholders import MAX_VALUE_CHARS, expressions_in, names_in, render, render_single


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("Do {{task}}.", "Do it."),
        ("Do {{ task }}.", "Do it."),
        ("{{plan.steps.0.name}}", "first"),
        ("{{plan.steps.length}} steps", "1 steps"),
        ("{{plan.steps}}", '[{"name":"first"}]'),
        ("{{count}} {{ratio}} {{done}}", "3 0.5 false"),
        ("{{plan}}", '{"steps":[{"name":"first"}]}'),
        ("{{empty}}!", "!"),
    ],
)
def test_a_name_becomes_its_value(text, rendered):
    variables = {
        "task": "it",
        "plan": {"steps": [{"name": "first"}]},
        "count": 3,
        "ratio": 0.5,
        "done": False,
        "empty": "",
    }

    assert render(text, variables=variables) == rendered


@pytest.mark.parametrize("name", ["missing", "missing.path", "text.path", "nothing", "list.5", "__proto__", "list.-1"])
def test_what_is_not_set_says_so(name):
    variables = {"text": "a", "nothing": None, "list": [1]}

    assert render(f"<{{{{{name}}}}}>", variables=variables) == f"<[unset: {name}]>"


@pytest.mark.parametrize(
    "text", ["{{a + 1}}", "{{f()}}", "{{a[0]}}", "{{}}", "{{ }}", "{{wr.bindings.slot}}", "{a}", "{{a}"]
)
def test_nothing_is_evaluated(text):
    assert render(text, variables={"a": 1, "wr": {"bindings": {"slot": "x"}}}) == text


def test_a_value_cannot_bring_in_another():
    assert render("{{a}}", variables={"a": "{{b}}", "b": "secret"}) == "{{b}}"


def test_a_huge_value_is_cut():
    rendered = render("{{a}}", variables={"a": "x" * (MAX_VALUE_CHARS + 5)})

    assert rendered == "x" * MAX_VALUE_CHARS + "…"


def test_messages_of_activities_have_single_braces():
    variables = {"pr": {"number": 7}, "name": "Ada"}

    rendered = render_single("PR {pr.number} of {name}: {unknown}, {{name}}, {a, b}, {}", variables=variables)

    assert rendered == "PR 7 of Ada: {unknown}, {{name}}, {a, b}, {}"


def test_names_are_listed_with_their_paths():
    assert names_in("{{a}} {{b.c}} {{a}} {{a + 1}} {{wr.refs.x}} {d}") == {"a", "b.c"}


def test_expressions_are_listed_for_the_author():
    assert expressions_in("{{a}} {{a + 1}} {{ f(x) }} {{a + 1}} {{wr.refs.x}}") == ("a + 1", "f(x)")


def test_a_value_that_is_no_json_does_not_stop_a_prompt():
    assert render("{{a}}", variables={"a": [float("nan")]}) == "[NaN]"
