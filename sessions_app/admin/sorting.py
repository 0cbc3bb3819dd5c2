"""Headings of a list that sort it: each is a link to the same query in that order, or the other way round."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from sessions_app.engine.run_query import RunQuery, RunSort

_FALLS = frozenset({RunSort.CALL, RunSort.STARTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """`order` is what `aria-sort` says; empty where the list is not sorted by it."""

    url: str
    order: str


def asked(query: str, beside: Mapping[str, str]) -> str:
    """The address of the list, asked for this in its box and for what stands beside the box."""
    given = {**beside, **({"q": query} if query else {})}
    return f"?{urlencode(given)}" if given else "?"


def headings(
    *, text: str, query: RunQuery, sorts: Collection[RunSort], beside: Mapping[str, str]
) -> dict[str, Heading]:
    rest = " ".join(part for part in text.split() if not part.lower().startswith("sort:"))
    return {sort.value: _heading(rest, query, sort, beside) for sort in sorts}


def _heading(rest: str, query: RunQuery, sort: RunSort, beside: Mapping[str, str]) -> Heading:
    is_here = query.sort is sort
    turned = is_here and not query.is_reversed
    term = "" if sort is RunSort.CALL and not turned else f"sort:{'-' if turned else ''}{sort.value}"
    falls = (sort in _FALLS) is not query.is_reversed
    return Heading(
        url=asked(" ".join(filter(None, [rest, term])), beside),
        order=("descending" if falls else "ascending") if is_here else "",
    )
