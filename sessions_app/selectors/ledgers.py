"""Checks the ledgers of teams: their chain and seals, that no session is missing, and that none is there unentered."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from datetime import timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import QuerySet

from sessions_app.engine import ledger
from sessions_app.engine.ledger import INSTALLATION, NEVER, NO_HEAD, EntryKind, LedgerLine, SealedEntry
from sessions_app.engine.log import Head
from sessions_app.models import Ledger, LedgerEntry
from sessions_app.selectors.integrity import Finding, to_its_end
from teams_app.engine.audit import AuditEnd
from teams_app.engine.ids import uuid7
from teams_app.engine.seals import SealState, to_us
from teams_app.services.audit_chain import audit_digests, chain_heads, portions_of, unsealed_teams
from teams_app.services.row_scope import within_team

_ENTRIES_AT_ONCE = 5_000
_AUDIT_LOGS_AT_ONCE = 1_000
# Of so few entries that those of many teams are read together.
_SHORT = 100
# The task enters what began within a minute; what is older by so much and not entered is told.
_ENTERED_WITHIN = timedelta(hours=2)

_GONE = """
SELECT e.team_id, e.session_id, e.number FROM sessions_app_ledgerentry e
WHERE e.kind IN ('begun', 'adopted')
  AND NOT EXISTS (SELECT 1 FROM sessions_app_worksession s WHERE s.id = e.session_id)
  AND NOT EXISTS (SELECT 1 FROM sessions_app_ledgerentry d
                  WHERE d.team_id = e.team_id AND d.session_id = e.session_id AND d.kind = 'deleted')
  {of_one}
ORDER BY e.team_id, e.number
"""
_NOT_ENTERED = """
SELECT s.team_id, s.id FROM sessions_app_worksession s
WHERE s.id < %s AND NOT EXISTS (
    SELECT 1 FROM sessions_app_ledgerentry e
    WHERE e.team_id = s.team_id AND e.session_id = s.id AND e.kind IN ('begun', 'adopted')
) {of_one}
ORDER BY s.id
"""
# With the line before each, whose digest it follows.
_DELETIONS = """
SELECT e.team_id, e.number, e.session_id, e.next_event_index, e.head_digest, e.reason, e.entered_at, e.digest, e.seal, b.digest
FROM sessions_app_ledgerentry e
LEFT JOIN sessions_app_ledgerentry b ON b.team_id = e.team_id AND b.number = e.number - 1
WHERE e.kind = 'deleted' AND e.session_id = ANY(%s)
"""


def verify_ledgers() -> Iterator[Finding]:
    """Everything wrong with the ledgers; the transaction is the caller's, and its state of the tables."""
    books = {book.team_id: book for book in Ledger.objects.order_by("team_id")}
    entered = set(LedgerEntry.objects.order_by().values_list("team_id", flat=True).distinct())
    short = {team_id for team_id, book in books.items() if book.next_number <= _SHORT}
    for portion in portions_of(sorted(books.keys() | entered), short=short):
        entries = _entries_of(portion)
        for team_id in portion:
            rows = _rows(team_id) if entries is None else entries.get(team_id, ())
            yield from to_its_end("its ledger", _book(team_id, books.get(team_id), rows), team_id=team_id)
    yield from _known(books.keys() - {INSTALLATION})
    yield from _audit_logs()
    yield from _missing()
    if INSTALLATION in books:
        yield from _not_entered(books[INSTALLATION])
    elif books:
        yield _finding(INSTALLATION, "ledger_gone", "There are ledgers of teams, and none of the installation.")


def _known(books: AbstractSet[UUID]) -> Iterator[Finding]:
    """The installation knows of the ledgers of teams, and of no others."""
    entries = LedgerEntry.objects.filter(team_id=INSTALLATION, kind=EntryKind.TEAM.value).order_by()
    known = set(entries.values_list("session_id", flat=True))
    for team_id in sorted(known - books):
        yield _finding(team_id, "ledger_gone", "The installation knows a ledger of this team, and it is gone.")
    for team_id in sorted(books - known):
        yield _finding(team_id, "ledger_unknown", "The ledger of the installation does not tell of this one.")


def _audit_logs() -> Iterator[Finding]:
    """Each is the one that it was when it was entered in the ledger of the installation."""
    entries = LedgerEntry.objects.filter(team_id=INSTALLATION, kind=EntryKind.AUDIT.value).order_by("number")
    entered = {row.session_id: Head(next_index=row.next_event_index, digest=row.head_digest) for row in entries}
    heads = chain_heads()
    for team_id in sorted(set(unsealed_teams()) - entered.keys()) if entered else ():
        message = "Its audit log has no seals. If a release before wrote it, run ./workrail seal_store --adopt."
        yield _finding(team_id, "audit_not_entered", message)
    for portion in _portions(entered):
        digests = audit_digests({team_id: head.next_index - 1 for team_id, head in portion if head.next_index})
        for team_id, head in portion:
            yield from _audit_log(team_id, head, heads.get(team_id), digests.get(team_id))


def _portions(entered: Mapping[UUID, Head]) -> Iterator[list[tuple[UUID, Head]]]:
    waiting = iter(entered.items())
    while portion := list(islice(waiting, _AUDIT_LOGS_AT_ONCE)):
        yield portion


def _audit_log(team_id: UUID, entered: Head, end: AuditEnd | None, digest: str | None) -> Iterator[Finding]:
    if end is None:
        yield _finding(team_id, "audit_head_gone", "The installation knows an audit log of this team, and it is gone.")
    elif (digest if entered.next_index else end.adopted_digest) != entered.digest:
        message = (
            f"The audit log is not the one that the installation's ledger tells of, up to entry {entered.next_index}."
        )
        yield _finding(team_id, "audit_not_as_entered", message)


def _book(team_id: UUID, book: Ledger | None, rows: Iterable[LedgerEntry]) -> Iterator[Finding]:
    if book is None:
        yield _finding(team_id, "ledger_gone", "There are entries of a ledger, and how far it goes is gone.")
        return
    at = NO_HEAD
    for row in rows:
        yield from _entry(row, at)
        at = Head(next_index=row.number + 1, digest=row.digest)
    end = Head(next_index=book.next_number, digest=book.head_digest)
    if at != end:
        message = f"The ledger ends at entry {at.next_index}, and should end at {end.next_index} with {end.digest}."
        yield _finding(team_id, "ledger_truncated", message)
    state = ledger.check_end(
        settings.SEAL_KEYS, book.seal, team_id=team_id, end=end, until_us=to_us(book.entered_until)
    )
    if state is not SealState.HOLDS:
        yield _finding(team_id, "ledger_seal", f"The seal of where the ledger ends: {state.value}.")


def _entry(row: LedgerEntry, at: Head) -> Iterator[Finding]:
    if row.kind not in set(EntryKind):
        yield _finding(row.team_id, "ledger_changed", f"Entry {row.number} of the ledger is of no kind that there is.")
        return
    entry = LedgerLine(
        team_id=row.team_id,
        number=row.number,
        kind=EntryKind(row.kind),
        session_id=row.session_id,
        head=Head(next_index=row.next_event_index, digest=row.head_digest),
        reason=row.reason,
        entered_us=to_us(row.entered_at),
    )
    if row.number != at.next_index:
        message = f"Entry {row.number} stands where {at.next_index} is expected."
        yield _finding(row.team_id, "ledger_gap", message)
        return
    if not _is_as_entered(SealedEntry(entry=entry, digest=row.digest, seal=row.seal), at.digest):
        message = f"Entry {row.number} of the ledger is not what was entered."
        yield _finding(row.team_id, "ledger_changed", message)


def _entries_of(team_ids: Sequence[UUID]) -> dict[UUID, list[LedgerEntry]] | None:
    if len(team_ids) == 1:
        return None
    found: dict[UUID, list[LedgerEntry]] = {}
    for row in LedgerEntry.objects.filter(team_id__in=team_ids).order_by("team_id", "number"):
        found.setdefault(row.team_id, []).append(row)
    return found


def _rows(team_id: UUID) -> Iterator[LedgerEntry]:
    """In portions by number, which the index gives in order."""
    after = -1
    while True:
        rows: QuerySet[LedgerEntry] = LedgerEntry.objects.filter(team_id=team_id, number__gt=after).order_by("number")
        portion = list(rows[:_ENTRIES_AT_ONCE])
        yield from portion
        if len(portion) < _ENTRIES_AT_ONCE:
            return
        after = portion[-1].number


def awaits_first_run() -> bool:
    """Whether no run has looked at the sessions of this installation yet."""
    with within_team(INSTALLATION):
        return not Ledger.objects.filter(pk=INSTALLATION, entered_until__gt=NEVER).exists()


def verify_place(session_id: UUID) -> Iterator[Finding]:
    """What the ledgers tell of one session, as `verify_ledgers` tells it of all of them."""
    yield from _missing(session_id)
    book = Ledger.objects.filter(team_id=INSTALLATION).order_by("team_id").first()
    if book is not None:
        yield from _not_entered(book, session_id)


def told_deletions(session_ids: Sequence[UUID]) -> dict[UUID, LedgerLine]:
    """By session the line of the ledger that tells of its deletion, where that is what was entered: its seal holds."""
    lines: dict[UUID, LedgerLine] = {}
    for row in _read(_DELETIONS, list(session_ids)):
        team_id, number, session_id, next_index, head_digest, reason, entered_at, digest, seal, before = row
        line = LedgerLine(
            team_id=team_id,
            number=number,
            kind=EntryKind.DELETED,
            session_id=session_id,
            head=Head(next_index=next_index, digest=head_digest),
            reason=reason,
            entered_us=to_us(entered_at),
        )
        if _is_as_entered(SealedEntry(entry=line, digest=digest, seal=seal), before or NO_HEAD.digest):
            lines[session_id] = line
    return lines


def _is_as_entered(sealed: SealedEntry, after: str) -> bool:
    holds = ledger.check_entry(settings.SEAL_KEYS, sealed) is SealState.HOLDS
    return holds and ledger.entry_digest(sealed.entry, after=after) == sealed.digest


def _missing(of_one: UUID | None = None) -> Iterator[Finding]:
    sql, parameters = _narrowed(_GONE, "e.session_id", of_one)
    for team_id, session_id, number in _read(sql, *parameters):
        message = f"The team's ledger tells of it in entry {number}, and it is gone without an entry that says why."
        yield Finding(session_id=session_id, team_id=team_id, reason="session_gone", message=message)


def _not_entered(book: Ledger, of_one: UUID | None = None) -> Iterator[Finding]:
    until_ms = int((book.entered_until - _ENTERED_WITHIN).timestamp() * 1000)
    oldest = uuid7(unix_ms=max(until_ms, 0), random=bytes(10))
    sql, parameters = _narrowed(_NOT_ENTERED, "s.id", of_one)
    for team_id, session_id in _read(sql, oldest, *parameters):
        message = (
            "It is not in its team's ledger. Run ./workrail seal_store; with --adopt if a release before wrote it."
        )
        yield Finding(session_id=session_id, team_id=team_id, reason="session_not_entered", message=message)


def _narrowed(sql: str, column: str, session_id: UUID | None) -> tuple[str, list[UUID]]:
    if session_id is None:
        return sql.format(of_one=""), []
    return sql.format(of_one=f"AND {column} = %s"), [session_id]


def _read(sql: str, *parameters: UUID | list[UUID]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _finding(team_id: UUID, reason: str, message: str) -> Finding:
    named = None if team_id == INSTALLATION else team_id
    return Finding(session_id=None, team_id=named, reason=reason, message=message)
