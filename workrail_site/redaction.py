"""Takes secrets out of whatever is about to be written to a log: by the name of a field, and by the look of a value."""

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[redacted]"
_MOST_LEVELS = 12
_SHORTEST_SECRET = 8

_SECRET_NAMES = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secretkey",
    "tokenkey",
    "apikey",
    "privatekey",
    "token",
    "tokens",
    "authorization",
    "cookie",
    "cookies",
    "sessionid",
    "credential",
    "credentials",
)
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]")

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    # An agent key keeps the eight characters by which people recognise it.
    (re.compile(r"(wr_key_[a-z2-7]{0,8})[a-z0-9]*", re.IGNORECASE), r"\1" + HIDDEN),
    # st.v1.…, ack.v1.…, chk.v1.… and their kin: version in the text, then the secret part.
    (re.compile(r"\b([a-z]{2,12}\.v[0-9]{1,2}\.)[a-z0-9_~-]{4,}(?:\.[a-z0-9_~-]+)*", re.IGNORECASE), r"\1" + HIDDEN),
    (re.compile(r"\b(bearer|basic)\s+[a-z0-9._~+/=-]{6,}", re.IGNORECASE), r"\1 " + HIDDEN),
    (re.compile(r"(://[^\s/:@]*:)[^\s/@]+@"), r"\1" + HIDDEN + "@"),
    # Header lines and Set-Cookie in a text: everything up to the end of the line.
    (re.compile(r"\b((?:set-)?cookie['\"]?\s*[:=]\s*)[^\r\n]+", re.IGNORECASE), r"\1" + HIDDEN),
    (
        re.compile(
            r"\b([a-z_.-]*(?:password|passwd|secret|secret_?key|api_?key|sessionid|csrftoken|token)['\"]?\s*[=:]\s*)"
            r"(\"[^\"]*\"|'[^']*'|[^\s,;&'\"}\])]+)",
            re.IGNORECASE,
        ),
        r"\1" + HIDDEN,
    ),
)


class Redactor:
    """A structlog processor. `known` are secrets of this installation, which are hidden wherever they stand."""

    def __init__(self, *, known: tuple[str, ...] = ()) -> None:
        self._known = tuple(secret for secret in known if len(secret) >= _SHORTEST_SECRET)

    def __call__(self, _logger: Any, _method: str, event: Mapping[str, Any]) -> dict[str, Any]:
        return {self.text(str(name)): self._field(str(name), value, 0) for name, value in event.items()}

    def text(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, HIDDEN)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text

    def _field(self, name: str, value: Any, level: int) -> Any:
        if value is not None and not isinstance(value, bool) and is_secret_name(name):
            return HIDDEN
        return self._value(value, level)

    def _value(self, value: Any, level: int) -> Any:
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str):
            return self.text(value)
        if level >= _MOST_LEVELS:
            return "…"
        if isinstance(value, Mapping):
            return {self.text(str(name)): self._field(str(name), inner, level + 1) for name, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._value(inner, level + 1) for inner in value]
        if isinstance(value, bytes | bytearray | memoryview):
            return self.text(bytes(value).decode("utf-8", "replace"))
        return self.text(str(value) if isinstance(value, BaseException) else repr(value))


def is_secret_name(name: str) -> bool:
    """`Set-Cookie`, `stateToken`, `new_password` and the like."""
    return _NOT_IN_NAMES.sub("", name.lower()).endswith(_SECRET_NAMES)
