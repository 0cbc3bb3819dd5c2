"""Reads the log of a session: the one place, beside the check of the whole store, where its rows are unpacked."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, Protocol
from uuid import UUID

import orjson

from sessions_app.engine import deflation
from sessions_app.engine.log import EventKind
from sessions_app.engine.projections import ProjectedSession, fold
from sessions_app.engine.tokens import SessionNotHealthyError
from sessions_app.models import Event
from sessions_app.selectors.standings import birth_date
from teams_app.engine.ids import Prefix, from_text
from workflows_app.engine import canonical
from workflows_app.selectors.asked import asked

_ROWS_AT_ONCE = 200
_TELL_PREFERENCES = (EventKind.SESSION_CREATED.value.encode(), EventKind.PREFERENCES_CHANGED.value.encode())


class StoredPack(Protocol):
    """A row of the log, as the ORM or a check reads it."""

    born_on: date
    session_id: UUID
    index: int
    count: int
    team_id: UUID
    body: Any
    digest: str
    created_at: datetime
    seal: str | None


@dataclass(frozen=True, kw_only=True)
class LoggedEvent:
    """One event. `row` is where it is kept, with what holds for all events there."""

    row: StoredPack
    index: int
    body: bytes
    digest: str

    @cached_property
    def envelope(self) -> dict[str, Any]:
        envelope: dict[str, Any] = orjson.loads(self.body)
        return envelope

    @property
    def kind(self) -> str:
        return str(self.envelope["kind"])

    @property
    def run_id(self) -> UUID | None:
        return self._scope(Prefix.RUN, "runId")

    @property
    def node_id(self) -> UUID | None:
        return self._scope(Prefix.NODE, "nodeId")

    def _scope(self, prefix: Prefix, name: str) -> UUID | None:
        return from_text(prefix, self.envelope.get("scope", {}).get(name, ""))


def read_log(
    *, session_id: UUID, after: int = -1, until: int | None = None, rows_at_once: int = _ROWS_AT_ONCE
) -> Iterator[LoggedEvent]:
    """The events behind an index, in order, before another one. Refuses rows that hold none."""
    rows = Event.objects.filter(born_on=birth_date(session_id), session_id=session_id)
    while True:
        page = list(rows.filter(index__gt=after).order_by("index")[:rows_at_once])
        for event in (event for row in page for event in sound_events(row)):
            if until is not None and event.index >= until:
                return
            if event.index > after:
                yield event
        if len(page) < rows_at_once:
            return
        after = page[-1].index


def sound_events(row: StoredPack) -> list[LoggedEvent]:
    try:
        return unpacked(row)
    except deflation.PackError as error:
        raise not_healthy() from error


def not_healthy() -> SessionNotHealthyError:
    return SessionNotHealthyError(
        "What is stored of the log is not what was written.",
        suggestion="Tell the operators of the server: `./workrail verify_store` shows what is damaged.",
        details={"health": "unreadable"},
    )


def unpacked(row: StoredPack) -> list[LoggedEvent]:
    """Raises PackError."""
    bodies = deflation.unpack(bytes(row.body), count=row.count)
    first = row.index - row.count + 1
    last = len(bodies) - 1
    return [
        LoggedEvent(row=row, index=first + at, body=body, digest=row.digest if at == last else canonical.digest(body))
        for at, body in enumerate(bodies)
    ]


@asked
def is_waiver_told(*, session_id: UUID, waived_by: str) -> bool:
    """Whether the log says that this person has runs of the session never stop. A row alone says what whoever owns the table likes."""
    view = ProjectedSession()
    for event in read_log(session_id=session_id):
        if any(kind in event.body for kind in _TELL_PREFERENCES):
            fold(view, event.envelope)
    return view.baseline is not None and view.baseline.waived_by == waived_by
