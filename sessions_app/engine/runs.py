"""Small closed sets about runs that tables, services and replies share."""

from enum import StrEnum


class Dialect(StrEnum):
    RAIL = "rail"
    LOOKUP = "lookup"
    NAVIGATION = "navigation"
    SESSION = "session"
    ORCHESTRATOR = "orchestrator"


class RunStatus(StrEnum):
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    COMPLETE = "complete"
    COMPLETE_WITH_GAPS = "complete_with_gaps"


COMPLETE = frozenset({RunStatus.COMPLETE, RunStatus.COMPLETE_WITH_GAPS})


class AttemptKind(StrEnum):
    ACK = "ack"
    CHECKPOINT = "checkpoint"


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
