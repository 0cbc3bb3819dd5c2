"""Ctrl-C, `kill` and a closed terminal, each once to end cleanly and once more to hurry."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Interrupts:
    asked: threading.Event = field(default_factory=threading.Event)
    hurry: threading.Event = field(default_factory=threading.Event)

    def handle(self, _number: int, _frame: object) -> None:
        """The first unwinds whatever is being waited for; what it must end, it ends on its way out."""
        if self.asked.is_set():
            self.hurry.set()
            return
        self.asked.set()
        raise KeyboardInterrupt


@contextlib.contextmanager
def interrupts() -> Iterator[Interrupts]:
    state = Interrupts()
    before = {number: signal.signal(number, state.handle) for number in _ENDINGS}
    try:
        yield state
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
