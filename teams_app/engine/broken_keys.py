"""Keys of ours that something breaks: the end of a line, a blank, a tag, quotes, a mark on a letter.

A key is known by its mark and by how many letters there are behind it. Words behind a mark are as many by chance only, and then
tell themselves from a key: hardly any has digits in it, and they are not of one length.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

OWN_MARKS: Final = ("wr_key_", "wr_pat_", "wr_oat_", "wr_ort_", "wr_hook_", "wr_link_")
LETTERS = 40
_MOST_BREAKS = 100
# Words of plain language are shorter than a quarter of a key, and names in code have capitals; so much of a key stands in pieces with
# digits amid letters; and words are not of one length.
_FEW_PIECES = 4
_MOSTLY = LETTERS // 2
# As long as a mark, or as its half, is what is broken right behind it.
_LENGTHS_OF_MARKS = frozenset({1, 2, 4, 7, 8})
_IN_TERMINALS = r"(?:\x1b|\\{1,8}(?:u001b|x1b|033))\[[0-9;]{0,12}m"
_ESCAPED = r"\\{1,8}(?:u[0-9a-f]{4}|[rnt])|%(?:25){0,4}0[9ad]|&[a-z]{2,8};"
# Python goes through it once, whatever comes behind it.
_BREAK = rf"(?:<[^<>]{{0,60}}>|<(?![^<>]{{0,60}}>)|{_IN_TERMINALS}|{_ESCAPED}|[^\w<]){{0,{_MOST_BREAKS}}}+"
_MARK = re.compile(
    rf"w{_BREAK}r{_BREAK}_{_BREAK}(?:{'|'.join(f'({_BREAK.join(mark[3:])})' for mark in OWN_MARKS)})", re.IGNORECASE
)
_GAP = re.compile(_BREAK, re.IGNORECASE)
# A letter with a mark that became one with it is a letter still.
_PIECE = re.compile("[a-z2-7\u00c0-\u024f\u1e00-\u1eff]+", re.IGNORECASE)
_MIXED = re.compile("(?=[2-7]*[a-z])(?=[a-z]*[2-7])", re.IGNORECASE)
_ANYTHING = r"(?:<[^<>]*>|&[a-z]+;|\\+(?:u[0-9a-f]{4}|x1b|033|[rnt])|%[0-9]+[ad]?|\[[0-9;]+m|[^a-z0-9_])*"
# Without which there is none, for whoever looks for many things at once.
FIRST_OF_MARKS = f"w{_ANYTHING}r{_ANYTHING}_"


def broken_keys(text: str) -> Iterator[tuple[int, int, str]]:
    """From where to where one stands, and its mark. A piece ends at a joint, so that none is looked at again behind the next mark."""
    end = 0
    for found in _MARK.finditer(text):
        mark = OWN_MARKS[(found.lastindex or 1) - 1]
        last = _end_of(text, found.end(), breaks=int(len(found[0]) > len(mark)))
        if last is not None and found.start() >= end:
            yield found.start(), last, mark
            end = last


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
    if breaks == 0:
        return None
    return at if breaks == 1 or (total == LETTERS and _is_made(pieces, is_apart=behind > 0)) else None


def _is_made(pieces: Sequence[str], *, is_apart: bool) -> bool:
    """Where something stands between them and the mark, as behind one that is merely named, less is taken for a key."""
    if sum(len(piece) for piece in pieces if _MIXED.match(piece)) >= _MOSTLY:
        return True
    even = {len(piece) for piece in (pieces[:-1] if is_apart else pieces[1:-1])}
    if len(even) == 1 and len(pieces) > _FEW_PIECES and (not is_apart or even & _LENGTHS_OF_MARKS):
        return True
    whole = "".join(pieces)
    return not is_apart and len(pieces) <= _FEW_PIECES and (whole.islower() or whole.isupper())
