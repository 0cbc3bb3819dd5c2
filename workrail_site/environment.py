"""Reads the process environment with types. A value that does not fit stops the start and says what would."""

import base64
import binascii
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

_TRUE = frozenset({"1", "true"})
_FALSE = frozenset({"0", "false"})

Choice = TypeVar("Choice", bound=StrEnum)


class BadEnvironmentError(Exception):
    """A variable is missing or does not have the form that docs/configuration.md gives."""


class SiteEnvironment:
    """Every name that was asked for is remembered, so that a test can hold the documentation to it."""

    def __init__(self, source: Mapping[str, str]) -> None:
        self._source = source
        self._names: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._names)

    def text(self, name: str, *, default: str = "") -> str:
        self._names.add(name)
        return self._source.get(name, "").strip() or default

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self.text(name)
        if not value:
            return default
        if value in _TRUE | _FALSE:
            return value in _TRUE
        raise BadEnvironmentError(f"{name} is {value!r}. Write true or false (or 1 or 0).")

    def integer(self, name: str, *, default: int, minimum: int = 0) -> int:
        value = self.text(name)
        if not value:
            return default
        if value.isascii() and value.isdigit() and int(value) >= minimum:
            return int(value)
        raise BadEnvironmentError(f"{name} is {value!r}. Write a whole number, at least {minimum}.")

    def words(self, name: str, *, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """A list separated by commas."""
        found = tuple(word.strip() for word in self.text(name).split(",") if word.strip())
        return found or default

    def choice(self, name: str, *, default: Choice) -> Choice:
        value = self.text(name, default=default.value)
        kind = type(default)
        if value in {member.value for member in kind}:
            return kind(value)
        allowed = ", ".join(member.value for member in kind)
        raise BadEnvironmentError(f"{name} is {value!r}. Write one of: {allowed}.")

    def key_bytes(self, name: str, *, length: int) -> bytes | None:
        """A binary key in base64url, or None when the variable is not set."""
        value = self.text(name)
        return self._key(name, value, length) if value else None

    def keys_bytes(self, name: str, *, length: int) -> tuple[bytes, ...]:
        """Such keys, separated by commas."""
        return tuple(self._key(name, value, length) for value in self.words(name))

    @staticmethod
    def _key(name: str, value: str, length: int) -> bytes:
        try:
            key = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) == length:
            return key
        raise BadEnvironmentError(
            f"{name} does not hold {length} bytes in base64url. Make one with: "
            f"python3 -c 'import base64, os; print(base64.urlsafe_b64encode(os.urandom({length})).decode())'",
        )
