"""Whether a password gives away the name that it belongs to."""

import re
import unicodedata

from teams_app.engine.normal_forms import normalised

_PARTS = re.compile(r"[._@+-]+")
_SHORTEST_NAME = 3
_SHORTEST_PART = 4


def holds_name(*, password: str, username: str) -> bool:
    """In any width, case or accent form. Of a name like ann.smith@example.com each longer part counts too."""
    folded = _fold(password)
    return any(part in folded for part in _telling_parts(_fold(username)))


def _telling_parts(name: str) -> list[str]:
    whole = [name] if len(name) >= _SHORTEST_NAME else []
    return whole + [part for part in _PARTS.split(name) if len(part) >= _SHORTEST_PART]


def _fold(text: str) -> str:
    """Without accents: `Álice` gives `alice` away as well."""
    apart = normalised("NFKD", normalised("NFKC", text).casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
