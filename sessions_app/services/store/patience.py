"""How long a write waits for a session that another one holds.

A waiting write holds a thread and a connection. Of many that want one session, the first wait a little; while it is known to
be held, the others are told at once, and their threads serve other sessions.
"""

import threading
import time
from uuid import UUID

# As long as writes that take turns need; whoever holds a session longer is no neighbour but a fault.
LOCK_TIMEOUT_MS = 400
# Postgres knows nothing shorter.
AT_ONCE_MS = 1
# For so long after a write has waited in vain the session counts as held.
HELD_SECONDS = 1.0
_MOST_HELD = 10_000


class HeldSessions:
    """Of this process. A hint only: what it says changes how long a write waits, and never whether it is right."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[UUID, float] = {}

    def wait_ms(self, session_id: UUID) -> int:
        if not self._until:
            return LOCK_TIMEOUT_MS
        with self._lock:
            until = self._until.get(session_id, 0.0)
            if time.monotonic() < until:
                return AT_ONCE_MS
            self._until.pop(session_id, None)
        return LOCK_TIMEOUT_MS

    def note_held(self, session_id: UUID) -> None:
        with self._lock:
            if len(self._until) >= _MOST_HELD:
                self._until.clear()
            self._until[session_id] = time.monotonic() + HELD_SECONDS

    def note_free(self, session_id: UUID) -> None:
        if session_id in self._until:
            with self._lock:
                self._until.pop(session_id, None)


held_sessions = HeldSessions()
