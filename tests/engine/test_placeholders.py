import pytest

from workflows_app.engine import placeholders
from workflows_app.engine.filled import filled
from workflows_app.engine.placeholders import (
    MAX_SHOWN_CHARS,
    MAX_VALUE_CHARS,
    MAX_WRITTEN_CHARS,
    Filling,
    expressions_in,
    names_in,
    render,
    render_message,
)
from workflows_app.engine.program import Checkpoint, Option


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


def test_messages_take_single_braces_and_double_ones_and_no_value_brings_in_another():
    variables = {"pr": {"number": 7}, "name": "Ada", "sly": "{name} {{name}}"}

    rendered = render_message(
        "PR {pr.number} of {name}: {unknown}, {{name}}, {{ nobody }}, {{sly}}, {a, b}, {}", variables=variables
    )

    assert rendered == "PR 7 of Ada: {unknown}, Ada, [unset: nobody], {name} {{name}}, {a, b}, {}"


def test_a_question_has_its_values_in_its_title_its_words_and_its_options():
    asked = Checkpoint(
        id="ship",
        name="Ship {{what}}?",
        message="Does {what} go to {{where}}?",
        options=(Option(id="yes", label="To {{where}}", description="{what} goes."),),
    )

    told = filled(asked, variables={"what": "it", "where": "them"})

    assert (told.name, told.message) == ("Ship it?", "Does it go to them?")
    assert (told.options[0].label, told.options[0].description) == ("To them", "it goes.")


def test_the_texts_of_one_question_share_what_is_shown_of_their_values():
    options = tuple(Option(id=str(number), label="{{long}}") for number in range(100))
    asked = Checkpoint(id="many", name="Many", message="Which?", options=options)

    told = filled(asked, variables={"long": "x" * 10_000})

    assert sum(len(option.label) for option in told.options) < MAX_SHOWN_CHARS + 100 * len("[left out: long]")


def test_names_are_listed_with_their_paths():
    assert names_in("{{a}} {{b.c}} {{a}} {{a + 1}} {{wr.refs.x}} {d}") == {"a", "b.c"}


def test_expressions_are_listed_for_the_author():
    assert expressions_in("{{a}} {{a + 1}} {{ f(x) }} {{a + 1}} {{wr.refs.x}}") == ("a + 1", "f(x)")


def test_a_value_that_is_no_json_does_not_stop_a_prompt():
    assert render("{{a}}", variables={"a": [float("nan")]}) == "[NaN]"


def watch_writing(monkeypatch):
    written, write = [], placeholders._as_json

    def watched(value):
        written.append(write(value))
        return written[-1]

    monkeypatch.setattr(placeholders, "_as_json", watched)
    return written


def test_a_value_that_is_named_a_thousand_times_is_written_once_and_shown_within_bounds(monkeypatch):
    written = watch_writing(monkeypatch)
    prompt = "{{a}}" * 1_600

    rendered = render(prompt, variables={"a": list(range(45_000))})

    assert len(written) == 1
    assert len(rendered) <= MAX_SHOWN_CHARS + len(prompt) + 1_600 * len("[left out: a]")
    assert rendered.endswith("[left out: a]")


@pytest.mark.parametrize("dots", [0, 30])
def test_many_names_of_long_values_are_written_within_bounds(monkeypatch, dots):
    written = watch_writing(monkeypatch)
    inner = list(range(45_000))
    for _ in range(60):
        inner = {"x": inner, "y": 1}
    names = [".".join(["a", *["x"] * level]) for level in range(dots, 60)]

    render(" ".join(f"{{{{{name}}}}}" for name in names), variables={"a": inner})

    assert sum(map(len, written)) <= MAX_WRITTEN_CHARS + len(written[0])


def test_the_texts_of_one_step_share_what_is_shown_of_their_values():
    filling = Filling({"a": "x" * MAX_VALUE_CHARS, "b": "short"})

    shown = [filling.render("{{a}}") for _ in range(6)]

    assert [len(text) == MAX_VALUE_CHARS for text in shown] == [True] * 4 + [False] * 2
    assert filling.render("{{b}} {{c}}") == "[left out: b] [unset: c]"
