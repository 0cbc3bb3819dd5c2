"""What the engine is asked and what it answers: commands, the place where they land, and decisions."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from sessions_app.engine.actions import Action
from sessions_app.engine.checkpoints import NOBODY, Closing, Shown, Voice
from sessions_app.engine.log import EdgeCause, EdgeKind, EventDraft, NodeKind
from sessions_app.engine.manifests import ActivityOutcome, ManifestEntry
from sessions_app.engine.reasons import Gap
from sessions_app.engine.runs import Drive, OutputChannel, RunStatus, StopKind
from sessions_app.engine.state import OpenQuestion, Preferences, Snapshot, Stop
from sessions_app.engine.submissions import Submission
from workflows_app.engine.program import Autonomy, Option, RiskPolicy


class PreferenceSource(StrEnum):
    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceChange:
    """`person` is the signed-in person whose choice it is; empty where an agent chose."""

    autonomy: Autonomy | None = None
    risk_policy: RiskPolicy | None = None
    person: str = ""

    @property
    def source(self) -> PreferenceSource:
        return PreferenceSource.USER if self.person else PreferenceSource.AGENT

    def applied_to(self, preferences: Preferences) -> Preferences:
        autonomy = self.autonomy or preferences.autonomy
        return Preferences(
            autonomy=autonomy,
            risk_policy=self.risk_policy or preferences.risk_policy,
            waived_by=self._waiver(preferences) if autonomy is Autonomy.NEVER_STOP else "",
        )

    def _waiver(self, preferences: Preferences) -> str:
        """An agent that asks for what a person chose before takes nothing back, and adds nothing."""
        if self.person and self.autonomy is Autonomy.NEVER_STOP:
            return preferences.waived_by or self.person
        return preferences.waived_by


UNCHANGED = PreferenceChange()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Begin a run: `goal` is the user's words, `baseline` what the session's preferences begin with.

    `bundled` says whose the workflow is, `trigger` through which door the run was begun. A run whose activities are handed
    over begins before the first of them. `given` is what the run that triggers it passes on, `settled` the variables that an answer
    has set there.
    """

    goal: str
    context: Mapping[str, Any]
    baseline: Preferences
    preferences: PreferenceChange | None = None
    bundled: bool = False
    trigger: str = ""
    drive: Drive = Drive.LED
    given: Mapping[str, Any] = field(default_factory=dict)
    settled: tuple[str, ...] = ()


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
class PreferBranch:
    """A person would have the run go on with the branch that ends here. It does not move; it stands here from now on, until
    another branch is worked on.
    """

    voice: Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePreferences:
    change: PreferenceChange


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """One action of an agent that steers the run."""

    action: Action
    by_person: bool = False
    voice: Voice = NOBODY


class AnswerMode(StrEnum):
    """How a question is settled: by what somebody chose, by its default in time, or since its condition is false."""

    OPTION = "option_id"
    AUTO_ADVANCE = "auto_advance"
    NOT_MET = "condition_not_met"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`request` names the question by its row, else `checkpoint_id` by its name; with neither the only one is meant.

    A person's answer comes with the digest of what they were shown.
    """

    mode: AnswerMode = AnswerMode.OPTION
    checkpoint_id: str = ""
    request: str = ""
    option_id: str = ""
    voice: Voice = NOBODY
    digest: str = ""

    @property
    def by_person(self) -> bool:
        return bool(self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterActivity:
    """Leave the activity at hand with what was done in it, and enter another. `manifest` tells what was done,
    `asks_on_entry` whether all questions of the new one are asked at once.
    """

    activity_id: str
    claim: str | None = None
    manifest: tuple[ManifestEntry, ...] | None = None
    outcomes: tuple[ActivityOutcome, ...] | None = None
    asks_on_entry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskQuestion:
    """A worker comes to a checkpoint of the activity that was handed over to it, and stops there."""

    checkpoint_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """The run waits for another one, which its activity triggered."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack:
    """The run that was waited for has ended; this one goes on with what that one leaves. `settled` of it is what answers set there."""

    run: str
    returned: Mapping[str, Any]
    settled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRun:
    """A person pauses the run or ends it."""

    kind: StopKind
    voice: Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """A person lets a paused run go on."""

    voice: Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class NewlyAsked:
    """A question that is asked at the new node, and the row that it gets."""

    request: UUID
    shown: Shown


Move = (
    Advance
    | Bookmark
    | PreferBranch
    | ChangePreferences
    | Steer
    | EnterActivity
    | AskQuestion
    | Answer
    | Suspend
    | TakeBack
    | StopRun
    | GoOn
)
Command = Start | Move


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
    # That a person has stopped the run, wherever in its tree this place is.
    stop: Stop | None = None
    # Ids for the nodes before the last, of a command that makes several.
    more_nodes: tuple[UUID, ...] = ()

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
    STOPPED = "stopped"
    RESUMED = "resumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What became of a question: the option, or None where a condition dismissed it."""

    question: OpenQuestion
    option: Option | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One node that is made, and where. `drafts` are in the order of the log; the outputs among them belong to the node that
    was acknowledged.

    `asked` are the questions that are asked at the new node, `closings` what became of those that were open before.
    `earlier` are the nodes that the same command made before this one, `told` what its reply is to say besides, `recorded` how
    many entries of a manifest were taken where the rest waits for a person.
    """

    place: Place
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
    earlier: tuple["Decision", ...] = ()
    told: tuple[str, ...] = ()
    settled: Settled | None = None
    recorded: int | None = None

    @property
    def nodes(self) -> tuple["Decision", ...]:
        return (*self.earlier, self)


def derive_id(label: str, *parts: bytes) -> UUID:
    """An id that the same facts always give."""
    return UUID(bytes=hashlib.sha256(b"\x00".join((label.encode(), *parts))).digest()[:16])
