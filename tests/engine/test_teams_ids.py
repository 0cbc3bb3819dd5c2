"""Row ids and their text."""

from uuid import UUID

import pytest

from teams_app.engine.ids import Prefix, birth_ms, from_text, to_text, uuid7

AN_ID = uuid7(unix_ms=1_763_467_200_000, random=bytes(range(10)))


def test_an_id_is_a_uuid_of_version_7_with_its_moment_in_front():
    assert (AN_ID.version, AN_ID.variant) == (7, "specified in RFC 4122")
    assert birth_ms(AN_ID) == 1_763_467_200_000


def test_later_ids_sort_after_earlier_ones_as_values_and_as_text():
    later = uuid7(unix_ms=1_763_467_200_001, random=bytes(10))

    assert later > AN_ID
    assert to_text(Prefix.TEAM, later) > to_text(Prefix.TEAM, AN_ID)


def test_an_id_survives_its_text():
    text = to_text(Prefix.SESSION, AN_ID)

    assert text.startswith("sess_")
    assert from_text(Prefix.SESSION, text) == AN_ID


def test_an_id_of_another_kind_is_none():
    assert from_text(Prefix.TEAM, to_text(Prefix.KEY, AN_ID)) is None


@pytest.mark.parametrize(
    "text",
    ["", "team", "team_", "team_" + "a" * 25, "team_" + "a" * 27, "team_" + "A" * 26, "team_" + "1" * 26, "team_\x00"],
)
def test_what_is_no_id_is_none(text):
    assert from_text(Prefix.TEAM, text) is None


def test_two_texts_never_name_one_id():
    text = to_text(Prefix.TEAM, UUID(int=0))

    assert from_text(Prefix.TEAM, text) == UUID(int=0)
    assert from_text(Prefix.TEAM, text[:-1] + "b") is None
