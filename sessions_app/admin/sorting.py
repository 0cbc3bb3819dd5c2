"""Headings of a list that sort it: each is a link to the same query in that order, or the other way round."""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlencode

from sessions_app.engine.run_query import RunQuery, RunSort

_FALLS = frozenset({RunSort.CALL, RunSort.STARTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """`order` is what `aria-sort` says; empty where the list is not sorted by it."""

    url: str
    order: str


def headings(*, text: str, query: RunQuery, sorts: Collection[RunSort]) -> dict[str, Heading]:
    rest = " ".join(part for part in text.split() if not part.lower().startswith("sort:"))
    return {sort.value: _heading(rest, query, sort) for sort in sorts}


def _heading(rest: str, query: RunQuery, sort: RunSort) -> Heading:
    is_here = query.sort is sort
    turned = is_here and not query.is_reversed
    term = "" if sort is RunSort.CALL and not turned else f"sort:{'-' if turned else ''}{sort.value}"
    falls = (sort in _FALLS) is not query.is_reversed
    asked = " ".join(filter(None, [rest, term]))
    return Heading(
        url=f"?{urlencode({'q': asked})}" if asked else "?",
        order=("descending" if falls else "ascending") if is_here else "",
    )
