"""The engine's state at a node. Everything that decides the future is in it, so a fork sees nothing of its siblings."""

from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from msgspec.structs import replace

from sessions_app.engine.runs import Drive, StopKind
from sessions_app.engine.tokens import SessionNotHealthyError
from teams_app.engine.ids import birth_ms
from workflows_app.engine import canonical
from workflows_app.engine.program import Autonomy, Capability, RiskPolicy
from workflows_app.engine.walks import Position

SNAPSHOT_VERSION = 1
MAX_BLOCKERS = 10
MAX_MESSAGE_BYTES = 512
MAX_FIX_BYTES = 1024


class _State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    pass


class Preferences(_State, frozen=True, kw_only=True):
    """`waived_by` is the person who had the run never stop: only then does it not wait for people either."""

    autonomy: Autonomy = Autonomy.GUIDED
    risk_policy: RiskPolicy = RiskPolicy.CONSERVATIVE
    waived_by: str = ""

    @property
    def waives_people(self) -> bool:
        return self.autonomy is Autonomy.NEVER_STOP and bool(self.waived_by)

    def as_json(self) -> dict[str, str]:
        said = {"autonomy": self.autonomy.value, "riskPolicy": self.risk_policy.value}
        return {**said, "waivedBy": self.waived_by} if self.waived_by else said


class CapabilityStatus(StrEnum):
    UNKNOWN = "unknown"
    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"


class CapabilityProvenance(StrEnum):
    """A probe or an attempt is strong evidence, a claim is weak."""

    PROBE_STEP = "probe_step"
    ATTEMPTED_USE = "attempted_use"
    MANUAL_CLAIM = "manual_claim"


class CapabilityObservation(_State, frozen=True, kw_only=True):
    status: CapabilityStatus
    provenance: CapabilityProvenance


class BlockerCode(StrEnum):
    USER_ONLY_DEPENDENCY = "USER_ONLY_DEPENDENCY"
    MISSING_REQUIRED_OUTPUT = "MISSING_REQUIRED_OUTPUT"
    INVALID_REQUIRED_OUTPUT = "INVALID_REQUIRED_OUTPUT"
    MISSING_REQUIRED_NOTES = "MISSING_REQUIRED_NOTES"
    MISSING_CONTEXT_KEY = "MISSING_CONTEXT_KEY"
    CONTEXT_BUDGET_EXCEEDED = "CONTEXT_BUDGET_EXCEEDED"
    ASSESSMENT_FOLLOWUP_REQUIRED = "ASSESSMENT_FOLLOWUP_REQUIRED"
    REQUIRED_CAPABILITY_UNKNOWN = "REQUIRED_CAPABILITY_UNKNOWN"
    REQUIRED_CAPABILITY_UNAVAILABLE = "REQUIRED_CAPABILITY_UNAVAILABLE"
    INVARIANT_VIOLATION = "INVARIANT_VIOLATION"
    STORAGE_CORRUPTION_DETECTED = "STORAGE_CORRUPTION_DETECTED"


class PointerKind(StrEnum):
    CONTEXT_KEY = "context_key"
    CONTEXT_BUDGET = "context_budget"
    OUTPUT_CONTRACT = "output_contract"
    CAPABILITY = "capability"
    WORKFLOW_STEP = "workflow_step"
    ASSESSMENT_DIMENSION = "assessment_dimension"


_POINTER_FIELDS: dict[PointerKind, tuple[tuple[str, str], ...]] = {
    PointerKind.CONTEXT_KEY: (("key", "name"),),
    PointerKind.CONTEXT_BUDGET: (),
    PointerKind.OUTPUT_CONTRACT: (("contractRef", "name"),),
    PointerKind.CAPABILITY: (("capability", "name"),),
    PointerKind.WORKFLOW_STEP: (("stepId", "name"),),
    PointerKind.ASSESSMENT_DIMENSION: (("assessmentId", "name"), ("dimensionId", "part")),
}


class Pointer(_State, frozen=True, kw_only=True):
    """Where to look: `name` is the key, contract, capability, step or assessment, `part` the dimension."""

    kind: PointerKind
    name: str = ""
    part: str = ""

    def as_json(self) -> dict[str, str]:
        return {"kind": self.kind.value, **{key: getattr(self, field) for key, field in _POINTER_FIELDS[self.kind]}}


class Blocker(_State, frozen=True, kw_only=True):
    code: BlockerCode
    pointer: Pointer
    message: str
    suggested_fix: str = ""

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "code": self.code.value,
            "pointer": self.pointer.as_json(),
            "message": self.message,
        }
        if self.suggested_fix:
            body["suggestedFix"] = self.suggested_fix
        return body


class HandedIn(_State, frozen=True, kw_only=True):
    """An output of a blocked attempt: an artifact by its kind, or the notes, which have none."""

    output: str
    artifact_kind: str = ""


class Blocked(_State, frozen=True, kw_only=True):
    """Why a node is a blocked attempt, and whether handing in something better from it can succeed."""

    retryable: bool
    blockers: tuple[Blocker, ...]
    issues: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    followup: str = ""
    # What the blocked attempts handed in and no later one replaced; that of a retry supersedes it.
    outputs: tuple[HandedIn, ...] = ()


class OpenQuestion(_State, frozen=True, kw_only=True):
    """A question that the run waits for. `request` names its row: of a run that is led, by the node at which it was asked.
    `is_owed` says that its condition held when its turn came, so that none dismisses it.
    """

    checkpoint: str
    instance: str
    request: str
    digest: str
    presented_ms: int
    human: bool = False
    is_owed: bool = False


class Answered(_State, frozen=True, kw_only=True):
    """What a signed-in person answered just before this node."""

    checkpoint: str
    option: str
    label: str
    reason: str = ""
    # Of work that was sent back: what it was, and its digest. What is handed in after it supersedes it.
    outputs: tuple[HandedIn, ...] = ()
    content: str = ""

    def as_json(self) -> dict[str, str]:
        body = {"checkpointId": self.checkpoint, "optionId": self.option, "label": self.label, "authority": "human"}
        return {**body, "reason": self.reason} if self.reason else body


class Stop(_State, frozen=True, kw_only=True):
    """A person has stopped the run, and why."""

    kind: StopKind
    by: str
    reason: str = ""

    def as_json(self) -> dict[str, str]:
        return {"kind": self.kind.value, "reason": self.reason, "by": self.by}


class Work(_State, frozen=True, kw_only=True):
    """What was handed in for a step that waits for a person's approval. `content` is its digest, `decisions` what it said
    of the loops around it: all that the walk needs once it is approved.
    """

    content: str
    decisions: tuple[dict[str, Any], ...] = ()


class Snapshot(_State, frozen=True, kw_only=True):
    position: Position
    v: int = SNAPSHOT_VERSION
    drive: Drive = Drive.LED
    variables: dict[str, Any] = msgspec.field(default_factory=dict)
    preferences: Preferences = msgspec.field(default_factory=Preferences)
    capabilities: dict[Capability, CapabilityObservation] = msgspec.field(default_factory=dict)
    blocked: Blocked | None = None
    consecutive_blocks: int = 0
    # Of those blocks, the ones before somebody last looked at the run and changed its mode.
    forgiven_blocks: int = 0
    # More than one only in a run that is handed over.
    questions: tuple[OpenQuestion, ...] = ()
    answered: Answered | None = None
    # Of activities that are handed over whole: what was answered in this visit (nothing where a condition dismissed the
    # question), where a chosen option leads, and since when the activity is at work.
    answers: dict[str, str] = msgspec.field(default_factory=dict)
    led_to: str = ""
    entered_ms: int = 0
    # The runs that this one waits for, and how many have given back what they leave in its variables.
    waits_for: tuple[str, ...] = ()
    returned: int = 0
    stop: Stop | None = None
    # Handed in and complete but for the approval of a person.
    work: Work | None = None
    # Variables that answers have set: an agent does not overwrite them before the transition that reads them.
    settled: tuple[str, ...] = ()
    # Variables that agents have set though the options of people's questions set them, and nothing else in the workflow.
    claimed: tuple[str, ...] = ()

    @property
    def requests(self) -> tuple[str, ...]:
        """The questions that are open here, by the hex of their rows."""
        return tuple(question.request for question in self.questions)

    @property
    def asked(self) -> OpenQuestion | None:
        """The one question of a run that goes step by step."""
        return self.questions[0] if self.questions and not self.is_handed_over else None

    def question_named(self, checkpoint_id: str) -> OpenQuestion | None:
        return next((question for question in self.questions if question.checkpoint == checkpoint_id), None)

    @property
    def is_handed_over(self) -> bool:
        """Whether the run's activities are handed over whole: by session tokens, not by those of nodes."""
        return self.drive is Drive.HANDED_OVER

    @property
    def handed_in(self) -> tuple[HandedIn, ...]:
        """What stands of earlier attempts at the pending step."""
        if self.blocked is not None:
            return self.blocked.outputs
        return self.answered.outputs if self.answered is not None else ()

    @property
    def was_sent_back(self) -> bool:
        """Whether a person has sent back what was handed in for the pending step."""
        return self.answered is not None and bool(self.answered.content)

    @property
    def awaits_retry(self) -> bool:
        """Whether work for the pending item was handed in and stopped: it is done before all else, whatever was said with it."""
        return self.blocked is not None or self.was_sent_back

    @property
    def is_complete(self) -> bool:
        return self.position.complete and self.blocked is None


def is_same_work(before: Snapshot, after: Snapshot) -> bool:
    """Whether nothing but changes of preferences and triggered runs lie between the two: the same work is pending.

    The variables may differ where a triggered run has given some back.
    """
    given = before if after.returned == before.returned else after
    return after == replace(
        before,
        preferences=after.preferences,
        forgiven_blocks=after.forgiven_blocks,
        waits_for=after.waits_for,
        returned=after.returned,
        stop=after.stop,
        variables=given.variables,
        settled=given.settled,
        claimed=given.claimed,
    )


_DECODER = msgspec.json.Decoder(Snapshot)


def snapshot_bytes(snapshot: Snapshot) -> bytes:
    return canonical.canonical_bytes(msgspec.to_builtins(snapshot))


def snapshot_from_bytes(data: bytes) -> Snapshot:
    try:
        snapshot = _DECODER.decode(data)
    except msgspec.ValidationError:
        snapshot = _of_an_earlier_version(data)
    if snapshot.drive is Drive.LED and (snapshot.entered_ms > 0 or not snapshot.position.activity):
        # Before the drive was written down, it was told by these.
        return replace(snapshot, drive=Drive.HANDED_OVER)
    return snapshot


def sound_snapshot(*, data: bytes, digest: str) -> Snapshot:
    """As it is stored: named by the digest of its bytes. Refuses bytes that are gone or are not those that were written."""
    return snapshot_from_bytes(sound_bytes(data=data, digest=digest))


def sound_bytes(*, data: bytes, digest: str) -> bytes:
    if canonical.digest(data) != digest:
        raise SessionNotHealthyError(
            "What is stored of this step is not what was written.",
            suggestion="Tell the operators of the server: `./workrail verify_store` shows what is damaged.",
            details={"health": "digest_mismatch"},
        )
    return data


def _of_an_earlier_version(data: bytes) -> Snapshot:
    """One question of a run that goes step by step once stood in a field of its own, and an approval in the answer."""
    body: dict[str, Any] = msgspec.json.decode(data)
    asked = body.pop("asked", None)
    if asked is not None:
        question = {
            "checkpoint": body["position"].get("pending_item", ""),
            "instance": body["position"].get("pending", ""),
            "request": asked["node"],
            "digest": asked["digest"],
            "presented_ms": birth_ms(UUID(hex=asked["node"])),
        }
        body["questions"] = [question, *body.get("questions", ())]
    if "answered" in body:
        body["answered"].pop("approves", None)
    return msgspec.convert(body, Snapshot)
