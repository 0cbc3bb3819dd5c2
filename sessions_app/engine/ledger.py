"""A team's ledger: which sessions began and which were deleted, each line chained to the one before and sealed.

A session that is in the ledger and not in its table was deleted by somebody whom the ledger does not know.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from uuid import UUID

import orjson

from sessions_app.engine.log import GENESIS, Head
from teams_app.engine import seals
from teams_app.engine.seals import Domain, SealKeys, SealState, check, seal
from workflows_app.engine import canonical

# The ledger of the installation tells of teams: its lines are of no team.
INSTALLATION = UUID(int=0)
NO_HEAD = Head(next_index=0, digest=GENESIS)
# How far the ledger of the installation goes until a first run has looked at all there was: a deletion may make that ledger before.
NEVER = datetime.fromtimestamp(0, tz=UTC)


class EntryKind(StrEnum):
    BEGUN = "begun"
    # Written by a release that sealed nothing: what was there then is taken for true.
    ADOPTED = "adopted"
    DELETED = "deleted"
    # In the ledger of the installation: a team has a ledger from now on.
    TEAM = "team"
    # Likewise: a team has an audit log, which had this end then.
    AUDIT = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """`session_id` is the team's where the ledger is that of the installation.

    `reason` says why a session was deleted; of one that was adopted, the digest of what no seal tells of it.
    """

    team_id: UUID
    number: int
    kind: EntryKind
    session_id: UUID
    head: Head
    reason: str
    entered_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedEntry:
    entry: LedgerLine
    digest: str
    seal: str


def enter(keys: SealKeys, entry: LedgerLine, *, after: str) -> SealedEntry:
    """`after` is the digest of the line before."""
    digest = entry_digest(entry, after=after)
    return SealedEntry(entry=entry, digest=digest, seal=seal(keys, Domain.LEDGER, entry.team_id.hex, digest))


def entry_digest(entry: LedgerLine, *, after: str) -> str:
    told = [entry.team_id.hex, entry.number, entry.kind.value, entry.session_id.hex]
    head = [entry.head.next_index, entry.head.digest]
    return canonical.digest(orjson.dumps([after, *told, *head, entry.reason, entry.entered_us]))


def check_entry(keys: SealKeys, sealed: SealedEntry) -> SealState:
    return check(keys, sealed.seal, Domain.LEDGER, sealed.entry.team_id.hex, sealed.digest)


def seal_end(keys: SealKeys, *, team_id: UUID, end: Head, until_us: int, doubts: str = "") -> str:
    return seals.seal_end(keys, Domain.LEDGER_HEAD, team_id.hex, end.next_index, end.digest, until_us, doubts=doubts)


def check_end(keys: SealKeys, stored: str, *, team_id: UUID, end: Head, until_us: int) -> SealState:
    return seals.check_end(keys, stored, Domain.LEDGER_HEAD, team_id.hex, end.next_index, end.digest, until_us)


def doubts_of_end(keys: SealKeys, stored: str, *, team_id: UUID, end: Head, until_us: int) -> str:
    return seals.doubts_of(keys, stored, Domain.LEDGER_HEAD, team_id.hex, end.next_index, end.digest, until_us)
