"""What a trace is answered with: the events of a session or a run, or those that trace tokens name, and what was wrong with tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text
from traces_app.engine.calls import TraceCall, as_span
from traces_app.engine.spans import Stretch

MAX_EVENTS = 500
# Clients refuse replies of more than 80 KiB, and the events are not all of one.
MAX_EVENTS_BYTES = 48 * 1024
MAX_TRACE_TOKENS = 500
_SHOWN_TOKEN_CHARACTERS = 24


class TraceSource(StrEnum):
    LOG = "log"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenError:
    """Why one of the trace tokens names nothing. The token is told by its beginning."""

    token: str
    code: str
    message: str

    @staticmethod
    def of(token: str, error: WorkrailError) -> "TokenError":
        shown = token if len(token) <= _SHOWN_TOKEN_CHARACTERS else f"{token[:_SHOWN_TOKEN_CHARACTERS]}…"
        return TokenError(token=shown, code=error.code, message=error.message)

    def as_json(self) -> dict[str, str]:
        return {"token": self.token, "code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReading:
    """`event_count` counts what was found; `calls` are the newest of it that fit, the oldest of them first."""

    session_id: UUID
    source: TraceSource
    event_count: int
    calls: Sequence[TraceCall]
    token_errors: Sequence[TokenError] = ()

    def as_json(self) -> dict[str, Any]:
        """In the words of the seeds. `omitted` and `token_errors` are there only when there are any."""
        events = _newest_that_fit(self.calls)
        told: dict[str, Any] = {
            "traceId": to_text(Prefix.SESSION, self.session_id),
            "source": self.source.value,
            "event_count": self.event_count,
            "events": events,
        }
        if self.source is TraceSource.LOG:
            told["tracing_enabled"] = True
        if self.event_count > len(events):
            told["omitted"] = self.event_count - len(events)
        if self.token_errors:
            told["token_errors"] = [error.as_json() for error in self.token_errors]
        return told


def merged(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """The same milliseconds in as few stretches as possible: an agent sends the tokens of transitions in a row."""
    found: list[Stretch] = []
    for stretch in sorted(stretches, key=lambda one: (one.run_id, one.from_ms)):
        last = found[-1] if found else None
        if last is not None and last.run_id == stretch.run_id and stretch.from_ms <= last.until_ms:
            until_ms = max(last.until_ms, stretch.until_ms)
            found[-1] = Stretch(run_id=last.run_id, from_ms=last.from_ms, until_ms=until_ms)
        else:
            found.append(stretch)
    return tuple(found)


def _newest_that_fit(calls: Sequence[TraceCall]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    room = MAX_EVENTS_BYTES
    for call in reversed(calls):
        event = as_span(call)
        room -= len(orjson.dumps(event)) + 1
        if room < 0:
            break
        events.append(event)
    return events[::-1]
