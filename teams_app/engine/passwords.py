"""Whether a password gives away the name that it belongs to."""

import re
import string
import unicodedata

from teams_app.engine.normal_forms import UNSEEN, normalised, only_seen

_PARTS = re.compile(r"[._@+-]+")
_UNSEEN = re.compile(f"[{UNSEEN}]")
_SHORTEST_NAME = 3
_SHORTEST_PART = 4
# Letters that look like those of a login name, which are Latin and small: of other scripts (as Unicode's table of confusables
# has them, what looks like two letters left out), with a stroke, small capitals. No normal form makes them the same.
_LOOK_ALIKE = {
    "a": "\u0430\u0410\u03b1\u0391\u0251\u1d00",
    "b": "\u0432\u0412\u044c\u042c\u03b2\u0392\u0180\u0299",
    "c": "\u0441\u0421\u03f2\u03f9\u1d04",
    "d": "\u0501\u0500\u0111\u0110\u00f0\u1d05",
    "e": "\u0435\u0415\u0454\u0404\u03b5\u0395\u04bd\u1d07",
    "f": "\u03dd\u03dc\u0192\ua730",
    "g": "\u0261\u0581\u050d\u050c\u0262",
    "h": "\u04bb\u04ba\u043d\u041d\u0397\u0570\u0127\u0126\u029c",
    "i": "\u0456\u0406\u03b9\u0399\u0131\u0269\u026a",
    "j": "\u0458\u0408\u03f3\u037f\u1d0a",
    "k": "\u043a\u041a\u03ba\u039a\u0138\u1d0b",
    "l": "\u04cf\u04c0\u0142\u0141\u029f\u01c0",
    "m": "\u043c\u041c\u039c\u03fb\u1d0d",
    "n": "\u03b7\u039d\u043f\u0578\u0274",
    "o": "\u043e\u041e\u03bf\u039f\u03c3\u0585\u0555\u00f8\u00d8\u1d0f",
    "p": "\u0440\u0420\u03c1\u03a1\u1d18",
    "q": "\u051b\u051a\u0563\u01eb",
    "r": "\u0433\u0280\u1d26",
    "s": "\u0455\u0405\u054f\ua731",
    "t": "\u0442\u0422\u03c4\u03a4\u0167\u0166\u1d1b",
    "u": "\u03c5\u057d\u054d\u1d1c",
    "v": "\u03bd\u0475\u0474\u1d20",
    "w": "\u051d\u051c\u03c9\u0461\u1d21",
    "x": "\u0445\u0425\u03c7\u03a7",
    "y": "\u0443\u0423\u04af\u04ae\u03b3\u03a5\u028f",
    "z": "\u0396\u03b6\u1d22",
}
# Flags are pairs of letters, and letters stand in circles and squares that are filled.
_IN_ORDER = {
    first + place: letter
    for first in (0x1F1E6, 0x1F150, 0x1F170)
    for place, letter in enumerate(string.ascii_lowercase)
}
_AS_LATIN = str.maketrans({other: letter for letter, others in _LOOK_ALIKE.items() for other in others} | _IN_ORDER)


def holds_name(*, password: str, username: str) -> bool:
    """In any width, case or accent form, in letters that look alike, with or without what is not seen. Of a name like
    ann.smith@example.com each longer part counts too.
    """
    folded = _fold(password)
    return any(part in folded for part in _telling_parts(_fold(username)))


def read_as_seen(password: str) -> str:
    """What is left of it for whoever guesses: no width of letters, and nothing that is not seen, makes it longer or less common."""
    return only_seen(normalised("NFKC", only_seen(password)))


def in_one_form(password: str) -> str:
    """The same however a keyboard puts its letters together, and in whichever width (NFKC, as NIST SP 800-63B asks for)."""
    return normalised("NFKC", password)


def _telling_parts(name: str) -> list[str]:
    whole = [name] if len(name) >= _SHORTEST_NAME else []
    return whole + [part for part in _PARTS.split(name) if len(part) >= _SHORTEST_PART]


def _fold(text: str) -> str:
    """Without accents: `Álice` gives `alice` away as well."""
    plain = _without_marks(_UNSEEN.sub("", text).translate(_AS_LATIN)).translate(_AS_LATIN)
    return _without_marks(plain.casefold())


def _without_marks(text: str) -> str:
    apart = normalised("NFKD", normalised("NFKC", text))
    return "".join(character for character in apart if not unicodedata.combining(character))
