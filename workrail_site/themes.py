"""Light or dark, as each reader has chosen: a cookie, so that whoever has not signed in has it too."""

from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import Resolver404, resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme

_THEMES = frozenset({"light", "dark"})
_COOKIE = "workrail_theme"
# No page: what is only posted to.
_ONLY_SENT_TO = frozenset({"logout", "theme"})
_ONE_YEAR_S = 365 * 24 * 60 * 60


def theme_of(request: HttpRequest) -> str:
    chosen = request.COOKIES.get(_COOKIE, "")
    return chosen if chosen in _THEMES else ""


def shown_theme(request: HttpRequest) -> dict[str, str]:
    """For every template."""
    return {"theme": theme_of(request)}


def leads_to_a_page(address: str) -> bool:
    """Whether we serve anything there; an address that begins where the page stands that sends one there never does."""
    path = urlsplit(address).path
    if not path.startswith("/"):
        return False
    try:
        # What answers for all that nothing else does has no name.
        name = resolve(unquote(path)).url_name
    except Resolver404:
        return False
    return name is not None and name not in _ONLY_SENT_TO


def switch_theme(request: HttpRequest) -> HttpResponse:
    """Without a theme the page follows the system."""
    wanted = request.POST.get("theme", "")
    back = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(back, allowed_hosts=None) and leads_to_a_page(back)
    response = HttpResponseRedirect(back if is_ours else reverse("admin:index"))
    if wanted in _THEMES:
        response.set_cookie(_COOKIE, wanted, max_age=_ONE_YEAR_S, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)
    else:
        response.delete_cookie(_COOKIE)
    return response
