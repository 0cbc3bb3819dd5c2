"""Small closed sets and values about runs that tables, services and replies share."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from uuid import UUID

# Lists are indexed by windows of activity and sorted by its moment within them: most calls then change no index.
ACTIVITY_WINDOW = timedelta(minutes=10)
_FIRST_WINDOW = datetime(2000, 1, 1, tzinfo=UTC)


def window_of(at: datetime) -> datetime:
    """The beginning of the window in which that falls, as Postgres keeps it."""
    return at - (at - _FIRST_WINDOW) % ACTIVITY_WINDOW


class Dialect(StrEnum):
    RAIL = "rail"
    LOOKUP = "lookup"
    NAVIGATION = "navigation"
    SESSION = "session"
    ORCHESTRATOR = "orchestrator"


class Drive(StrEnum):
    """Who finds the next step: the server leads, the agent steers, or whole activities are handed over to it."""

    LED = "led"
    STEERED = "steered"
    HANDED_OVER = "handed_over"


DRIVES = {
    Dialect.RAIL: Drive.LED,
    Dialect.LOOKUP: Drive.LED,
    Dialect.NAVIGATION: Drive.STEERED,
    Dialect.SESSION: Drive.HANDED_OVER,
    Dialect.ORCHESTRATOR: Drive.HANDED_OVER,
}


class StopKind(StrEnum):
    """How a person stops a run: for a while, for good, or by refusing what it asked approval for."""

    PAUSED = "paused"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


class RunStatus(StrEnum):
    """Waiting: a question is open. Paused, cancelled and rejected are named as the stop that made them."""

    IN_PROGRESS = "in_progress"
    WAITING = "waiting"
    BLOCKED = "blocked"
    PAUSED = "paused"
    COMPLETE = "complete"
    COMPLETE_WITH_GAPS = "complete_with_gaps"
    REJECTED = "rejected"
    CANCELLED = "cancelled"


COMPLETE = frozenset({RunStatus.COMPLETE, RunStatus.COMPLETE_WITH_GAPS})
ENDED = COMPLETE | {RunStatus.REJECTED, RunStatus.CANCELLED}
STOPPED = frozenset({RunStatus.PAUSED, RunStatus.REJECTED, RunStatus.CANCELLED})


def status_of(
    *, stop: StopKind | None, has_questions: bool, is_blocked: bool, is_complete: bool, has_gaps: bool
) -> RunStatus:
    """What a run is called that stands at such a node. `has_gaps` tells of critical ones that stand."""
    if stop is not None:
        return RunStatus(stop.value)
    if has_questions:
        return RunStatus.WAITING
    if is_blocked:
        return RunStatus.BLOCKED
    if not is_complete:
        return RunStatus.IN_PROGRESS
    return RunStatus.COMPLETE_WITH_GAPS if has_gaps else RunStatus.COMPLETE


class AttemptKind(StrEnum):
    ACK = "ack"
    BOOKMARK = "checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What an attempt was answered, and what was kept of it: channels and bodies of what was handed in."""

    reply: bytes
    reply_template: int
    keys_generation: int
    to_node_id: UUID
    kept: tuple[tuple[str, str], ...] = ()


class OutputChannel(StrEnum):
    RECAP = "recap"
    ARTIFACT = "artifact"


class ObservationKey(StrEnum):
    GIT_BRANCH = "git_branch"
    GIT_HEAD_SHA = "git_head_sha"
    REPOSITORY = "repository"
    TICKET = "ticket"


class NextIntent(StrEnum):
    PERFORM_PENDING_THEN_CONTINUE = "perform_pending_then_continue"
    AWAIT_USER_CONFIRMATION = "await_user_confirmation"
    REHYDRATE_ONLY = "rehydrate_only"
    COMPLETE = "complete"
