"""The line that each request leaves in the log: as structlog would write it, on a shorter way.

Every request pays for it, and most of what the usual way does for it finds the caller's file, thread and process, which no
line prints. Redaction and form are those of all other lines.
"""

import logging
from typing import Any

import structlog
from structlog.contextvars import merge_contextvars

NAME = "workrail.request"
EVENT = "request"

# No path of ours is longer. What is not is told to this length: it is looked through for secrets, on the event loop too.
_LONGEST_PATH = 500

_logger = logging.getLogger(NAME)
_LEVELS = {logging.DEBUG: "debug", logging.INFO: "info"}
_stamp = structlog.processors.TimeStamper(fmt="iso", utc=True, key="at")


def tell_request(*, method: str, path: str, status: int, seconds: float, is_quiet: bool = False) -> None:
    level = logging.DEBUG if is_quiet else logging.INFO
    if not _logger.isEnabledFor(level):
        return
    event: dict[str, Any] = {
        "method": method,
        "path": path[:_LONGEST_PATH],
        "status": status,
        "duration_ms": round(seconds * 1000, 1),
        "event": EVENT,
    }
    merge_contextvars(_logger, "", event)
    event |= {"level": _LEVELS[level], "logger": NAME}
    record = logging.LogRecord(NAME, level, "", 0, _stamp(_logger, "", event), (), None)
    # By these two the formatter knows an event of ours.
    record.__dict__.update(_logger=_logger, _name=_LEVELS[level])
    _logger.handle(record)
