"""The known name that somebody probably meant, at a price that does not depend on what they sent.

Whoever sends many or long names decides how often this is asked; each question looks at a bounded number of characters.
"""

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice

LONGEST_WORD = 64
MOST_CANDIDATES = 256
_LIKE_ENOUGH = 0.6
_SHORTEST = 4


def closest(word: str, known: Iterable[str], *, like_enough: float = _LIKE_ENOUGH) -> str | None:
    """The known name that is most like the word: another way to write it, or one misspelt."""
    if len(word) > LONGEST_WORD:
        return None
    names = {_folded(name): str(name) for name in islice(known, MOST_CANDIDATES) if len(name) <= LONGEST_WORD}
    wanted = _folded(word)
    if wanted in names:
        return names[wanted]
    found = difflib.get_close_matches(wanted, _promising(wanted, list(names)), n=1, cutoff=like_enough)
    return names[found[0]] if found else None


def is_misspelt(word: str, name: str, *, like_enough: float) -> bool:
    """Whether the word is this name with one slip in it, or like enough to it: of a short name one slip leaves little."""
    return is_one_slip(word, name) or closest(word, (name,), like_enough=like_enough) is not None


def is_one_slip(word: str, name: str) -> bool:
    """Whether the word is this name with one slip in it, or written in another way."""
    return _is_one_slip(_folded(word[: LONGEST_WORD + 1]), _folded(name))


def is_slip_of(word: str, name: str) -> bool:
    """Whether two letters have changed their places, or one that stands twice stands once or the other way round: of a name of four
    letters or more that is hardly another word.
    """
    word, name = _folded(word[: LONGEST_WORD + 1]), _folded(name)
    shorter, longer = sorted((word, name), key=len)
    at = next((at for at, (one, other) in enumerate(zip(shorter, longer, strict=False)) if one != other), len(shorter))
    if len(shorter) < _SHORTEST or shorter == longer:
        return False
    if len(shorter) == len(longer):
        return shorter[at : at + 2] == longer[at : at + 2][::-1] and shorter[at + 2 :] == longer[at + 2 :]
    return shorter[at:] == longer[at + 1 :] and at > 0 and longer[at] == longer[at - 1]


def _is_one_slip(word: str, name: str) -> bool:
    """One letter more, less, or another, or two that have changed their places. Of one letter nothing would be left."""
    if min(len(word), len(name)) < 1 or max(len(word), len(name)) < 2 or abs(len(word) - len(name)) > 1:
        return False
    same = next((at for at, (one, other) in enumerate(zip(word, name, strict=False)) if one != other), len(name))
    rest, wanted = word[same:], name[same:]
    return (
        rest[1:] in (wanted, wanted[1:]) or rest == wanted[1:] or (rest[:2] == wanted[1::-1] and rest[2:] == wanted[2:])
    )


def _folded(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def _promising(word: str, names: Sequence[str]) -> list[str]:
    """Those that share enough characters with the word to be like it at all; the comparison proper costs far more."""
    letters = set(word)
    return [name for name in names if 2 * len(letters & set(name)) >= _LIKE_ENOUGH * (len(letters) + len(set(name)))]
