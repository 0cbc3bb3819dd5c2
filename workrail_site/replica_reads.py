"""Pages of the Studio on a replica. Whoever has just changed something reads from the primary, so that they see it."""

import functools
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from teams_app.api.replica import ALIAS, read_lagging

View = Callable[..., HttpResponseBase]

_CHANGED = "workrail_changed"
# Longer than a replica that is well is behind.
_PRIMARY_SECONDS = 10


def read_page(view: View) -> View:
    """For a view behind the sign-in: who asks was found on the primary."""
    if ALIAS not in settings.DATABASES:
        return view

    @functools.wraps(view)
    def answer(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        if request.method not in {"GET", "HEAD"}:
            response = view(request, *arguments, **named)
            response.set_cookie(
                _CHANGED,
                "1",
                max_age=_PRIMARY_SECONDS,
                httponly=True,
                samesite="Lax",
                secure=settings.SESSION_COOKIE_SECURE,
            )
            return response
        if _CHANGED in request.COOKIES:
            return view(request, *arguments, **named)
        return read_lagging(_rendered, view, request, *arguments, **named)

    return answer


def _rendered(view: View, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
    """A template may ask for rows as well, and is drawn before the connection is the primary's again."""
    response = view(request, *arguments, **named)
    render = getattr(response, "render", None)
    return render() if callable(render) and not getattr(response, "is_rendered", True) else response
