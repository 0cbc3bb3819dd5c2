"""Reads that may be a moment old: lists and pages of the Studio go to a replica where one is named, and to the primary while it
is away. Nothing that moves a run comes here; on the replica's connection every write is an error.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import ParamSpec, TypeVar

import psycopg
import structlog
from django.db import DEFAULT_DB_ALIAS, Error, InterfaceError, InternalError, OperationalError, connections

P = ParamSpec("P")
T = TypeVar("T")

ALIAS = "replica"
# For so long a replica that did not answer is not asked.
PAUSE_SECONDS = 30.0

log = structlog.get_logger(__name__)


class _Pause:
    """Of this process. One thread tells of it, the others find it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until = 0.0

    @property
    def is_on(self) -> bool:
        return monotonic() < self._until

    def begin(self) -> bool:
        """False when it has begun already."""
        with self._lock:
            begins = not self.is_on
            self._until = monotonic() + PAUSE_SECONDS
        return begins


_pause = _Pause()


def read_lagging(read: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What `read` answers, from the replica if there is one. It may be called a second time, and must write nothing."""
    if ALIAS not in connections.settings or _pause.is_on or connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return read(*arguments, **named)
    try:
        with _on_replica():
            return read(*arguments, **named)
    except (OperationalError, InterfaceError, InternalError, psycopg.Error) as error:
        if _is_own_fault(error):
            raise
        connections[ALIAS].close()
        if _pause.begin():
            log.warning("replica_away", reason=str(error).split("\n")[0], pause_seconds=PAUSE_SECONDS)
    return read(*arguments, **named)


def is_away() -> bool:
    """Whether the replica that is named does not answer now."""
    try:
        connections[ALIAS].ensure_connection()
    except Error:
        return True
    return _pause.is_on


@contextmanager
def _on_replica() -> Iterator[None]:
    """All that this thread asks of the database, by whatever way, goes to the replica."""
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary


def _is_own_fault(error: Exception) -> bool:
    """A query that took too long does so on the primary, too."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    return isinstance(cause, psycopg.errors.QueryCanceled)
