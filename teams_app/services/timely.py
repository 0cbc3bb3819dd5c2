"""Time that is bounded: of work that nobody can stop, such as resolving a name, and of a worker that sends for all teams."""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

T = TypeVar("T")
Row = TypeVar("Row", bound=Model)

# What is left then is for the next worker: slow addresses of one team keep none of them from all other work.
BUSY_FOR = timedelta(minutes=1)
# A team that has had so much of a round comes after the others.
_SHARE = timedelta(seconds=2)


class TeamTurns:
    """One round of a worker: whose turn is next, by what each team has had of it."""

    def __init__(self, *, begun_at: datetime) -> None:
        self._until = begun_at + BUSY_FOR
        self._had: defaultdict[UUID, timedelta] = defaultdict(timedelta)

    def are_over(self, *, now: datetime) -> bool:
        return now >= self._until

    def count(self, *, team_id: UUID, took: timedelta) -> None:
        self._had[team_id] += took

    def first_of(self, rows: QuerySet[Row]) -> Row | None:
        """The first one of a team that has had less than its share; where there is none, of the one that has had least."""
        satisfied = sorted((team for team, had in self._had.items() if had >= _SHARE), key=self._had.__getitem__)
        for kept_back in range(len(satisfied) + 1):
            row = rows.exclude(team_id__in=satisfied[kept_back:]).first()
            if row is not None:
                return row
        return None


class Timely(Generic[T]):
    """Whoever asked for work waits so long, and as many hang at once as may."""

    def __init__(self, *, most: int) -> None:
        self._places = BoundedSemaphore(most)

    def run(self, work: Callable[[], T], *, seconds: float) -> T:
        """What it returns or raises, or TimeoutError. What it does after that is heard by nobody."""
        until = monotonic() + seconds
        if not self._places.acquire(timeout=max(0.0, seconds)):
            raise TimeoutError
        answers: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()
        Thread(target=self._work, args=(work, answers), daemon=True).start()
        try:
            found, failure = answers.get(timeout=max(0.0, until - monotonic()))
        except Empty:
            raise TimeoutError from None
        if failure is not None:
            raise failure
        return found  # type: ignore[return-value]  # where nothing failed, it is what the work returned

    def _work(self, work: Callable[[], T], answers: "SimpleQueue[tuple[T | None, Exception | None]]") -> None:
        try:
            answers.put((work(), None))
        except Exception as error:  # noqa: BLE001  whatever it is, it belongs to the one who asked
            answers.put((None, error))
        finally:
            self._places.release()
