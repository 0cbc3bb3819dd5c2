"""Names of teams, keys and people."""

import pytest

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.names import read_name, read_username


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


def test_a_user_name_is_read_without_regard_to_case():
    assert read_username(" Alice@Example.com ") == "alice@example.com"


@pytest.mark.parametrize("text", ["", ".alice", "al ice", "ałice", "x" * 101, "a\x00", "-a"])
def test_what_is_not_a_user_name_is_refused(text):
    with pytest.raises(InvalidInputError):
        read_username(text)
