"""The id under which a request is known in the log, in its answer and in the trace."""

import os
import re
import time

from teams_app.engine.ids import uuid7
from teams_app.engine.redaction import hide_keys

_SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")


def request_id_from(given: str) -> str:
    """The caller's id, if it can stand in a log line as it is and is no key, else one of ours."""
    if _SANE_ID.fullmatch(given) and hide_keys(given) == given:
        return given
    return str(uuid7(unix_ms=int(time.time() * 1000), random=os.urandom(10)))
