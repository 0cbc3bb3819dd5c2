"""What a name of a team, a key or a person may be."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.normal_forms import UNSEEN, normalised, trimmed
from teams_app.engine.redaction import read_kept_text

NAME_CHARACTERS = 100
USERNAME_CHARACTERS = 100

_USERNAME = re.compile(r"[a-z0-9][a-z0-9._@+-]*")
# Cc control, Cf format (zero-width, bidirectional overrides), Cs surrogate, Zl and Zp line breaks
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_PASSED_OVER = re.compile(f"[{UNSEEN}]")
# Letters from Hebrew on, and emoji with what varies them.
_JOINED = "\u0590-\u1cff\u2190-\u2bff\u3030\u303d\u3297\u3299\ua800-\uabff\ufb1d-\ufdff\ufe0f\ufe70-\ufefc\U00010a00-\U0001faff"
# Letters and signs that have another form, and which one says what stands behind them.
_VARIED = f"{_JOINED}0-9#*\u00a9\u00ae\u203c\u2049\u2122\u2139"
# Signs behind which a joiner gives a letter the form that it has at the end of a word.
_ENDING = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Formats that belong to what is read: one joiner between what it joins, which holds Persian words apart and makes one emoji of
# several; the form of an emoji, a letter of Mongolian, a Han character; the letters within the flags of England and its kin; signs of
# Arabic, Syriac and Kaithi that are drawn.
_READ_FORMATS = re.compile(
    f"(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])|(?<=[{_ENDING}])\u200d|(?<=[{_VARIED}])[\ufe0e\ufe0f]|(?<=[\u1820-\u18aa])[\u180b-\u180f]"
    f"|(?<=[{_HAN}])[\ufe00-\ufe0f\U000e0100-\U000e01ef]|(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{{3,6}}\U000e007f"
    "|[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]"
)


def unseen_in(text: str) -> str:
    """The first character that is not seen and joins nothing, as `U+202E`; nothing where all are."""
    read = _READ_FORMATS.sub("", text)
    return next((f"U+{ord(each):04X}" for each in read if _is_unseen(each)), "")


def _is_unseen(character: str) -> bool:
    """What readers pass over, and what is no character and never becomes one."""
    number = ord(character)
    is_none = number & 0xFFFE == 0xFFFE or 0xFDD0 <= number <= 0xFDEF
    return is_none or unicodedata.category(character) in _INVISIBLE or _PASSED_OVER.match(character) is not None


def require_seen(text: str, *, what: str, details: Mapping[str, Any] | None = None) -> None:
    """Such a character may change how the text around it reads, or make two that look the same."""
    unseen = unseen_in(text)
    if unseen:
        raise InvalidInputError(
            f"{what} holds the character {unseen}, which nobody sees.",
            suggestion="Write it in one line, without control characters and without marks that are not seen.",
            details=details,
        )


def only_read(text: str) -> str:
    """What is left of it without the characters that are not seen and join nothing."""
    kept, end = [], 0
    for found in _READ_FORMATS.finditer(text):
        kept += [*_seen(text[end : found.start()]), found[0]]
        end = found.end()
    return "".join([*kept, *_seen(text[end:])])


def _seen(text: str) -> Iterator[str]:
    return (each for each in text if not _is_unseen(each))


def read_name(text: str, *, field: str = "name") -> str:
    """The name without surrounding white space, or a refusal."""
    # Four characters at most become one.
    name = trimmed(text)
    if len(name) <= 4 * NAME_CHARACTERS:
        name = normalised("NFC", name).strip()
    if not name:
        raise InvalidInputError(f"{field} is empty.", suggestion=f"Give {field} at least one visible character.")
    if len(name) > NAME_CHARACTERS:
        raise InvalidInputError(
            f"{field} has {len(name)} characters; {NAME_CHARACTERS} is the most.",
            suggestion=f"Shorten {field}.",
        )
    require_seen(name, what=field)
    return read_kept_text(name, field=field)


def fold_username(text: str) -> str:
    """One spelling for all ways to write a login name: full-width and other compatible forms, and any case, are the same."""
    return normalised("NFKC", normalised("NFKC", text).casefold()).strip()


def read_username(text: str) -> str:
    username = read_kept_text(fold_username(text)[: USERNAME_CHARACTERS + 1], field="username")
    if len(username) <= USERNAME_CHARACTERS and _USERNAME.fullmatch(username):
        return username
    raise InvalidInputError(
        "That is not a user name.",
        suggestion="Use small Latin letters, digits and . _ @ + -, beginning with a letter or digit.",
    )
