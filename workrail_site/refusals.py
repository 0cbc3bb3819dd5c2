"""Refusals over HTTP: problem+json for programs, a plain page for people."""

from typing import Any

import msgspec
import psycopg
import structlog
from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import DatabaseError, DataError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.utils.module_loading import import_string

from sessions_app.engine.tokens import TokenSessionLockedError
from teams_app.admin.pages import find_actor, own_teams_of
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError, RateLimitedError, WorkrailError
from teams_app.engine.redaction import may_hold_keys, told_without_keys
from workrail_site.errors import (
    ERRORS,
    PROBLEM_JSON,
    CsrfFailedError,
    InternalError,
    MethodNotAllowedError,
    ServiceUnavailableError,
    problem_of,
    retry_after_seconds,
    too_large,
    too_many,
)
from workrail_site.refusal_page import STUDIO, draw_refusal

log = structlog.get_logger(__name__)

_UNAUTHORIZED = 401
_OF_OURS = 500
_IN_PARTS = (
    "Nothing was saved. Go back to what you typed, and send less at once; a large workflow is imported as a zip."
)
_SESSIONS = '"sessions_app_worksession"'
# Found when it is needed: its pages refuse, too.
_SITE = "workrail_site.studio.studio"
_PROGRAMS_LIVE_AT = (
    *("/api/", "/mcp", "/healthz", "/readyz", "/metrics"),
    *("/.well-known/", "/oauth/mcp", "/oauth/token", "/oauth/revoke", "/oauth/register"),
)


def problem_response(*, request: HttpRequest, error: WorkrailError) -> HttpResponse:
    problem = problem_of(error=error, instance=request.path, request_id=current_request_id())
    body = msgspec.json.encode(problem)
    if may_hold_keys(body.decode()):
        # An address, or what it asks for, that was told back.
        body = msgspec.json.encode(told_without_keys(msgspec.json.decode(body)))
    response = HttpResponse(body, content_type=PROBLEM_JSON, status=problem.status)
    response["Cache-Control"] = "no-store"
    seconds = retry_after_seconds(error)
    if seconds is not None:
        response["Retry-After"] = str(seconds)
    if problem.status == _UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Bearer realm="workrail"'
    return response


def current_request_id() -> str:
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def internal_error() -> InternalError:
    return InternalError(
        "Something went wrong on our side; it is in the log.",
        suggestion="Try once more. If it fails again, tell the people who run this server the request id.",
    )


def database_refusal(error: Exception) -> WorkrailError | None:
    """What to say when Postgres did not do what it was asked; None when that is not what happened."""
    if isinstance(error, DataError | psycopg.DataError):
        log.error("value_out_of_range", exc_info=error)
        return InvalidInputError(
            "A value is beyond what can be stored.",
            suggestion="Send ordinary numbers and moments: years 1 to 9998, for one.",
        )
    cause = error.__cause__ if isinstance(error, DatabaseError) else error
    if isinstance(cause, psycopg.errors.QueryCanceled):
        log.error("query_cancelled", exc_info=error)
        return ServiceUnavailableError(
            "The database took too long for this.", suggestion="Ask for less, or try again in a moment."
        )
    if isinstance(cause, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
        return _held(cause)
    if isinstance(cause, psycopg.errors.DiskFull):
        log.error("disk_full", reason=str(cause).split("\n")[0])
        return ServiceUnavailableError(
            "The server has no room left on its disk; nothing was recorded.",
            suggestion="Tell the people who run this server; the same call is good again when there is room.",
        )
    if isinstance(error, OperationalError | InterfaceError | psycopg.OperationalError | psycopg.InterfaceError):
        log.error("database_unavailable", exc_info=error)
        return ServiceUnavailableError("The database does not answer.", suggestion="Try again in a moment.")
    return None


def _held(cause: psycopg.Error) -> WorkrailError:
    """Somebody else changes the same: it is Postgres that says of which table."""
    log.warning("row_held", context=cause.diag.context)
    if _SESSIONS in (cause.diag.context or ""):
        return TokenSessionLockedError(
            "Another call is writing to this session.", suggestion="Wait a second and repeat the same call."
        )
    return ServiceUnavailableError(
        "Somebody else is changing the same; nothing was recorded.", suggestion="Try again in a moment."
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refuse(request=request, error=_said_of_form(request, exception))


def _said_of_form(request: HttpRequest, exception: Exception) -> WorkrailError:
    """What Django does not read of a form, and why; the rest is no HTTP."""
    if isinstance(exception, RequestDataTooBig):
        more = {"suggestion": _IN_PARTS} if request.path.startswith(STUDIO) else {}
        return too_large(limit_bytes=settings.DATA_UPLOAD_MAX_MEMORY_SIZE, **more)
    if isinstance(exception, TooManyFieldsSent):
        return too_many(count=settings.DATA_UPLOAD_MAX_NUMBER_FIELDS, of="fields", suggestion="Fill in fewer at once.")
    if isinstance(exception, TooManyFilesSent):
        return too_many(count=settings.DATA_UPLOAD_MAX_NUMBER_FILES, of="files", suggestion="Pack them as a zip.")
    return InvalidInputError(
        "The request is not valid HTTP for this server.",
        suggestion="Check the host name and the form of the request.",
    )


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django's signature
    return refuse(
        request=request,
        error=ForbiddenError("You may not do this.", suggestion="Ask an owner of your team for a role that may."),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django's signature
    team = _team_of_reader(request)
    if team:
        error = NotFoundError(
            f"Nothing of the team {team} is at this address.",
            suggestion="It may be of another team: change the team at the top. Or it is gone.",
        )
        return refuse(request=request, error=error)
    return refuse(
        request=request,
        error=NotFoundError(
            "There is nothing at this address.",
            suggestion="Check how it is written, or begin at Home. What programs may ask is at /api/v1/schema.",
        ),
    )


def _team_of_reader(request: HttpRequest) -> str:
    """Of whoever is signed in to the Studio; nobody else is told of any team."""
    if not request.path.startswith(STUDIO) or not hasattr(request, "user"):
        return ""
    actor = find_actor(request)
    return next((team.name for team in own_teams_of(request) if actor and team.id == actor.team_id), "")


def server_error(request: HttpRequest) -> HttpResponse:
    return refuse(request=request, error=internal_error())


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  Django's signature
    return refuse(
        request=request,
        error=CsrfFailedError(
            "The form could not be proved to be ours: it was open too long, or you have signed in again since. Nothing was changed.",
            suggestion="Load the page again and repeat.",
        ),
    )


def said_of_method(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """What Django refuses without a word is a refusal like any other."""
    if not isinstance(response, HttpResponseNotAllowed):
        return response
    error = MethodNotAllowedError(
        "This address takes only what a form sends.",
        suggestion="Go back to where you came from.",
    )
    refusal = refuse(request=request, error=error)
    refusal["Allow"] = response["Allow"]
    return refusal


def refuse(*, request: HttpRequest, error: WorkrailError) -> HttpResponse:
    """problem+json where programs live, a page elsewhere."""
    if request.path.startswith(_PROGRAMS_LIVE_AT):
        return problem_response(request=request, error=error)
    page = draw_refusal(request=request, error=error, request_id=current_request_id(), shell=_shell_for(request, error))
    response = HttpResponse(page, status=ERRORS[error.code].status)
    seconds = retry_after_seconds(error)
    if seconds is not None:
        response["Retry-After"] = str(seconds)
    return response


def _shell_for(request: HttpRequest, error: WorkrailError) -> dict[str, Any] | None:
    """For who is signed in, and not where it would ask more of the database for whoever asks too often, or of one that is away."""
    if ERRORS[error.code].status >= _OF_OURS or isinstance(error, RateLimitedError):
        return None
    if not request.path.startswith(STUDIO) or not hasattr(request, "user") or find_actor(request) is None:
        return None
    shell: dict[str, Any] = import_string(_SITE).each_context(request)
    return shell
