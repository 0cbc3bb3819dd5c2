import hashlib
import json
import re

import pytest
from hypothesis import given, strategies as st

from workflows_app.engine import canonical


def read(text, **limits):
    return canonical.loads_strict(text, max_bytes=limits.pop("max_bytes", 10_000), **limits)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'.encode()),
        (1.0, b"1"),
        (-0.0, b"0"),
        (1e21, b"1e+21"),
        (0.000001, b"0.000001"),
        (1e-7, b"1e-7"),
        (2**53 - 1, b"9007199254740991"),
        (2**53 + 1, b"9007199254740992"),
        ('\u20ac\u0001"\\/', b'"\xe2\x82\xac\\u0001\\"\\\\/"'),
        ((1, 2), b"[1,2]"),
    ],
)
def test_values_are_written_as_rfc_8785_says(value, written):
    assert canonical.canonical_bytes(value) == written


def test_keys_are_sorted_by_utf_16_code_units_and_not_by_code_points():
    # U+1F600 begins with the unit D83D, which is before FB33.
    written = canonical.canonical_bytes({"\ufb33": 1, "\U0001f600": 2})

    assert written.index("\U0001f600".encode()) < written.index("\ufb33".encode())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", {1: 2}, {"a": object()}, 10**400])
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(canonical.NotCanonicalError):
        canonical.canonical_bytes(value)


def test_a_value_too_deep_to_write_is_refused_and_not_a_crash():
    value = []
    for _ in range(10_000):
        value = [value]

    with pytest.raises(canonical.NotCanonicalError):
        canonical.canonical_bytes(value)


def test_a_digest_names_its_algorithm():
    assert canonical.canonical_digest({}) == f"sha256:{hashlib.sha256(b'{}').hexdigest()}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a":1,"a":2}', "duplicate_key"),
        ('{"a":{"b":1,"b":1}}', "duplicate_key"),
        ("[NaN]", "not_a_number"),
        ("[-Infinity]", "not_a_number"),
        ("1e999", "not_a_number"),
        ('"\\ud800"', "lone_surrogate"),
        ('{"\\ude00":1}', "lone_surrogate"),
        ('"a\\u0000b"', "nul_character"),
        ('{"\\u0000":1}', "nul_character"),
        ("{", "not_json"),
        ("[1,]", "not_json"),
        ("", "not_json"),
        ("1" * 400, "not_a_number"),
        ("-" + "1" * 5_000, "not_a_number"),
        (b"\xff", "not_utf8"),
        ("[" * 65 + "]" * 65, "too_deep"),
        ('{"a":' * 65 + "1" + "}" * 65, "too_deep"),
        ("x" * 10_001, "too_large"),
    ],
)
def test_json_that_may_not_be_stored_is_refused_with_a_reason(text, reason):
    with pytest.raises(canonical.UnreadableJsonError) as refused:
        read(text)

    assert refused.value.reason == reason


def test_brackets_inside_texts_are_no_depth():
    assert read('["' + "[{" * 200 + '\\"]"]') == ["[{" * 200 + '"]']


def test_depth_up_to_the_limit_is_read():
    assert read("[" * 3 + "]" * 3, max_depth=3) == [[[]]]
    with pytest.raises(canonical.UnreadableJsonError):
        read("[" * 4 + "]" * 4, max_depth=3)


def height(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(height, inner), default=0)


def counted(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(counted, inner))


_LEAVES = st.sampled_from([1, None, "", "a[b]{", 'x\\"]', "[{", ",", "[]", {}, []])
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "[", "},", '"']), inner),
    max_leaves=25,
)


@given(value=_VALUES, indent=st.sampled_from([None, 1]))
def test_depth_and_values_are_told_exactly_before_they_are_made(value, indent):
    text, deep, many = json.dumps(value, indent=indent), height(value), counted(value)

    assert read(text, max_depth=max(deep, 1), max_values=many) == value
    if deep > 0:
        assert refused_for(text, max_depth=deep - 1) == "too_deep"
    # What follows is no JSON: whoever reads first and counts then says so.
    assert refused_for(f"{text}, 1 no JSON", max_values=many) == "too_many_values"


@given(
    texts=st.lists(st.text(st.sampled_from('a"\\[{,:]}\n'), max_size=6), max_size=6),
    instead=st.sampled_from([b"", b"0"]),
)
def test_strings_are_told_from_what_stands_between_them(texts, instead):
    raw = json.dumps([texts, {text: text for text in texts}]).encode()
    one_by_one = re.sub(rb'"(?:[^"\\]|\\.)*+"', instead, raw)

    assert canonical.without_strings(raw, instead) == one_by_one


def refused_for(text, **limits):
    with pytest.raises(canonical.UnreadableJsonError) as refused:
        read(text, **limits)
    return refused.value.reason


@pytest.mark.parametrize("body", ["[],", "{},", '"a",', "0,", '{"a":[]},', "[[]],"])
def test_too_many_values_are_refused_before_they_are_read(body):
    text = "[" + body * 2_000 + "no JSON"

    assert refused_for(text, max_values=1_000, max_bytes=100_000) == "too_many_values"


def test_a_pair_of_surrogates_is_one_character():
    assert read('"\\ud83d\\ude00"') == "😀"


def test_the_limit_counts_bytes_and_not_characters():
    assert read('"é"', max_bytes=4) == "é"
    with pytest.raises(canonical.UnreadableJsonError):
        read('"é"', max_bytes=3)
