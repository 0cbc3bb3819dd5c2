"""Files of a workflow folder are read strictly, or refused with a code and a place."""

import json
import time

import pytest

from workflows_app.engine.activities.documents import (
    MAX_DOCUMENT_BYTES,
    read_document,
    read_markdown,
)
from workflows_app.engine.activities.yaml_values import loads_yaml
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.source import Strictness


def read(data, *, file="a.toon", strictness=Strictness.STRICT):
    return read_document(data=data if isinstance(data, bytes) else data.encode(), file=file, strictness=strictness)


def refusal(data, **more):
    document, problems = read(data, **more)
    assert document is None
    (problem,) = problems
    assert problem.severity is Severity.ERROR
    return problem


def test_toon_yaml_and_json_of_the_same_values_are_one_document():
    value = {"id": "x", "steps": [{"id": "a", "n": 3, "on": True, "none": None}]}
    toon = "id: x\nsteps[1]:\n  - id: a\n    n: 3\n    on: true\n    none: null\n"
    yaml = "id: x\nsteps:\n  - id: a\n    n: 3\n    on: true\n    none: null\n"
    documents = [read(toon)[0], read(yaml, file="a.yaml")[0], read(json.dumps(value), file="a.json")[0]]
    assert [document.value for document in documents] == [value] * 3
    assert len({document.digest for document in documents}) == 1


def test_the_order_of_keys_is_not_in_the_digest():
    assert read("a: 1\nb: 2")[0].digest == read("b: 2\na: 1")[0].digest


def test_line_ends_of_windows_change_nothing():
    unix, windows = read(b"a: 1\nb: two\n")[0], read(b"\xef\xbb\xbfa: 1\r\nb: two\r\n")[0]
    assert (unix.text, unix.digest) == (windows.text, windows.digest)


def test_a_key_that_stands_twice_in_toon_is_refused_with_its_line():
    problem = refusal("tools:\n  shell: 1\n  edit: 2\n  shell: 3\n")
    assert (problem.code, problem.line, problem.file) == (ProblemCode.DUPLICATE_KEY, 4, "a.toon")


def test_over_indented_toon_is_refused_with_its_line():
    problem = refusal("id: x\ndescription: |\n  More than the old reader saw.\nstate: gone\n")
    assert (problem.code, problem.line) == (ProblemCode.BAD_TOON, 3)
    assert "two spaces" in problem.suggestion


@pytest.mark.parametrize("strictness", Strictness)
@pytest.mark.parametrize("text", [f"a[{'9' * 5_000}]: b\n", f"a: {'9' * 5_000}\nb[1{'0' * 5_000}]:\n  - c\n"])
def test_a_number_of_digits_without_end_in_toon_is_refused(text, strictness):
    assert refusal(text, strictness=strictness).code in {ProblemCode.NOT_A_NUMBER, ProblemCode.BAD_TOON}


def test_legacy_reading_warns_of_each_place_that_is_not_strict():
    text = "tools:\n  shell: 1\n  shell: 2\nlist[3]: a,b\nitems[2]:\n  - a\n\n  - b\nshell: 1\nshell: 2\n"
    document, warnings = read(text, strictness=Strictness.LEGACY)
    assert document.value == {"tools": {"shell": 2}, "list": ["a", "b"], "items": ["a", "b"], "shell": 2}
    twice, lenient = ProblemCode.DUPLICATE_KEY, ProblemCode.LENIENT_TOON
    assert {warning.severity for warning in warnings} == {Severity.WARNING}
    assert [(w.code, w.line) for w in warnings] == [(twice, 3), (lenient, 4), (lenient, 7), (twice, 10)]


def test_legacy_reading_of_strict_toon_warns_of_nothing():
    assert read("a: 1", strictness=Strictness.LEGACY)[1] == ()


def test_what_even_lenient_reading_cannot_read_is_refused_in_legacy_too():
    problem = refusal("id: x\n  over: indented\n", strictness=Strictness.LEGACY)
    assert (problem.code, problem.line) == (ProblemCode.BAD_TOON, 2)


@pytest.mark.parametrize("file", ["a.toon", "a.yaml", "a.json"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{0}a{0}: "x\\u0000y"', ProblemCode.BAD_CHARACTER),
        ("{0}a{0}: " + "9" * 400, ProblemCode.NOT_A_NUMBER),
        ("{0}a{0}: 1" + " " * MAX_DOCUMENT_BYTES, ProblemCode.TOO_LARGE),
    ],
    ids=["nul", "number", "size"],
)
def test_text_that_cannot_be_stored_is_refused_in_every_format(file, text, code):
    quote = '"' if file == "a.json" else ""
    text = text.replace("{0}", quote)
    assert refusal("{" + text + "}" if file == "a.json" else text, file=file).code is code


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("a.toon", "\n".join(f"{'  ' * depth}a:" for depth in range(80))),
        ("a.yaml", "[" * 80 + "]" * 80),
        ("a.json", "[" * 80 + "]" * 80),
        ("a.toon", "\n".join(f"{'  ' * depth}a:" for depth in range(1200))),
        ("a.yaml", "[" * 100_000),
    ],
)
def test_nesting_beyond_64_levels_is_refused(file, text):
    assert refusal(text, file=file).code is ProblemCode.TOO_DEEP


def test_sixty_four_levels_are_read():
    text = "[" * 64 + "]" * 64
    assert read(text, file="a.yaml")[0] is not None
    assert read(text, file="a.json")[0] is not None


@pytest.mark.parametrize("file", ["a.toon", "a.yaml", "a.json", "a.md"])
def test_bytes_that_are_not_utf8_are_refused_with_their_line(file):
    data = b"a: 1\nb: \xff\xfe\n"
    problem = read_markdown(data=data, file=file)[1][0] if file == "a.md" else refusal(data, file=file)
    assert (problem.code, problem.line) == (ProblemCode.UNREADABLE, 2)


def test_a_nul_byte_is_refused_with_its_line():
    problem = refusal(b"a: 1\nb: x\x00y\n")
    assert (problem.code, problem.line) == (ProblemCode.BAD_CHARACTER, 2)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\nb: &x 2\n", ProblemCode.BAD_YAML, 2),
        ("a: &x 1\nb: *x\n", ProblemCode.BAD_YAML, 1),
        ("a: !!python/object:os.system {}\n", ProblemCode.BAD_YAML, 1),
        ("a: !!str 1\n", ProblemCode.BAD_YAML, 1),
        ("a: 1\nb: 2\na: 3\n", ProblemCode.DUPLICATE_KEY, 3),
        ("a: .nan\n", ProblemCode.NOT_A_NUMBER, 1),
        ("a: -.inf\n", ProblemCode.NOT_A_NUMBER, 1),
        ("a: 1e999\n", ProblemCode.NOT_A_NUMBER, 1),
        ("a: 1\n---\nb: 2\n", ProblemCode.BAD_YAML, 2),
        ("? [a, b]\n: 1\n", ProblemCode.BAD_YAML, 1),
        ("a: [1, 2\n", ProblemCode.BAD_YAML, 2),
        ("a: 1\nb", ProblemCode.BAD_YAML, 2),
        ("a: 1\r\nb: \x07\r\n", ProblemCode.BAD_YAML, 2),
        (f"a: 1\nb: !{'x' * 900} 2\n", ProblemCode.BAD_YAML, 2),
        ("a: b: c\n", ProblemCode.BAD_YAML, 1),
        ("\tb: 1\n", ProblemCode.BAD_YAML, 1),
    ],
)
def test_yaml_that_says_more_than_json_can_is_refused_with_its_line(text, code, line):
    problem = refusal(text, file="a.yaml")
    assert (problem.code, problem.line) == (code, line)


def test_a_yaml_bomb_of_aliases_costs_nothing():
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    began = time.perf_counter()
    problem = refusal(f"l0: &l0 [x]\n{levels}\n", file="a.yaml")
    assert problem.code is ProblemCode.BAD_YAML
    assert time.perf_counter() - began < 0.5


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("True", True),
        ("false", False),
        ("~", None),
        ("", None),
        ("012", 12),
        ("0x1F", 31),
        ("0o17", 15),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("2026-11-18", "2026-11-18"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("-3", -3),
        ("'1'", "1"),
        ('"true"', "true"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_plain_yaml_words_mean_what_the_core_schema_says(word, value):
    read_back = loads_yaml(f"a: {word}\n")["a"]
    assert read_back == value
    assert type(read_back) is type(value)


def test_an_empty_yaml_text_is_null():
    assert loads_yaml("") is None
    assert loads_yaml("# nothing\n") is None


def test_front_matter_is_read_as_it_is_written():
    text = b"---\nid: notes\nversion: 1.10\nindex: 012\n---\n\n# Title of it ##\n\nBody\n"
    markdown, problems = read_markdown(data=text, file="a.md")
    assert problems == ()
    assert markdown.meta == {"id": "notes", "version": "1.10", "index": "012"}
    assert markdown.heading == "Title of it"
    assert markdown.body == "\n# Title of it ##\n\nBody\n"
    assert markdown.text == text.decode()


@pytest.mark.parametrize("text", ["# Title\n\n---\n\nMore\n", "--- not front matter\n", "---\nnever closed\n", ""])
def test_markdown_without_front_matter_is_all_body(text):
    markdown, problems = read_markdown(data=text.encode(), file="a.md")
    assert (markdown.meta, markdown.body, problems) == ({}, text, ())


@pytest.mark.parametrize(
    ("head", "line"), [("id: a\nid: b", 3), ("id: [a", 2), ("- a", 1), ("a: &x 1", 2), ('a: "\\ud800"', None)]
)
def test_front_matter_that_cannot_be_read_is_a_warning_and_the_text_stays(head, line):
    text = f"---\n{head}\n---\nBody\n"
    markdown, problems = read_markdown(data=text.encode(), file="a.md")
    assert (markdown.meta, markdown.text) == ({}, text)
    (problem,) = problems
    assert (problem.code, problem.severity) == (ProblemCode.BAD_FRONT_MATTER, Severity.WARNING)
    assert line is None or problem.line in {line, line + 1}


def test_a_long_line_of_hashes_is_searched_in_linear_time():
    text = "# " + "# " * 500_000 + "x"
    began = time.perf_counter()
    markdown, _ = read_markdown(data=text.encode(), file="a.md")
    assert markdown.heading.endswith("x")
    assert time.perf_counter() - began < 1
