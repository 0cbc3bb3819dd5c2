"""Waits within a call until a session goes on: for so long at most, without a thread, and with one query in a second for all
who wait for the same workers.
"""

import asyncio
from functools import partial
from typing import Self
from uuid import UUID
from weakref import WeakKeyDictionary

from sessions_app.selectors.heads import versions_of
from workrail_site.lanes import passing
from workrail_site.live import Viewer, Watch
from workrail_site.mcp.calling import acting
from workrail_site.mcp.workers import Workers

# Whoever waits takes no turn from a team.
_PARTY = passing("those who wait")
_watches: WeakKeyDictionary[Workers, Watch] = WeakKeyDictionary()


def watch_by(workers: Workers) -> Watch:
    if workers not in _watches:

        async def read(sessions: frozenset[UUID], teams: frozenset[UUID]) -> dict[UUID, str]:
            return await workers.run(partial(versions_of, sessions=sessions, teams=teams), party=_PARTY)

        _watches[workers] = Watch(read=read)
    return _watches[workers]


class AnswerWait:
    """`async with` it from before the first look until nobody looks any more."""

    def __init__(self, session_id: UUID, *, workers: Workers, seconds: float) -> None:
        self._watch = watch_by(workers)
        holder = acting().id.encode()
        # Nothing is known yet: the first tick says at once that something may have changed since the first look.
        self._viewer = Viewer(kind="session", watched=session_id, version="", holder=holder)
        # Whoever waits in too many calls already is told at once.
        patience_seconds = 0.0 if self._watch.is_full_for(holder) else seconds
        self._ends_at = asyncio.get_running_loop().time() + patience_seconds

    async def __aenter__(self) -> Self:
        self._watch.join(self._viewer)
        return self

    async def __aexit__(self, *_raised: object) -> None:
        self._watch.leave(self._viewer)

    async def has_changed(self) -> bool:
        """Whether it is worth looking again; False when the time is up, or this process ends."""
        left_seconds = self._ends_at - asyncio.get_running_loop().time()
        if left_seconds <= 0:
            return False
        try:
            async with asyncio.timeout(left_seconds):
                await self._viewer.changed.wait()
        except TimeoutError:
            return False
        self._viewer.changed.clear()
        return not self._viewer.is_out
