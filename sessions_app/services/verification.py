"""Checks the whole store: every session, the ledgers, the audit logs and what hangs on nothing, on one state of the tables.

Agents may work meanwhile: what they write after the first statement is not seen, and nothing waits for anything here.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from sessions_app.selectors.integrity import Finding, judge
from sessions_app.selectors.ledgers import verify_ledgers
from sessions_app.selectors.reading import one_state
from sessions_app.selectors.stored_sessions import StoredSession, stream_stored
from sessions_app.services.upkeep import require_system
from teams_app.engine.actors import Actor
from teams_app.services.audit_chain import verify_audit

# More of this, and Postgres sorts what it reads without a file.
_SORTING_MEMORY = "64MB"
_TOLD_EVERY_EVENTS = 20_000

SessionCheck = Callable[[StoredSession], Iterable[Finding]]


@dataclass(slots=True, kw_only=True)
class Checked:
    """How far a check has come."""

    sessions: int = 0
    events: int = 0
    findings: int = 0


def verify_all(
    *,
    actor: Actor,
    since: datetime | None = None,
    checks: Iterable[SessionCheck] = (),
    progress: Callable[[Checked], None] = lambda _: None,
) -> Iterator[Finding]:
    """Every broken promise, as it is found. `since` leaves out sessions that nobody has worked on since then."""
    require_system(actor)
    checked = Checked()
    told = 0
    with one_state():
        with connection.cursor() as cursor:
            # A role may have a limit for the statements of requests; this one takes as long as it takes.
            cursor.execute("SELECT set_config('work_mem', %s, true), set_config('statement_timeout', '0', true)", [_SORTING_MEMORY])
        for stored in stream_stored(since=since):
            for check in (judge, *checks):
                for finding in check(stored):
                    checked.findings += 1
                    yield finding
            checked.sessions += stored.row is not None
            checked.events += len(stored.events)
            if checked.events >= told + _TOLD_EVERY_EVENTS:
                told = checked.events
                progress(checked)
        for finding in verify_ledgers():
            checked.findings += 1
            yield finding
        for fault in verify_audit():
            checked.findings += 1
            yield Finding(session_id=None, team_id=fault.team_id, reason=fault.reason, message=fault.message)
    progress(checked)
