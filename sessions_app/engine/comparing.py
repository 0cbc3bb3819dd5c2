"""Two ways through a workflow beside each other: which steps they share, and what differs in words and in values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

import orjson

from workflows_app.engine.matching import MOST_WORK, BoundedMatcher, Effort

MOST_PATHS = 200
# Of all values that are laid beside each other on one page, and of what their places are called.
MOST_CHARACTERS = 1024 * 1024
_BEGINNING_CHARACTERS = 100
_PATH_CHARACTERS = 400
_NOTHING = object()

_WORDS = re.compile(r"\s+|\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPart:
    """A stretch of text; `is_own` marks what the other side does not have."""

    text: str
    is_own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PathDifference:
    """A value at a path; None where that side has nothing there."""

    path: str
    one: str | None
    other: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Places of the same step in both sequences; None where one does not have it."""

    one: int | None
    other: int | None


def align(one: Sequence[str], other: Sequence[str]) -> list[Pair]:
    """Keys of steps, each sequence in its order."""
    pairs: list[Pair] = []
    # What stands there often would be compared with each of its like.
    first, second = list(_numbered(one)), list(_numbered(other))
    for kind, a, a_end, b, b_end in BoundedMatcher(first, second, effort=Effort()).get_opcodes():
        if kind == "equal":
            pairs += [Pair(one=a + offset, other=b + offset) for offset in range(a_end - a)]
        else:
            pairs += [Pair(one=place, other=None) for place in range(a, a_end)]
            pairs += [Pair(one=None, other=place) for place in range(b, b_end)]
    return pairs


def _numbered(keys: Sequence[str]) -> Iterator[tuple[str, int]]:
    seen: dict[str, int] = {}
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
        yield key, seen[key]


class WordComparison:
    """The texts of one page, compared by words as long as the work for all of them lasts."""

    def __init__(self, *, most_work: int = MOST_WORK) -> None:
        self._effort = Effort(most_work)

    def difference(self, one: str, other: str) -> tuple[list[ComparedPart], list[ComparedPart]]:
        if one == other:
            return [ComparedPart(text=one, is_own=False)], [ComparedPart(text=other, is_own=False)]
        first, second = _WORDS.findall(one), _WORDS.findall(other)
        matcher = BoundedMatcher(first, second, effort=self._effort, is_between=str.isspace)
        parts: tuple[list[ComparedPart], list[ComparedPart]] = ([], [])
        for kind, a, a_end, b, b_end in matcher.get_opcodes():
            for side, words in ((0, first[a:a_end]), (1, second[b:b_end])):
                if words:
                    parts[side].append(ComparedPart(text="".join(words), is_own=kind != "equal"))
        return parts


class ValueComparison:
    """The values of one page, as JSON by their names, compared as long as the work for all of them lasts. What came without its
    text, and what comes when the work is used up, is told as other.
    """

    def __init__(self, *, most_characters: int = MOST_CHARACTERS) -> None:
        self._effort = Effort(most_characters)

    def difference(self, one: Mapping[str, str], other: Mapping[str, str]) -> list[PathDifference]:
        found: list[PathDifference] = []
        for name in dict.fromkeys([*one, *other]):
            first, second = one.get(name), other.get(name)
            if first != second or first == "":
                found += self._of(name, first, second)
        return found[:MOST_PATHS]

    def _of(self, name: str, first: str | None, second: str | None) -> list[PathDifference]:
        if first != "" and second != "" and self._effort.spend(len(first or "") + len(second or "")):
            one, other = (_NOTHING if text is None else orjson.loads(text) for text in (first, second))
            found = list(islice(_differences(one, other, (f".{name}",)), MOST_PATHS))
            if self._effort.spend(sum(len(each.path) for each in found)):
                return found
        return [PathDifference(path=_path_text((f".{name}",)), one=_beginning(first), other=_beginning(second))]


def _beginning(text: str | None) -> str | None:
    return None if text is None else f"{text[:_BEGINNING_CHARACTERS]}… not compared: there is too much on this page"


def path_differences(one: Any, other: Any) -> list[PathDifference]:
    """Where two values differ, by the path of each leaf."""
    return list(islice(_differences(one, other, ()), MOST_PATHS))


def _differences(one: Any, other: Any, path: tuple[str, ...]) -> Iterator[PathDifference]:
    """A path is written where something differs, and not for each leaf: names may be long, and hold many."""
    if _holds_more(one, Mapping) and _holds_more(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            yield from _differences(one.get(key, _NOTHING), other.get(key, _NOTHING), (*path, f".{key}"))
    elif _holds_more(one, list) and _holds_more(other, list):
        for place, (first, second) in enumerate(zip_longest(one, other, fillvalue=_NOTHING)):
            yield from _differences(first, second, (*path, f"[{place}]"))
    elif _holds_more(one) or _holds_more(other):
        yield from (PathDifference(path=at, one=leaf, other=None) for at, leaf in _leaves(one, path))
        yield from (PathDifference(path=at, one=None, other=leaf) for at, leaf in _leaves(other, path))
    else:
        first, second = _leaf(one), _leaf(other)
        if first != second:
            yield PathDifference(path=_path_text(path), one=first, other=second)


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if value is _NOTHING:
        return
    if _holds_more(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, f".{key}"))
    elif _holds_more(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*path, f"[{place}]"))
    else:
        yield _path_text(path), _leaf(value) or ""


def _leaf(value: Any) -> str | None:
    return None if value is _NOTHING else orjson.dumps(value).decode()


def _holds_more(value: Any, kind: type | tuple[type, ...] = (Mapping, list)) -> bool:
    return isinstance(value, kind) and bool(value)


def _path_text(path: tuple[str, ...]) -> str:
    text = "".join(path).removeprefix(".")
    return (text if len(text) <= _PATH_CHARACTERS else f"{text[:_PATH_CHARACTERS]}…") or "value"
