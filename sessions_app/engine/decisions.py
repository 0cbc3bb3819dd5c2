"""What the engine is asked and what it answers: commands, the place where they land, and decisions."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from sessions_app.engine.actions import Action
from sessions_app.engine.checkpoints import NOBODY, Closing, Shown, Voice
from sessions_app.engine.log import EdgeCause, EdgeKind, EventDraft, NodeKind
from sessions_app.engine.obligations import Submission
from sessions_app.engine.reasons import Gap
from sessions_app.engine.runs import OutputChannel, RunStatus
from sessions_app.engine.state import Preferences, Snapshot
from workflows_app.engine.program import Autonomy, RiskPolicy


class PreferenceSource(StrEnum):
    USER = "user"
    WORKFLOW_RECOMMENDATION = "workflow_recommendation"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceChange:
    autonomy: Autonomy | None = None
    risk_policy: RiskPolicy | None = None

    def applied_to(self, preferences: Preferences) -> Preferences:
        return Preferences(
            autonomy=self.autonomy or preferences.autonomy,
            risk_policy=self.risk_policy or preferences.risk_policy,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Begin a run: `goal` is the user's words, `baseline` what the session's preferences begin with.

    `bundled` says whose the workflow is, `trigger` through which door the run was begun. By hand the walk decides nothing
    that its driver may decide; a run whose activities are handed over begins before the first of them.
    """

    goal: str
    context: Mapping[str, Any]
    baseline: Preferences
    preferences: PreferenceChange | None = None
    bundled: bool = False
    trigger: str = ""
    by_hand: bool = False
    handed_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """`by_person` tells that a signed-in person acknowledges, whose word is the approval that an agent cannot give."""

    submission: Submission
    preferences: PreferenceChange | None = None
    by_person: bool = False
    voice: Voice = NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """Record work without advancing: the run stays where it is."""

    submission: Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePreferences:
    change: PreferenceChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """One action of an agent that drives the run by hand."""

    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCheckpoint:
    """A person's answer to the question that is open here. `digest` is that of what they were shown."""

    option_id: str
    digest: str
    voice: Voice
    by_hand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewlyAsked:
    """A question that is asked at the new node, and the row that it gets."""

    request: UUID
    shown: Shown


Command = Start | Advance | Bookmark | ChangePreferences | Steer | AnswerCheckpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in the log the decision lands. `nonce` with the node names the attempt; `next_node` is the row to be made.

    `at_ms` is now; a relayed answer is refused until `min_response_ms` after its question, which is due in `due_ms`.
    """

    session_id: UUID
    run_id: UUID
    node_id: UUID | None
    next_node: UUID
    nonce: bytes
    workflow_id: str
    workflow_hash: str
    has_children: bool = False
    has_critical_gaps: bool = False
    at_ms: int = 0
    min_response_ms: int = 0
    due_ms: int | None = None

    @property
    def attempt_id(self) -> UUID:
        return derive_id("attempt", (self.node_id or self.run_id).bytes, self.nonce)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputDraft:
    output_id: UUID
    channel: OutputChannel
    body: str
    sha256: str
    artifact_kind: str = ""
    supersedes: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifiedGap:
    gap_id: UUID
    gap: Gap


class WarningCode(StrEnum):
    MODE_ABOVE_RECOMMENDED = "MODE_ABOVE_RECOMMENDED"
    CAPABILITY_DEGRADED = "CAPABILITY_DEGRADED"
    GAP_RECORDED = "GAP_RECORDED"
    NOTES_TRUNCATED = "NOTES_TRUNCATED"
    ASSESSMENT_DIMENSION_IGNORED = "ASSESSMENT_DIMENSION_IGNORED"
    LEGACY_WORKFLOW_ID = "LEGACY_WORKFLOW_ID"
    WORKFLOW_CHANGED = "WORKFLOW_CHANGED"
    FORKED = "FORKED"
    ANSWERED_BY_PERSON = "ANSWERED_BY_PERSON"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    code: WarningCode
    message: str

    def as_json(self) -> dict[str, str]:
        return {"code": self.code.value, "message": self.message}


class Outcome(StrEnum):
    STARTED = "started"
    ADVANCED = "advanced"
    BLOCKED = "blocked"
    BOOKMARKED = "bookmarked"
    PREFERENCES_CHANGED = "preferences_changed"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`drafts` are in the order of the log; the outputs among them belong to the node that was acknowledged.

    `asked` are the questions that are asked at the new node, `closings` what became of those that were open before.
    """

    outcome: Outcome
    snapshot: Snapshot
    snapshot_data: bytes
    snapshot_digest: str
    node_kind: NodeKind
    edge_kind: EdgeKind | None
    edge_cause: EdgeCause | None
    drafts: tuple[EventDraft, ...]
    status: RunStatus
    outputs: tuple[OutputDraft, ...] = ()
    gaps: tuple[IdentifiedGap, ...] = ()
    warnings: tuple[Warned, ...] = ()
    node_draft: int = 0
    step_context: Mapping[str, Any] | None = None
    asked: tuple[NewlyAsked, ...] = ()
    closings: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One node of what a call makes, and where it lands."""

    place: Place
    decision: Decision


def derive_id(label: str, *parts: bytes) -> UUID:
    """An id that the same facts always give."""
    return UUID(bytes=hashlib.sha256(b"\x00".join((label.encode(), *parts))).digest()[:16])
