"""Threads that parties share fairly: a cheap queue for each party before them, and a turn for each in order.

A party is a team, or whoever passes by: an address while nobody knows the team. However much one asks at once, one thread stays
free for another, and while there is another team it holds a quarter of them. What waits is taken in turns, one of each party.
Threads of one process share one processor, so a party that floods beside another rests between its turns as long as they took.
Who passes by makes no team share: it may be that team itself, with a key that is seen for the first time.
"""

import asyncio
import contextlib
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from teams_app.engine.errors import RateLimitedError, retry_after
from workrail_site.errors import ServiceUnavailableError

T = TypeVar("T")
Job = Callable[[], None]

MOST_WAITING = 64
MOST_WAITING_OF_ALL = 1_000
# Whoever is refused at once asks again at once. A pause costs the server nothing, and makes a flood slower.
REFUSAL_SECONDS = 1.0
# How long after its last request a party counts as being there.
CONTESTED_SECONDS = 10.0
# Of the time that a turn took, what a flood rests before its next one; and the longest rest.
RESTS_FOR = 1.0
LONGEST_REST_SECONDS = 0.5
_RETRY_MS = 1_000
_PASSING = "~"


def passing(name: str) -> str:
    """A party that is no team. It shares with everybody who is there, and makes no team share."""
    return f"{_PASSING}{name}"


class _LaneThread(threading.Thread):
    """Does one job after the other. A process that leaves does not wait for it; who must not lose its work closes it."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        # Of the job at hand; only the event loop reads and writes it.
        self.began_at = 0.0
        self.start()

    def run(self) -> None:
        while (job := self.jobs.get()) is not None:
            job()


class ThreadLanes:
    """All state is touched on the event loop alone, so nothing here needs a lock.

    Of the threads that are free the one goes on that worked last: its connection, and the process of Postgres behind it, are
    warm. While little is asked, few of them are ever started.
    """

    def __init__(self, *, threads: int, name: str, most_waiting: int = MOST_WAITING) -> None:
        self._name = name
        self._started: list[_LaneThread] = []
        self._idle: list[_LaneThread] = []
        self._free = threads
        self._threads = threads
        self._latest_party = self._latest_team = ""
        # Until when there are several parties, and several teams among them.
        self._crowded_until = self._contested_until = 0.0
        self._most_waiting = most_waiting
        self._running: dict[str, int] = {}
        # In the order of turns: a party that has had its turn goes to the end.
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._waiting = 0
        self._resting: dict[str, float] = {}

    async def run(self, party: str, work: Callable[[], T]) -> T:
        """In a thread, with the context variables of whoever asks. Work that has begun is finished, and holds its
        thread until then, also when the one who asked for it has left.

        Raises RateLimitedError when too much of this party waits, and ServiceUnavailableError when too much of all does.
        """
        loop = asyncio.get_running_loop()
        self._note(party, time.monotonic())
        if self._free and not self._queues and self._running.get(party, 0) < self._share(party):
            self._take(party)
        else:
            await self._wait_for_turn(party)
        done: asyncio.Future[T] = loop.create_future()
        context, thread = copy_context(), self._idle.pop() if self._idle else self._new_thread()
        thread.began_at = time.monotonic()

        def job() -> None:
            result: T | None = None
            error: BaseException | None = None
            try:
                result = context.run(work)
            except BaseException as raised:  # noqa: BLE001  whatever it is, it belongs to the one who asked
                error = raised
            # The loop may have ended before the work did.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._finish, party, thread, done, result, error)
            # It holds this frame, which would hold it.
            error = None

        thread.jobs.put(job)
        return await done

    def close(self) -> None:
        """Waits for what is under way, then ends the threads."""
        for thread in self._started:
            thread.jobs.put(None)
        for thread in self._started:
            thread.join()

    def _new_thread(self) -> _LaneThread:
        thread = _LaneThread(f"{self._name}_{len(self._started)}")
        self._started.append(thread)
        return thread

    async def _wait_for_turn(self, party: str) -> None:
        await self._refuse_too_much(party)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(party, deque()).append(turn)
        self._waiting += 1
        self._give_turns()
        try:
            await turn
        except asyncio.CancelledError:
            self._leave(party, turn)
            raise

    async def _refuse_too_much(self, party: str) -> None:
        if len(self._queues.get(party, ())) >= self._most_waiting:
            await asyncio.sleep(REFUSAL_SECONDS)
            raise RateLimitedError(
                f"{self._most_waiting} requests of this team wait already.",
                suggestion="Ask for less at once: wait for answers before you send more.",
                details={"limitWaiting": self._most_waiting},
                retry=retry_after(ms=_RETRY_MS),
            )
        if self._waiting >= MOST_WAITING_OF_ALL:
            await asyncio.sleep(REFUSAL_SECONDS)
            raise ServiceUnavailableError(
                "More is asked of this server than it can answer.", suggestion="Try again in a moment."
            )

    def _leave(self, party: str, turn: "asyncio.Future[None]") -> None:
        if turn.done() and not turn.cancelled():
            # Its turn had come already.
            self._give_back(party)
            return
        queue = self._queues.get(party)
        if queue is not None and turn in queue:
            queue.remove(turn)
            self._waiting -= 1
            if not queue:
                del self._queues[party]

    def _finish(
        self, party: str, thread: _LaneThread, done: "asyncio.Future[Any]", result: object, error: BaseException | None
    ) -> None:
        self._idle.append(thread)
        self._rest(party, thread.began_at)
        self._give_back(party)
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)

    def _rest(self, party: str, began: float) -> None:
        """Whoever lets more wait than there are threads is a flood; where nobody else is there it holds up nobody."""
        now = time.monotonic()
        if not self._is_contested(party, now) or len(self._queues.get(party, ())) <= self._threads:
            return
        seconds = min((now - began) * RESTS_FOR, LONGEST_REST_SECONDS)
        if not seconds:
            return
        self._resting[party] = now + seconds
        asyncio.get_running_loop().call_later(seconds, self._wake, party)

    def _wake(self, party: str) -> None:
        if time.monotonic() >= self._resting.get(party, 0.0):
            self._resting.pop(party, None)
        self._give_turns()

    def _note(self, party: str, now: float) -> None:
        if party == self._latest_party:
            return
        if self._latest_party:
            self._crowded_until = now + CONTESTED_SECONDS
        self._latest_party = party
        if party != self._latest_team and not party.startswith(_PASSING):
            if self._latest_team:
                self._contested_until = now + CONTESTED_SECONDS
            self._latest_team = party

    def _is_contested(self, party: str, now: float) -> bool:
        return now < (self._crowded_until if party.startswith(_PASSING) else self._contested_until)

    def _share(self, party: str) -> int:
        """The most threads that this party holds at once."""
        is_contested = self._is_contested(party, time.monotonic())
        return max(1, self._threads // 4 if is_contested else self._threads - 1)

    def _take(self, party: str) -> None:
        self._free -= 1
        self._running[party] = self._running.get(party, 0) + 1

    def _give_back(self, party: str) -> None:
        self._free += 1
        left = self._running[party] - 1
        if left:
            self._running[party] = left
        else:
            del self._running[party]
        self._give_turns()

    def _give_turns(self) -> None:
        while self._free and (party := self._next_party()) is not None:
            queue = self._queues[party]
            turn = queue.popleft()
            self._waiting -= 1
            if queue:
                self._queues.move_to_end(party)
            else:
                del self._queues[party]
            if not turn.done():
                self._take(party)
                turn.set_result(None)

    def _next_party(self) -> str | None:
        return next((party for party in self._queues if self._may_begin(party)), None)

    def _may_begin(self, party: str) -> bool:
        return party not in self._resting and self._running.get(party, 0) < self._share(party)
