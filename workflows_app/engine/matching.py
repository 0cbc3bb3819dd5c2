"""What two sequences share, for no more work than is allowed: for some it would take the cube of their length to find all of it."""

from collections.abc import Callable, Hashable, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import TypeVar

_Part = TypeVar("_Part", bound=Hashable)

# So many pairs of places for what one answer compares: a fraction of a second.
MOST_WORK = 2_000_000


class Effort:
    """What is left of the work for all comparisons of one answer."""

    def __init__(self, most: int = MOST_WORK) -> None:
        self._left = most

    def spend(self, work: int) -> bool:
        if work > self._left:
            return False
        self._left -= work
        return True


class BoundedMatcher(SequenceMatcher[_Part]):
    """Beyond the effort, what is not yet compared is told as other. What `is_between` is shared only beside what is shared."""

    # Where each element of `other` stands, as the base keeps it.
    b2j: dict[_Part, list[int]]

    def __init__(
        self,
        one: Sequence[_Part],
        other: Sequence[_Part],
        *,
        effort: Effort,
        is_between: Callable[[_Part], bool] | None = None,
        passes_by_frequent: bool = False,
    ) -> None:
        super().__init__(is_between, one, other, autojunk=passes_by_frequent)
        self._effort = effort
        self._work_before = list(accumulate((1 + len(self.b2j.get(each, ())) for each in one), initial=0))

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        end = len(self._work_before) - 1 if ahi is None else ahi
        if not self._effort.spend(self._work_before[end] - self._work_before[alo]):
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, end, blo, bhi)
