"""What a name of a team, a key or a person may be."""

import re
import unicodedata

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.normal_forms import normalised, trimmed
from teams_app.engine.redaction import read_kept_text

NAME_CHARACTERS = 100
USERNAME_CHARACTERS = 100

_USERNAME = re.compile(r"[a-z0-9][a-z0-9._@+-]*")
# Cc control, Cf format (zero-width, bidirectional overrides), Cs surrogate, Zl and Zp line breaks
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Unseen themselves: they hold Persian words apart, and make one emoji of several.
_JOINERS = str.maketrans("", "", "\u200c\u200d")


def is_seen(text: str) -> bool:
    """Whether each character is seen, or joins those that are."""
    joined = text.translate(_JOINERS)
    return trimmed(joined) != "" and joined.isprintable()


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
    if any(unicodedata.category(character) in _INVISIBLE for character in name):
        raise InvalidInputError(
            f"{field} holds a control or invisible character.",
            suggestion=f"Write {field} in one line of visible characters.",
        )
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
