"""Where row ids are made: the engine's UUIDv7 with this machine's chance."""

import os
from datetime import datetime
from uuid import UUID

from teams_app.engine.ids import uuid7


def new_id(*, now: datetime) -> UUID:
    return uuid7(unix_ms=int(now.timestamp() * 1000), random=os.urandom(10))
