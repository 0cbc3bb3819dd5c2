"""The log: a closed set of events, sealed one after the other. The canonical bytes are what is stored and what is hashed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
import orjson

from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine import canonical

ENVELOPE_VERSION = 1
GENESIS = "sha256:" + "0" * 64
MAX_DEDUPE_CHARACTERS = 256


class EventKind(StrEnum):
    SESSION_CREATED = "session_created"
    OBSERVATION_RECORDED = "observation_recorded"
    RUN_STARTED = "run_started"
    NODE_CREATED = "node_created"
    EDGE_CREATED = "edge_created"
    ADVANCE_RECORDED = "advance_recorded"
    VALIDATION_PERFORMED = "validation_performed"
    NODE_OUTPUT_APPENDED = "node_output_appended"
    ASSESSMENT_RECORDED = "assessment_recorded"
    ASSESSMENT_CONSEQUENCE_APPLIED = "assessment_consequence_applied"
    PREFERENCES_CHANGED = "preferences_changed"
    CAPABILITY_OBSERVED = "capability_observed"
    GAP_RECORDED = "gap_recorded"
    CONTEXT_SET = "context_set"
    DIVERGENCE_RECORDED = "divergence_recorded"
    DECISION_TRACE_APPENDED = "decision_trace_appended"
    CHECKPOINT_PRESENTED = "checkpoint_presented"
    CHECKPOINT_ANSWERED = "checkpoint_answered"
    ACTIVITY_ENTERED = "activity_entered"
    RUN_COMPLETED = "run_completed"
    RUN_STOPPED = "run_stopped"
    RUN_RESUMED = "run_resumed"
    BRANCH_PREFERRED = "branch_preferred"
    NAME_GIVEN = "name_given"
    HANDLE_ISSUED = "session_token_issued"


class NodeKind(StrEnum):
    STEP = "step"
    BOOKMARK = "checkpoint"
    BLOCKED_ATTEMPT = "blocked_attempt"
    GATE = "gate_checkpoint"


class EdgeKind(StrEnum):
    ACKED_STEP = "acked_step"
    BOOKMARK = "checkpoint"


class EdgeCause(StrEnum):
    TIP_ADVANCE = "tip_advance"
    NON_TIP_ADVANCE = "non_tip_advance"
    CHECKPOINT_CREATED = "checkpoint_created"


class EventDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An event before it has a place in the log. `dedupe` names what it says, never when or under which event id."""

    kind: EventKind
    dedupe: str
    data: Mapping[str, Any]
    run_id: UUID | None = None
    node_id: UUID | None = None


class Event(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    event_id: UUID
    kind: EventKind
    dedupe: str
    body: bytes
    digest: str
    run_id: UUID | None = None
    node_id: UUID | None = None


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session's log ends: the index of the next event and the digest of the last one. `doubts` are what its seal, where that
    does not hold, leaves of itself to whoever goes on from there.
    """

    next_index: int = 0
    digest: str = GENESIS
    doubts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    events: tuple[Event, ...]
    head: Head


def seal(
    *, drafts: Sequence[EventDraft], session_id: UUID, head: Head, event_ids: Sequence[UUID], timestamp_ms: int
) -> Sealed:
    """Give each draft its index and chain it to its predecessor."""
    events: list[Event] = []
    names = _Names(session_id)
    for draft, event_id in zip(drafts, event_ids, strict=True):
        body = canonical.canonical_bytes(_envelope(draft, names, head, event_id, timestamp_ms))
        event = Event(
            index=head.next_index,
            event_id=event_id,
            kind=draft.kind,
            dedupe=draft.dedupe,
            body=body,
            digest=canonical.digest(body),
            run_id=draft.run_id,
            node_id=draft.node_id,
        )
        events.append(event)
        head = Head(next_index=head.next_index + 1, digest=event.digest, doubts=head.doubts)
    return Sealed(events=tuple(events), head=head)


class _Names:
    """Ids as the log writes them. The events of one call speak of few runs and nodes, and each is written once."""

    def __init__(self, session_id: UUID) -> None:
        self.session = to_text(Prefix.SESSION, session_id)
        self._known: dict[UUID, str] = {}

    def name(self, prefix: Prefix, value: UUID) -> str:
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = to_text(prefix, value)
        return known


def _envelope(draft: EventDraft, names: _Names, head: Head, event_id: UUID, timestamp_ms: int) -> dict[str, Any]:
    envelope: dict[str, Any] = {
        "v": ENVELOPE_VERSION,
        "eventId": to_text(Prefix.EVENT, event_id),
        "eventIndex": head.next_index,
        "sessionId": names.session,
        "kind": draft.kind.value,
        "dedupeKey": draft.dedupe,
        "data": draft.data,
        "timestampMs": timestamp_ms,
        "previousDigest": head.digest,
    }
    scope = {}
    if draft.run_id is not None:
        scope["runId"] = names.name(Prefix.RUN, draft.run_id)
    if draft.node_id is not None:
        scope["nodeId"] = names.name(Prefix.NODE, draft.node_id)
    if scope:
        envelope["scope"] = scope
    return envelope


class HealthReason(StrEnum):
    DIGEST_MISMATCH = "digest_mismatch"
    BROKEN_CHAIN = "broken_chain"
    NON_CONTIGUOUS_INDICES = "non_contiguous_indices"
    UNKNOWN_SCHEMA_VERSION = "unknown_schema_version"
    UNREADABLE = "unreadable"
    HEAD_MISMATCH = "head_mismatch"
    SAID_TWICE = "said_twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFault:
    index: int
    reason: HealthReason
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event as the table holds it, for checking. Rows of earlier releases name it beside the bytes that they took it from."""

    index: int
    body: bytes
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVerification:
    faults: tuple[LogFault, ...] = field(default=())
    head: Head = field(default_factory=Head)


def verify_chain(events: Iterable[StoredEvent]) -> ChainVerification:
    """Walk a session's events in order; every fault is told, the walk goes on after each."""
    faults: list[LogFault] = []
    head = Head()
    said: set[str] = set()
    for event in events:
        faults.extend(_faults(event, head, said))
        head = Head(next_index=event.index + 1, digest=event.digest)
    return ChainVerification(faults=tuple(faults), head=head)


def _faults(event: StoredEvent, head: Head, said: set[str]) -> list[LogFault]:
    found: list[LogFault] = []

    def fault(reason: HealthReason, message: str) -> None:
        found.append(LogFault(index=event.index, reason=reason, message=message))

    if event.index != head.next_index:
        fault(HealthReason.NON_CONTIGUOUS_INDICES, f"Event {event.index} stands where {head.next_index} is expected.")
    if canonical.digest(event.body) != event.digest:
        fault(
            HealthReason.DIGEST_MISMATCH, f"The bytes of event {event.index} do not have the digest stored with them."
        )
    try:
        envelope = orjson.loads(event.body)
    except orjson.JSONDecodeError:
        fault(HealthReason.UNREADABLE, f"The bytes of event {event.index} are not JSON.")
        return found
    if envelope.get("v") != ENVELOPE_VERSION:
        fault(HealthReason.UNKNOWN_SCHEMA_VERSION, f"Event {event.index} is of version {envelope.get('v')!r}.")
    if envelope.get("previousDigest") != head.digest:
        fault(HealthReason.BROKEN_CHAIN, f"Event {event.index} does not follow the event before it.")
    if envelope.get("eventIndex") != event.index:
        fault(HealthReason.DIGEST_MISMATCH, f"Event {event.index} says of itself that it is another one.")
    if envelope.get("dedupeKey") in said:
        fault(HealthReason.SAID_TWICE, f"Event {event.index} says again what was said.")
    said.add(str(envelope.get("dedupeKey")))
    return found
