"""THE table: what each code of the house is over HTTP and over MCP, and whether trying again may help.

A code without a row, a row without a code and two errors with one code are each a failed test.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from teams_app.engine.errors import (
    NOT_RETRYABLE,
    RETRY_NOW,
    InvalidInputError,
    Retry,
    RetryKind,
    WorkrailError,
    retry_after,
)
from workrail_site.bodies import LEAST_BYTES_PER_SECOND
from workrail_site.dialects.tokens import name_token
from workrail_site.json_rpc import RpcCode

PROBLEM_JSON = "application/problem+json"


class McpForm(StrEnum):
    """A protocol error breaks the call; a tool error is a result that the model reads and can act on."""

    TOOL_ERROR = "tool_error"
    PROTOCOL_ERROR = "protocol_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRow:
    title: str
    status: int
    mcp: McpForm = McpForm.TOOL_ERROR
    json_rpc: RpcCode = RpcCode.SERVER
    retry: Retry = NOT_RETRYABLE


class PayloadTooLargeError(WorkrailError):
    """The body is longer than the door reads."""

    code = "PAYLOAD_TOO_LARGE"


class RequestTooSlowError(WorkrailError):
    """The body did not arrive in the time that a body of its length may take."""

    code = "REQUEST_TOO_SLOW"
    default_retry = retry_after(ms=1_000)


class UnsupportedMediaTypeError(WorkrailError):
    """The body is not of a type that the door reads."""

    code = "UNSUPPORTED_MEDIA_TYPE"


class NotAcceptableError(WorkrailError):
    """The client takes no answer of the kind that the door gives."""

    code = "NOT_ACCEPTABLE"


class MethodNotAllowedError(WorkrailError):
    """The address exists and does not take this method."""

    code = "METHOD_NOT_ALLOWED"


class CsrfFailedError(WorkrailError):
    """A request signed in by cookie did not prove that it comes from our own page."""

    code = "CSRF_FAILED"


class ServiceUnavailableError(WorkrailError):
    """A server that the request needs does not answer."""

    code = "SERVICE_UNAVAILABLE"
    default_retry = retry_after(ms=2_000)


class InternalError(WorkrailError):
    """A defect of ours. What happened is in the log under the id of the request, and nowhere else."""

    code = "INTERNAL_ERROR"
    default_retry = RETRY_NOW


ERRORS: dict[str, ErrorRow] = {
    "VALIDATION_ERROR": ErrorRow(title="The request is not valid", status=400, json_rpc=RpcCode.INVALID_PARAMS),
    "UNAUTHENTICATED": ErrorRow(title="Nobody is signed in", status=401, mcp=McpForm.PROTOCOL_ERROR),
    "KEY_REVOKED": ErrorRow(title="The key was revoked", status=401, mcp=McpForm.PROTOCOL_ERROR),
    "KEY_EXPIRED": ErrorRow(title="The key has expired", status=401, mcp=McpForm.PROTOCOL_ERROR),
    "FORBIDDEN": ErrorRow(title="Not permitted", status=403),
    "CSRF_FAILED": ErrorRow(title="The CSRF token is missing or wrong", status=403, mcp=McpForm.PROTOCOL_ERROR),
    "NOT_FOUND": ErrorRow(title="No such thing", status=404),
    "METHOD_NOT_ALLOWED": ErrorRow(
        title="The method is not allowed here",
        status=405,
        mcp=McpForm.PROTOCOL_ERROR,
        json_rpc=RpcCode.METHOD_NOT_FOUND,
    ),
    "NOT_ACCEPTABLE": ErrorRow(
        title="No answer of that kind is given here",
        status=406,
        mcp=McpForm.PROTOCOL_ERROR,
        json_rpc=RpcCode.INVALID_REQUEST,
    ),
    # A token that cannot be read is a request that cannot; one of another team is the same as one of no row.
    "TOKEN_INVALID_FORMAT": ErrorRow(title="This is no token", status=400),
    "TOKEN_UNSUPPORTED_VERSION": ErrorRow(title="The token is of a version that is not read here", status=400),
    "TOKEN_BAD_SIGNATURE": ErrorRow(title="The token was not made here", status=400),
    "TOKEN_UNKNOWN_NODE": ErrorRow(title="The token leads nowhere", status=404),
    "TOKEN_SCOPE_MISMATCH": ErrorRow(title="These tokens do not belong together", status=409),
    "TOKEN_SESSION_LOCKED": ErrorRow(
        title="Another call writes to the session",
        status=423,
        retry=retry_after(ms=1_000),
    ),
    "CHECKPOINT_STALE": ErrorRow(title="The question has changed", status=409),
    "CHECKPOINT_ANSWERED": ErrorRow(title="The checkpoint is answered", status=409),
    "CHECKPOINT_CLAIMED": ErrorRow(title="Somebody else has claimed the checkpoint", status=409),
    "CHECKPOINT_TOO_EARLY": ErrorRow(
        title="The answer came too early",
        status=409,
        retry=retry_after(ms=3_000),
    ),
    "HUMAN_REQUIRED": ErrorRow(title="Only a signed-in person may do this", status=403),
    "SESSION_NOT_HEALTHY": ErrorRow(title="The session's log does not verify", status=409),
    # Sessions as files.
    "BUNDLE_INVALID_FORMAT": ErrorRow(title="This is no bundle", status=400),
    "BUNDLE_UNSUPPORTED_VERSION": ErrorRow(title="The bundle is of a version that is not read here", status=400),
    "BUNDLE_INTEGRITY_FAILED": ErrorRow(title="The bundle is not what was written", status=400),
    "BUNDLE_SIGNATURE_INVALID": ErrorRow(title="The signature is not of this bundle", status=400),
    "BUNDLE_UNTRUSTED_SIGNER": ErrorRow(title="The signer of the bundle is not trusted here", status=403),
    "BUNDLE_TOO_LARGE": ErrorRow(title="The bundle is too large", status=413),
    "BUNDLE_MISSING_SNAPSHOT": ErrorRow(title="The bundle lacks a snapshot", status=400),
    "BUNDLE_MISSING_PINNED_WORKFLOW": ErrorRow(title="The bundle lacks a program", status=400),
    "BUNDLE_EVENT_ORDER_INVALID": ErrorRow(title="The events of the bundle are no chain", status=400),
    "BUNDLE_MANIFEST_ORDER_INVALID": ErrorRow(title="The manifest is not that of the bundle", status=400),
    "BUNDLE_CONTENT_INVALID": ErrorRow(title="The bundle tells what cannot be", status=400),
    # Actions by hand that the landscape does not offer; the navigation dialect answers them with the unchanged state.
    "ACTIVITY_NOT_FOUND": ErrorRow(title="The workflow has no such activity", status=409),
    "CHECKPOINT_BLOCKING": ErrorRow(title="A person must answer first", status=409),
    "STEP_NOT_FOUND": ErrorRow(title="No such step is at hand", status=409),
    "STEP_ALREADY_COMPLETE": ErrorRow(title="The step is complete already", status=409),
    "CHECKPOINT_NOT_FOUND": ErrorRow(title="The activity has no such checkpoint", status=409),
    "CHECKPOINT_ALREADY_RESPONDED": ErrorRow(title="The checkpoint waits for no answer", status=409),
    # Runs whose activities are handed over whole.
    "CHECKPOINT_OPEN": ErrorRow(title="A question waits for its answer", status=409),
    "CHECKPOINT_NOT_PENDING": ErrorRow(title="The checkpoint is not pending", status=409),
    "CHECKPOINT_MODE_INVALID": ErrorRow(title="A checkpoint is resolved in exactly one way", status=400),
    "CHECKPOINT_NOT_AUTOMATIC": ErrorRow(title="The checkpoint does not answer itself", status=409),
    "CHECKPOINT_CONDITION_HOLDS": ErrorRow(title="The checkpoint has to be answered", status=409),
    "RUN_SUSPENDED": ErrorRow(title="The run waits for another one", status=409),
    "STEP_NOT_DONE": ErrorRow(title="The step lacks something that it asks for", status=409),
    "RUN_PAUSED": ErrorRow(title="A person has paused the run", status=409, retry=retry_after(ms=60_000)),
    "RUN_ENDED": ErrorRow(title="A person has ended the run", status=409),
    "ACTIVITY_REQUIRED": ErrorRow(title="No activity was entered", status=409),
    "OPTION_NOT_FOUND": ErrorRow(title="The checkpoint has no such option", status=409),
    "ACTIVITY_NOT_COMPLETE": ErrorRow(title="The activity is not complete", status=409),
    "TARGET_ACTIVITY_NOT_FOUND": ErrorRow(title="The workflow has no such target", status=409),
    "INVALID_TRANSITION": ErrorRow(title="No transition leads there now", status=409),
    "LOOP_NOT_FOUND": ErrorRow(title="No such loop is at hand", status=409),
    "LOOP_ITEMS_REQUIRED": ErrorRow(title="The loop does not know its items", status=409),
    "LOOP_EXHAUSTED": ErrorRow(title="The loop has had all its rounds", status=409),
    "ROUND_NOT_COMPLETE": ErrorRow(title="A round of the loop is under way", status=409),
    "RUN_COMPLETE": ErrorRow(title="The run is complete", status=409),
    "TEAM_REQUIRED": ErrorRow(title="Name a team", status=409),
    "PRECONDITION_FAILED": ErrorRow(title="The state does not allow it", status=409),
    "REPRESENTATION_CHANGED": ErrorRow(title="It has changed since it was read", status=412),
    "REQUEST_TOO_SLOW": ErrorRow(
        title="The request did not arrive in time",
        status=408,
        mcp=McpForm.PROTOCOL_ERROR,
        json_rpc=RpcCode.INVALID_REQUEST,
        retry=retry_after(ms=1_000),
    ),
    "IDEMPOTENCY_KEY_REUSED": ErrorRow(title="The key names another request", status=422),
    "REQUEST_UNSETTLED": ErrorRow(
        title="The request is under way, or broke off",
        status=409,
        retry=retry_after(ms=1_000),
    ),
    "PAYLOAD_TOO_LARGE": ErrorRow(
        title="The request is too large",
        status=413,
        mcp=McpForm.PROTOCOL_ERROR,
        json_rpc=RpcCode.INVALID_REQUEST,
    ),
    "UNSUPPORTED_MEDIA_TYPE": ErrorRow(
        title="The content type is not read here",
        status=415,
        mcp=McpForm.PROTOCOL_ERROR,
        json_rpc=RpcCode.INVALID_REQUEST,
    ),
    "RATE_LIMITED": ErrorRow(
        title="Too many requests",
        status=429,
        mcp=McpForm.PROTOCOL_ERROR,
        retry=retry_after(ms=60_000),
    ),
    "STORAGE_FULL": ErrorRow(title="The team has stored all that it may", status=409),
    "INTERNAL_ERROR": ErrorRow(
        title="An error of ours",
        status=500,
        json_rpc=RpcCode.INTERNAL,
        retry=RETRY_NOW,
    ),
    "SERVICE_UNAVAILABLE": ErrorRow(
        title="A server that this needs does not answer",
        status=503,
        retry=retry_after(ms=2_000),
    ),
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The body of every refusal by REST: RFC 9457, and the code, retry and details of the house."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retry: dict[str, Any]
    instance: str
    request_id: str
    details: dict[str, Any] | None = None


def problem_of(*, error: WorkrailError, instance: str, request_id: str) -> Problem:
    row = ERRORS[error.code]
    envelope = name_token(error, dialect="rail").as_json()
    return Problem(
        type=f"urn:workrail:error:{error.code}",
        title=row.title,
        status=row.status,
        detail=error.message,
        code=error.code,
        retry=envelope["retry"],
        instance=instance,
        request_id=request_id,
        details=envelope.get("details"),
    )


def too_large(*, limit_bytes: int, suggestion: str = "Send less, or in parts.") -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"The body is longer than {limit_bytes} bytes.",
        suggestion=suggestion,
        details={"maxBytes": limit_bytes},
    )


def too_many(*, count: int, of: str, suggestion: str) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"A form has at most {count} {of}, and this one more.", suggestion=suggestion, details={"maxCount": count}
    )


def broken_off() -> InvalidInputError:
    return InvalidInputError(
        "The body broke off before its end, or its chunks are none.",
        suggestion="Send the whole body, as its length or its chunks say.",
    )


def too_slow() -> RequestTooSlowError:
    return RequestTooSlowError(
        f"The body came more slowly than {LEAST_BYTES_PER_SECOND // 1024} KiB in a second.",
        suggestion="Send the whole request at once, over a connection that carries it.",
    )


def retry_after_seconds(error: WorkrailError) -> int | None:
    """For the header Retry-After, rounded up."""
    if error.retry.kind is not RetryKind.AFTER_MS or error.retry.after_ms is None:
        return None
    return -(-error.retry.after_ms // 1000)


def all_errors(base: type[WorkrailError] = WorkrailError) -> Iterator[type[WorkrailError]]:
    """Every class of refusal that is imported, however deep."""
    for kind in base.__subclasses__():
        yield kind
        yield from all_errors(kind)
