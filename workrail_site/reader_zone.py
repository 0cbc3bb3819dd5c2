"""Pages of the Studio tell times in the zone of whoever reads them. Their browser names it in a cookie; else it is UTC."""

import re
from collections.abc import Callable
from functools import lru_cache
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

COOKIE = "workrail_zone"
_STUDIO = "/studio/"
_NAME = re.compile(r"[A-Z][\w+-]{0,30}(/[\w+-]{1,30}){0,2}", re.ASCII)


class ReaderZone:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path.startswith(_STUDIO):
            return self._get_response(request)
        with timezone.override(zone_named(request.COOKIES.get(COOKIE, ""))):
            return self._get_response(request)


@lru_cache(maxsize=256)
def zone_named(name: str) -> ZoneInfo | None:
    """None for what is no zone: a cookie may hold anything."""
    if not _NAME.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None
