"""Reads the chains of audit logs, and checks them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from teams_app.engine import audit
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.audit import GENESIS, NOT_READ, AuditEnd, AuditFacts
from teams_app.engine.seals import SealState
from teams_app.models import AuditEntry, AuditHead
from teams_app.selectors import one_state

_ENTRIES_AT_ONCE = 2_000
_TEAMS_AT_ONCE = 500
_SHORT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFault:
    team_id: UUID
    reason: str
    message: str


def facts_of(row: AuditEntry) -> AuditFacts:
    return AuditFacts(
        id=row.pk,
        team_id=row.team_id,
        at=row.at,
        actor_kind=row.actor_kind,
        actor_id=row.actor_id,
        actor_name=row.actor_name,
        door=row.door,
        action=row.action,
        target=row.target,
        request_id=row.request_id,
        details=row.details,
    )


def end_of(head: AuditHead) -> AuditEnd:
    return AuditEnd(
        next_number=head.next_number, digest=head.digest, adopted=head.adopted, adopted_digest=head.adopted_digest
    )


def adopted_end(team_id: UUID) -> AuditEnd:
    """Of what a release before has written: its entries are taken for true, and counted."""
    rows = AuditEntry.objects.filter(team_id=team_id, number__isnull=True)
    count, digest = _adopted(_by_id(rows))
    return AuditEnd(adopted=count, adopted_digest=digest)


def audited_teams() -> list[UUID]:
    """All that have an audit log, or had one."""
    # An owner of the tables may have let an entry say nothing of its team, and a head nothing of its end.
    entered = AuditEntry.objects.filter(team_id__isnull=False).order_by().values_list("team_id", flat=True).distinct()
    return sorted({*AuditHead.objects.order_by().values_list("pk", flat=True), *entered})


def beginning_end(team_id: UUID) -> AuditEnd:
    """Whoever is the first to write after a release before reads nothing of what that wrote: it may be long."""
    is_old = AuditEntry.objects.filter(team_id=team_id, number__isnull=True).exists()
    return AuditEnd(adopted_digest=NOT_READ) if is_old else AuditEnd()


def unread_teams() -> list[UUID]:
    """Those whose old entries were there when their chain began, and are not adopted yet."""
    return list(AuditHead.objects.filter(adopted_digest=NOT_READ).order_by("pk").values_list("pk", flat=True))


def unsealed_teams() -> list[UUID]:
    """Those of whose audit log nothing says where it ends."""
    heads = AuditHead.objects.order_by().values("pk")
    found = AuditEntry.objects.exclude(team_id__in=heads).order_by("team_id")
    return list(found.values_list("team_id", flat=True).distinct())


def chain_heads() -> dict[UUID, AuditEnd]:
    return {head.team_id: end_of(head) for head in AuditHead.objects.order_by("pk")}


def audit_ends() -> list[tuple[UUID, int, str]]:
    """Of each team: how many entries its log has, and the digest of the last."""
    return list(AuditHead.objects.order_by("pk").values_list("team_id", "next_number", "digest"))


def audit_digests(places: Mapping[UUID, int]) -> dict[UUID, str]:
    """The digest of one entry of each team."""
    found = Q(pk__in=())
    for team_id, number in places.items():
        found |= Q(team_id=team_id, number=number)
    return dict(AuditEntry.objects.filter(found).order_by().values_list("team_id", "digest"))


def verify_audits() -> Iterator[tuple[UUID, Iterator[AuditFault]]]:
    """Of each team everything wrong with its audit log; the transaction is the caller's, and its state of the tables."""
    heads = {head.team_id: head for head in AuditHead.objects.order_by("pk")}
    short = {team_id for team_id, head in heads.items() if (head.next_number or 0) + (head.adopted or 0) <= _SHORT}
    for portion in portions_of(audited_teams(), short=short):
        logs = _logs_of(portion)
        for team_id in portion:
            rows = _rows(team_id) if logs is None else logs.get(team_id, ())
            yield team_id, _faults(team_id, heads.get(team_id), rows)


def portions_of(team_ids: Iterable[UUID], *, short: AbstractSet[UUID]) -> Iterator[list[UUID]]:
    """Teams of which little is to be read are read together: there may be many of them."""
    together: list[UUID] = []
    for team_id in team_ids:
        if team_id not in short:
            yield [team_id]
            continue
        together.append(team_id)
        if len(together) == _TEAMS_AT_ONCE:
            yield together
            together = []
    if together:
        yield together


def verify_team_audit(*, actor: Actor) -> Iterator[AuditFault]:
    """As `verify_audits`, of the actor's own team, whatever is entered meanwhile."""
    with one_state():
        yield from team_faults(actor=actor)


def team_faults(*, actor: Actor) -> Iterator[AuditFault]:
    """The same on the state of the tables that the caller's transaction sees."""
    actor.require(Permission.READ_AUDIT)
    head = AuditHead.objects.filter(pk=actor.team_id).order_by("pk").first()
    yield from _faults(actor.team_id, head, _rows(actor.team_id))


def count_entries(*, actor: Actor) -> int:
    """Without reading the log: where its chain ends, and what it began with."""
    actor.require(Permission.READ_AUDIT)
    head = AuditHead.objects.filter(pk=actor.team_id).order_by("pk").first()
    return 0 if head is None else head.next_number + head.adopted


def _faults(team_id: UUID, head: AuditHead | None, rows: Iterable[AuditEntry]) -> Iterator[AuditFault]:
    if head is not None:
        yield from _log(head, rows)
    elif any(row.number is not None for row in rows):
        message = "The audit log has a chain, and where it ends is gone."
        yield AuditFault(team_id=team_id, reason="audit_head_gone", message=message)


def _log(head: AuditHead, rows: Iterable[AuditEntry]) -> Iterator[AuditFault]:
    end = end_of(head)
    number, digest = 0, GENESIS
    adopted, adopted_digest, is_marked = 0, GENESIS, False
    for row in rows:
        if row.number is None:
            adopted_digest = audit.entry_digest(facts_of(row), number=adopted, after=adopted_digest)
            adopted += 1
            is_marked = is_marked or row.digest != "" or row.seal != ""
            continue
        yield from _entry(row, number, digest)
        number, digest = row.number + 1, row.digest
    if (number, digest) != (end.next_number, end.digest):
        message = f"The audit log ends at entry {number}, and should end at {end.next_number} with {end.digest}."
        yield AuditFault(team_id=head.team_id, reason="audit_truncated", message=message)
    state = audit.check_end(settings.SEAL_KEYS, head.seal, team_id=head.team_id, end=end)
    if state is not SealState.HOLDS:
        message = f"The seal of where the audit log ends: {state.value}."
        yield AuditFault(team_id=head.team_id, reason="audit_seal", message=message)
    if end.adopted_digest == NOT_READ:
        message = "Its entries from before there were seals have none. If a release before wrote them, run ./workrail seal_store --adopt."
        yield AuditFault(team_id=head.team_id, reason="audit_not_entered", message=message)
    elif is_marked or (adopted, adopted_digest) != (end.adopted, end.adopted_digest):
        message = f"The {end.adopted} entries from before there were seals are not what they were."
        yield AuditFault(team_id=head.team_id, reason="audit_adopted_changed", message=message)


def _entry(row: AuditEntry, number: int, after: str) -> Iterator[AuditFault]:
    if row.number != number:
        message = f"Entry {row.number} of the audit log stands where {number} is expected."
        yield AuditFault(team_id=row.team_id, reason="audit_gap", message=message)
        return
    whole = audit.entry_digest(facts_of(row), number=number, after=after) == row.digest
    state = audit.check_entry(settings.SEAL_KEYS, row.seal, team_id=row.team_id, digest=row.digest)
    if not whole or state is not SealState.HOLDS:
        message = f"Entry {number} of the audit log, {row.action} of {row.target}, is not what was written."
        yield AuditFault(team_id=row.team_id, reason="audit_changed", message=message)


def _adopted(rows: Iterable[AuditEntry]) -> tuple[int, str]:
    count, digest = 0, GENESIS
    for row in rows:
        digest = audit.entry_digest(facts_of(row), number=count, after=digest)
        count += 1
    return count, digest


def _logs_of(team_ids: Sequence[UUID]) -> dict[UUID, list[AuditEntry]] | None:
    """Their entries, as `_rows` gives those of one; None where they are read one by one, or cannot be read together."""
    if len(team_ids) == 1:
        return None
    found: dict[UUID, list[AuditEntry]] = {}
    try:
        for row in AuditEntry.objects.filter(team_id__in=team_ids).order_by("team_id", "number", "pk"):
            found.setdefault(row.team_id, []).append(row)
    except (RecursionError, ValueError):
        return None
    return found


def _rows(team_id: UUID) -> Iterator[AuditEntry]:
    """Those of the chain by number, and then those from before it."""
    rows = AuditEntry.objects.filter(team_id=team_id)
    yield from _by_number(rows)
    yield from _by_id(rows.filter(number__isnull=True))


def _by_number(rows: QuerySet[AuditEntry]) -> Iterator[AuditEntry]:
    """In portions: a log is as long as its team is old. A second entry of a number is read too, also where a portion ends."""
    numbered = rows.filter(number__isnull=False).order_by("number", "pk")
    behind = Q()
    while True:
        portion = list(numbered.filter(behind)[:_ENTRIES_AT_ONCE])
        yield from portion
        if len(portion) < _ENTRIES_AT_ONCE:
            return
        last = portion[-1]
        # The first half is for the index.
        behind = Q(number__gte=last.number) & (Q(number__gt=last.number) | Q(pk__gt=last.pk))


def _by_id(rows: QuerySet[AuditEntry]) -> Iterator[AuditEntry]:
    after = UUID(int=0)
    while True:
        portion = list(rows.filter(pk__gt=after).order_by("pk")[:_ENTRIES_AT_ONCE])
        yield from portion
        if len(portion) < _ENTRIES_AT_ONCE:
            return
        after = portion[-1].pk
