"""Notes beside other notes: what is only on one side is marked, Markdown is drawn, and what agents write stays text."""

from sessions_app.admin.compared_notes import compared_html
from sessions_app.engine.comparing import ComparedPart, WordComparison


def both(one, other):
    parts = WordComparison().difference(one, other)
    return compared_html(parts[0], lane=1), compared_html(parts[1], lane=2)


def test_a_stretch_of_words_is_marked_as_one():
    one, other = both("Release at once, today.", "Release behind a flag, today.")

    assert one.count("<mark") == 1
    assert '<mark class="only-1">at once,</mark>' in one
    assert '<mark class="only-2">behind a flag,</mark>' in other


def test_headings_items_code_and_blocks_are_drawn_without_their_signs():
    one, _ = both("## Cause\n\n- Rounded in `tax.py`\n\n```diff\n-old\n+new\n```\n", "")

    assert "<strong>" in one
    assert 'class="item"' in one
    assert '<code class="code">tax.py</code>' in one
    assert "<pre>" in one
    assert "```" not in one
    assert "##" not in one


def test_nothing_that_an_agent_writes_is_markup():
    hostile = "<script>alert(1)</script> `<img src=x>` ```\n# <b>x</b>\n- <i>y</i>"
    html = compared_html([ComparedPart(text=hostile, is_own=True), ComparedPart(text=hostile, is_own=False)], lane=1)

    for tag in ("<script", "<img", "<b>", "<i>"):
        assert tag not in html
