"""A unified diff as a page shows it: files that fold, each line with its number."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

MOST_LINES = 3_000
# What names a file.
_HEAD_LINES = 2

_NOWHERE = "/dev/null"
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """`kind` is `add`, `del`, `hunk`, or empty for what stays."""

    kind: str
    number: str
    text: str


@dataclass(slots=True, kw_only=True)
class DiffFile:
    path: str
    lines: list[DiffLine] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    is_new: bool = False
    is_open: bool = False
    is_cut: bool = False
    _old: int = 0
    _new: int = 0
    _left: int = 0

    def ends_before(self, lines: Sequence[str]) -> bool:
        """Whether a file may begin with these lines. Within a hunk one that begins with three dashes is a line that was taken out,
        unless a whole head stands there though the hunk said that it was longer: only its last two lines may read as one.
        """
        is_head = len(lines) > 2 and lines[1].startswith("+++ ") and _HUNK.match(lines[2]) is not None
        return self._left <= 0 or (is_head and self._left != 2)

    def take(self, line: str) -> None:
        hunk = _HUNK.match(line)
        if hunk is not None:
            self._old, self._new = int(hunk[1]), int(hunk[3])
            self._left = int(hunk[2] or 1) + int(hunk[4] or 1)
            self.lines.append(DiffLine(kind="hunk", number="", text=line))
        elif line.startswith("+"):
            self._line("add", self._new, line, new=1)
            self.added += 1
        elif line.startswith("-"):
            self._line("del", self._old, line, old=1)
            self.removed += 1
        elif line.startswith(" ") or not line:
            self._line("", self._new, line, old=1, new=1)

    def _line(self, kind: str, number: int, line: str, *, old: int = 0, new: int = 0) -> None:
        self.lines.append(DiffLine(kind=kind, number=str(number), text=line[1:]))
        self._old, self._new, self._left = self._old + old, self._new + new, self._left - old - new


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    files: tuple[DiffFile, ...]
    is_cut: bool

    @property
    def added(self) -> int:
        return sum(each.added for each in self.files)

    @property
    def removed(self) -> int:
        return sum(each.removed for each in self.files)


def looks_like_diff(text: str) -> bool:
    head = text[:20_000]
    return ("\n+++ " in head or head.startswith("+++ ")) and "@@ -" in head


def read_diff(text: str) -> Diff:
    """As somebody handed it in."""
    return _read([(text.splitlines(), False)])


def read_diffs(texts: Iterable[str]) -> Diff:
    """Of one file each, as differences of ours are written: each line ends, but for the last one of a text that was cut."""
    return _read([(text.removesuffix("\n").split("\n"), not text.endswith("\n")) for text in texts if text])


def _read(texts: Iterable[tuple[Sequence[str], bool]]) -> Diff:
    """Each on its own: its lines, and whether it was cut. What is behind the most lines of a page is named alone, and the biggest
    file is open, the others fold.
    """
    files: list[DiffFile] = []
    room = MOST_LINES
    for lines, was_cut in texts:
        found = list(_files(lines[: max(room, _HEAD_LINES)]))
        if found:
            found[-1].is_cut = was_cut or len(lines) > max(room, _HEAD_LINES)
        files += found
        room = max(0, room - len(lines))
    if files:
        max(files, key=lambda each: each.added + each.removed).is_open = True
    return Diff(files=tuple(files), is_cut=any(file.is_cut for file in files))


def _files(lines: Sequence[str]) -> Iterator[DiffFile]:
    at: DiffFile | None = None
    before, is_head = "", False
    for place, line in enumerate(lines):
        if line.startswith("--- ") and (at is None or at.ends_before(lines[place : place + 3])):
            before, is_head = _path(line[4:]), True
        elif line.startswith("+++ ") and (is_head or at is None or at.ends_before(())):
            if at is not None:
                yield at
            path = _path(line[4:])
            at = DiffFile(path=path if path != _NOWHERE else before, is_new=before == _NOWHERE)
            is_head = False
        elif at is not None:
            at.take(line)
    if at is not None:
        yield at


def _path(text: str) -> str:
    name = text.split("\t", maxsplit=1)[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name
