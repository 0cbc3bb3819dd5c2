"""One stream of log lines, ours and the libraries' alike, each through the same processors and the same redaction."""

import logging.config
import sys
from typing import Any

import structlog
from structlog.typing import Processor

from workrail_site.redaction import Redactor

_FORMATTER = "workrail"


def log_settings(*, json_lines: bool, level: str, secrets: tuple[str, ...]) -> dict[str, Any]:
    """For Django's LOGGING; `configure` reads it."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            _FORMATTER: {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _shared(),
                "processors": _last(json_lines=json_lines, secrets=secrets),
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


def _last(*, json_lines: bool, secrets: tuple[str, ...]) -> list[Processor]:
    """Exceptions become text before the redaction, so that what they quote is redacted too."""
    lines = structlog.dev.ConsoleRenderer(timestamp_key="at", colors=sys.stderr.isatty())
    render: Processor = structlog.processors.JSONRenderer() if json_lines else lines
    return [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        Redactor(known=secrets),
        render,
    ]
