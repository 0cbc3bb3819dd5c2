"""A source as lines of a page: coloured, with its problems under their line."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

from workflows_app.admin.words import ShownProblem
from workflows_app.engine.activities.documents import STRUCTURED, suffix_of
from workflows_app.engine.places import line_at, lines_in, lines_of_text, path_written, replacement
from workflows_app.engine.problems import WorkflowProblem

MOST_LINES = 5_000
# Of all the files of a page.
_MOST_LINES_OF_PAGE, _MOST_CHARACTERS, _MOST_PIECES = 10_000, 1024 * 1024, 50_000

_JSON = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|(\b(?:true|false|null)\b|-?\b\d[\d.eE+-]*)')
_KEY_LINE = re.compile(r"^(\s*(?:- )?)([A-Za-z_$][\w.$-]*(?:\[[^\]]*\])?)(:)(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    number: int
    pieces: tuple[Piece, ...]
    problems: tuple[ShownProblem, ...] = ()

    @property
    def has(self) -> str:
        if not self.problems:
            return ""
        return "has-error" if any(each.is_error for each in self.problems) else "has-warning"


@dataclass(slots=True, kw_only=True)
class PageRoom:
    """What a page still shows of sources: lines, characters, and pieces with a colour of their own."""

    lines: int = _MOST_LINES_OF_PAGE
    characters: int = _MOST_CHARACTERS
    pieces: int = _MOST_PIECES

    def takes(self, line: str) -> bool:
        self.lines, self.characters = self.lines - 1, self.characters - len(line)
        return self.lines >= 0 and self.characters >= 0

    def coloured(self, line: str, pieces: Iterable["Piece"]) -> tuple["Piece", ...]:
        """The line in one piece where there are too many."""
        found = tuple(islice(pieces, self.pieces + 1))
        if len(found) > self.pieces:
            return (Piece(kind="", text=line),)
        self.pieces -= len(found)
        return found


def text_of(data: bytes) -> str | None:
    """None for what is not text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def lines_of(
    *, path: str, text: str, problems: Iterable[ShownProblem] = (), room: PageRoom | None = None
) -> list[SourceLine]:
    """As many as there is room for on the page."""
    room = room or PageRoom()
    told: dict[int, list[ShownProblem]] = {}
    for each in problems:
        if each.line is not None and each.file == path:
            told.setdefault(each.line, []).append(each)
    pieces = _json_pieces if path.endswith(".json") else _plain_pieces if path.endswith(".md") else _key_pieces
    return [
        SourceLine(number=number, pieces=room.coloured(line, pieces(line)), problems=tuple(told.get(number, ())))
        for number, line in enumerate(takewhile(room.takes, lines_of_text(text)[:MOST_LINES]), 1)
    ]


def placed(*, problems: Iterable[WorkflowProblem], files: Mapping[str, bytes], first: str) -> list[ShownProblem]:
    """Each with the file and the line where its author finds it. What names no file is of the first one."""
    told = list(problems)
    named = {first, *(problem.file for problem in told)}
    texts = {path: text_of(files[path]) or "" for path in named & files.keys()}
    indexes = {path: lines_in(path, text) for path, text in texts.items() if suffix_of(path) in STRUCTURED}
    written = {path: lines_of_text(text) for path, text in texts.items()}
    return [_placed(problem, written, indexes, first) for problem in told]


def _placed(
    problem: WorkflowProblem, written: Mapping[str, Sequence[str]], indexes: Mapping[str, Mapping[str, int]], first: str
) -> ShownProblem:
    file = problem.file if problem.file in written else first
    line, lines = problem.line, written.get(file, ())
    if line is None:
        path = path_written(path=problem.path, suggestion=problem.suggestion)
        line = line_at(lines=indexes.get(file, {}), path=path) or (1 if lines else None)
    said = lines[line - 1] if line is not None and 0 < line <= len(lines) else ""
    changed = replacement(message=problem.message, suggestion=problem.suggestion, line=said)
    wrong, right = changed or ("", "")
    return ShownProblem(problem=problem, file=file, line=line, wrong=wrong, right=right)


def _json_pieces(line: str) -> Iterator[Piece]:
    at = 0
    for found in _JSON.finditer(line):
        if found.start() > at:
            yield Piece(kind="", text=line[at : found.start()])
        if found[1]:
            yield Piece(kind="t-k" if found[2] else "t-s", text=found[1])
            if found[2]:
                yield Piece(kind="", text=found[2])
        else:
            yield Piece(kind="t-n", text=found[3])
        at = found.end()
    if at < len(line):
        yield Piece(kind="", text=line[at:])


def _key_pieces(line: str) -> Iterator[Piece]:
    found = _KEY_LINE.match(line)
    if found is None:
        yield Piece(kind="", text=line)
        return
    yield Piece(kind="", text=found[1])
    yield Piece(kind="t-k", text=found[2])
    yield Piece(kind="", text=found[3])
    yield Piece(kind="t-s", text=found[4])


def _plain_pieces(line: str) -> Iterator[Piece]:
    yield Piece(kind="", text=line)
