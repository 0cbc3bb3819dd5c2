r"""Keys of ours in a text: whole, cut short, or broken by the end of a line, a blank, a tag, quotes, a mark on a letter.

A key is its mark and forty letters made by chance (25 bytes in base32, in small letters). What has the mark alone is a name: of variables,
tables and tests there are many. Words behind a mark are as many letters by chance only, and then tell themselves from a key: hardly any
has digits in it, and they are not of one length.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

HIDDEN: Final = "[redacted]"
OWN_MARKS: Final = ("wr_key_", "wr_pat_", "wr_oat_", "wr_ort_", "wr_hook_", "wr_link_")
LETTERS = 40
# Of one that was cut short nobody guesses the rest from fewer: sixteen letters are eighty bits. No name has as many in one word.
FEWEST_LETTERS = 24
# The same of what has no digits, or in one place: words in one piece are not as long, nor is the alphabet.
_FEWEST_OF_WORDS = 38
# What is listed with its beginning is known to people by so many.
_LISTED, _SHOWN_LETTERS = frozenset({"wr_key_", "wr_pat_"}), 8
# Of forty letters by chance twenty-three are different, and never so few; of what shows the form alone one is.
_FEWEST_DIFFERENT = 6
_MOST_BREAKS = 100
# Words of plain language are shorter than a quarter of a key, and names in code have capitals; so much of a key stands in pieces with
# digits amid letters; and words are not of one length.
_FEW_PIECES = 4
_MOSTLY = LETTERS // 2
# As long as a mark, or as its half, is what is broken right behind it.
_LENGTHS_OF_MARKS = frozenset({1, 2, 4, 7, 8})
_IN_TERMINALS = r"(?:\x1b|\\{1,8}(?:u001b|x1b|033))\[[0-9;?]{0,12}[a-z]"
# What `plain_reading` leaves as it is written: controls, and what no text means.
_ESCAPED = r"\\{1,8}(?:u[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}|x[01][0-9a-f]|[bfnrt])|%(?:25){0,4}[01][0-9a-f]|&#?[0-9a-z]{1,31};|&#[0-9]{1,3}"
# Python goes through it once, whatever comes behind it.
_BREAK = rf"(?:<[^<>]{{0,2000}}>|<(?![^<>]{{0,2000}}>)|{_IN_TERMINALS}|{_ESCAPED}|[^\w<]){{0,{_MOST_BREAKS}}}+"
_MARK = re.compile(
    rf"w{_BREAK}r{_BREAK}_{_BREAK}(?:{'|'.join(f'({_BREAK.join(mark[3:])})' for mark in OWN_MARKS)})", re.IGNORECASE
)
_GAP = re.compile(_BREAK, re.IGNORECASE)
# A letter with a mark that became one with it is a letter still.
_PIECE = re.compile("[a-z2-7\u00c0-\u024f\u1e00-\u1eff]+", re.IGNORECASE)
_RUN = re.compile("([a-z2-7]*)[a-z0-9]*", re.IGNORECASE)
_DIGITS = re.compile("[2-7]+")
_MIXED = re.compile("(?=[2-7]*[a-z])(?=[a-z]*[2-7])", re.IGNORECASE)
_ANYTHING = r"(?:<[^<>]*>|&#?[a-z0-9]+;|&#[0-9]+|\\+(?:u[0-9a-f]{4}|u\{[0-9a-f]+\}|x[01][0-9a-f]|033|[bfnrt])|%[0-9]+[0-9a-f]?|\[[0-9;?]*[a-z]|[^a-z0-9_])*"
# Without which there is none, for whoever looks for many things at once.
FIRST_OF_MARKS = f"w{_ANYTHING}r{_ANYTHING}_"


def own_keys(text: str) -> Iterator[tuple[int, int, str]]:
    """From where to where one stands, and what of it may be shown. A piece ends at a joint, so that none is looked at again behind
    the next mark.
    """
    end = 0
    for found in _MARK.finditer(text):
        key = _behind(text, found) if found.start() >= end else None
        if key is not None:
            end = key[0]
            yield found.start(), *key


def _behind(text: str, mark: re.Match[str]) -> tuple[int, str] | None:
    """Where a key with this mark ends, and what of it may be shown."""
    kind = OWN_MARKS[(mark.lastindex or 1) - 1]
    run = _RUN.match(text, mark.end())
    letters = "" if run is None else run[1]
    end = mark.end() + len("" if run is None else run[0])
    if text.startswith(HIDDEN, end):
        return None
    is_listed = kind in _LISTED and len(mark[0]) == len(kind)
    shown = mark[0] + letters[:_SHOWN_LETTERS] if is_listed else kind
    is_whole = len(letters) == LETTERS == end - mark.end() and len(set(letters.lower())) >= _FEWEST_DIFFERENT
    if is_whole or _is_by_chance([letters[:LETTERS]]):
        return end, shown
    last = _end_of(text, mark.end(), breaks=int(len(mark[0]) > len(kind)))
    if last is not None:
        return last, kind
    fewest = FEWEST_LETTERS if _has_digits(letters) else _FEWEST_OF_WORDS
    is_cut_short = _is_by_chance([letters], fewest=fewest)
    return (end, shown) if is_cut_short and end == mark.end() + len(letters) else None


def _is_by_chance(pieces: Sequence[str], *, fewest: int = LETTERS) -> bool:
    """Of one case, but for a capital where a line or a sentence begins, and of many letters."""
    whole = "".join(pieces)
    is_of_one_case = whole.isupper() or all(piece[1:] == piece[1:].lower() for piece in pieces)
    return len(whole) >= fewest and is_of_one_case and len(set(whole.lower())) >= _FEWEST_DIFFERENT


def _has_digits(letters: str) -> bool:
    """In two places, where a name has one number, and the alphabet its end."""
    return len(_DIGITS.findall(letters)) > 1


def _end_of(text: str, at: int, *, breaks: int) -> int | None:
    pieces: list[str] = []
    total, behind = 0, at
    while total < LETTERS:
        gap = _GAP.match(text, at)
        begin = at if gap is None else gap.end()
        breaks += begin > at
        piece = _PIECE.match(text, begin)
        if piece is None:
            return None
        behind = behind if pieces else begin - behind
        pieces.append(piece[0])
        breaks += not piece[0].isascii()
        total, at = total + len(piece[0]), piece.end()
    if breaks == 0 or total > LETTERS or not _is_by_chance(pieces):
        return None
    return at if breaks == 1 or _is_made(pieces, is_apart=behind > 0) else None


def _is_made(pieces: Sequence[str], *, is_apart: bool) -> bool:
    """Where something stands between them and the mark, as behind one that is merely named, less is taken for a key."""
    if sum(len(piece) for piece in pieces if _MIXED.match(piece)) >= _MOSTLY:
        return True
    even = {len(piece) for piece in (pieces[:-1] if is_apart else pieces[1:-1])}
    if len(even) == 1 and len(pieces) > _FEW_PIECES and (not is_apart or even & _LENGTHS_OF_MARKS):
        return True
    whole = "".join(pieces)
    is_of_one_case = whole.islower() or whole.isupper()
    return not is_apart and len(pieces) <= _FEW_PIECES and is_of_one_case and _has_digits(whole)
