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
# `%5F`, `%255F`, `\u005f`, `\\u{5f}`, `\x5f`, `\137`, `&#95;`, `&#95`, `\_` as Markdown writes it, and what is not seen in the same ways. As
# `re2` reads it too.
_PERCENT = r"%(?:(?:25)*[2-7][0-9A-Fa-f]|[Ee]2%80%8[B-Fb-f]|[Ee]2%81%[Aa]0|[Ee][Ff]%[Bb][Bb]%[Bb][Ff])"
_ESCAPE = r"\\(?:\\*u(?:00[2-7][0-9A-Fa-f]|200[B-Fb-f]|2060|[Ff][Ee][Ff][Ff]|\{0*[2-7][0-9A-Fa-f]\})|\\*x[2-7][0-9A-Fa-f]|\\*(?:1[0-7]{2}|[4-7][0-7])|\\*[_-])"
_ENTITY = r"&(?:#(?:0*[0-9]{2,3}|820[3-7]|[xX]0*[2-7][0-9A-Fa-f]|[xX]200[B-Fb-f]);?|(?:lowbar|amp|equals|colon|period|quot|shy);)"
OTHERWISE = rf"{_PERCENT}|{_ESCAPE}|{_ENTITY}|[{UNSEEN}{_WIDE}]"
# The same, beginning with one set of letters, by which Python passes over everything else; the smaller, the quicker.
_IN_ASCII = rf"(?<=%){_PERCENT[1:]}|(?<=\\)(?<!\\\\){_ESCAPE[2:]}|(?<=&){_ENTITY[1:]}"
_OTHERWISE_IN_ASCII = re.compile(rf"[%\\&](?:{_IN_ASCII})")
# What is not seen is one piece, however much of it stands together.
_OTHERWISE = re.compile(rf"[%\\&{UNSEEN}{_WIDE}](?:(?<=[{UNSEEN}])[{UNSEEN}]*|{_IN_ASCII}|(?<![%\\&]))")
_SHORT_CHARACTERS = 12
_IN_OCTAL = re.compile(r"\\+([0-7]+)")
_ZEROS = re.compile(r"(#[xX]?)0+(?=[0-9A-Fa-f])")
_IN_HEX = re.compile(r"\\+(?:u|x)\{?([0-9A-Fa-f]+)")


# Where it stands in the plain text, with how many letters, and from where to where it stands in the text as it is.
_Respelt = tuple[int, int, int, int]
_NOTHING: _Respelt = (0, 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Plain:
    """`text` reads as what is `written`. What stands where is asked only where something was found, and takes longer than all else."""

    text: str
    written: str

    def begin_of(self, place: int) -> int:
        """Where in the text as it is the letter at this place begins."""
        at, letters, begin, end = self._before(place)
        past = place - at - letters
        return begin if past < 0 else end + past

    def end_of(self, place: int) -> int:
        """Where in the text as it is the letter before this place ends."""
        at, letters, _begin, end = self._before(place - 1)
        return end + max(0, place - at - letters)

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
    return Plain(text=_pattern_for(text).sub(_letters_in, text), written=text)


def _pattern_for(text: str) -> re.Pattern[str]:
    return _OTHERWISE_IN_ASCII if text.isascii() else _OTHERWISE


def _letters_in(found: re.Match[str]) -> str:
    """The same few come again and again; long ones are not remembered."""
    written = found[0]
    return _known_letters(written) if len(written) <= _SHORT_CHARACTERS else _letters_of(written)


def _letters_of(written: str) -> str:
    """What it reads as in ASCII; nothing where it is not seen."""
    match written[0]:
        case "%":
            # Percent itself may be written so, as often as it likes; three bytes are of what is not seen.
            read = chr(int(written[-2:], 16))
        case "\\":
            code, octal = _IN_HEX.match(written), _IN_OCTAL.match(written)
            read = chr(int(code[1], 16)) if code else chr(int(octal[1], 8)) if octal else written[-1]
        case "&":
            # Python reads no number of thousands of digits, be they zeros.
            read = html.unescape(_ZEROS.sub(r"\1", written))
        case _:
            # Of what is not seen nothing is ASCII, however much of it stands together.
            read = normalised("NFKC", written) if len(written) == 1 else ""
    return read if read.isascii() else ""


_known_letters = lru_cache(maxsize=4096)(_letters_of)
