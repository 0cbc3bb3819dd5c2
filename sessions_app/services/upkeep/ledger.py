"""Enters in each team's ledger which sessions began and which were deleted.

Nothing of it is on the way of a call: a task enters what began since it last looked, under locks that only it and deletions
take. Until then, a minute at most, a session that is deleted by hand is not missed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from sessions_app.engine import ledger, seals
from sessions_app.engine.ledger import INSTALLATION, NEVER, NO_HEAD, EntryKind, LedgerLine
from sessions_app.engine.log import Head
from sessions_app.models import Ledger, LedgerEntry, WorkSession
from sessions_app.selectors.adopted import untold_digests
from sessions_app.services.store import appends
from sessions_app.services.upkeep.tables import require_system
from teams_app.engine.actors import Actor
from teams_app.engine.audit import NOT_READ, AuditEnd
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text, uuid7
from teams_app.engine.seals import SealState, to_us
from teams_app.services.audit import seal_audit_logs
from teams_app.services.audit_chain import chain_heads
from teams_app.services.row_scope import within_team

log = structlog.get_logger(__name__)

# Clocks of the machines that begin sessions may differ by so much.
CLOCKS_DIFFER = timedelta(hours=1)
_AT_ONCE = 2_000
_REASON_CHARACTERS = 256

_NOT_ENTERED = """
SELECT s.id, s.team_id, s.next_event_index, s.head_digest, s.head_seal FROM sessions_app_worksession s
WHERE s.id > %s AND NOT EXISTS (
    SELECT 1 FROM sessions_app_ledgerentry e WHERE e.team_id = s.team_id AND e.session_id = s.id
)
ORDER BY s.id LIMIT %s
"""
# One whose log has grown meanwhile is looked at by the next run. They are locked youngest first, as by a run that goes on with
# the one that waits for it.
_SEAL = """
WITH given AS (SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS given (id, digest, seal)), locked AS (
    SELECT w.id FROM sessions_app_worksession w WHERE w.id IN (SELECT id FROM given) ORDER BY w.id DESC FOR NO KEY UPDATE
)
UPDATE sessions_app_worksession s SET head_seal = given.seal FROM given, locked
WHERE s.id = locked.id AND s.id = given.id AND s.head_digest = given.digest AND s.head_seal = '' RETURNING s.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """`refused` are sessions that no seal of ours vouches for: they were written by a release before, or by somebody else."""

    begun: int = 0
    adopted: int = 0
    refused: int = 0

    def __add__(self, other: "Entered") -> "Entered":
        return Entered(
            begun=self.begun + other.begun,
            adopted=self.adopted + other.adopted,
            refused=self.refused + other.refused,
        )


@dataclass(frozen=True, slots=True)
class _Found:
    session_id: UUID
    team_id: UUID
    next_index: int
    digest: str
    seal: str

    @property
    def head(self) -> Head:
        return Head(next_index=self.next_index, digest=self.digest)

    @property
    def state(self) -> SealState:
        return seals.check_head(
            settings.SEAL_KEYS, self.seal, session_id=self.session_id, team_id=self.team_id, head=self.head
        )


def enter_sessions(*, actor: Actor, now: datetime, adopt: bool = False, whole: bool = False) -> Entered:
    """Safe to run twice, at once, and after one that was interrupted. The first run of an installation adopts what it finds; a later
    one only when told to.

    `whole` looks at every session, for those that a machine with a wrong clock began long ago.
    """
    require_system(actor)
    entered = Entered()
    if adopt or _is_first_run():
        seal_audit_logs()
    after = UUID(int=0) if adopt or whole else None
    while True:
        with transaction.atomic():
            # The lock of whoever enters sessions. Ledgers of teams are locked after it, never before.
            installation = _Book.of_installation()
            adopts = adopt or installation.is_new
            found = _not_entered(_last_known(installation) if after is None else after)
            entered += _enter(found, now=now, adopts=adopts)
            if len(found) < _AT_ONCE:
                _close_installation(now)
                return entered
        after = found[-1].session_id


def enter_deletion(*, actor: Actor, session_id: UUID, reason: str, now: datetime) -> None:
    """To be called in the transaction that deletes the session, before it does: the ledger keeps that it was there.

    Its team's ledger is locked until that transaction ends.
    """
    require_system(actor)
    row = WorkSession.objects.filter(pk=session_id).order_by("pk").first()
    if row is None:
        raise NotFoundError("There is no such session.", suggestion="It may be deleted already.")
    head = Head(next_index=row.next_event_index, digest=row.head_digest)
    book = _Book.of_team(row.team_id, now)
    book.enter(EntryKind.DELETED, [(session_id, head)], now, reason=reason[:_REASON_CHARACTERS])
    book.close(until=now)


def enter_imported(*, actor: Actor, session_ids: Sequence[UUID], now: datetime) -> None:
    """To be called in the transaction that takes them in, late in it: the team's ledger is locked until that ends."""
    rows = WorkSession.objects.filter(team_id=actor.team_id, pk__in=session_ids).order_by("pk")
    heads = [(row.id, Head(next_index=row.next_event_index, digest=row.head_digest)) for row in rows]
    book = _Book.of_team(actor.team_id, now)
    book.enter(EntryKind.BEGUN, heads, now)
    book.close(until=now)


def _last_known(installation: "_Book") -> UUID:
    """The last session id that cannot be new: ids begin with the time of birth."""
    since = max(installation.row.entered_until - CLOCKS_DIFFER, NEVER)
    return uuid7(unix_ms=int(since.timestamp() * 1000), random=bytes(10))


def _not_entered(after: UUID) -> list[_Found]:
    with connection.cursor() as cursor:
        cursor.execute(_NOT_ENTERED, [after, _AT_ONCE])
        return [_Found(*row) for row in cursor.fetchall()]


def _enter(found: Sequence[_Found], *, now: datetime, adopts: bool) -> Entered:
    entered = Entered()
    ordered = sorted(found, key=lambda each: (each.team_id, each.session_id))
    for team_id, sessions in groupby(ordered, key=lambda each: each.team_id):
        entered += _enter_apart(team_id, list(sessions), now=now, adopts=adopts)
    return entered


def _enter_apart(team_id: UUID, sessions: Sequence[_Found], *, now: datetime, adopts: bool) -> Entered:
    """A ledger into which somebody wrote past this, so that it cannot go on, is told by the check, and keeps none of another team."""
    try:
        with transaction.atomic():
            return _enter_team(team_id, sessions, now=now, adopts=adopts)
    except IntegrityError:
        log.exception("ledger_cannot_go_on", team=to_text(Prefix.TEAM, team_id))
        return Entered(refused=len(sessions))


def _enter_team(team_id: UUID, sessions: Sequence[_Found], *, now: datetime, adopts: bool) -> Entered:
    begun = [each for each in sessions if each.state is SealState.HOLDS]
    adopted = _sealed_as_they_are([each for each in sessions if each.state is SealState.MISSING]) if adopts else []
    refused = len(sessions) - len(begun) - len(adopted)
    if begun or adopted:
        book = _Book.of_team(team_id, now)
        book.enter(EntryKind.BEGUN, [(each.session_id, each.head) for each in begun], now)
        untold = untold_digests({each.session_id: each.next_index for each in adopted})
        for each in adopted:
            book.enter(EntryKind.ADOPTED, [(each.session_id, each.head)], now, reason=untold[each.session_id])
        book.close(until=now)
    return Entered(begun=len(begun), adopted=len(adopted), refused=refused)


def _is_first_run() -> bool:
    with transaction.atomic():
        return _Book.of_installation().is_new


def _close_installation(now: datetime) -> None:
    """With the audit logs that are new."""
    book = _Book.of_installation()
    entered = LedgerEntry.objects.filter(team_id=INSTALLATION, kind=EntryKind.AUDIT.value).order_by()
    known = set(entered.values_list("session_id", flat=True))
    heads = {team_id: end for team_id, end in chain_heads().items() if end.adopted_digest != NOT_READ}
    ends = [(team_id, _audit_end(end)) for team_id, end in heads.items() if team_id not in known]
    book.enter(EntryKind.AUDIT, ends, now)
    book.close(until=now)


def _audit_end(end: AuditEnd) -> Head:
    """Of a log in which there is nothing but what was adopted, the digest of that."""
    return Head(next_index=end.next_number, digest=end.digest if end.next_number else end.adopted_digest)


def _sealed_as_they_are(sessions: Sequence[_Found]) -> list[_Found]:
    sealed = [appends.head_seal(session_id=each.session_id, team_id=each.team_id, head=each.head) for each in sessions]
    with connection.cursor() as cursor:
        cursor.execute(_SEAL, [[each.session_id for each in sessions], [each.digest for each in sessions], sealed])
        done = {row[0] for row in cursor.fetchall()}
    return [each for each in sessions if each.session_id in done]


class _Book:
    """One ledger, locked until the transaction ends. The installation's is in sight of nobody but whoever opens it here."""

    def __init__(self, row: Ledger) -> None:
        self.row = row
        until_us = to_us(row.entered_until)
        self._doubts = ledger.doubts_of_end(
            settings.SEAL_KEYS, row.seal, team_id=row.team_id, end=self._end, until_us=until_us
        )

    @classmethod
    def of_installation(cls) -> "_Book":
        return cls._found(INSTALLATION) or cls._made(INSTALLATION, NEVER)

    @classmethod
    def of_team(cls, team_id: UUID, now: datetime) -> "_Book":
        book = cls._found(team_id)
        if book is not None:
            return book
        installation = cls.of_installation()
        book = cls._found(team_id)
        if book is None:
            known = LedgerEntry.objects.filter(team_id=INSTALLATION, kind=EntryKind.TEAM.value, session_id=team_id)
            is_lost = known.exists()
            book = cls._made(team_id, now, is_lost=is_lost)
            if not is_lost:
                installation.enter(EntryKind.TEAM, [(team_id, NO_HEAD)], now)
                installation.close(until=installation.row.entered_until)
        return book

    @classmethod
    def _found(cls, team_id: UUID) -> "_Book | None":
        with within_team(team_id):
            row = Ledger.objects.select_for_update().filter(pk=team_id).order_by("pk").first()
        return None if row is None else cls(row)

    @classmethod
    def _made(cls, team_id: UUID, until: datetime, *, is_lost: bool = False) -> "_Book":
        """Where there was one before it goes on from what is left, and tells for ever that how far that went was lost."""
        with within_team(team_id):
            last = LedgerEntry.objects.filter(team_id=team_id).order_by("-number").first()
            end = NO_HEAD if last is None else Head(next_index=last.number + 1, digest=last.digest)
            keys, until_us = settings.SEAL_KEYS, to_us(until)
            doubts = ""
            if is_lost or last is not None:
                doubts = ledger.doubts_of_end(keys, "", team_id=team_id, end=end, until_us=until_us)
            seal = ledger.seal_end(keys, team_id=team_id, end=end, until_us=until_us, doubts=doubts)
            row = {"next_number": end.next_index, "head_digest": end.digest, "entered_until": until, "seal": seal}
            # Two at once: the one that waited finds the other's row.
            Ledger.objects.get_or_create(pk=team_id, defaults=row)
            return cls(Ledger.objects.select_for_update().get(pk=team_id))

    @property
    def is_new(self) -> bool:
        """Whether this ledger of the installation awaits its first run. Where its seal does not say so, or it does not know a team's
        that is there, it is another one than was there before: then nothing is taken for true.
        """
        if self.row.entered_until != NEVER or self._doubts:
            return False
        known = LedgerEntry.objects.filter(team_id=INSTALLATION, kind=EntryKind.TEAM.value).values("session_id")
        return not Ledger.objects.exclude(pk=INSTALLATION).exclude(pk__in=known).exists()

    def enter(self, kind: EntryKind, sessions: Iterable[tuple[UUID, Head]], now: datetime, *, reason: str = "") -> None:
        entries = [self._next(kind, *each, now, reason) for each in sessions]
        with within_team(self.row.team_id):
            LedgerEntry.objects.bulk_create(entries)

    def close(self, *, until: datetime) -> None:
        row = self.row
        row.entered_until = until
        row.seal = ledger.seal_end(
            settings.SEAL_KEYS, team_id=row.team_id, end=self._end, until_us=to_us(until), doubts=self._doubts
        )
        with within_team(row.team_id):
            row.save(update_fields=["next_number", "head_digest", "entered_until", "seal"])

    @property
    def _end(self) -> Head:
        return Head(next_index=self.row.next_number, digest=self.row.head_digest)

    def _next(self, kind: EntryKind, session_id: UUID, head: Head, now: datetime, reason: str) -> LedgerEntry:
        row = self.row
        entry = LedgerLine(
            team_id=row.team_id,
            number=row.next_number,
            kind=kind,
            session_id=session_id,
            head=head,
            reason=reason,
            entered_us=to_us(now),
        )
        sealed = ledger.enter(settings.SEAL_KEYS, entry, after=row.head_digest)
        row.next_number += 1
        row.head_digest = sealed.digest
        return LedgerEntry(
            team_id=entry.team_id,
            number=entry.number,
            kind=kind.value,
            session_id=session_id,
            next_event_index=head.next_index,
            head_digest=head.digest,
            reason=reason,
            entered_at=now,
            digest=sealed.digest,
            seal=sealed.seal,
        )
