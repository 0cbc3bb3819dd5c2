"""What is written as TOON, read by today's decoder and by one that knows nothing newer than the third edition."""

import json
import re

import pytest
import toon_format
from hypothesis import given, strategies as st

from workflows_app.engine.toon_text import toon_text

# A reader of the third edition: plain keys, flat headers, tables of plain values, items behind hyphens. What it does not know,
# such as a header in a header, a table of an object, or a bare bracket for an empty list, fails the test.

_HEADER = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"|[^\W\d]\w*|)\[(?P<count>\d+)\](?:\{(?P<columns>[^{}]*)\})?:(?P<rest>.*)'
)
_FIELD = re.compile(r'(?P<key>"(?:[^"\\]|\\.)*"|[^\W\d]\w*):(?: (?P<rest>.+))?')
_CELL = re.compile(r'"(?:[^"\\]|\\.)*"|[^,"]+')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")


def read_old(text):
    lines = [(len(line) - len(line.lstrip(" ")), line.strip(" ")) for line in text.split("\n") if line]
    value, rest = read_object(lines, 0)
    assert rest == []
    return value


def read_object(lines, depth):
    value = {}
    while lines and lines[0][0] == depth and not lines[0][1].startswith("-"):
        lines = read_field(value, lines, depth)
    return value, lines


def read_field(value, lines, depth):
    text = lines[0][1]
    header = _HEADER.fullmatch(text)
    if header:
        value[plain(header["key"])], rest = read_list(header, lines[1:], depth)
        return rest
    field = _FIELD.fullmatch(text)
    assert field, text
    if field["rest"] is not None:
        value[plain(field["key"])] = plain(field["rest"])
        return lines[1:]
    value[plain(field["key"])], rest = read_object(lines[1:], depth + 2)
    return rest


def read_list(header, lines, depth):
    count = int(header["count"])
    if header["columns"]:
        columns = cells(header["columns"])
        rows = [cells(text) for at, text in lines[:count] if at == depth + 2]
        assert [len(row) for row in rows] == [len(columns)] * count
        return [dict(zip(columns, row, strict=True)) for row in rows], lines[count:]
    if header["rest"] or not count:
        items = cells(header["rest"].strip())
        assert len(items) == count
        return items, lines
    items = []
    for _ in range(count):
        item, lines = read_item(lines, depth + 2)
        items.append(item)
    return items, lines


def read_item(lines, depth):
    at, text = lines[0]
    assert at == depth
    assert text.startswith("-")
    text = text[1:].strip(" ")
    if not text:
        return {}, lines[1:]
    header = _HEADER.fullmatch(text)
    if header and not header["key"]:
        return read_list(header, lines[1:], depth)
    if header or _FIELD.fullmatch(text):
        return read_object([(depth + 2, text), *lines[1:]], depth + 2)
    return plain(text), lines[1:]


def cells(text):
    return [plain(cell) for cell in _CELL.findall(text)]


def plain(text):
    if text.startswith('"'):
        assert re.fullmatch(r'"(?:[^"\\]|\\[\\"nrt])*"', text), text
        return json.loads(text, strict=False)
    if _NUMBER.fullmatch(text):
        return json.loads(text)
    return {"true": True, "false": False, "null": None}.get(text, text)


AWKWARD = [
    "",
    " a",
    "a ",
    "a b",
    "true",
    "null",
    "-1",
    "01",
    "1e5",
    "0x1",
    "x: y",
    "[1]",
    "{a}",
    "-",
    "- a",
    "# c",
    "a,b",
    "a|b",
    "line\nline",
    "tab\tx",
    'q"q',
    "back\\slash",
    "\u00e9",
    "\u65e5\u672c",
    "see [1]: x",
    "[2] a: b",
    "a[1]{b}: c",
    "a\u2028b",
    "a\u00a0",
]
KEYS = st.sampled_from(["id", "name", "a.b", "x-y", "1", "k k", 'q"', "$ref"])
PLAIN = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.sampled_from([0.5, -1.25, 1e-7, 1e21])
WORDS = st.sampled_from(AWKWARD) | st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=8)
VALUES = st.recursive(
    PLAIN | WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=25
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


@given(OBJECTS)
def test_what_is_written_is_read_as_the_same_value_by_todays_decoder(value):
    assert toon_format.loads(toon_text(value)) == value


@given(OBJECTS)
def test_what_is_written_is_read_as_the_same_value_by_a_reader_of_the_third_edition(value):
    assert read_old(toon_text(value)) == value


@pytest.mark.parametrize("text", AWKWARD)
def test_a_text_stays_a_text_wherever_it_stands(text):
    value = {"alone": text, "listed": [text, "b"], "table": [{"x": text, "y": 1}], "items": [{"x": text, "y": []}]}

    assert toon_format.loads(toon_text(value)) == value
    assert read_old(toon_text(value)) == value


def test_what_only_new_readers_know_is_not_written():
    """The current encoder nests the header of `components`, tables `errors`, and writes `key: []`."""
    value = {
        "output": [{"id": "a", "components": {"a": "x"}}, {"id": "b", "components": {"a": "y"}}],
        "errors": {"one": {"cause": "c", "fix": "f"}, "two": {"cause": "d", "fix": "g"}},
        "none": [],
    }

    assert toon_text(value).split("\n") == [
        "output[2]:",
        "  - id: a",
        "    components:",
        "      a: x",
        "  - id: b",
        "    components:",
        "      a: y",
        "errors:",
        "  one:",
        "    cause: c",
        "    fix: f",
        "  two:",
        "    cause: d",
        "    fix: g",
        "none[0]:",
    ]


def test_the_key_of_a_text_that_looks_like_a_header_is_quoted():
    """A reader of the third edition takes the bracket for the length of a list."""
    assert toon_text({"pattern": "[1-9]: x", "name": "x"}) == '"pattern": "[1-9]: x"\nname: x'
