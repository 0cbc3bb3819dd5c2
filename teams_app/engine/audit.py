"""The chain of a team's audit log: each entry follows the one before, and is sealed."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson

from teams_app.engine import seals
from teams_app.engine.seals import Domain, SealKeys, SealState, check, seal, to_us

GENESIS = "sha256:" + "0" * 64


NOT_READ = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """All that an entry says."""

    id: UUID
    team_id: UUID
    at: datetime
    actor_kind: str
    actor_id: str
    actor_name: str
    door: str
    action: str
    target: str
    request_id: str
    details: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEnd:
    """Where a log ends. `adopted` entries were there before anything was sealed; `adopted_digest` is of all of them, and `NOT_READ`
    until somebody has read them.
    """

    next_number: int = 0
    digest: str = GENESIS
    adopted: int = 0
    adopted_digest: str = GENESIS


def entry_digest(facts: AuditFacts, *, number: int, after: str) -> str:
    told = [facts.id.hex, facts.team_id.hex, to_us(facts.at), facts.actor_kind, facts.actor_id, facts.actor_name]
    done = [facts.door, facts.action, facts.target, facts.request_id, facts.details]
    # Sorted, because jsonb gives keys back in an order of its own.
    text = orjson.dumps([after, number, *told, *done], option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return f"sha256:{sha256(text).hexdigest()}"


def seal_entry(keys: SealKeys, *, team_id: UUID, digest: str) -> str:
    return seal(keys, Domain.AUDIT, team_id.hex, digest)


def check_entry(keys: SealKeys, stored: str, *, team_id: UUID, digest: str) -> SealState:
    return check(keys, stored, Domain.AUDIT, team_id.hex, digest)


def seal_end(keys: SealKeys, *, team_id: UUID, end: AuditEnd, doubts: str = "") -> str:
    return seals.seal_end(keys, Domain.AUDIT_HEAD, team_id.hex, *_parts(end), doubts=doubts)


def check_end(keys: SealKeys, stored: str, *, team_id: UUID, end: AuditEnd) -> SealState:
    return seals.check_end(keys, stored, Domain.AUDIT_HEAD, team_id.hex, *_parts(end))


def doubts_of_end(keys: SealKeys, stored: str, *, team_id: UUID, end: AuditEnd) -> str:
    return seals.doubts_of(keys, stored, Domain.AUDIT_HEAD, team_id.hex, *_parts(end))


def _parts(end: AuditEnd) -> tuple[int, str, int, str]:
    return (end.next_number, end.digest, end.adopted, end.adopted_digest)
