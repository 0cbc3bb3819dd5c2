"""Bytes of one file to a document: TOON, YAML, JSON, or Markdown with front matter. Nothing here knows what a workflow is.

Every value that comes out can be stored and has a canonical form; everything else is a problem with a file and, where the
decoder tells it, a line. No function raises.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

import toon_format

from workflows_app.engine import canonical
from workflows_app.engine.activities.yaml_values import BadYamlError, TooManyValuesError, loads_yaml
from workflows_app.engine.places import lines_of_seconds
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem
from workflows_app.engine.source import Strictness
from workflows_app.engine.unreadable import (
    DOUBLED_ADVICE,
    NOT_UTF8_ADVICE,
    advice_on_json,
    advice_on_toon,
    advice_on_yaml,
    deepest_line,
    line_of_json,
    line_of_unstorable,
)

MAX_DOCUMENT_BYTES = 2 * 1024 * 1024
MAX_READ_VALUES = 200_000
TOON = ".toon"
YAML = (".yaml", ".yml")
JSON = ".json"
MARKDOWN = ".md"
STRUCTURED = (TOON, *YAML, JSON)

# To find a further place the file is decoded again; more places would say no more.
_MAX_LENIENT_PLACES = 20
MAX_DECODED_AGAIN_CHARS = 2 * 1024 * 1024
# A table of TOON gives each of its rows the names of its columns, and nests them: a small text may become any size.
MAX_NAMES_CHARS = 2 * 1024 * 1024
# As JSON writes an object with its braces, and a name with its quotes, colon and comma.
_OBJECT_CHARS, _NAME_CHARS = 2, 4
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#[ \t]+(.+)$", re.MULTILINE)
# Of what the decoder says.
_TOO_LONG_NUMBER = re.compile(r"^Exceeds the limit|^Number .* is out of range")
_TWICE = re.compile(r"Duplicate (key|field name) ['\"](.+)['\"]", re.DOTALL)
_REASONS = {
    "too_large": ProblemCode.TOO_LARGE,
    "too_deep": ProblemCode.TOO_DEEP,
    "duplicate_key": ProblemCode.DUPLICATE_KEY,
    "not_a_number": ProblemCode.NOT_A_NUMBER,
    "nul_character": ProblemCode.BAD_CHARACTER,
    "lone_surrogate": ProblemCode.BAD_CHARACTER,
}

Problems = tuple[WorkflowProblem, ...]
_Counted = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """`digest` is of the canonical bytes of the value, so neither comments nor the order of keys are in it.

    What agents read as it was written is named by its text too: `SourceContent.of_document`.
    """

    file: str
    text: str
    value: Any
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Markdown:
    """`meta` is the front matter, its values as written; `text` is the whole, `body` what follows the front matter."""

    file: str
    text: str
    meta: dict[str, Any]
    body: str
    digest: str

    @property
    def heading(self) -> str:
        found = _HEADING.search(self.body)
        return found.group(1).rstrip(" \t#") if found else ""


class DecodedTogether:
    """What may become of the files that are read together: values, names of the objects in TOON, and characters that are
    decoded again, only to tell of further places.
    """

    def __init__(self) -> None:
        self.values_left = MAX_READ_VALUES
        self._names = MAX_NAMES_CHARS
        self._again = MAX_DECODED_AGAIN_CHARS

    def check_values(self, value: Any, text: str) -> None:
        """Raises where the value of a text cannot be stored, or holds more than are left."""
        try:
            self.values_left -= canonical.check_storable(value, max_values=self.values_left)
        except canonical.UnreadableJsonError as error:
            is_too_much = error.reason == "too_many_values"
            raise (self.too_many_values() if is_too_much else _unstorable(error, text)) from error

    def too_many_values(self) -> "_UnreadableError":
        """Why a file is not read. None is from then on, since finding out is work too."""
        self.values_left = 0
        message = f"With the files before it there are more than {MAX_READ_VALUES:,} values; it is not read."
        hint = "Make the documents smaller: what agents read as it is may be Markdown. Import fewer workflows at once."
        return _UnreadableError(ProblemCode.TOO_LARGE, message, suggestion=hint)

    def count_names(self, value: dict[str, Any]) -> dict[str, Any]:
        """Told of each object as soon as it is made; raises where the names come to too much."""
        self._names -= _chars_of_names(value)
        if self._names < 0:
            message = f"With the files before it, its objects have more than {MAX_NAMES_CHARS} characters of names."
            raise _UnreadableError(ProblemCode.TOO_LARGE, message, suggestion="Make tables or their columns fewer.")
        return value

    def count_names_again(self, value: dict[str, Any]) -> dict[str, Any]:
        if not self.take_again(_chars_of_names(value)):
            raise _UnreadableError(ProblemCode.TOO_LARGE, "There is too much to be decoded again.")
        return value

    def take_again(self, chars: int) -> bool:
        """False where so many are too many."""
        self._again -= chars
        return self._again >= 0


def _chars_of_names(value: dict[str, Any]) -> int:
    return _OBJECT_CHARS + _NAME_CHARS * len(value) + sum(map(len, value))


class _UnreadableError(Exception):
    def __init__(self, code: ProblemCode, message: str, line: int | None = None, suggestion: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line
        self.suggestion = suggestion


def read_document(
    *, data: bytes, file: str, strictness: Strictness, together: DecodedTogether | None = None
) -> tuple[Document | None, Problems]:
    """A structured document by the ending of its name. `together` is shared by files that are read together."""
    together = together or DecodedTogether()
    try:
        text = _text(data)
        value, warnings = _value(text, file, strictness, together)
        digest = canonical.digest(_canonical(value, text, together))
    except _UnreadableError as error:
        return None, (_problem(error, file),)
    return Document(file=file, text=text, value=value, digest=digest), warnings


def read_markdown(
    *, data: bytes, file: str, together: DecodedTogether | None = None
) -> tuple[Markdown | None, Problems]:
    """Markdown whose front matter cannot be read is a document without any, and a warning."""
    try:
        text = _text(data)
    except _UnreadableError as error:
        return None, (_problem(error, file),)
    digest = canonical.digest(text.encode())
    found = _FRONT_MATTER.match(text)
    if found is None:
        return Markdown(file=file, text=text, meta={}, body=text, digest=digest), ()
    meta, problems = _front_matter(found.group(1), file, together or DecodedTogether())
    return Markdown(file=file, text=text, meta=meta, body=text[found.end() :], digest=digest), problems


def suffix_of(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _text(data: bytes) -> str:
    if len(data) > MAX_DOCUMENT_BYTES:
        message = f"The file has {len(data)} bytes; at most {MAX_DOCUMENT_BYTES} are read."
        raise _UnreadableError(ProblemCode.TOO_LARGE, message, suggestion="Split the workflow, or the file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _UnreadableError(ProblemCode.UNREADABLE, "The file is not UTF-8.", line, NOT_UTF8_ADVICE) from error
    nul = text.find("\x00")
    if nul >= 0:
        line = text.count("\n", 0, nul) + 1
        message, advice = "The character U+0000 cannot be stored.", "Remove the character."
        raise _UnreadableError(ProblemCode.BAD_CHARACTER, message, line, advice)
    return text.replace("\r\n", "\n")


def _value(text: str, file: str, strictness: Strictness, together: DecodedTogether) -> tuple[Any, Problems]:
    ending = suffix_of(file)
    if ending in YAML:
        doubled: list[tuple[str, int | None]] = []
        value = _yaml(text, doubled if strictness is Strictness.LEGACY else None, together)
        return value, _told_twice(doubled, file)
    if ending == JSON:
        names: list[str] = []
        value = _json(text, names if strictness is Strictness.LEGACY else None, together)
        lines = lines_of_seconds(text, set(names)) if names else {}
        return value, _told_twice([(name, lines.get(name)) for name in names], file)
    return _toon(text, file, strictness, together)


def _told_twice(doubled: list[tuple[str, int | None]], file: str) -> Problems:
    return tuple(
        WorkflowProblem(
            code=ProblemCode.DUPLICATE_KEY,
            message=f"The key {key[:80]!r} stands twice in one object; the last one counts.",
            severity=Severity.WARNING,
            file=file,
            line=line,
            suggestion=DOUBLED_ADVICE,
        )
        for key, line in dict.fromkeys(doubled)
    )


def _yaml(text: str, doubled: list[tuple[str, int | None]] | None, together: DecodedTogether) -> Any:
    try:
        return loads_yaml(text, doubled=doubled, max_values=together.values_left)
    except TooManyValuesError as error:
        raise together.too_many_values() from error
    except BadYamlError as error:
        line = _line(text, error.line)
        raise _UnreadableError(error.code, error.message, error.line, advice_on_yaml(error.message, line)) from error


def _line(text: str, number: int | None) -> str:
    """The beginning of it."""
    lines = text.split("\n", number) if number else []
    return lines[number - 1][:200] if number and number <= len(lines) else ""


def _json(text: str, doubled: list[str] | None, together: DecodedTogether) -> Any:
    most = together.values_left
    try:
        return canonical.loads_strict(text, max_bytes=MAX_DOCUMENT_BYTES, max_values=most, doubled=doubled)
    except canonical.UnreadableJsonError as error:
        if error.reason == "too_many_values":
            raise together.too_many_values() from error
        line, advice = line_of_json(error, text), advice_on_json(error, text)
        raise _UnreadableError(_code_of(error), error.message, line, advice) from error


def _toon(text: str, file: str, strictness: Strictness, together: DecodedTogether) -> tuple[Any, Problems]:
    # Each line is an object of the decoder, and most hold a value.
    if text.count("\n") > together.values_left:
        raise together.too_many_values()
    try:
        return _toon_value(text, together.count_names), ()
    except toon_format.ToonDecodeError as error:
        if strictness is Strictness.STRICT:
            raise _toon_refusal(error, text) from error
        first = error
    try:
        value = _toon_value(text, together.count_names, strict=False)
    except toon_format.ToonDecodeError as error:
        raise _toon_refusal(error, text) from error
    return value, _lenient_places(text, file, first, together)


def _toon_value(text: str, count_names: _Counted, *, strict: bool = True) -> Any:
    try:
        return toon_format.loads(text, strict=strict, object_hook=count_names)
    except toon_format.ToonDecodeError:
        raise
    except (ValueError, OverflowError) as error:
        # Digits without end, as the number of items that is declared.
        digits = "A number has more digits than can be read."
        raise _UnreadableError(ProblemCode.NOT_A_NUMBER, digits, suggestion=advice_on_toon(digits)) from error


def _toon_refusal(error: toon_format.ToonDecodeError, text: str) -> _UnreadableError:
    advice = advice_on_toon(error.msg)
    if error.msg.startswith("Duplicate"):
        return _UnreadableError(ProblemCode.DUPLICATE_KEY, f"{error.msg} in one object.", error.line, advice)
    if "nested too deeply" in error.msg:
        message = f"The document nests deeper than {canonical.DEFAULT_MAX_DEPTH} levels."
        return _UnreadableError(ProblemCode.TOO_DEEP, message, error.line or deepest_line(text), advice)
    if _TOO_LONG_NUMBER.search(error.msg):
        message = "A number is beyond what JSON can hold."
        return _UnreadableError(ProblemCode.NOT_A_NUMBER, message, error.line, advice_on_toon("out of range"))
    return _UnreadableError(ProblemCode.BAD_TOON, f"Not TOON: {error.msg}.", error.line, advice)


def _lenient_places(text: str, file: str, first: toon_format.ToonDecodeError, together: DecodedTogether) -> Problems:
    """One warning for each place that strict reading refuses: each is mended so that the next one comes to light."""
    warnings: list[WorkflowProblem] = []
    lines = text.split("\n")
    error: toon_format.ToonDecodeError | None = first
    while error is not None and len(warnings) < _MAX_LENIENT_PLACES:
        warnings.extend(_lenient_place(error, file))
        is_mended = _mend(lines, error) and together.take_again(len(text))
        error = _refused_place(lines, together) if is_mended else None
    return tuple(dict.fromkeys(warnings))


def _refused_place(lines: list[str], together: DecodedTogether) -> toon_format.ToonDecodeError | None:
    try:
        _toon_value("\n".join(lines), together.count_names_again)
    except toon_format.ToonDecodeError as error:
        return error
    except _UnreadableError:
        return None
    return None


def _lenient_place(error: toon_format.ToonDecodeError, file: str) -> Iterator[WorkflowProblem]:
    twice = _TWICE.fullmatch(error.msg)
    if twice:
        yield from _told_twice([(twice[2], error.line)], file)
        return
    yield WorkflowProblem(
        code=ProblemCode.LENIENT_TOON,
        message=f"Read although it is not strict TOON: {error.msg}.",
        severity=Severity.WARNING,
        file=file,
        line=error.line,
        suggestion="Older readers differ in what they make of it; write it strictly.",
    )


def _mend(lines: list[str], error: toon_format.ToonDecodeError) -> bool:
    """Make the line that strict reading refused acceptable, whatever it then says. False where that is not so simple."""
    if error.line is None or error.line > len(lines):
        return False
    index = error.line - 1
    before = lines[index]
    twice = _TWICE.fullmatch(error.msg)
    length = re.fullmatch(r"Declared length (\d+) but found (\d+)", error.msg)
    if twice and twice[1] == "field name":
        columns, brace, rest = before.partition("}")
        at = columns.rfind(twice[2])
        lines[index] = f"{columns[:at]}line{error.line}at{at}{columns[at + len(twice[2]) :]}{brace}{rest}"
    elif twice:
        lines[index] = re.sub(rf'^(\s*(?:- )?"?){re.escape(twice[2])}', rf"\g<1>line{error.line}", before, count=1)
    elif length:
        lines[index] = re.sub(rf"\[{length[1]}(:?[\t|]?)\]", rf"[{length[2]}\g<1>]", before, count=1)
    elif error.msg.startswith("Blank line"):
        lines[index] = "#"
    return lines[index] != before


def _canonical(value: Any, text: str, together: DecodedTogether) -> bytes:
    try:
        together.check_values(value, text)
        return canonical.canonical_bytes(value)
    except canonical.NotCanonicalError as error:
        beyond = canonical.UnreadableJsonError("not_a_number", "A number is beyond what JSON can hold.")
        raise _unstorable(beyond, text) from error


def _unstorable(error: canonical.UnreadableJsonError, text: str) -> _UnreadableError:
    line = line_of_unstorable(error.reason, text)
    return _UnreadableError(_code_of(error), error.message, line, advice_on_json(error, ""))


def _code_of(error: canonical.UnreadableJsonError) -> ProblemCode:
    return _REASONS.get(error.reason, ProblemCode.UNREADABLE)


def _front_matter(text: str, file: str, together: DecodedTogether) -> tuple[dict[str, Any], Problems]:
    try:
        meta = loads_yaml(text, typed=False, max_values=together.values_left)
        together.check_values(meta, text)
    except TooManyValuesError:
        return {}, (_bad_front_matter(together.too_many_values(), file),)
    except BadYamlError as error:
        advice = advice_on_yaml(error.message, _line(text, error.line))
        return {}, (_bad_front_matter(_UnreadableError(error.code, error.message, error.line, advice), file),)
    except _UnreadableError as error:
        return {}, (_bad_front_matter(error, file),)
    if meta is None:
        return {}, ()
    if not isinstance(meta, dict):
        advice = "Write `key: value` in lines of their own, or leave out the lines of hyphens."
        none = _UnreadableError(ProblemCode.BAD_FRONT_MATTER, "The front matter is not an object.", 0, advice)
        return {}, (_bad_front_matter(none, file),)
    return meta, ()


def _bad_front_matter(error: _UnreadableError, file: str) -> WorkflowProblem:
    """Its first line is the second of the file."""
    return WorkflowProblem(
        code=ProblemCode.BAD_FRONT_MATTER,
        message=error.message,
        severity=Severity.WARNING,
        file=file,
        line=None if error.line is None else error.line + 1,
        suggestion=error.suggestion,
    )


def _problem(error: _UnreadableError, file: str) -> WorkflowProblem:
    return WorkflowProblem(
        code=error.code, message=error.message, file=file, line=error.line, suggestion=error.suggestion
    )


def as_warning(problem: WorkflowProblem) -> WorkflowProblem:
    return replace(problem, severity=Severity.WARNING)
