"""What an agent hands in: notes within a budget of bytes, context as a delta."""

import pytest
from hypothesis import given, strategies as st

from sessions_app.engine import outputs
from sessions_app.engine.outputs import MAX_CONTEXT_BYTES, MAX_NOTES_BYTES, RESERVED_KEYS, TRUNCATION_MARKER
from teams_app.engine.errors import InvalidInputError
from workflows_app.engine import canonical


def refusal(stored, delta):
    with pytest.raises(InvalidInputError) as raised:
        outputs.merge_context(stored, delta)
    return raised.value.details


@pytest.mark.parametrize("char", ["a", "é", "漢", "😀"])
@pytest.mark.parametrize("bytes_over", [0, 1, 2, 3, 4, 5, 4096])
def test_notes_beyond_their_budget_are_cut_between_characters_and_say_so(char, bytes_over):
    notes = "x" * (MAX_NOTES_BYTES - 40) + char * 10
    notes += char * ((MAX_NOTES_BYTES + bytes_over - len(notes.encode())) // len(char.encode()))

    cut = outputs.cut_notes(notes)

    assert len(cut.encode()) <= MAX_NOTES_BYTES
    assert "\ufffd" not in cut
    assert cut == notes if len(notes.encode()) <= MAX_NOTES_BYTES else cut.endswith(TRUNCATION_MARKER)


@given(st.text(max_size=300), st.integers(0, 400))
def test_a_text_is_never_longer_than_it_may_be_and_begins_as_it_began(text, max_bytes):
    cut = outputs.cut_text(text, max_bytes=max_bytes)

    assert len(cut.encode()) <= max_bytes
    assert cut == text or text.startswith(cut.removesuffix(TRUNCATION_MARKER)) or TRUNCATION_MARKER.startswith(cut)


@given(st.text(min_size=MAX_NOTES_BYTES // 4))
def test_notes_are_cut_once(text):
    assert outputs.cut_notes(outputs.cut_notes(text)) == outputs.cut_notes(text)


def test_a_delta_is_merged_key_by_key_and_not_deeper():
    stored = {"a": {"x": 1}, "b": [1], "c": 1}

    assert outputs.merge_context(stored, {"a": {"y": 2}, "b": [2]}) == {"a": {"y": 2}, "b": [2], "c": 1}


def test_null_deletes_and_deleting_nothing_is_no_error():
    assert outputs.merge_context({"a": 1, "b": 2}, {"a": None, "gone": None}) == {"b": 2}


def test_what_is_merged_into_is_left_as_it_was():
    stored = {"a": 1}

    outputs.merge_context(stored, {"a": 2, "b": 3})

    assert stored == {"a": 1}


@pytest.mark.parametrize("key", sorted(RESERVED_KEYS))
@pytest.mark.parametrize("value", [1, None])
def test_reserved_keys_are_refused_even_to_delete(key, value):
    assert refusal({}, {key: value}) == {"reason": "RESERVED_KEY_REJECTED", "key": key}


def test_a_reserved_word_may_stand_deeper():
    assert outputs.merge_context({}, {"a": {"constructor": 1}}) == {"a": {"constructor": 1}}


def context_of(size):
    """A context whose canonical form has so many bytes."""
    return {"k": "x" * (size - len('{"k":""}'))}


def test_the_budget_is_of_canonical_bytes_and_exact():
    assert len(canonical.canonical_bytes(outputs.merge_context({}, context_of(MAX_CONTEXT_BYTES)))) == MAX_CONTEXT_BYTES

    details = refusal({}, context_of(MAX_CONTEXT_BYTES + 1))

    assert details["reason"] == "CONTEXT_BUDGET_EXCEEDED"
    assert (details["measuredBytes"], details["maxBytes"]) == (MAX_CONTEXT_BYTES + 1, MAX_CONTEXT_BYTES)


def test_the_budget_is_of_the_merged_context():
    half = {"a": "x" * (MAX_CONTEXT_BYTES // 2)}

    assert refusal(half, {"b": "x" * (MAX_CONTEXT_BYTES // 2)})["reason"] == "CONTEXT_BUDGET_EXCEEDED"
    assert outputs.merge_context(half, {"a": None, "b": "x" * (MAX_CONTEXT_BYTES // 2)})


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"k": value}
    return value


def test_a_context_is_at_most_32_levels_deep():
    assert outputs.merge_context({}, nested(32)) == nested(32)
    assert refusal({}, nested(33))["reason"] == "too_deep"


@pytest.mark.parametrize(
    ("value", "reason"),
    [("\x00", "nul_character"), ("\ud800", "lone_surrogate"), (float("nan"), "not_a_number")],
)
def test_what_cannot_be_stored_is_refused_with_its_reason(value, reason):
    assert refusal({}, {"a": [value]})["reason"] == reason


def test_a_number_beyond_every_double_is_refused():
    assert "reason" in refusal({}, {"a": 10**400})


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_texts_that_the_log_cannot_hold_are_refused_by_name(text):
    with pytest.raises(InvalidInputError) as raised:
        outputs.check_text(text, name="output.notesMarkdown")

    assert raised.value.details["parameter"] == "output.notesMarkdown"


def test_texts_that_are_too_long_are_refused_with_the_limit():
    outputs.check_text("é" * 5, name="goal", max_characters=5)
    with pytest.raises(InvalidInputError) as raised:
        outputs.check_text("é" * 6, name="goal", max_characters=5)

    assert raised.value.details["maxCharacters"] == 5
