"""Names of variables, whole and of parts: `review.approved` is a part of `review`, or a variable of that name."""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice, takewhile


class Names:
    """Names of variables among which many others are looked for: a name is among them that is one, or is named like a part of one."""

    def __init__(self, names: Iterable[str]) -> None:
        self.sorted = sorted(set(names))
        self._all = frozenset(self.sorted)
        self._lengths = frozenset(map(len, self._all))

    def __contains__(self, name: str) -> bool:
        if name in self._all:
            return True
        places = (place for place in self._lengths if place < len(name) and name[place] == ".")
        return any(name[:place] in self._all for place in places)

    def parts_of(self, name: str) -> list[str]:
        """Those that are named like parts of that variable."""
        start = f"{name}."
        found = islice(self.sorted, bisect_left(self.sorted, start), None)
        return list(takewhile(lambda each: each.startswith(start), found))

    def about(self, name: str) -> list[str]:
        """Those that it is a part of, itself, and its parts."""
        places = (place for place in self._lengths if place < len(name) and name[place] == ".")
        whole = [each for each in (*(name[:place] for place in places), name) if each in self._all]
        return [*whole, *self.parts_of(name)]


def is_about(name: str, names: Names) -> bool:
    """Whether it is one of these variables, a part of one, or has one of them as a part."""
    return name in names or bool(names.parts_of(name))
