"""Normal forms of texts that somebody made to be slow."""

import ast
import unicodedata
from pathlib import Path

import pytest

from sessions_app.engine.resume import Haystack
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.names import fold_username, read_name
from teams_app.engine.normal_forms import normalised, only_seen, trimmed
from teams_app.engine.passwords import holds_name
from teams_app.engine.sign_on import login_name_of
from tests.flood_play import Work, allowed
from workflows_app.engine.safe_paths import same_file

ROOT = Path(__file__).parents[2]
APPS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")
COUNT = 30_000
# Marks of several classes, which are sorted; letters that become marks; signs that come apart into marks.
MARKS = ["\u0301\u0316", "\u0316\u3099\u0334", "\u0301\uff9e", "\u0f73\u0344", "\U0001d165\u0301"]


def refused_name(text):
    with pytest.raises(InvalidInputError):
        read_name(text)


READERS = {
    "a login name": fold_username,
    "a name": refused_name,
    "a password": lambda text: holds_name(password=text, username="somebody"),
    "a name at a provider": lambda text: login_name_of(given=text),
    "a path": same_file,
    "a text that is searched": Haystack.of,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("marks", MARKS)
def test_many_marks_on_one_letter_cost_in_proportion(reader, marks):
    text = "a" + marks * (COUNT // len(marks))

    with Work() as work:
        READERS[reader](text)

    assert work.seconds <= allowed(plain=0, size=len(text.encode()))


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFKD"])
def test_a_text_that_somebody_writes_has_its_normal_form(form):
    for text in (
        "Ａｌｉｃｅ",
        "e\u0301" * 600,
        "क्षि" * 200,
        "T\u0336h\u0336i\u0336s" * 90,
        "가" * 300 + "\u1112\u1161\u11ab",
        "\ud800a" * 300,
    ):
        assert normalised(form, text) == unicodedata.normalize(form, text)


def test_nothing_else_makes_a_normal_form():
    calls = {
        str(path.relative_to(ROOT))
        for app in APPS
        for path in sorted((ROOT / app).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "normalize"
    }

    assert calls == {"teams_app/engine/normal_forms.py"}


def test_a_short_text_stays_whole():
    assert normalised("NFC", "x" + "\u0316" * 300) == "x" + "\u0316" * 300


NOBODY_SEES = "\u200b \u2800\u3164\t\u00a0\ufeff"


@pytest.mark.parametrize(
    "text",
    ["", " ", *NOBODY_SEES, NOBODY_SEES, "\u3000" * 9, "\x01\x7f\x9f", "\ufff9\ufffb", "\U0001d159", "\n\r\u2028"],
)
def test_a_text_of_which_nobody_sees_anything_is_empty(text):
    assert trimmed(text) == ""
    assert only_seen(text) == ""


@pytest.mark.parametrize("text", ["a", "\u00e9", "\u9375", "\U0001f511", "0", "-", "\u0644", "\u0301", "a\u200d\u0915"])
def test_a_text_of_which_something_is_seen_keeps_all_within_it(text):
    assert trimmed(f" {text}\t") == text
    assert trimmed(f"{NOBODY_SEES}{text}{NOBODY_SEES}x").endswith(f"{text}{NOBODY_SEES}x")
    assert only_seen(f"{NOBODY_SEES}{text}") == text.replace("\u200d", "")


def test_what_nobody_sees_is_passed_over_in_proportion():
    few, many = "\u200b\u2800" * 10_000, "\u200b\u2800" * 100_000
    with Work() as of_few:
        trimmed(few)
    with Work() as work:
        trimmed(many)

    assert work.seconds <= 30 * of_few.seconds + 0.05
