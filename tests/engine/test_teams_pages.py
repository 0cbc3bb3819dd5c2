"""Pages and their cursors."""

import pytest

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.pages import Page, cut_page, decode_cursor, encode_cursor

KEY = b"k" * 32
OLD = b"o" * 32


def cut(rows, limit):
    return cut_page(rows=rows, limit=limit, value_of=str.upper, position_of=lambda row: f"at {row}")


def test_a_cursor_gives_its_position_back():
    cursor = encode_cursor(key=KEY, purpose="keys of team 1", position="0190é")

    assert decode_cursor(keys=[KEY], purpose="keys of team 1", cursor=cursor) == "0190é"


def test_a_cursor_signed_with_the_previous_key_is_still_good():
    cursor = encode_cursor(key=OLD, purpose="keys", position="x")

    assert decode_cursor(keys=[KEY, OLD], purpose="keys", cursor=cursor) == "x"


def test_a_cursor_of_another_list_or_team_is_refused():
    cursor = encode_cursor(key=KEY, purpose="keys of team 1", position="x")

    with pytest.raises(InvalidInputError):
        decode_cursor(keys=[KEY], purpose="keys of team 2", cursor=cursor)


def test_a_cursor_with_any_character_changed_is_refused():
    cursor = encode_cursor(key=KEY, purpose="keys", position="position")

    for place in range(len(cursor)):
        changed = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        if place == len(cursor) - 1 and _same_bytes(cursor, changed):
            continue
        with pytest.raises(InvalidInputError):
            decode_cursor(keys=[KEY], purpose="keys", cursor=changed)


def _same_bytes(one, other):
    """The last character of base64 may hold bits that no byte has."""
    import base64

    def raw(text):
        text = text.removeprefix("cur1.")
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    return raw(one) == raw(other)


@pytest.mark.parametrize("cursor", ["", "cur1.", "cur1.====", "cur1.é", "cur2.AAAA", "x" * 5000, "cur1.\x00", "\ud800"])
def test_nonsense_is_refused_as_a_cursor(cursor):
    with pytest.raises(InvalidInputError) as refused:
        decode_cursor(keys=[KEY], purpose="keys", cursor=cursor)

    assert "nextCursor" in refused.value.suggestion


def test_a_page_that_is_not_full_has_no_next_one():
    assert cut(["a", "b"], 2) == Page(items=("A", "B"), next_position=None)


def test_a_page_with_one_row_more_tells_where_the_next_begins():
    assert cut(["a", "b", "c"], 2) == Page(items=("A", "B"), next_position="at b")


def test_mapping_a_page_keeps_its_end():
    assert cut(["a", "b"], 1).map(len) == Page(items=(1,), next_position="at a")
