"""When a session is over its time, as a function of what is known of it and of its team's rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

# Whoever has unfinished work is told so long before it goes.
WARNED_BEFORE = timedelta(days=7)
MAX_IDLE_DAYS = 3650


class ExpiryVerdict(StrEnum):
    """Kept: a rule says for ever. Waits: a question for a person is open. Warn and warned: it goes after the notice."""

    ACTIVE = "active"
    KEPT = "kept"
    HELD = "held"
    WAITS = "waits_for_a_person"
    WARN = "to_be_warned"
    WARNED = "warned"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpiryRule:
    """`idle_days` None is for ever. `archives` keeps a bundle of what is deleted."""

    idle_days: int | None
    archives: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Of a team: its own, and those of workflows, which go before it."""

    of_team: ExpiryRule
    of_workflows: Mapping[str, ExpiryRule]

    def among(self, workflow_ids: Sequence[str]) -> tuple[ExpiryRule, ...]:
        return tuple(self.of_workflows.get(each, self.of_team) for each in workflow_ids) or (self.of_team,)

    @property
    def shortest_days(self) -> int | None:
        days = [rule.idle_days for rule in (self.of_team, *self.of_workflows.values()) if rule.idle_days is not None]
        return min(days, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A session and what its runs triggered, which go together."""

    root: UUID
    sessions: tuple[UUID, ...]
    workflow_ids: tuple[str, ...]
    last_activity_at: datetime
    held: bool
    waits: bool
    unfinished: bool
    warned_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    known: Known
    verdict: ExpiryVerdict
    archives: bool
    idle_days: int | None


def judge(*, known: Known, rules: Rules, now: datetime) -> Judged:
    """The longest of the rules of its workflows counts; nothing unfinished goes without a notice."""
    among = rules.among(known.workflow_ids)
    days = None if any(rule.idle_days is None for rule in among) else max(rule.idle_days or 0 for rule in among)
    archives = any(rule.archives for rule in among)
    return Judged(known=known, verdict=_verdict(known, days, now), archives=archives, idle_days=days)


def _verdict(known: Known, days: int | None, now: datetime) -> ExpiryVerdict:
    if known.held:
        return ExpiryVerdict.HELD
    if days is None:
        return ExpiryVerdict.KEPT
    over = known.last_activity_at + timedelta(days=days)
    if known.unfinished and not known.waits:
        return _unfinished(known, over, now)
    if now < over:
        return ExpiryVerdict.ACTIVE
    return ExpiryVerdict.WAITS if known.waits else ExpiryVerdict.EXPIRED


def _unfinished(known: Known, over: datetime, now: datetime) -> ExpiryVerdict:
    # A warning from before somebody last worked in it is none.
    warned = known.warned_at if known.warned_at is not None and known.warned_at > known.last_activity_at else None
    if now < over - WARNED_BEFORE:
        return ExpiryVerdict.ACTIVE
    if warned is None:
        return ExpiryVerdict.WARN
    return ExpiryVerdict.EXPIRED if now >= max(over, warned + WARNED_BEFORE) else ExpiryVerdict.WARNED
