"""Texts in a normal form of Unicode, within time in proportion to their length."""

import re
import unicodedata
from typing import Literal

# Marks on one letter are sorted one by one, which takes the square of how many there are. No script has so many; Unicode's
# own format for streams (UAX 15) has as few.
MOST_MARKS = 30
# A text that is shorter costs nothing whatever stands in it, and stays whole.
SHORT_CHARACTERS = 512
# What Unicode has readers pass over in silence (Default_Ignorable_Code_Point), as within a class of a pattern.
UNSEEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# What nobody sees, as within a class of a pattern: that, blanks, controls, and what is shown as a blank.
_NOBODY_SEES = rf"\s\x00-\x1f\x7f-\x9f\u2800\ufff9-\ufffb\U0001d159{UNSEEN}"
_UNSEEN_RUN, SEEN = re.compile(f"[{_NOBODY_SEES}]+"), re.compile(f"[^{_NOBODY_SEES}]")
# Letters that become marks.
_LATE_MARKS = frozenset("\uff9e\uff9f")


def trimmed(text: str) -> str:
    """Without white space around it; nothing at all where nobody sees anything of it."""
    return text.strip() if SEEN.search(text) else ""


def only_seen(text: str) -> str:
    """What is left of it without all that nobody sees."""
    return _UNSEEN_RUN.sub("", text)


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
