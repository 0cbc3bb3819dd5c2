"""Waits within a call until a session goes on: for so long at most, without a thread, and with one query in a second for all
who wait in this process.
"""

import asyncio
from typing import Self
from uuid import UUID

from workrail_site.live import Viewer, Watch, read_versions

watch = Watch(read=read_versions)


class Waiting:
    """`async with` it from before the first look until nobody looks any more."""

    def __init__(self, session_id: UUID, *, seconds: float) -> None:
        # Nothing is known yet: the first tick says at once that something may have changed since the first look.
        self._viewer = Viewer(kind="session", watched=session_id, version="")
        self._ends_at = asyncio.get_running_loop().time() + (0.0 if watch.is_full else seconds)

    async def __aenter__(self) -> Self:
        watch.join(self._viewer)
        return self

    async def __aexit__(self, *_raised: object) -> None:
        watch.leave(self._viewer)

    async def has_changed(self) -> bool:
        """Whether it is worth looking again; False when the time is up."""
        left_seconds = self._ends_at - asyncio.get_running_loop().time()
        if left_seconds <= 0:
            return False
        try:
            async with asyncio.timeout(left_seconds):
                await self._viewer.changed.wait()
        except TimeoutError:
            return False
        self._viewer.changed.clear()
        return True
