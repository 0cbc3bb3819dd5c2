"""Two ways through a workflow beside each other: which steps they share, and what differs in words and in values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from workflows_app.engine.matching import MOST_WORK, BoundedMatcher, Effort

MOST_PATHS = 200

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


def path_differences(one: Any, other: Any) -> list[PathDifference]:
    """Where two values differ, by the path of each leaf."""
    first, second = dict(_leaves(one, "")), dict(_leaves(other, ""))
    return [
        PathDifference(path=path or "value", one=first.get(path), other=second.get(path))
        for path in dict.fromkeys([*first, *second])
        if first.get(path) != second.get(path)
    ][:MOST_PATHS]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{place}]")
    elif path or value:
        yield path, orjson.dumps(value).decode()
