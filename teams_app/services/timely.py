"""Work that nobody can stop, such as resolving a name: whoever asked for it waits so long, and as many hang at once as may."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")


class Timely(Generic[T]):
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
