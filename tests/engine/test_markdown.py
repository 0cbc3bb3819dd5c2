"""Agents' words as HTML: what Markdown means is shown, and nothing in it can do anything."""

import re

import pytest
from hypothesis import given, strategies as st

from teams_app.engine.markdown import plain_words, render_markdown


def test_what_notes_are_made_of_is_shown():
    html = render_markdown(
        "# Done\n\n**Read** the `diff`:\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode <b>\n```"
    )

    assert "<h3>Done</h3>" in html
    assert "<strong>Read</strong> the <code>diff</code>" in html
    assert "<li>one</li>" in html
    assert "<td>1</td>" in html
    assert "code &lt;b&gt;" in html


def test_headings_stand_below_those_of_the_page():
    assert re.findall(r"<h(\d)>", render_markdown("# a\n## b\n### c\n#### d")) == ["3", "4", "5", "6"]


def test_a_link_leads_out_without_telling_where_it_came_from():
    assert render_markdown("[docs](https://example.org/a?b=c)") == (
        '<p><a href="https://example.org/a?b=c" rel="noopener noreferrer nofollow">docs</a></p>\n'
    )


WORDS = "a blockquote br code em h3 h4 h5 h6 hr li ol p pre strong table tbody td th thead tr ul"
KNOWN = set(WORDS.split())
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](https://example.org/spy.png)",
    "[x](javascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>body{display:none}</style>",
    "<iframe src='https://example.org'></iframe>",
    "<svg onload=alert(1)>",
    '<p style="position:fixed">x</p>',
    "<form action=https://example.org><input></form>",
    '[x](https://example.org "onmouseover=alert(1)")',
    "`<script>`",
    "```html\n<script>alert(1)</script>\n```",
    "[![x](https://example.org/a.png)](https://example.org)",
    "<!-- --><base href=https://example.org>",
    "<math><mi//xlink:href='data:x'>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_was_handed_in_becomes_markup_of_its_own(text):
    tags = re.findall(r"<(/?[a-zA-Z][^>]*)>", render_markdown(text))

    allowed = re.compile(r'/?(p|pre|code|em|strong)|/a|a( href="https?://[^"]*")? rel="noopener noreferrer nofollow"')
    assert [tag for tag in tags if allowed.fullmatch(tag) is None] == []


@given(st.text(max_size=400))
def test_any_text_gives_the_same_html_twice_and_only_known_tags(text):
    html = render_markdown(text)

    assert html == render_markdown(text)
    assert set(re.findall(r"</?([a-zA-Z0-9]+)", html)) <= KNOWN


def test_plain_words_are_the_words_without_their_markdown():
    assert plain_words("**3 of 10** runs:\n\n- `a < b` & <i>c</i>") == "3 of 10 runs: a < b & <i>c</i>"
