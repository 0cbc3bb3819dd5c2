"""How long searches for a run to resume take, for the benchmark: the same search again and again, by a clock that is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from sessions_app.engine.resume import ResumeQuery, read_signals
from sessions_app.selectors.resume import find_resumable
from teams_app.engine.actors import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchTiming:
    median_ms: float
    worst_ms: float
    found: int


def time_searches(
    *, actor: Actor, queries: Mapping[str, ResumeQuery], repeats: int, clock: Callable[[], float]
) -> dict[str, SearchTiming]:
    """By the name of the query. Each is searched once beforehand, so that a cold cache is not what is measured."""
    return {name: _timed(actor, query, repeats, clock) for name, query in queries.items()}


def _timed(actor: Actor, query: ResumeQuery, repeats: int, clock: Callable[[], float]) -> SearchTiming:
    signals = read_signals(query)
    found = len(find_resumable(actor=actor, signals=signals).matches)
    times_ms: list[float] = []
    for _ in range(repeats):
        began = clock()
        find_resumable(actor=actor, signals=signals)
        times_ms.append((clock() - began) * 1000)
    return SearchTiming(median_ms=median(times_ms), worst_ms=max(times_ms), found=found)
