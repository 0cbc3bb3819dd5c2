"""Finding the run to go on with in a new chat: how well a run answers a query, and which come first.

A run is placed in the best tier in which it matches; only inside a tier do the other things count. What is recent is told
by the clock: the number of a run's events says how long it is, not how long ago anybody worked on it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import assert_never
from uuid import UUID

from sessions_app.engine.outputs import cut_text
from sessions_app.engine.resume_signals import (
    LOW_SIGNAL_WORDS,
    SHORTEST_STEM,
    Signals,
    normalise,
    shortest_part,
    stem,
    words_in,
)
from sessions_app.engine.runs import ENDED, STOPPED, RunStatus

MAX_CANDIDATES = 5
LOW_SIGNAL_WEIGHT = 0.35
# Of what the words of a query weigh, so much must be found for a part of them to count.
PARTIAL_SHARE = 0.4
MAX_SNIPPET_BYTES = 2048
_CUT = "…"
_BEFORE_WORD_CHARACTERS = 200
_SHORTEST_PART = 3
_BRANCH_ENDS = "/-_."
_MOST_CUTS = 6


class Tier(IntEnum):
    """The smaller, the surer that this is the run that was meant."""

    IDENTIFIED = 1
    NAMED = 2
    NOTED = 3
    PARTLY = 4
    WORKFLOW = 5
    RECENT = 6


class Why(StrEnum):
    """What of a run answered the query, the most telling first."""

    RUN_ID = "matched_run_id"
    SESSION_ID = "matched_session_id"
    TICKET = "matched_ticket"
    HEAD_SHA = "matched_head_sha"
    BRANCH = "matched_branch"
    TITLE = "matched_title"
    BRANCH_PREFIX = "matched_branch_prefix"
    NOTES = "matched_notes"
    TITLE_PARTLY = "matched_title_partly"
    NOTES_PARTLY = "matched_notes_partly"
    WORKFLOW_ID = "matched_workflow_id"
    REPOSITORY = "matched_repository"
    RECENT = "recent_activity"


class Confidence(StrEnum):
    STRONG = "strong"
    MEDIUM = "medium"
    WEAK = "weak"


_ORDER = tuple(Why)
_TIER = {
    Why.RUN_ID: Tier.IDENTIFIED,
    Why.SESSION_ID: Tier.IDENTIFIED,
    Why.TICKET: Tier.IDENTIFIED,
    Why.HEAD_SHA: Tier.NAMED,
    Why.BRANCH: Tier.NAMED,
    Why.TITLE: Tier.NAMED,
    Why.BRANCH_PREFIX: Tier.NAMED,
    Why.NOTES: Tier.NOTED,
    Why.TITLE_PARTLY: Tier.PARTLY,
    Why.NOTES_PARTLY: Tier.PARTLY,
    Why.WORKFLOW_ID: Tier.WORKFLOW,
    Why.REPOSITORY: Tier.RECENT,
    Why.RECENT: Tier.RECENT,
}
# Either of these lets an agent go on without asking which run was meant; a title of the same words does not.
_SURE = frozenset({Why.HEAD_SHA, Why.BRANCH})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A run as the tables know it, with those of its notes that were found by the words of the query."""

    run_id: UUID
    session_id: UUID
    workflow_id: str
    session_title: str
    goal: str
    git_branch: str
    git_head_sha: str
    repository: str
    ticket: str
    status: RunStatus
    tip_node_id: UUID
    last_activity_at: datetime

    @property
    def is_over(self) -> bool:
        """Nothing is to be done in it any more, be it done or stopped for good by a person."""
        return self.status in ENDED

    @property
    def stopped(self) -> str:
        """How a person has stopped it, if one has."""
        return self.status.value if self.status in STOPPED else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A run in its tier. `score` is what its reasons weigh together."""

    run: RunFacts
    tier: Tier
    score: float
    same_repository: bool
    why: tuple[Why, ...]

    @property
    def confidence(self) -> Confidence:
        match self.tier:
            case Tier.IDENTIFIED:
                return Confidence.STRONG
            case Tier.NAMED:
                return Confidence.STRONG if _SURE & set(self.why) else Confidence.MEDIUM
            case Tier.NOTED:
                return Confidence.MEDIUM
            case Tier.PARTLY | Tier.WORKFLOW | Tier.RECENT:
                return Confidence.WEAK
            case _:
                assert_never(self.tier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Haystack:
    """A text in the form in which words are looked for in it."""

    text: str
    words: frozenset[str] = field(default=frozenset())

    @staticmethod
    def of(text: str) -> "Haystack":
        normal = normalise(text)
        return Haystack(text=normal, words=frozenset(words_in(normal)))

    def has(self, word: str) -> bool:
        """The word, a word that holds it, or a longer spelling of a word that is here."""
        if word in self.words:
            return True
        if len(word) < shortest_part(word):
            return False
        return stem(word) in self.text or any(
            len(known) >= SHORTEST_STEM and word.startswith(known) and known not in LOW_SIGNAL_WORDS
            for known in self.words
        )


def words_needed(count: int) -> int:
    """Of so many telling words, how many a text must have for a part of them to count."""
    return max(1, -(-int(count * PARTIAL_SHARE * 100) // 100))


def match_run(run: RunFacts, signals: Signals, *, notes: str = "") -> Match:
    """Where a run stands. Any run stands somewhere: one that answers nothing is at least recent."""
    weighed = dict(_reasons(run, signals, notes))
    same_repository = bool(signals.repository) and repository_key(run.repository) == repository_key(signals.repository)
    if same_repository:
        weighed[Why.REPOSITORY] = 0.0
    if not weighed:
        weighed[Why.RECENT] = 0.0
    why = tuple(reason for reason in _ORDER if reason in weighed)
    return Match(
        run=run,
        tier=min(_TIER[reason] for reason in why),
        score=round(sum(weighed.values()), 6),
        same_repository=same_repository,
        why=why,
    )


def _reasons(run: RunFacts, signals: Signals, notes: str) -> Iterable[tuple[Why, float]]:
    if run.run_id in signals.run_ids:
        yield Why.RUN_ID, 2.0
    if run.session_id in signals.session_ids:
        yield Why.SESSION_ID, 1.0
    if run.ticket and run.ticket in signals.tickets:
        yield Why.TICKET, 1.0
    if run.git_head_sha and any(run.git_head_sha.lower().startswith(sha) for sha in signals.head_shas):
        yield Why.HEAD_SHA, 1.0
    yield from _branch_reason(run.git_branch, signals.branches)
    labels = f"{run.git_branch} {run.ticket} {run.workflow_id}"
    titles = f"{run.session_title}\n{run.goal}"
    yield from _word_reason(titles, labels, signals, whole=Why.TITLE, part=Why.TITLE_PARTLY)
    yield from _word_reason(notes, labels, signals, whole=Why.NOTES, part=Why.NOTES_PARTLY)
    if names_workflow(run.workflow_id, signals):
        yield Why.WORKFLOW_ID, 1.0


def names_workflow(workflow_id: str, signals: Signals) -> bool:
    """Its id, or every word of its name: "bug investigation" for `wr.bug-investigation`."""
    if workflow_id in signals.workflow_ids:
        return True
    wanted = Haystack.of(" ".join((*signals.words, *signals.low_signal_words)))
    name = workflow_id.rpartition(".")[2]
    parts = [part for part in re.split("[-_]", name) if part]
    return bool(parts) and (name in wanted.words or wanted.words.issuperset(parts))


def _branch_reason(branch: str, wanted: Iterable[str]) -> Iterable[tuple[Why, float]]:
    mine = branch.lower()
    others = [other.lower() for other in wanted]
    if mine and mine in others:
        yield Why.BRANCH, 1.0
    elif mine and any(is_near(mine, other) for other in others):
        yield Why.BRANCH_PREFIX, 0.5


def is_near(branch: str, wanted: str) -> bool:
    """The branch begins with what was given, or it is what was given cut at a place where branches are cut."""
    if len(wanted) >= _SHORTEST_PART and branch.startswith(wanted):
        return True
    return branch in near_branches(wanted)


def near_branches(branch: str) -> tuple[str, ...]:
    """The shorter branches that this one may have been taken from: itself cut at each place where branches are cut."""
    cuts = [index for index, char in enumerate(branch) if char in _BRANCH_ENDS and index >= _SHORTEST_PART]
    return tuple(branch[:index] for index in cuts[-_MOST_CUTS:])


def _word_reason(text: str, labels: str, signals: Signals, *, whole: Why, part: Why) -> Iterable[tuple[Why, float]]:
    """A word that names the run's branch, ticket or workflow is answered by those; one at least must be in the text."""
    if not signals.words or not text:
        return
    haystack, beside = Haystack.of(text), Haystack.of(labels)
    in_text = [word for word in signals.words if haystack.has(word)]
    found = [word for word in signals.words if word in in_text or beside.has(word)]
    if not in_text or len(found) < words_needed(len(signals.words)):
        return
    low = [word for word in signals.low_signal_words if word in haystack.words]
    weight = len(found) + LOW_SIGNAL_WEIGHT * len(low)
    share = weight / (len(signals.words) + LOW_SIGNAL_WEIGHT * len(signals.low_signal_words))
    yield (whole if len(found) == len(signals.words) else part), share


def repository_key(repository: str) -> str:
    """The same for each way of writing one address: https, ssh, with and without `.git`."""
    text = repository.strip().lower().removesuffix("/").removesuffix(".git")
    text = re.sub(r"^[a-z+]+://", "", text)
    text = re.sub(r"^[^@/]+@", "", text)
    return re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", text)


def rank(matches: Iterable[Match]) -> tuple[Match, ...]:
    """In order, each run once, at most five. What is merely recent is left out when something better is there."""
    best: dict[UUID, Match] = {}
    for match in matches:
        known = best.get(match.run.run_id)
        if known is None or place_of(match) < place_of(known):
            best[match.run.run_id] = match
    ordered = sorted(best.values(), key=place_of)
    if ordered and not is_in_doubt(ordered):
        ordered = [match for match in ordered if match.tier is not Tier.RECENT]
    return tuple(ordered[:MAX_CANDIDATES])


def is_told_by_id(matches: Iterable[Match]) -> bool:
    """The run or its session was given by its id, so there is nothing to look for."""
    return any(not {Why.RUN_ID, Why.SESSION_ID}.isdisjoint(match.why) for match in matches)


def is_merely_recent(matches: Iterable[Match]) -> bool:
    """Nothing that was asked for is in any of them."""
    return all(match.tier is Tier.RECENT for match in matches)


def is_in_doubt(matches: Iterable[Match]) -> bool:
    """Nothing fits so well that what is merely recent need not be named."""
    return all(match.tier > Tier.NOTED for match in matches)


def place_of(match: Match) -> tuple[int, bool, bool, float, float, bytes]:
    """The smaller, the earlier: tier, then same repository, then not complete, then score, then the clock, then the id."""
    run = match.run
    return (
        match.tier,
        not match.same_repository,
        run.is_over,
        -match.score,
        -run.last_activity_at.timestamp(),
        run.run_id.bytes,
    )


def snippet_of(notes: str, words: Iterable[str]) -> str:
    """As much of the notes as fits, from a little before the first of the words when it would not be in sight."""
    text = notes.strip()
    size = len(text.encode("utf-8"))
    if size <= MAX_SNIPPET_BYTES:
        return text
    normal = text.lower()
    places = [place for place in (normal.find(stem(word)) for word in words) if place >= 0]
    begin = max(0, min(places, default=0) - _BEFORE_WORD_CHARACTERS)
    if begin:
        room = MAX_SNIPPET_BYTES - len(_CUT.encode("utf-8"))
        return _CUT + cut_text(text[begin:].lstrip(), max_bytes=room, marker=_CUT)
    return cut_text(text, max_bytes=MAX_SNIPPET_BYTES, marker=_CUT)
