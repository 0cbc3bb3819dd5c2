"""A unified diff as a page shows it: files that fold, each line with its number."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MOST_LINES = 3_000

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
    _old: int = 0
    _new: int = 0
    _left: int = 0

    @property
    def is_within_hunk(self) -> bool:
        """There a line that begins with three dashes is one that was taken out."""
        return self._left > 0

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
    """The biggest file is open, the others fold."""
    lines = text.splitlines()
    files = list(_files(lines[:MOST_LINES]))
    if files:
        max(files, key=lambda each: each.added + each.removed).is_open = True
    return Diff(files=tuple(files), is_cut=len(lines) > MOST_LINES)


def _files(lines: Iterable[str]) -> Iterator[DiffFile]:
    at: DiffFile | None = None
    before = ""
    for line in lines:
        is_head = at is None or not at.is_within_hunk
        if is_head and line.startswith("--- "):
            before = _path(line[4:])
        elif is_head and line.startswith("+++ "):
            if at is not None:
                yield at
            path = _path(line[4:])
            at = DiffFile(path=path if path != _NOWHERE else before, is_new=before == _NOWHERE)
        elif at is not None:
            at.take(line)
    if at is not None:
        yield at


def _path(text: str) -> str:
    name = text.split("\t", maxsplit=1)[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name
