"""What the server filled into a prompt is told apart from what the author wrote, and stays text whatever it says."""

import re

import pytest
from hypothesis import given, strategies as st

from sessions_app.admin.filled_values import prompt_html
from sessions_app.engine.state import Snapshot
from tests.engine_play import activities, asking, steps_program
from tests.hostile_texts import HOSTILE
from tests.step_documents import step
from tests.walking import activity
from workflows_app.engine import walker
from workflows_app.engine.program import Option

PUT = re.compile(r'<span class="put" title="from \{\{([^"]*)\}\}">([^<]*)</span>')
PRIVATE = re.compile("[\ue000-\uf8ff]")


def shown(prompt, variables):
    return of(steps_program(step("work", prompt=prompt)), variables)


def of(program, variables):
    walk = walker.start(program=program, variables=variables)
    return prompt_html(program=program, snapshot=Snapshot(position=walk.position, variables=variables))


@pytest.mark.parametrize(
    ("prompt", "value", "marked"),
    [
        ("Look at {{x}} now.", "a file", [("x", "a file")]),
        ("Look at {{ x.y }}.", {"y": 3}, [("x.y", "3")]),
        ("{{x}} and {{x}}", "one", [("x", "one"), ("x", "one")]),
        ("All: {{x}}", ["a", "b"], [("x", "[&quot;a&quot;,&quot;b&quot;]")]),
        ("Run `{{x}}`.", "make", [("x", "make")]),
        ("Says {{x}}", "some **bold** words", [("x", "some "), ("x", "bold"), ("x", " words")]),
        ("{{x}}", "- one\n- two", [("x", "one"), ("x", "two")]),
        ("{{x}}", "# A heading\n\nand a line", [("x", "A heading"), ("x", "and a line")]),
        ("{{x}}", "```\ncode\n```", [("x", "code")]),
        ("```\n{{x}}\n```", "a < b", [("x", "a &lt; b")]),
        ("Not {{y}}.", "set", []),
        ("Empty {{x}}.", "", []),
        ("[there]({{x}})", "https://example.org/a", []),
        ("<{{x}}>", "https://example.org/a", []),
    ],
)
def test_each_value_is_marked_with_its_name(prompt, value, marked):
    html = shown(prompt, {"x": value})

    assert [(name, text.replace('"', "&quot;").strip("\n")) for name, text in PUT.findall(html)] == marked
    assert not PRIVATE.search(html)


def test_a_link_whose_address_is_filled_in_leads_where_it_says():
    assert 'href="https://example.org/a"' in shown("[there]({{x}})", {"x": "https://example.org/a"})
    assert "href" not in shown("[there]({{x}})", {"x": "javascript:alert(1)"})


def test_a_value_that_holds_the_marks_itself_shows_its_words():
    html = shown("Say {{x}} and {{y}}.", {"x": "a\ue0000\ue001b\ue002c", "y": "d"})

    assert PUT.findall(html) == [("x", "a0bc"), ("y", "d")]
    assert not PRIVATE.search(html)


def test_values_of_a_question_are_marked_too():
    gate, checkpoint = asking("plan", Option(id="yes", label="Release {what}"))
    program = activities(activity("one", gate, checkpoints=(checkpoint,)))

    html = of(program, {"what": "4.13"})

    assert PUT.findall(html) == [("what", "4.13"), ("what", "4.13")]


@pytest.mark.parametrize(
    "around", ["Look at {{x}}.", "[x]({{x}})", "- {{x}}", "`{{x}}`", "| a |\n|-|\n| {{x}} |", "<{{x}}>"]
)
def test_no_value_becomes_markup(around):
    for text in HOSTILE:
        html = shown(around, {"x": text})
        tags = {tag.lower() for tag in re.findall(r"<(\w+)", html)}
        assert not tags & {"script", "img", "svg", "iframe", "style", "form", "input", "object", "base", "meta"}, text
        assert not re.search(r'href="\s*(?:javascript|data|vbscript):', html, re.IGNORECASE), text
        assert not re.search(r"<[^>]*\son\w+=", html), text


@given(st.text(alphabet=" \nab*_`#->|[]()<&1.\\\ue000\ue001\ue002", max_size=40))
def test_whatever_a_value_says_no_mark_is_left_and_each_box_is_closed(value):
    html = shown("Begin {{x}} end.", {"x": value})

    assert not PRIVATE.search(html)
    assert len(PUT.findall(html)) == html.count("<span") == html.count("</span>")
