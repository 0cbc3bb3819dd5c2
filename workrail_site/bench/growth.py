"""What a call takes in a team with many sessions, or in a long one, over what it takes with few: services, lists and pages.

Sessions have goals in an invented language in which some words are common and most are rare, as in any other, and a ticket
and a branch of their own.
"""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.engine.resume_signals import ResumeQuery
from sessions_app.engine.runs import ObservationKey
from sessions_app.selectors.checkpoints import Wanted, list_checkpoints
from sessions_app.selectors.runs import RunFilters, list_runs
from sessions_app.selectors.sessions import SessionFilters, list_sessions
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.resume import resume_sessions
from sessions_app.services.moves.runs import rehydrate_run
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.pages import PageRequest
from workrail_site.bench import service
from workrail_site.bench.stage import BenchStage
from workrail_site.dialects.rail.replies import RAIL

_CALLS = 40
_WARM_CALLS = 3
_GOAL_WORDS = 6
_WORDS = 4_096
_SYLLABLES = tuple(first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou")
# Of a run whose log grows; every advance writes as many events.
_AGES = (1_000, 5_000, 10_000)
_CALLS_AT_AGE = 100
Work = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The median of one kind of call in a team with so many sessions, and the statements of a call that go through Django."""

    name: str
    sessions: int
    ms: float
    statements: int = 0


class _Goals:
    """The same words in the same order each time."""

    def __init__(self) -> None:
        self._random = random.Random(7)  # noqa: S311  words, not secrets
        self._words = [
            "".join(self._random.choices(_SYLLABLES, k=self._random.choice((2, 3, 3)))) for _ in range(_WORDS)
        ]
        self._weights = [1 / (rank + 3) for rank in range(_WORDS)]

    def beginning(self, stage: BenchStage, number: int) -> Beginning:
        words = self._random.choices(self._words, weights=self._weights, k=_GOAL_WORDS)
        observed = {
            ObservationKey.TICKET: f"BENCH-{number}",
            ObservationKey.GIT_BRANCH: f"feature/{words[0]}-{number}",
        }
        return Beginning(workflow_id=stage.workflow_id, goal=" ".join(words), observations=observed)

    @property
    def common_and_rare(self) -> str:
        return f"{self._words[0]} {self._words[-1]}"


def measure_growth(*, stage: BenchStage, sizes: Sequence[int], calls: int = _CALLS) -> list[Taken]:
    """Each size is reached by starting runs, a session each, as agents do."""
    found: list[Taken] = []
    goals, there = _Goals(), 0
    for size in sorted(sizes):
        for number in range(there, size):
            _begin(stage, goals.beginning(stage, number))
        there = size
        with connection.cursor() as cursor:
            # As autovacuum would have done by then.
            cursor.execute("ANALYZE")
        found += [
            Taken(name=name, sessions=size, ms=_median_ms(work, calls), statements=_statements(work))
            for name, work in _works(stage, goals)
        ]
    return found


def measure_ages(*, stage: BenchStage, events: int, calls: int = _CALLS_AT_AGE) -> list[tuple[int, float]]:
    """What an advance takes at so many events of its session's log over what it takes at the fifth."""
    ages = [age for age in _AGES if age < events] + [events]
    return [(age, service.age_ratio(stage=stage, events=age, calls=calls)) for age in ages]


def _begin(stage: BenchStage, beginning: Beginning) -> object:
    return start_run(actor=stage.actor, beginning=beginning, now=timezone.now(), entropy=os.urandom, speech=RAIL)


def _works(stage: BenchStage, goals: _Goals) -> Iterator[tuple[str, Work]]:
    value = service.begin(stage)
    tokens = value["nextCall"]["params"]
    yield "start", partial(service.begin, stage)
    yield "rehydrate", partial(_rehydrate, stage, tokens["stateToken"])
    yield "resume, the latest", partial(resume_sessions, actor=stage.actor, query=ResumeQuery())
    for name, query in (
        ("resume, by words", ResumeQuery(text=goals.common_and_rare)),
        ("resume, by ticket", ResumeQuery(ticket="BENCH-7")),
        ("resume, by branch", ResumeQuery(git_branch="feature/none")),
        ("resume, by workflow", ResumeQuery(workflow_id=stage.workflow_id)),
    ):
        yield name, partial(resume_sessions, actor=stage.actor, query=query)
    service.advance(stage, value)
    yield "fork, with rehydrate", partial(_fork, stage, tokens["stateToken"])
    page = PageRequest()
    yield "list of runs", partial(list_runs, actor=stage.actor, filters=RunFilters(), page=page)
    yield "list of sessions", partial(list_sessions, actor=stage.actor, filters=SessionFilters(), page=page)
    yield "inbox", lambda: list_checkpoints(actor=stage.actor, page=page, wanted=Wanted(), now=timezone.now())
    yield from _pages(value)


def _rehydrate(stage: BenchStage, state_token: str) -> dict[str, Any]:
    return rehydrate_run(actor=stage.actor, state_token=state_token, entropy=os.urandom, speech=RAIL).value


def _fork(stage: BenchStage, state_token: str) -> None:
    """From a step that was left before, with the token that reading it again gives."""
    service.advance(stage, _rehydrate(stage, state_token))


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


def _median_ms(work: Work, calls: int) -> float:
    times = []
    for call in range(_WARM_CALLS + calls):
        begun = time.perf_counter()
        work()
        if call >= _WARM_CALLS:
            times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


def _statements(work: Work) -> int:
    with CaptureQueriesContext(connection) as captured:
        work()
    return len(captured)


def growth_table(found: Sequence[Taken]) -> str:
    """A row for each kind of call; the ratio is to what it takes with the fewest sessions."""
    fewest = min(each.sessions for each in found)
    base = {each.name: each.ms for each in found if each.sessions == fewest}
    head = f"{'':24}{'sessions':>10}{'p50 ms':>10}{'ratio':>8}{'statements':>12}"
    rows = [
        f"{each.name:24}{each.sessions:>10}{each.ms:>10.2f}{each.ms / base[each.name]:>8.2f}{each.statements:>12}"
        for each in found
    ]
    return "\n".join([head, *sorted(rows, key=lambda row: row[:24])])


def as_json(found: Sequence[Taken]) -> list[dict[str, object]]:
    return [
        {"name": each.name, "sessions": each.sessions, "ms": each.ms, "statements": each.statements} for each in found
    ]
