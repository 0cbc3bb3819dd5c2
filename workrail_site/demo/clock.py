"""The clock of the demo: work of two weeks is played in the order in which it happened, and nothing waits."""

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

# A story says, each time it yields, how many minutes pass until it goes on.
Story = Iterator[float]


@dataclass(slots=True)
class Clock:
    now: datetime
    _due: list[tuple[datetime, int, Story]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=itertools.count)

    def add(self, story: Story, *, at: datetime) -> None:
        heapq.heappush(self._due, (at, next(self._order), story))

    def run(self, *, until: datetime) -> None:
        """Stories that would go on after `until` stay as they are."""
        while self._due and self._due[0][0] < until:
            self.now, _, story = heapq.heappop(self._due)
            minutes = next(story, None)
            if minutes is not None:
                self.add(story, at=self.now + timedelta(minutes=minutes))
        self.now = until
