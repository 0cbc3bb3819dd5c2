"""Time that is bounded: of work that nobody can stop, such as resolving a name, and of what a worker does for one
team before the others come.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Generic, TypeVar
from uuid import UUID

from django.db import transaction

from teams_app.engine.webhooks import TeamWork
from teams_app.models import WorkTurn

T = TypeVar("T")

# What is left then comes after what else waits for a worker.
BUSY_FOR = timedelta(seconds=2)
# Longer than a round and the call that it is at. After that it is taken that whoever was at it is gone.
HELD_FOR = timedelta(seconds=30)
# As often as the schedule comes by: what was asked of a broker that has lost it is asked for again.
_ASKED_FOR = timedelta(seconds=10)
# A mark beyond was made by a clock that is wrong.
_MARKED_AT_MOST = timedelta(minutes=1)


def ask_once(*, work: TeamWork, team_id: UUID, now: datetime, ask: Callable[[], None]) -> None:
    """Once the transaction has committed. Nothing is asked where somebody waits to do it, or is at it: either looks at what
    there is after this.
    """
    transaction.on_commit(partial(_ask_if_nobody_was, work, team_id, now, ask), robust=True)


@contextmanager
def only_one(*, work: TeamWork, team_id: UUID, clock: Callable[[], datetime]) -> Iterator[bool]:
    """False where another one is at it, who looks again once it has let go. Rows are still to be taken one by one: this keeps
    a team from having every worker, and nothing from being done twice.
    """
    held_until = _take_turn(work, team_id, clock())
    try:
        yield held_until is not None
    finally:
        if held_until is not None:
            WorkTurn.objects.filter(team_id=team_id, work=work.value, held_until=held_until).update(held_until=None)


def _ask_if_nobody_was(work: TeamWork, team_id: UUID, now: datetime, ask: Callable[[], None]) -> None:
    turn = WorkTurn.objects.filter(team_id=team_id, work=work.value)
    WorkTurn.objects.bulk_create([WorkTurn(team_id=team_id, work=work.value)], ignore_conflicts=True)
    marked = (now, now + _MARKED_AT_MOST)
    # The count is the lock: of many who ask one does.
    free = turn.exclude(asked_until__range=marked).exclude(held_until__range=marked)
    if free.update(asked_until=now + _ASKED_FOR):
        ask()


def _take_turn(work: TeamWork, team_id: UUID, now: datetime) -> datetime | None:
    """In one step with taking the mark of whoever asked: an end that comes before it finds what there is, one after it the mark."""
    with transaction.atomic(durable=True):
        turn, _ = WorkTurn.objects.select_for_update().get_or_create(team_id=team_id, work=work.value)
        is_held = turn.held_until is not None and now <= turn.held_until <= now + _MARKED_AT_MOST
        held_until = None if is_held else now + HELD_FOR
        turn.asked_until, turn.held_until = None, held_until or turn.held_until
        turn.save(update_fields=["asked_until", "held_until"])
    return held_until


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
