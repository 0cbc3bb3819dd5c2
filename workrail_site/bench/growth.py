"""What a call takes in a team with many sessions, over what it takes with few: services, lists and pages of the Studio."""

import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from sessions_app.engine.resume import ResumeQuery
from sessions_app.selectors.runs import RunFilters, list_runs
from sessions_app.services.moves.resume import resume_sessions
from sessions_app.services.moves.runs import rehydrate_run
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.pages import PageRequest
from workrail_site.bench import service
from workrail_site.bench.stage import BenchStage
from workrail_site.dialects.rail.replies import RAIL

_CALLS = 40
_WARM_CALLS = 3
Work = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The median of one kind of call in a team with so many sessions."""

    name: str
    sessions: int
    ms: float


def measure_growth(*, stage: BenchStage, sizes: Sequence[int]) -> list[Taken]:
    """Each size is reached by starting runs, a session each, as agents do."""
    found: list[Taken] = []
    there = 0
    for size in sorted(sizes):
        for _ in range(size - there):
            service.begin(stage)
        there = size
        with connection.cursor() as cursor:
            # As autovacuum would have done by then.
            cursor.execute("ANALYZE")
        found += [Taken(name=name, sessions=size, ms=_median_ms(work)) for name, work in _works(stage)]
    return found


def _works(stage: BenchStage) -> Iterator[tuple[str, Work]]:
    value = service.begin(stage)
    tokens = value["nextCall"]["params"]
    yield "start", partial(service.begin, stage)
    yield "rehydrate", partial(_rehydrate, stage, tokens["stateToken"])
    yield "resume, the latest", partial(resume_sessions, actor=stage.actor, query=ResumeQuery())
    yield "resume, by words", partial(resume_sessions, actor=stage.actor, query=ResumeQuery(text="measure endless"))
    yield "list of runs", partial(list_runs, actor=stage.actor, filters=RunFilters(), page=PageRequest())
    yield from _pages(value)


def _rehydrate(stage: BenchStage, state_token: str) -> None:
    rehydrate_run(actor=stage.actor, state_token=state_token, entropy=os.urandom, speech=RAIL)


def _pages(value: dict[str, dict[str, str]]) -> Iterator[tuple[str, Work]]:
    browser = Client(HTTP_HOST="localhost")
    browser.force_login(get_user_model().objects.get())
    run_id = from_text(Prefix.RUN, value["session"]["runId"])
    for name, path in (
        ("Studio, runs", "/studio/sessions_app/run/"),
        ("Studio, sessions", "/studio/sessions_app/worksession/"),
        ("Studio, a run", f"/studio/sessions_app/run/{run_id}/change/"),
    ):
        yield name, partial(_read, browser, path)


def _read(browser: Client, path: str) -> None:
    answer = browser.get(path, follow=True)
    if answer.status_code != 200:
        raise RuntimeError(f"{path} was answered {answer.status_code}.")


def _median_ms(work: Work) -> float:
    times = []
    for call in range(_WARM_CALLS + _CALLS):
        begun = time.perf_counter()
        work()
        if call >= _WARM_CALLS:
            times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


def growth_table(found: Sequence[Taken]) -> str:
    """A row for each kind of call; the ratio is to what it takes with the fewest sessions."""
    fewest = min(each.sessions for each in found)
    base = {each.name: each.ms for each in found if each.sessions == fewest}
    head = f"{'':24}{'sessions':>10}{'p50 ms':>10}{'ratio':>8}"
    rows = [f"{each.name:24}{each.sessions:>10}{each.ms:>10.2f}{each.ms / base[each.name]:>8.2f}" for each in found]
    return "\n".join([head, *sorted(rows, key=lambda row: row[:24])])


def as_json(found: Sequence[Taken]) -> list[dict[str, object]]:
    return [{"name": each.name, "sessions": each.sessions, "ms": each.ms} for each in found]
