"""Where in a text the author wrote something: the line of a place in a document, whether it is told by brackets or by indents."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from teams_app.engine.closest import closest

_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}\[\]:,\n]|[^\s{}\[\]:,"]+')
# A key as YAML and TOON write it: with a length and columns behind it, where TOON has them. Of a line its beginning is read.
_BLOCK_KEY = re.compile(
    r"""(?:"((?:[^"\\]|\\.)*+)"|'([^']*+)'|([^\s:\[\]{}"'#][^:\[\]{}"']*+))\s*+(?:\[[^\]]*+\])?+(\{[^}]*+\})?+\s*+:(?=\s|$)"""
)
_ENDS = re.compile("\r\n|[\r\n]")
_LINE_CHARACTERS = 300
_MOST_LOOKED_THROUGH = 256 * 1024
_QUOTED = re.compile(r"['`]([^'`\n]{1,80})['`]|\{\{\s*([\w.]{1,80})\s*\}\}")
# Of a path that is told: whoever nests or names more has each place told of the nearest one around it.
_PATH_CHARACTERS = 400
_MEANT = re.compile(r"Did you mean '([^'\n]{1,80})'\?")
_INSTEAD = re.compile(r"Write (?:it|'([^'\n]{1,80})') instead of '([^'\n]{1,80})'\.")


def lines_of_text(text: str) -> list[str]:
    """As editors count them: the separators that Unicode has besides stand within a line."""
    *lines, last = _ENDS.split(text)
    return [*lines, last] if last else lines


def lines_in(path: str, text: str) -> Mapping[str, int]:
    """Of a file, by what it is called. YAML may be written as JSON is."""
    is_json = path.endswith(".json") or text.lstrip("\ufeff \t\r\n").startswith("{")
    return lines_of_json(text) if is_json else lines_of_blocks(text)


def lines_of_json(text: str) -> Mapping[str, int]:
    """The line, from 1, of each key and each item by its path: `steps[2].prompt`. Reads what it can of a broken text."""
    reader = _PlaceReader()
    for piece in _PIECE.findall(text):
        reader.take(piece)
    return reader.lines


def pieces_of(text: str) -> Iterator[tuple[int, str]]:
    """Words, texts in quotation marks and signs, each with its line; of a long text those at its beginning."""
    line = 1
    for piece in _PIECE.findall(text[:_MOST_LOOKED_THROUGH]):
        yield line, piece
        line += piece == "\n"


def lines_of_seconds(text: str, keys: Collection[str]) -> Mapping[str, int]:
    """Of keys that stand twice in one object of a JSON text, the line at which each stands again; of a long text none."""
    reader = _PlaceReader()
    found: dict[str, int] = {}
    for piece in _PIECE.findall(text if len(text) <= _MOST_LOOKED_THROUGH else ""):
        was_key, told = reader.awaits_key and piece.startswith('"'), len(reader.lines)
        reader.take(piece)
        if was_key and reader.key in keys and reader.path is not None and len(reader.lines) == told:
            found.setdefault(reader.key, reader.line)
    return found


def lines_of_blocks(text: str) -> Mapping[str, int]:
    """The same of YAML and TOON: what stands deeper belongs to what is above it. What is written in one line is there."""
    reader = _BlockReader()
    for number, line in enumerate(lines_of_text(text.removeprefix("\ufeff")), 1):
        reader.take(number, line[:_LINE_CHARACTERS])
    return reader.lines


@dataclass(slots=True, kw_only=True)
class _Block:
    """Something with others below it: an item of a list, or a key. `path` is None where it is longer than is told."""

    indent: int
    path: str | None
    is_item: bool = False
    is_table: bool = False
    items: int = 0

    def next_item(self) -> str | None:
        self.items += 1
        return None if self.path is None else f"{self.path}[{self.items - 1}]"


@dataclass(slots=True)
class _BlockReader:
    lines: dict[str, int] = field(default_factory=dict)
    around: list[_Block] = field(default_factory=lambda: [_Block(indent=-1, path="")])

    def take(self, number: int, line: str) -> None:
        word = line.lstrip(" ")
        indent = len(line) - len(word)
        if not word or word.startswith("#"):
            return
        while word == "-" or word.startswith("- "):
            # A list may stand as deep as the key that it belongs to.
            while self.around[-1].indent > indent or (self.around[-1].indent == indent and self.around[-1].is_item):
                self.around.pop()
            self._open(_Block(indent=indent, path=self.around[-1].next_item(), is_item=True), number)
            rest = word[1:].lstrip(" ")
            indent, word = indent + len(word) - len(rest), rest
        self._take_key(number, indent, word)

    def _take_key(self, number: int, indent: int, word: str) -> None:
        found = _BLOCK_KEY.match(word)
        above = self.around[-1]
        if found is None and above.is_table and indent > above.indent:
            self.lines.setdefault(above.next_item() or above.path or "", number)
        if found is None:
            return
        while self.around[-1].indent >= indent:
            self.around.pop()
        outer, key = self.around[-1].path, found[1] or found[2] or (found[3] or "").rstrip()
        path = f"{outer}.{key}" if outer else key
        self._open(_Block(indent=indent, path=None if outer is None else path, is_table=bool(found[4])), number)

    def _open(self, block: _Block, number: int) -> None:
        if block.path is not None and len(block.path) > _PATH_CHARACTERS:
            block.path = None
        if block.path:
            self.lines.setdefault(block.path, number)
        self.around.append(block)


@dataclass(slots=True)
class _PlaceReader:
    """`path` is of the object or list that is open, and None where it is longer than is told; `around` are those around it,
    each with its kind and how far it is.
    """

    lines: dict[str, int] = field(default_factory=dict)
    line: int = 1
    path: str | None = ""
    key: str = ""
    awaits_key: bool = False
    kind: str = ""
    index: int = 0
    around: list[tuple[str, str | None, int]] = field(default_factory=list)

    def take(self, piece: str) -> None:
        match piece:
            case "\n":
                self.line += 1
            case "{" | "[":
                self._open(piece)
            case "}" | "]":
                self._close()
            case ",":
                self.index, self.key, self.awaits_key = self.index + 1, "", self.kind == "{"
            case ":":
                self.awaits_key = False
            case _:
                self._word(piece)

    def _open(self, piece: str) -> None:
        here = self._tell()
        self.around.append((self.kind, self.path, self.index))
        self.kind, self.path, self.index = piece, here, 0
        self.key, self.awaits_key = "", piece == "{"

    def _close(self) -> None:
        if self.around:
            self.kind, self.path, self.index = self.around.pop()
        self.key, self.awaits_key = "", False

    def _word(self, piece: str) -> None:
        if self.awaits_key and piece.startswith('"'):
            self.key, self.awaits_key = piece.strip('"'), False
            self._tell()
        elif self.kind == "[":
            self._tell()

    def _tell(self) -> str | None:
        here = self._here()
        if here:
            self.lines.setdefault(here, self.line)
        return here

    def _here(self) -> str | None:
        if self.path is None or len(self.path) + len(self.key) > _PATH_CHARACTERS:
            return None
        if self.kind == "[":
            return f"{self.path}[{self.index}]"
        return f"{self.path}.{self.key}" if self.path and self.key else self.path or self.key


def line_at(*, lines: Mapping[str, int], path: str) -> int | None:
    """Of the place, or of the nearest one around it that stands in the text."""
    path = path[: 2 * _PATH_CHARACTERS]
    while path:
        if path in lines:
            return lines[path]
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return 1 if lines else None


def path_written(*, path: str, suggestion: str) -> str:
    """Where a problem is found: that of a key which is misspelt, at the key that stands there."""
    instead = _INSTEAD.fullmatch(suggestion)
    return path if instead is None else f"{path.rpartition('.')[0]}.{instead[2]}".removeprefix(".")


def replacement(*, message: str, suggestion: str, line: str) -> tuple[str, str] | None:
    """What stands in the line and what was meant, when the suggestion names one word."""
    said = [quoted or braced for quoted, braced in _QUOTED.findall(message)]
    instead = _INSTEAD.fullmatch(suggestion)
    if instead is not None:
        right = instead[1] or next(iter(said), "")
        return (instead[2], right) if right and instead[2] in line else None
    meant = _MEANT.search(suggestion)
    if meant is None:
        return None
    # Of others the message speaks too: of what uses it, and of what it stands in.
    wrong = closest(meant[1], (word for word in said if word != meant[1]))
    return None if wrong is None or wrong not in line else (wrong, meant[1])
