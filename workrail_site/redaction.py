"""Takes secrets out of whatever is about to be written to a log: by the name of a field, and by the look of a value."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from teams_app.engine import redaction
from teams_app.engine.own_keys import HIDDEN
from teams_app.engine.redaction import bare_name, hide_secrets

_MOST_LEVELS = 12
_SHORTEST_SECRET = 8
_LONGEST_REMEMBERED = 80
_MOST_REMEMBERED = 4096
# Moments and ids, of which each line has new ones: no secret that is known by its look is written in these alone.
_MOMENT_OR_ID = re.compile(r"[0-9a-fA-FTZ:.+-]*")
# The cookie by which a person is signed in; arguments of tools call sessions of ours so.
_COOKIE = "sessionid"


class Redactor:
    """A structlog processor. `known` are secrets of this installation, which are hidden wherever they stand."""

    def __init__(self, *, known: tuple[str, ...] = ()) -> None:
        self._known = tuple(secret for secret in known if len(secret) >= _SHORTEST_SECRET)
        # The same few names, methods, paths and actors come with every line.
        self._remembered = lru_cache(maxsize=_MOST_REMEMBERED)(self._without_secrets)
        self._name = lru_cache(maxsize=_MOST_REMEMBERED)(self._named)

    def __call__(self, _logger: Any, _method: str, event: Mapping[str, Any]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        for name, value in event.items():
            kept, is_secret = self._name(str(name))
            # Most fields of most lines are short texts under a harmless name.
            said[kept] = self.text(value) if type(value) is str and not is_secret else self._field(str(name), value, 0)
        return said

    def _named(self, name: str) -> tuple[str, bool]:
        return self.text(name), is_secret_name(name)

    def text(self, text: str) -> str:
        return self._remembered(text) if len(text) <= _LONGEST_REMEMBERED else self._without_secrets(text)

    def _without_secrets(self, text: str) -> str:
        for secret in self._known:
            text = text.replace(secret, HIDDEN)
        return text if _MOMENT_OR_ID.fullmatch(text) else hide_secrets(text)

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


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    return redaction.is_secret_name(name) or bare_name(name).endswith(_COOKIE)
