"""Values in text: `{{name.path}}` in prompts, `{name.path}` in the messages of activities. Nothing is ever evaluated."""

import json
import re
from collections.abc import Mapping
from typing import Any

from workflows_app.engine import canonical
from workflows_app.engine.conditions import MISSING, lookup

MAX_VALUE_CHARS = 16_384
# All values of one text, or of the texts of one step, as they are shown and as they are written to be measured.
MAX_SHOWN_CHARS = 65_536
MAX_WRITTEN_CHARS = 4 * 1024 * 1024
_NAME = r"[^\W\d][\w-]*(?:\.[\w-]+)*"
_DOUBLE = re.compile(r"\{\{\s*(?!wr\.)(" + _NAME + r")\s*\}\}")
_SINGLE = re.compile(r"(?<!\{)\{(" + _NAME + r")\}(?!\})")
_EITHER = re.compile(f"{_DOUBLE.pattern}|{_SINGLE.pattern}")
_ANY_DOUBLE = re.compile(r"\{\{([^{}]{1,200})\}\}")

Variables = Mapping[str, Any]


def render(text: str, *, variables: Variables) -> str:
    """As `Filling.render`, of one text by itself."""
    return Filling(variables).render(text)


def render_message(text: str, *, variables: Variables) -> str:
    """As `Filling.render_message`, of one text by itself."""
    return Filling(variables).render_message(text)


class Filling:
    """Puts values into the texts that are shown together. A prompt is short and may name a long value a thousand times,
    so each value is written once, and what all of them show together is bounded: beyond that stands `[left out: name]`.

    What a value says is not looked at again, so a value cannot bring in another.
    """

    def __init__(self, variables: Variables) -> None:
        self._variables = variables
        self._said: dict[str, str | None] = {}
        self._room = MAX_SHOWN_CHARS
        self._work = MAX_WRITTEN_CHARS

    def render(self, text: str) -> str:
        """The prompt with its values in place. One that is not set is `[unset: name]`; an expression stays as written."""

        def value_of(found: re.Match[str]) -> str:
            said = self._value(found[1])
            return f"[unset: {found[1]}]" if said is None else self._placed(said, found[1], found)

        return _DOUBLE.sub(value_of, text) if "{{" in text else text

    def render_message(self, text: str) -> str:
        """The message with its values in place, in single braces or in double ones, as in prompts. Single braces may also be
        examples, so what is not set stays there as written.
        """

        def value_of(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            said = self._value(name)
            if said is not None:
                return self._placed(said, name, found)
            return f"[unset: {name}]" if found[1] else found[0]

        return _EITHER.sub(value_of, text) if "{" in text else text

    def render_value(self, text: str) -> str:
        """A text that an action puts into a variable: in single braces only."""

        def value_of(found: re.Match[str]) -> str:
            said = self._value(found[1])
            return found[0] if said is None else said

        return _SINGLE.sub(value_of, text)

    def _placed(self, said: str, name: str, found: re.Match[str]) -> str:  # noqa: ARG002  what a filling that marks its values asks
        """A value as it stands in the text, in the place of what was found there."""
        return said

    def _value(self, name: str) -> str | None:
        said = self._written(name)
        if said is None:
            return None
        if len(said) > self._room:
            return f"[left out: {name}]"
        self._room -= len(said)
        return said

    def _written(self, name: str) -> str | None:
        if name not in self._said:
            self._said[name] = self._write(name)
        return self._said[name]

    def _write(self, name: str) -> str | None:
        value = lookup(tuple(name.split(".")), variables=self._variables)
        if value is None or value is MISSING:
            return None
        if self._work <= 0:
            return f"[left out: {name}]"
        text = value if isinstance(value, str) else _as_json(value)
        self._work -= len(text)
        return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"


def resolved(value: Any, *, variables: Variables) -> Any:
    """What a workflow says to put into a variable: `{name.path}` alone is the value of that name, null where it has none;
    within a text it is filled in. Lists and objects are taken as they are written.
    """
    if not isinstance(value, str) or "{" not in value:
        return value
    alone = _SINGLE.fullmatch(value.strip())
    if alone is None:
        return Filling(variables).render_value(value)
    found = lookup(tuple(alone[1].split(".")), variables=variables)
    return None if found is MISSING else found


def names_of_value(value: Any) -> frozenset[str]:
    """The dotted names that `resolved` would look for."""
    return (
        frozenset(name for found in _EITHER.findall(value) for name in found if name)
        if isinstance(value, str)
        else frozenset()
    )


def names_in(text: str) -> frozenset[str]:
    """The dotted names that `render` would put values for."""
    return frozenset(_DOUBLE.findall(text))


def without_names(text: str) -> str:
    """The text without the names that `render` would put values for."""
    return _DOUBLE.sub("", text)


def single_names_in(text: str) -> frozenset[str]:
    """The dotted names that `render_message` would put values for."""
    return frozenset(_SINGLE.findall(text)) if "{" in text else frozenset()


def expressions_in(text: str) -> tuple[str, ...]:
    """What stands in double braces and is no name: it will be shown as written, which its author hardly meant."""
    inside = (found[1].strip() for found in _ANY_DOUBLE.finditer(text) if not _DOUBLE.fullmatch(found[0]))
    return tuple(dict.fromkeys(said for said in inside if not said.startswith("wr.")))


def _as_json(value: Any) -> str:
    try:
        return canonical.canonical_bytes(value).decode()
    except canonical.NotCanonicalError:
        return json.dumps(value, default=str)
