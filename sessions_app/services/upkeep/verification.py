"""Checks the whole store: every session, the ledgers, the audit logs and what hangs on nothing, on one state of the tables.

Agents may work meanwhile: what they write after the first statement is not seen, and nothing waits for anything here.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from sessions_app.models import Run
from sessions_app.selectors.emptied_columns import emptied_columns, hidden_rows, tables_without_keys
from sessions_app.selectors.integrity import Finding, judge, to_its_end
from sessions_app.selectors.ledgers import told_deletions, verify_ledgers, verify_place
from sessions_app.selectors.reading import any_moment, one_state
from sessions_app.selectors.snapshots import unreferenced_snapshots
from sessions_app.selectors.stored_sessions import SessionTables, read_stored, stream_stored
from sessions_app.services.upkeep.tables import require_system
from teams_app.engine.actors import Actor
from teams_app.engine.errors import NotFoundError
from teams_app.services.audit_chain import AuditFault, verify_audits
from workflows_app.selectors.programs import unsound_contents, unsound_programs

# More of this, and Postgres sorts what it reads without a file.
_SORTING_MEMORY = "64MB"
_TOLD_EVERY_EVENTS = 20_000

SessionCheck = Callable[[SessionTables], Iterable[Finding]]


@dataclass(slots=True, kw_only=True)
class CheckedStore:
    """How far a check has come."""

    sessions: int = 0
    events: int = 0
    findings: int = 0


def verify_all(
    *,
    actor: Actor,
    since: datetime | None = None,
    checks: Sequence[SessionCheck] = (),
    progress: Callable[[CheckedStore], None] = lambda _: None,
) -> Iterator[Finding]:
    """Every broken promise, as it is found. `since` leaves out sessions that nobody has worked on since then."""
    require_system(actor)
    with one_state():
        yield from every_finding(since=since, checks=checks, progress=progress)


def verify_one(*, actor: Actor, session_id: UUID) -> Iterator[Finding]:
    """The same of one session, and what its team's ledger tells of it. Raises NotFoundError where there is none, and none is missed."""
    require_system(actor)
    with one_state(), any_moment():
        stored = read_stored(session_id)
        found = [*to_its_end("the session", judge(stored), session_id=session_id), *verify_place(session_id)]
        if stored.row is None and not found:
            raise _no_session(session_id)
        yield from found


def _no_session(session_id: UUID) -> NotFoundError:
    deleted = told_deletions([session_id]).get(session_id)
    if deleted is None:
        return NotFoundError("There is no such session.", suggestion="Look for its id in the list of sessions.")
    return NotFoundError(
        f"It was deleted, as entry {deleted.number} of its team's ledger tells: {deleted.reason or 'without a reason'}.",
        suggestion="./workrail verify_store checks that ledger.",
    )


def every_finding(
    *,
    since: datetime | None = None,
    checks: Sequence[SessionCheck] = (),
    progress: Callable[[CheckedStore], None] = lambda _: None,
) -> Iterator[Finding]:
    """The same on the state of the tables that the caller's transaction sees."""
    with connection.cursor() as cursor:
        # A role may have a limit for the statements of requests; these take as long as they take.
        settings = "SELECT set_config('work_mem', %s, true), set_config('statement_timeout', '0', true)"
        cursor.execute(settings, [_SORTING_MEMORY])
    checked = CheckedStore()
    with any_moment():
        for finding in _each(since, checks, checked, progress):
            checked.findings += 1
            yield finding
    progress(checked)


def _each(
    since: datetime | None,
    checks: Sequence[SessionCheck],
    checked: CheckedStore,
    progress: Callable[[CheckedStore], None],
) -> Iterator[Finding]:
    yield from emptied_columns()
    yield from tables_without_keys()
    yield from hidden_rows()
    yield from to_its_end("the sessions", _sessions(since, checks, checked, progress))
    yield from to_its_end("the programs", _programs())
    if since is None:
        yield from unreferenced_snapshots()
    yield from to_its_end("the ledgers", verify_ledgers())
    yield from _audited()


def _programs() -> Iterator[Finding]:
    hashes = set(Run.objects.order_by().values_list("workflow_hash", flat=True).distinct())
    unsound = unsound_programs(hashes)
    for workflow_hash, wrong in unsound.items():
        message = f"The program {workflow_hash}, which runs are pinned to, {wrong}."
        yield Finding(session_id=None, reason="program_unsound", message=message)
    for message in unsound_contents(hashes - unsound.keys()):
        yield Finding(session_id=None, reason="content_unsound", message=message)


def _sessions(
    since: datetime | None,
    checks: Sequence[SessionCheck],
    checked: CheckedStore,
    progress: Callable[[CheckedStore], None],
) -> Iterator[Finding]:
    told = 0
    for stored in stream_stored(since=since):
        for check in (judge, *checks):
            yield from to_its_end("the session", check(stored), session_id=stored.session_id)
        checked.sessions += stored.row is not None
        checked.events += len(stored.events)
        if checked.events >= told + _TOLD_EVERY_EVENTS:
            told = checked.events
            progress(checked)


def _audited() -> Iterator[Finding]:
    for team_id, faults in verify_audits():
        yield from to_its_end("its audit log", _found_in(faults), team_id=team_id)


def _found_in(faults: Iterable[AuditFault]) -> Iterator[Finding]:
    for fault in faults:
        yield Finding(session_id=None, team_id=fault.team_id, reason=fault.reason, message=fault.message)
