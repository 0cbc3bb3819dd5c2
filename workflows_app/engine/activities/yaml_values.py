"""YAML as JSON values, by the core schema of YAML 1.2 (`yes` is a word, `012` is twelve, there are no dates).

The document is built from PyYAML's events. What could blow a small text up or make it mean more than it says has no event
that is accepted: aliases, anchors, tags, keys twice, keys that are not scalars, more than one document.
"""

import re
from collections.abc import Iterator
from math import inf
from typing import Any

import yaml

from workflows_app.engine.canonical import DEFAULT_MAX_DEPTH
from workflows_app.engine.problems import ProblemCode

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN = {word: value for value in (True, False) for word in (str(value), str(value).lower(), str(value).upper())}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
# The ends of lines as YAML counts them.
_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_MOST_QUOTED = 80
_NOTHING = object()


class BadYamlError(ValueError):
    """The text is no YAML that can be read as JSON values; `line` counts from 1."""

    def __init__(self, code: ProblemCode, message: str, *, line: int | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.line = line


class TooManyValuesError(ValueError):
    """The text holds more than `max_values`."""


def loads_yaml(
    text: str,
    *,
    typed: bool = True,
    doubled: list[tuple[str, int | None]] | None = None,
    max_values: int | None = None,
) -> Any:
    """The one document of a text. Untyped, every plain scalar but the empty one is text as written: `1.10` stays `1.10`.
    Reading ends where there are too many values.

    Where a list for `doubled` keys is given, they are told there with their line, and the last of each counts.
    """
    builder = _Builder(typed=typed, doubled=doubled, max_values=max_values)
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        raise BadYamlError(ProblemCode.BAD_YAML, _said(error), line=_line_within(text, error.problem_mark)) from error
    except (yaml.YAMLError, UnicodeError) as error:
        message = f"Not YAML: {_first_line(error)}."
        raise BadYamlError(ProblemCode.BAD_YAML, message, line=_line_of_character(text, error)) from error
    return builder.root if builder.root is not _NOTHING else None


def _events(text: str) -> Iterator[yaml.Event]:
    yield from yaml.parse(text, Loader=_LOADER)


class _Open:
    """A collection whose end has not come. `key` is the key that waits for its value."""

    __slots__ = ("items", "key", "line")

    def __init__(self, items: dict[str, Any] | list[Any], line: int | None) -> None:
        self.items = items
        self.key: str | None = None
        self.line = line


class _Builder:
    def __init__(
        self, *, typed: bool, doubled: list[tuple[str, int | None]] | None = None, max_values: int | None = None
    ) -> None:
        self._doubled = doubled
        self._left = inf if max_values is None else max_values
        self.root: Any = _NOTHING
        self._typed = typed
        self._stack: list[_Open] = []

    def take(self, event: yaml.Event) -> None:
        line = _line(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            raise BadYamlError(ProblemCode.BAD_YAML, "Aliases are not read; write the value out.", line=line)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise BadYamlError(
                ProblemCode.BAD_YAML, f"The anchor &{event.anchor[:_MOST_QUOTED]} is not read.", line=line
            )
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise BadYamlError(ProblemCode.BAD_YAML, f"The tag {tag[:_MOST_QUOTED]} is not read.", line=line)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, yaml.MappingStartEvent):
            self._open({}, line)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._open([], line)
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = self._stack.pop()
            self._add(closed.items, closed.line)
        elif isinstance(event, yaml.DocumentStartEvent) and self.root is not _NOTHING:
            raise BadYamlError(ProblemCode.BAD_YAML, "The text holds more than one document.", line=line)

    def _scalar(self, event: yaml.ScalarEvent, line: int | None) -> None:
        if "\x00" in event.value:
            raise BadYamlError(ProblemCode.BAD_CHARACTER, "The character U+0000 cannot be stored.", line=line)
        if self._awaits_key():
            self._key(event.value, line)
        else:
            plain = event.implicit[0]
            self._add(self._plain(event.value, line) if plain else event.value, line)

    def _plain(self, word: str, line: int | None) -> Any:
        if not self._typed:
            return word or None
        try:
            return resolve_plain(word)
        except (ValueError, OverflowError) as error:
            message = f"{word[:40]} is not a number that JSON can hold."
            raise BadYamlError(ProblemCode.NOT_A_NUMBER, message, line=line) from error

    def _open(self, items: dict[str, Any] | list[Any], line: int | None) -> None:
        if self._awaits_key():
            raise BadYamlError(ProblemCode.BAD_YAML, "A key must be a single word or text.", line=line)
        if len(self._stack) >= DEFAULT_MAX_DEPTH:
            message = f"The document nests deeper than {DEFAULT_MAX_DEPTH} levels."
            raise BadYamlError(ProblemCode.TOO_DEEP, message, line=line)
        self._stack.append(_Open(items, line))

    def _awaits_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].items, dict) and self._stack[-1].key is None

    def _key(self, key: str, line: int | None) -> None:
        if key in self._stack[-1].items and self._doubled is not None:
            self._doubled.append((key, line))
        elif key in self._stack[-1].items:
            raise BadYamlError(
                ProblemCode.DUPLICATE_KEY, f"The key {key[:_MOST_QUOTED]!r} stands twice in one object.", line=line
            )
        self._stack[-1].key = key

    def _add(self, value: Any, line: int | None) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManyValuesError
        if not self._stack:
            if self.root is not _NOTHING:
                raise BadYamlError(ProblemCode.BAD_YAML, "The text holds more than one document.", line=line)
            self.root = value
            return
        top = self._stack[-1]
        if isinstance(top.items, list):
            top.items.append(value)
        elif top.key is not None:
            top.items[top.key] = value
            top.key = None


def resolve_plain(word: str) -> Any:
    """What an unquoted scalar means; raises ValueError or OverflowError for a number that JSON cannot hold."""
    if word in _NULL:
        return None
    if word in _BOOLEAN:
        return _BOOLEAN[word]
    if _INTEGER.fullmatch(word) or _BASED.fullmatch(word):
        whole = int(word, 0 if _BASED.fullmatch(word) else 10)
        _finite(float(whole))
        return whole
    if _FLOAT.fullmatch(word):
        return _finite(float(word))
    if _NO_NUMBER.fullmatch(word):
        raise ValueError(word)
    return word


def _finite(number: float) -> float:
    if number in {float("inf"), float("-inf")}:
        raise OverflowError(number)
    return number


def _line(mark: Any) -> int | None:
    return None if mark is None else int(mark.line) + 1


def _line_within(text: str, mark: Any) -> int | None:
    """What breaks off is found missing behind the last line."""
    line = _line(mark)
    return None if line is None else min(line, len(_BREAK.split(text)))


def _line_of_character(text: str, error: Exception) -> int | None:
    code = getattr(error, "character", None)
    at = text.find(chr(code)) if isinstance(code, int) else -1
    return None if at < 0 else len(_BREAK.split(text[:at]))


def _said(error: yaml.MarkedYAMLError) -> str:
    parts = [part for part in (error.context, error.problem) if part]
    return f"Not YAML: {', '.join(parts) or 'unreadable'}."


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["unreadable"])[0][:200]
