import json

import rfc8785
from hypothesis import given, settings, strategies as st

from workflows_app.engine import canonical

PROFILE = settings(derandomize=True, database=None, deadline=None, max_examples=200)

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
texts = st.text(characters, max_size=12) | st.text(alphabet="\ufb33\ue000\U0001f600\U00010000a", max_size=4)
safe_integers = st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)


def documents(numbers):
    return st.recursive(
        st.none() | st.booleans() | numbers | texts,
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5),
        max_leaves=20,
    )


@PROFILE
@given(documents(safe_integers | floats))
def test_both_roads_write_the_bytes_of_the_reference_library(value):
    assert canonical.canonical_bytes(value) == rfc8785.dumps(value)


@PROFILE
@given(documents(safe_integers | floats.filter(lambda number: abs(number) < 2**53)))
def test_what_was_written_reads_back_the_same(value):
    # A bigger double is written as a whole number, which Python reads as an exact one.
    written = canonical.canonical_bytes(value)

    assert canonical.loads_strict(written, max_bytes=len(written)) == value


@PROFILE
@given(documents(st.integers() | floats))
def test_canonical_bytes_are_their_own_canonical_form(value):
    try:
        written = canonical.canonical_bytes(value)
    except canonical.NotCanonicalError:
        return

    assert canonical.canonical_bytes(json.loads(written)) == written


@settings(PROFILE, max_examples=60)
@given(st.dictionaries(texts, documents(safe_integers), max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(value, random):
    keys = list(value)
    random.shuffle(keys)

    assert canonical.canonical_bytes({key: value[key] for key in keys}) == canonical.canonical_bytes(value)


@PROFILE
@given(st.binary(max_size=60) | st.text(max_size=60) | st.text(alphabet='{}[]",:0123e+-.\\u0ntfal ', max_size=60))
def test_any_input_is_read_or_refused_with_a_reason(data):
    try:
        value = canonical.loads_strict(data, max_bytes=1_000)
    except canonical.UnreadableJsonError as error:
        outcome = error.reason
    else:
        outcome = "read"
        assert canonical.loads_strict(json.dumps(value), max_bytes=1_000_000) == value
    assert outcome
