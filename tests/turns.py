"""Tests that measure pages or bytes run while no other test writes.

All processes of the tests share one server. A transaction that is open anywhere on it, in whichever database, keeps Postgres from
reusing the room of dead rows and from marking pages as visible to all; and all write to one log ahead.
"""

import fcntl
from contextlib import contextmanager

MARK = "measures"
_FIXTURES = frozenset({"db", "transactional_db", "django_db_setup"})


@contextmanager
def turn_of(item, folder):
    """Held from before the first fixture of the test until after its last."""
    if not _touches_database(item):
        yield
        return
    measures = item.get_closest_marker(MARK) is not None
    with (folder / "next.lock").open("w") as next_turn, (folder / "running.lock").open("w") as running:
        # Whoever waits to measure holds the first, so that no other test begins meanwhile.
        fcntl.flock(next_turn, fcntl.LOCK_EX)
        fcntl.flock(running, fcntl.LOCK_EX if measures else fcntl.LOCK_SH)
        fcntl.flock(next_turn, fcntl.LOCK_UN)
        yield


def _touches_database(item):
    return item.get_closest_marker("django_db") is not None or not _FIXTURES.isdisjoint(item.fixturenames)
