"""Names of teams, keys and people."""

import re
import unicodedata

import pytest

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.names import only_read, read_name, read_username, unseen_in


def test_a_name_is_trimmed_and_composed():
    assert read_name("  Équipe  ") == "Équipe"


UNSEEN = ["\u3164", "\u2800\u2800", "\u115f \u3164", "\ufe0f"]


@pytest.mark.parametrize(
    "text",
    [*UNSEEN, "", "   ", "a\nb", "a\x00b", "a\u202eb", "a\u200bb", "a\ud800", "x" * 101, "a\u2028b"],
)
def test_a_name_that_is_empty_long_or_invisible_is_refused(text):
    with pytest.raises(InvalidInputError) as refused:
        read_name(text)

    assert refused.value.suggestion


# Persian, Sinhala, Malayalam and Hindi words that a joiner belongs to, emoji of several, a flag of a part of a country, signs of Arabic.
JOINED = [
    "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "\u0dc1\u0dca\u200d\u0dbb\u0dd3", "\u0d28\u0d4d\u200d", "\u0915\u094d\u200d\u0937",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f9d1\U0001f3fd\u200d\U0001f680", "\u2764\ufe0f\u200d\U0001f525",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\u06dd\u0661", "1\ufe0f\u20e3", "\u2122\ufe0f",
    "\u845b\U000e0100", "\u1828\u180b", "\U0001f469\u200d\u2695\ufe0f", "\U0001f3f3\ufe0f\u200d\U0001f308 team",
]  # fmt: skip
OF_OTHER_SCRIPTS = [
    "\u7530\u4e2d\u3000\u592a\u90ce", "Qui\u00a0?", "\u0939\u093f\u0928\u094d\u0926\u0940", "\u05e9\u05dc\u05d5\u05dd", "\u1019\u103c\u1014\u103a\u1019\u102c",
    "\u0623\u064e\u0647\u0652\u0644\u064b\u0627",
]  # fmt: skip
DECEIVING = {
    "a\u202eb": "U+202E", "a\u2066b\u2069": "U+2066", "ab\u200d": "U+200D", "Ann\u200cSmith": "U+200C", "a\u200bb": "U+200B", "a\u00adb": "U+00AD",
    "\u0639\u200c\u200c\u0631": "U+200C", "a\nb": "U+000A", "a\x00b": "U+0000", "a\x1b[31mb": "U+001B", "\u200e\u05e9": "U+200E", "a\u2028b": "U+2028",
    "\U0001f469\u200dadmin": "U+200D", "\U0001f469\u200d": "U+200D", "ad\u3164min": "U+3164", "a\u034fb": "U+034F", "a\ufe0fb": "U+FE0F",
    "a\u17b4b": "U+17B4", "a\uffffb": "U+FFFF", "a\ufdd0b": "U+FDD0", "\u0639\u200c": "U+200C", "\u4e2d\u200d\u4e2d": "U+200D",
    "a\ufeffb": "U+FEFF", "a\U000e0041b": "U+E0041", "\U0001f3f4\U000e0067": "U+E0067", "\u200d\U0001f469a": "U+200D", "\u0639\u061c\u200c\u0631": "U+061C",
}  # fmt: skip


@pytest.mark.parametrize("text", JOINED + OF_OTHER_SCRIPTS)
def test_a_word_of_any_script_is_a_name(text):
    assert read_name(text) == unicodedata.normalize("NFC", text)
    assert unseen_in(text) == ""
    assert only_read(text) == text


@pytest.mark.parametrize("text", DECEIVING)
def test_a_character_that_is_not_seen_is_told_by_its_number(text):
    with pytest.raises(InvalidInputError, match=re.escape(DECEIVING[text])):
        read_name(f"x{text}x")
    assert unseen_in(only_read(text)) == ""
    assert only_read(f"<{text}>").startswith("<")


def test_a_user_name_is_read_without_regard_to_case():
    assert read_username(" Alice@Example.com ") == "alice@example.com"


@pytest.mark.parametrize("text", ["", ".alice", "al ice", "ałice", "x" * 101, "a\x00", "-a"])
def test_what_is_not_a_user_name_is_refused(text):
    with pytest.raises(InvalidInputError):
        read_username(text)
