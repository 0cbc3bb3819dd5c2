"""A text as it reads plainly: without what is not seen, in plain letters, and out of an address or a text that quotes it."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import itemgetter

from teams_app.engine.normal_forms import UNSEEN, normalised

_WIDE = "\uff0d-\uff19\uff21-\uff3a\uff3f\uff41-\uff5a\U0001d400-\U0001d7ff"
_HEX = "[0-9A-Fa-f]"
# `%5F`, `%255F`, `%u005f`, and the bytes of what is beyond ASCII; of Latin-1 the blank and the hyphen that are not seen. As `re2` reads it too,
# like all below.
_PERCENT = rf"%(?:25)*(?:[2-7]{_HEX}|[C-Fc-f]{_HEX}(?:%(?:25)*[89ABab]{_HEX}){{1,3}}|[Aa][0Dd]|[Uu]{_HEX}{{4}})"
_IN_BRACES = rf"\{{0*{_HEX}{{1,6}}\}}"
# `\u005f`, `\\u{5f}`, `\U0000005F`, two halves of one character, `\x5f`, `\x{5f}`, `\137`, bytes, `\_` as Markdown writes it.
_ESCAPE = (
    rf"\\(?:\\*u(?:[Dd][89ABab]{_HEX}{{2}}\\+u[Dd][C-Fc-f]{_HEX}{{2}}|{_HEX}{{4}}|{_IN_BRACES})|\\*U{_HEX}{{8}}"
    rf"|\\*x(?:[2-7]{_HEX}|[C-Fc-f]{_HEX}(?:\\+x[89ABab]{_HEX}){{1,3}}|[Aa][0Dd]|{_IN_BRACES})"
    r"|\\*(?:1[0-7]{2}|3[0-7]{2}(?:\\+2[0-7]{2}){1,3}|2(?:40|55)|[4-7][0-7])|[_-])"
)
# `&#95;`, `&#95`, `&#x5F;`, `&lowbar;`, and two of the few that browsers read without an end.
_ENTITY = rf"&(?:#(?:0*[0-9]{{1,7}}|[xX]0*{_HEX}{{1,6}});?|[A-Za-z][A-Za-z0-9]{{1,31}};|shy|nbsp)"
# Bytes of what is beyond ASCII, as mails write them.
_QUOTED = r"=[C-F][0-9A-F](?:=[89AB][0-9A-F]){1,3}"
OTHERWISE = rf"{_PERCENT}|{_ESCAPE}|{_ENTITY}|{_QUOTED}|[{UNSEEN}{_WIDE}]"
# The same, beginning with one set of letters, by which Python passes over everything else; the smaller, the quicker.
_IN_ASCII = rf"(?<=%){_PERCENT[1:]}|(?<=\\)(?<!\\\\){_ESCAPE[2:]}|(?<=&){_ENTITY[1:]}|(?<==){_QUOTED[1:]}"
_OTHERWISE_IN_ASCII = re.compile(rf"[%\\&=](?:{_IN_ASCII})")
# What is not seen is one piece, however much of it stands together.
_OTHERWISE = re.compile(rf"[%\\&={UNSEEN}{_WIDE}](?:(?<=[{UNSEEN}])[{UNSEEN}]*|{_IN_ASCII}|(?<![%\\&=]))")
_SHORT_CHARACTERS = 12
_LAST_CHARACTER = 0x10FFFF
# What is written so may be markup in an address, or JSON in JSON.
_MOST_READINGS = 5
_NOT_SEEN = re.compile(f"[{UNSEEN}]+")
# Controls, and halves of characters.
_STAYS = re.compile("[\x00-\x1f\ud800-\udfff]")
_PERCENT_BYTE, _HEX_BYTE = re.compile(r"%(?:25)*([0-9A-Fa-f]{2})"), re.compile(r"\\x([0-9A-Fa-f]{2})")
_OCTAL_BYTE, _HALF = re.compile(r"\\([0-7]+)"), re.compile(r"\\u([0-9A-Fa-f]{4})")
_IN_HEX = re.compile(r"(?:\\+[uxU]|%(?:25)*[uU])\{?([0-9A-Fa-f]+)")


# Where it stands in the plain text, with how many letters, and from where to where it stands in the text as it is.
_Respelt = tuple[int, int, int, int]
_NOTHING: _Respelt = (0, 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Plain:
    """`text` reads as what is `written`, which `earlier` is another reading of. What stands where is asked only where something was
    found, and takes longer than all else.
    """

    text: str
    written: str
    earlier: "Plain | None" = None

    def begin_of(self, place: int) -> int:
        """Where in the text as it is the letter at this place begins."""
        at, letters, begin, end = self._before(place)
        past = place - at - letters
        place = begin if past < 0 else end + past
        return place if self.earlier is None else self.earlier.begin_of(place)

    def end_of(self, place: int) -> int:
        """Where in the text as it is the letter before this place ends."""
        at, letters, _begin, end = self._before(place - 1)
        place = end + max(0, place - at - letters)
        return place if self.earlier is None else self.earlier.end_of(place)

    def _before(self, place: int) -> _Respelt:
        found = bisect_right(self.pieces, place, key=itemgetter(0))
        return self.pieces[found - 1] if found else _NOTHING

    @cached_property
    def pieces(self) -> Sequence[_Respelt]:
        """The places that read otherwise than they are written."""
        pieces: list[_Respelt] = []
        at = last = 0
        for found in _pattern_for(self.written).finditer(self.written):
            begin, end = found.span()
            letters = len(_letters_in(found))
            at += begin - last
            pieces.append((at, letters, begin, end))
            at, last = at + letters, end
        return pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """`words` stand from `begin` to `end` of the text as it is now, for what stood from `was` to `was_end` at first."""

    words: str
    begin: int
    end: int
    was: int
    was_end: int


class EditedText:
    """A text of which parts are said otherwise, look after look, and which parts of the first one these are: to read it anew
    after each look would take as many times as long.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._first = text
        self._said: list[_Said] = []

    @property
    def parts(self) -> list[tuple[int, int, str]]:
        """From where to where of the first text there is now what."""
        return [(each.was, each.was_end, each.words) for each in self._said]

    def edit(self, found: Iterable[tuple[int, int, str]]) -> None:
        """From where to where there is to be what, one behind the other."""
        said, kept = [], []
        end = length = 0
        for was, was_end, words in self._merged(found):
            begin = length + was - end
            kept += [self._first[end:was], words]
            end, length = was_end, begin + len(words)
            said.append(_Said(words=words, begin=begin, end=length, was=was, was_end=was_end))
        self.text, self._said = "".join([*kept, self._first[end:]]), said

    def _merged(self, found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        """By places in the first text. What reaches into words of before becomes one with them."""
        done: list[tuple[int, int, str]] = []
        before, at, shift, covered = self._said, 0, 0, 0
        for begin, end, words in found:
            while at < len(before) and before[at].end <= begin:
                done.append((before[at].was, before[at].was_end, before[at].words))
                covered, shift = before[at].end, before[at].end - before[at].was_end
                at += 1
            was, lead, rest, reach = begin - shift, "", "", end
            if begin < covered:
                was, _was_end, said = done.pop()
                lead = said[: len(said) - (covered - begin)]
                reach, rest = (covered, said[len(said) - (covered - end) :]) if end < covered else (end, "")
            elif at < len(before) and before[at].begin < begin:
                was, lead = before[at].was, before[at].words[: begin - before[at].begin]
            while at < len(before) and before[at].begin < end:
                each, at = before[at], at + 1
                shift = each.end - each.was_end
                reach, rest = (each.end, each.words[end - each.begin :]) if each.end > end else (end, "")
            done.append((was, reach - shift, f"{lead}{words}{rest}"))
            covered = reach
        return [*done, *((each.was, each.was_end, each.words) for each in before[at:])]


def read_plainly(text: str) -> Plain:
    """Again and again, as what is written in one way may be written in another; what reads as itself is read once."""
    plain = Plain(text=_pattern_for(text).sub(_letters_in, text), written=text)
    for _ in range(_MOST_READINGS - 1):
        again = plain.text if plain.text == plain.written else _pattern_for(plain.text).sub(_letters_in, plain.text)
        if again == plain.text:
            break
        plain = Plain(text=again, written=plain.text, earlier=plain)
    return plain


def _pattern_for(text: str) -> re.Pattern[str]:
    return _OTHERWISE_IN_ASCII if text.isascii() else _OTHERWISE


def _letters_in(found: re.Match[str]) -> str:
    """The same few come again and again; long ones are not remembered."""
    written = found[0]
    return _known_letters(written) if len(written) <= _SHORT_CHARACTERS else _letters_of(written)


def _letters_of(written: str) -> str:
    """What it means, in plain letters; nothing where it is not seen. Controls stay as they are written, and what means nothing."""
    meant = _meant(written)
    if meant == "" or _STAYS.search(meant):
        return written
    if _NOT_SEEN.fullmatch(meant):
        return ""
    plain = normalised("NFKC", meant)
    return plain if plain.isascii() else meant


def _meant(written: str) -> str:
    match written[0]:
        case "%":
            code = _IN_HEX.match(written)
            return _character(code[1], 16) if code else _of_bytes(_PERCENT_BYTE.findall(written), 16)
        case "=":
            return _of_bytes(written.split("=")[1:], 16)
        case "&":
            return _of_entity(written[1:].removesuffix(";"))
        case "\\":
            return _of_escape(written.lstrip("\\"), written)
        case _:
            return written


def _of_escape(said: str, written: str) -> str:
    code = _IN_HEX.match(written)
    if "}" not in said and said[0] == "x":
        return _of_bytes(_HEX_BYTE.findall(written), 16)
    if code is not None and "\\" in said:
        # The two halves of one character.
        return (
            "".join(chr(int(half, 16)) for half in _HALF.findall(written))
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )
    if code is not None:
        return _character(code[1], 16)
    return _of_bytes(_OCTAL_BYTE.findall(written), 8) if said[0].isdigit() else said


def _of_entity(said: str) -> str:
    if said[0] != "#":
        # Of a name that is none Python reads the beginning.
        meant = html.unescape(f"&{said};")
        return "" if meant.endswith(";") else meant
    return _character(said[2:], 16) if said[1] in "xX" else _character(said[1:], 10)


def _of_bytes(said: Sequence[str], base: int) -> str:
    """One alone is of ASCII or of Latin-1."""
    data = bytes(int(each, base) for each in said)
    return data.decode("latin-1" if len(data) == 1 else "utf-8", "ignore")


def _character(code: str, base: int) -> str:
    # Python reads no number of thousands of digits, be they zeros.
    number = int(code.lstrip("0") or "0", base)
    return chr(number) if number <= _LAST_CHARACTER else ""


_known_letters = lru_cache(maxsize=4096)(_letters_of)
