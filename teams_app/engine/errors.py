"""What every refusal in the house looks like: a code, a message that names the next move, and data.

Which HTTP status or MCP form a code takes is the business of `workrail_site.errors`, never of the code that refuses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar


class RetryKind(StrEnum):
    NOT_RETRYABLE = "not_retryable"
    IMMEDIATE = "retryable_immediate"
    AFTER_MS = "retryable_after_ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    kind: RetryKind = RetryKind.NOT_RETRYABLE
    after_ms: int | None = None

    def as_json(self) -> dict[str, Any]:
        if self.kind is RetryKind.AFTER_MS:
            return {"kind": self.kind.value, "afterMs": self.after_ms}
        return {"kind": self.kind.value}


NOT_RETRYABLE = Retry()
RETRY_NOW = Retry(kind=RetryKind.IMMEDIATE)


def retry_after(*, ms: int) -> Retry:
    return Retry(kind=RetryKind.AFTER_MS, after_ms=ms)


class WorkrailError(Exception):
    """A refusal. Subclasses fix the code; each code has exactly one row in `workrail_site.errors`."""

    code: ClassVar[str]
    default_retry: ClassVar[Retry] = NOT_RETRYABLE

    def __init__(
        self,
        message: str,
        *,
        suggestion: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry: Retry | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion
        self.details: dict[str, Any] = dict(details or {})
        self.retry = retry or self.default_retry

    def as_json(self) -> dict[str, Any]:
        """The envelope of the contracts; the suggestion travels in the details, where clients look for it."""
        details = dict(self.details)
        if self.suggestion is not None:
            details["suggestion"] = self.suggestion
        body: dict[str, Any] = {"code": self.code, "message": self.message, "retry": self.retry.as_json()}
        if details:
            body["details"] = details
        return body


class InvalidInputError(WorkrailError):
    """The request does not have the shape that the door documents."""

    code = "VALIDATION_ERROR"


class NotFoundError(WorkrailError):
    """No such row for this actor's team; another team's row is the same as none."""

    code = "NOT_FOUND"


class PreconditionFailedError(WorkrailError):
    """The request is well formed and does not fit the state that it meets."""

    code = "PRECONDITION_FAILED"


class RepresentationChangedError(WorkrailError):
    """What the caller has seen of it, by If-Match or by the part that they go on from, is not how it stands."""

    code = "REPRESENTATION_CHANGED"


class RequestKeyReusedError(WorkrailError):
    """The key names a request that asked for something else."""

    code = "IDEMPOTENCY_KEY_REUSED"


class RequestUnsettledError(WorkrailError):
    """The key names a request of which nobody knows yet, or any more, what it came to."""

    code = "REQUEST_UNSETTLED"
    default_retry = retry_after(ms=1_000)


class ForbiddenError(WorkrailError):
    """The actor is known and lacks the role or the scope."""

    code = "FORBIDDEN"


class HumanRequiredError(WorkrailError):
    """Only a signed-in person does this; no key has the right, whatever its scopes, nor a token unless the team says so."""

    code = "HUMAN_REQUIRED"


class UnauthenticatedError(WorkrailError):
    """Nobody is named by the request, or nobody that is known."""

    code = "UNAUTHENTICATED"


class KeyRevokedError(WorkrailError):
    """The key was right once, and somebody of its team has revoked it."""

    code = "KEY_REVOKED"


class KeyExpiredError(WorkrailError):
    """The key was right until the time that it was issued for."""

    code = "KEY_EXPIRED"


class TeamRequiredError(WorkrailError):
    """The person is in several teams and has not said for which one this is."""

    code = "TEAM_REQUIRED"


class RateLimitedError(WorkrailError):
    """The key or its team has asked too often."""

    code = "RATE_LIMITED"
    default_retry = retry_after(ms=60_000)


class StorageFullError(WorkrailError):
    """The team has stored all that it may."""

    code = "STORAGE_FULL"
