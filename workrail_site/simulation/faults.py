"""The one source of chance of a simulated history, and what it does to calls."""

import random
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

_T = TypeVar("_T")


class SimulatedFault(StrEnum):
    DIED_BEFORE = "died before the write"
    DIED_AFTER = "died after the write"
    LOST_BEFORE = "connection lost before the write"
    LOST_AFTER = "connection lost after the write"
    HELD = "the session was held by another writer"
    DIED_READING = "died at a read"
    LOST_READING = "connection lost at a read"
    REPLY_LOST = "the reply was lost"
    DOUBLED = "the request came twice"
    LATE = "the request came again later"
    AT_ONCE = "the request came twice at once"
    BESIDE = "another call ran in between"
    CLOCK = "the clock jumped"
    STRANGER = "a stranger sent the tokens of another team"


# Of a hundred thousand writes, or reads, or requests.
_AT_WRITES = {
    SimulatedFault.DIED_BEFORE: 2_500,
    SimulatedFault.DIED_AFTER: 4_000,
    SimulatedFault.LOST_BEFORE: 1_500,
    SimulatedFault.LOST_AFTER: 3_000,
    SimulatedFault.HELD: 1_500,
}
_AT_READS = {SimulatedFault.DIED_READING: 700, SimulatedFault.LOST_READING: 700}
_ONCE = {
    SimulatedFault.REPLY_LOST: 6_000,
    SimulatedFault.DOUBLED: 7_000,
    SimulatedFault.LATE: 8_000,
    # Of those that run beside another.
    SimulatedFault.AT_ONCE: 25_000,
    SimulatedFault.BESIDE: 8_000,
    SimulatedFault.CLOCK: 3_000,
    SimulatedFault.STRANGER: 5_000,
}
_WHOLE = 100_000


@dataclass(slots=True, kw_only=True)
class Chance:
    """What is drawn does not depend on what is left out, so a history without a kind of fault stays like it.

    `happened` counts the faults of the history.
    """

    seed: int
    without: frozenset[SimulatedFault] = frozenset()
    happened: dict[SimulatedFault, int] = field(default_factory=dict)
    _random: random.Random = field(init=False)
    _bytes: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311  a schedule, and no secret
        self._bytes = random.Random(self.seed + (1 << 64))  # noqa: S311  as above

    def entropy(self, count: int) -> bytes:
        return self._bytes.randbytes(count)

    def at_write(self) -> SimulatedFault | None:
        return self._drawn(_AT_WRITES)

    def at_read(self) -> SimulatedFault | None:
        return self._drawn(_AT_READS)

    def happens(self, fault: SimulatedFault) -> bool:
        return self._drawn({fault: _ONCE[fault]}) is fault

    def _drawn(self, odds: dict[SimulatedFault, int]) -> SimulatedFault | None:
        at = self._random.randrange(_WHOLE)
        for fault, share in odds.items():
            if at < share:
                if fault in self.without:
                    return None
                self.happened[fault] = self.happened.get(fault, 0) + 1
                return fault
            at -= share
        return None

    # What callers choose

    def in_hundred(self, share: int) -> bool:
        return self._random.randrange(100) < share

    def below(self, end: int) -> int:
        return self._random.randrange(end)

    def one(self, of: Any) -> Any:
        return of[self._random.randrange(len(of))]

    def newest(self, of: list[_T], share: int = 75) -> _T:
        """Mostly the last, so that runs reach their ends."""
        return of[-1] if self.in_hundred(share) else of[self._random.randrange(len(of))]
