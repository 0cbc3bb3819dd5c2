"""The page of a refusal for people: what happened, what to do, and one way on. It asks nothing of the database."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.template.loader import render_to_string

from teams_app.engine.errors import RetryKind, WorkrailError
from workrail_site.errors import ERRORS, retry_after_seconds
from workrail_site.themes import theme_of

STUDIO = "/studio/"
_SAFE = frozenset({"GET", "HEAD"})
# What the table says to programs, said to people.
_TITLES = {
    "VALIDATION_ERROR": "That cannot be read",
    "FORBIDDEN": "You may not do this",
    "NOT_FOUND": "Nothing is here",
    "CSRF_FAILED": "This form is out of date",
    "METHOD_NOT_ALLOWED": "This is no page",
    "PAYLOAD_TOO_LARGE": "That is too long",
    "RATE_LIMITED": "Too much at once",
    "INTERNAL_ERROR": "Something went wrong",
    "SERVICE_UNAVAILABLE": "Workrail cannot answer now",
}


def draw_refusal(
    *, request: HttpRequest, error: WorkrailError, request_id: str, shell: Mapping[str, Any] | None = None
) -> str:
    """Within `shell`, what the Studio shows around each page, or alone: then nothing is read that the request leads to."""
    shown = {**_shown(error, request_id), **_way_on(request, error)}
    if shell is not None:
        # What was done before is told by the next page that is shown.
        return render_to_string("refusal.html", {**shell, **shown, "messages": ()}, request=request)
    return render_to_string("refusal.html", {**shown, "theme": theme_of(request)})


def draw_early_refusal(*, error: WorkrailError, request_id: str) -> str:
    return render_to_string("refusal.html", _shown(error, request_id))


def _shown(error: WorkrailError, request_id: str) -> dict[str, Any]:
    return {
        "title": _TITLES.get(error.code, ERRORS[error.code].title),
        "site_title": "Workrail Studio",
        "error": error,
        "seconds": retry_after_seconds(error),
        "request_id": request_id,
    }


def _way_on(request: HttpRequest, error: WorkrailError) -> dict[str, str]:
    """What was only read may be read again; what was sent leads back to where it was filled in."""
    if request.method in _SAFE:
        may_help = request.path.startswith(STUDIO) and error.retry.kind is not RetryKind.NOT_RETRYABLE
        return {"way": request.get_full_path(), "way_label": "Try again"} if may_help else {}
    came = urlsplit(request.META.get("HTTP_REFERER", ""))
    here = request.META.get("HTTP_HOST", request.META.get("SERVER_NAME"))
    if came.netloc != here or not came.path.startswith(STUDIO):
        return {}
    return {"way": f"{came.path}?{came.query}" if came.query else came.path, "way_label": "Back to the page"}
