"""Threads for what touches the database: a bounded number, each with one connection to Postgres that it keeps."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from teams_app.engine.errors import RateLimitedError
from workrail_site.errors import ServiceUnavailableError
from workrail_site.lanes import ThreadLanes
from workrail_site.mcp.answers import protocol_error

T = TypeVar("T")

# After such a rest a connection is tried before it is trusted. Asking every time would be one more round trip for a call.
_TRUSTED_SECONDS = 15.0


class _Thread(threading.local):
    """Of each thread its connections, found once: to ask Django for them is a walk through its contexts each time."""

    used_at = 0.0

    def __init__(self) -> None:
        self.connections: tuple[BaseDatabaseWrapper, ...] = tuple(connections[alias] for alias in connections)

    def close_old_connections(self) -> None:
        """As Django does around each of its own requests."""
        for connection in self.connections:
            connection.close_if_unusable_or_obsolete()


class Workers:
    def __init__(self, *, threads: int) -> None:
        self._lanes = ThreadLanes(threads=threads, name="mcp")
        self._thread = _Thread()
        self._connections: set[BaseDatabaseWrapper] = set()

    async def run(self, work: Callable[[], T], *, party: str) -> T:
        """In a thread, with the context variables of whoever asks, when it is the turn of its party. Work that has begun
        is finished, also when the one who asked for it has left: what it records is answered to the same call when it
        comes again.
        """
        return await self._lanes.run(party, partial(self._run, work))

    async def answer(self, work: Callable[[], T], *, party: str) -> T:
        """As `run`, for a request that was let in: that no turn is left for it is told as an error of the protocol."""
        try:
            return await self.run(work, party=party)
        except (RateLimitedError, ServiceUnavailableError) as refusal:
            raise protocol_error(refusal) from None

    def close(self) -> None:
        """Waits for what is under way, then ends the threads and their connections."""
        self._lanes.close()
        for connection in self._connections:
            connection.inc_thread_sharing()
            connection.close()

    def _run(self, work: Callable[[], T]) -> T:
        thread = self._thread
        self._connections.update(thread.connections)
        thread.close_old_connections()
        if time.monotonic() - thread.used_at > _TRUSTED_SECONDS:
            for connection in thread.connections:
                connection.close_if_health_check_failed()
        try:
            return work()
        finally:
            thread.used_at = time.monotonic()
            thread.close_old_connections()
