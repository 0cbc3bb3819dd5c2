"""Texts in a normal form of Unicode, within time in proportion to their length."""

import unicodedata
from typing import Literal

# Marks on one letter are sorted one by one, which takes the square of how many there are. No script has so many; Unicode's
# own format for streams (UAX 15) has as few.
MOST_MARKS = 30
# A text that is shorter costs nothing whatever stands in it, and stays whole.
SHORT_CHARACTERS = 512
# Letters that become marks.
_LATE_MARKS = frozenset("\uff9e\uff9f")


def normalised(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """Of a long text, marks beyond the thirtieth on one letter are left out."""
    return unicodedata.normalize(
        form, text if len(text) <= SHORT_CHARACTERS or text.isascii() else _with_few_marks(text)
    )


def _with_few_marks(text: str) -> str:
    kept, run = [], 0
    for character in text:
        run = run + 1 if character in _LATE_MARKS or unicodedata.category(character)[0] == "M" else 0
        if run <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)
