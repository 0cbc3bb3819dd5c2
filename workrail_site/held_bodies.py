"""How many bytes of bodies a process holds, of each party and of all together: they wait in memory before it is their turn."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from teams_app.engine.errors import RateLimitedError, retry_after
from workrail_site.errors import ServiceUnavailableError

_RETRY_MS = 1_000


class HeldBodies:
    """Touched on the event loop alone, so nothing here needs a lock."""

    def __init__(self, *, most_of_one: int, most_of_all: int) -> None:
        self._most_of_one = most_of_one
        self._most_of_all = most_of_all
        self._of: Counter[str] = Counter()
        self.bytes = 0

    @contextmanager
    def held_for(self, party: str) -> Iterator[Callable[[int], None]]:
        """What counts each part of a body before it is kept; all of it is given back in the end. Raises RateLimitedError when this
        party holds too much, and ServiceUnavailableError when all do.
        """
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            self._check(party, count)
            self._of[party] += count
            self.bytes += count
            taken += count

        try:
            yield take
        finally:
            self.bytes -= taken
            self._of[party] -= taken
            if not self._of[party]:
                del self._of[party]

    def _check(self, party: str, count: int) -> None:
        if self._of[party] + count > self._most_of_one:
            raise RateLimitedError(
                f"Bodies of {self._most_of_one} bytes wait already.",
                suggestion="Ask for less at once: wait for answers before you send more.",
                details={"limitBytes": self._most_of_one},
                retry=retry_after(ms=_RETRY_MS),
            )
        if self.bytes + count > self._most_of_all:
            raise ServiceUnavailableError(
                "More is sent to this server than it can hold.", suggestion="Try again in a moment."
            )
