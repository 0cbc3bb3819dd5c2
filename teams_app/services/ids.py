"""Where row ids are made: the engine's UUIDv7 with this machine's chance."""

import os
import threading
from datetime import datetime
from uuid import UUID

from teams_app.engine.ids import uuid7

_CHANCE_BYTES = 10
_STEP_BYTES = 4
# Of the 62 bits of chance behind the variant the first is left free, so that steps do not run over it.
_ROOM = ~(1 << 61)

_lock = threading.Lock()
_last_ms = -1
_last_chance = 0


def new_id(*, now: datetime) -> UUID:
    """Ids that this process makes in one millisecond ascend, so what one service writes stays in its order."""
    global _last_ms, _last_chance  # noqa: PLW0603  the order is the process's
    unix_ms = int(now.timestamp() * 1000)
    with _lock:
        if unix_ms == _last_ms:
            _last_chance += 1 + int.from_bytes(os.urandom(_STEP_BYTES), "big")
        else:
            _last_chance = int.from_bytes(os.urandom(_CHANCE_BYTES), "big") & _ROOM
        _last_ms = unix_ms
        chance = _last_chance
    return uuid7(unix_ms=unix_ms, random=chance.to_bytes(_CHANCE_BYTES, "big"))
