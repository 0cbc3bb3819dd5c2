"""What a call has come to, as facts. How they are worded, and under which names, the dialects know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sessions_app.engine import outputs
from sessions_app.engine.actions import Action
from sessions_app.engine.decisions import Outcome, Settled, Warned
from sessions_app.engine.resume import Match
from sessions_app.engine.state import Preferences, Snapshot
from teams_app.engine.errors import WorkrailError
from workflows_app.engine.program import Program

MAX_RECAP_BYTES = 24 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTokens:
    """Those that a dialect prints. `ack` is empty when there is nothing to acknowledge."""

    state: str
    ack: str = ""
    checkpoint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecapEntry:
    """Notes of one step, as they stand now."""

    step: str
    title: str
    notes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recap:
    """`entries` are oldest first; the oldest are the ones left out when the budget is short."""

    entries: tuple[RecapEntry, ...] = ()
    omitted: int = 0
    # There are still older entries, and nobody counted them.
    further_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """A successor that the acknowledged node already had."""

    node_id: str
    kind: str
    title: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Branching:
    """What an agent that rewound has lost: the successors of its node and what happened below the latest of them.

    `siblings` are the newest successors, oldest first; `omitted` tells how many older ones there are.
    """

    forked: bool
    siblings: tuple[Sibling, ...]
    downstream: Recap
    omitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedRun:
    """A run that another one waits for: of which workflow, and the state to take it on with."""

    workflow: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyFacts:
    """Where a run stands after a move, or without one when there is no outcome."""

    outcome: Outcome | None
    program: Program
    snapshot: Snapshot
    workflow_id: str
    workflow_hash: str
    session_id: UUID
    run_id: UUID
    goal: str
    tokens: NodeTokens
    warnings: Sequence[Warned] = ()
    recap: Recap | None = None
    branching: Branching | None = None
    step_context: Mapping[str, Any] | None = None
    # Of an action by hand: where it was done, what it was, and why it was refused.
    before: Snapshot | None = None
    action: Action | None = None
    refusal: WorkrailError | None = None
    # That the run which triggered this one goes on with its end, and the runs that this one triggered and waits for.
    returns: bool = False
    awaited: Sequence[AwaitedRun] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedFacts:
    """A session without a run. The preferences are told when it begins."""

    session_id: UUID
    token: str
    preferences: Preferences | None = None


# Runs that are handed over


@dataclass(frozen=True, slots=True, kw_only=True)
class EnteredFacts:
    """The activity at which the run stands now: another than was asked for where that one is passed over, or where the one
    that is left waits for a person. `recorded` counts the entries of the manifest that were taken, where the rest waits for a person.
    """

    program: Program
    before: Snapshot
    snapshot: Snapshot
    run_id: UUID
    at_ms: int
    warnings: Sequence[str]
    recorded: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class YieldedFacts:
    checkpoint_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledBeforeFacts:
    """The same question of the same visit is not asked twice. Without an option it was dismissed."""

    checkpoint_id: str
    option: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFacts:
    settled: Settled
    snapshot: Snapshot
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnsweredFacts:
    """A signed-in person was first; what they chose is told to whoever asks."""

    checkpoint_id: str
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedFacts:
    """What a call on a run that is handed over came to, and the token to go on with."""

    token: str
    what: EnteredFacts | YieldedFacts | SettledBeforeFacts | ResolvedFacts | PersonAnsweredFacts


# Resuming


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A run at its tip that may be the one that is meant."""

    match: Match
    state_token: str
    pending_step_id: str
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesCandidate:
    """A session in which no workflow has begun: its notes, and the token to note more with."""

    session_id: UUID
    title: str
    git_branch: str
    ticket: str
    snippet: str
    last_activity_at: datetime
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeFacts:
    """`eligible` counts the runs that could be named, no further than anybody wants to know. `found_nothing`: the candidates
    are merely the latest runs, although something was asked for.
    """

    candidates: Sequence[Candidate]
    eligible: int
    is_bounded: bool
    sessions: Sequence[NotesCandidate] = ()
    found_nothing: bool = False


def budgeted(entries: Sequence[RecapEntry], *, max_bytes: int = MAX_RECAP_BYTES, further_back: bool = False) -> Recap:
    """As many of the newest entries as fit, oldest first; a single one that is too large is cut."""
    kept: list[RecapEntry] = []
    room = max_bytes
    for entry in reversed(entries):
        size = len(entry.notes.encode("utf-8")) + len(entry.title.encode("utf-8")) + len(entry.step.encode("utf-8"))
        if size > room:
            if not kept:
                cut = outputs.cut_text(entry.notes, max_bytes=max(0, room - (size - len(entry.notes.encode("utf-8")))))
                kept.append(RecapEntry(step=entry.step, title=entry.title, notes=cut))
            break
        kept.append(entry)
        room -= size
    kept.reverse()
    return Recap(entries=tuple(kept), omitted=len(entries) - len(kept), further_back=further_back)
