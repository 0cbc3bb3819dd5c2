"""One stream of log lines, ours and the libraries' alike, each through the same processors and the same redaction."""

import json
import logging.config
import sys
from collections.abc import MutableMapping
from typing import Any

import orjson
import structlog
from structlog.typing import Processor

from workrail_site.redaction import Redactor

_FORMATTER = "workrail"
# As wide as the levels, and as most events.
_LEVEL_CHARACTERS = 9
_EVENT_CHARACTERS = 30
# What takes lines of its own.
_LONG = frozenset({"exception", "stack", "exc_info"})
# Under a name of these Django tells of a request that it refuses. Anybody may send one.
_REFUSED = "django.security."
_REFUSED_CHARACTERS = 200


class Formatter(structlog.stdlib.ProcessorFormatter):
    """A line of ours is a dictionary already, and needs no copy of its record: there is one handler, and it is the last."""

    def __init__(self, *, last: list[Processor], foreign_pre_chain: list[Processor]) -> None:
        remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
        super().__init__(processors=[remove, *last], foreign_pre_chain=foreign_pre_chain)
        self._last = last

    def format(self, record: logging.LogRecord) -> str:
        if not isinstance(record.msg, dict) or not hasattr(record, "_name"):
            return super().format(record)
        event: Any = record.msg.copy()
        for processor in self._last:
            event = processor(None, record.levelname, event)
        return str(event)


def log_settings(*, json_lines: bool, level: str, secrets: tuple[str, ...]) -> dict[str, Any]:
    """For Django's LOGGING; `configure` reads it."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            _FORMATTER: {
                "()": Formatter,
                "foreign_pre_chain": [*_shared(), _told_briefly],
                "last": _last(json_lines=json_lines, secrets=secrets),
            },
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": _FORMATTER}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Every answered request has its line already; what Django says besides is about defects.
            "django.request": {"level": "ERROR"},
            "django.server": {"level": "ERROR"},
            "django.security": {"level": "WARNING"},
            "httpx": {"level": "WARNING"},
            "asyncio": {"level": "WARNING"},
        },
    }


def configure(config: dict[str, Any]) -> None:
    """Django's LOGGING_CONFIG: sets up the standard library and structlog on top of it."""
    logging.config.dictConfig(config)
    # No line prints them, and to find them out takes a third of the time of a record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    structlog.configure(
        processors=[*_shared(), structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _shared() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]


def _told_briefly(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A refused request says nothing of our code, and quotes what came: it has one line, of its beginning."""
    if str(event.get("logger")).startswith(_REFUSED):
        event.pop("exc_info", None)
        event["event"] = str(event["event"])[:_REFUSED_CHARACTERS]
    return event


def _last(*, json_lines: bool, secrets: tuple[str, ...]) -> list[Processor]:
    """Exceptions become text before the redaction, so that what they quote is redacted too."""
    render: Processor = _json_line if json_lines else _TextLines(colors=sys.stderr.isatty())
    return [
        structlog.processors.format_exc_info,
        Redactor(known=secrets),
        render,
    ]


def _json_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    try:
        return orjson.dumps(event, default=repr).decode()
    except TypeError:
        # Half a character in a path, or a number beyond 64 bits.
        return json.dumps(event, default=repr)


class _TextLines:
    """As the console of structlog writes a line; without colours it is written here, in a third of the time."""

    def __init__(self, *, colors: bool) -> None:
        self._console = structlog.dev.ConsoleRenderer(timestamp_key="at", colors=colors)
        self._colors = colors

    def __call__(self, logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
        event["event"] = _one_line(str(event.get("event", "")))
        if self._colors or not _LONG.isdisjoint(event):
            return self._console(logger, method, event)
        said, level, name = event.pop("event", ""), event.pop("level", ""), event.pop("logger", "")
        head = f"{event.pop('at', '')} [{level:{_LEVEL_CHARACTERS}}] {said:{_EVENT_CHARACTERS}} [{name}]"
        return " ".join([head, *(f"{key}={_value(event[key])}" for key in sorted(event))])


def _one_line(text: str) -> str:
    return text if text.isprintable() else repr(text)[1:-1]


def _value(value: Any) -> str:
    """Text without quotes, unless a blank or a line end would make two of it."""
    return value if isinstance(value, str) and value.isprintable() and " " not in value else repr(value)
