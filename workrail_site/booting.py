"""Imported before all that takes long: a worker of the server that is told to end while it starts ends.

The worker is a copy of what watches over it, with the handlers of that. Until it has its own, when the application is imported, it would
overhear that it is to end, and hold its port until somebody kills it.
"""

import signal


def _end_when_told() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        if str(getattr(signal.getsignal(number), "__module__", "")).startswith("granian."):
            signal.signal(number, signal.SIG_DFL)


_end_when_told()
