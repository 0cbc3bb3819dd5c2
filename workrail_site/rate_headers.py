"""What is left of the limits of whoever asks, on every answer of REST: RateLimit-Policy and RateLimit, as the IETF drafts them."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from teams_app.engine.actors import Actor, ActorKind
from workrail_site import throttle
from workrail_site.wsgi_in_asgi import ACTOR

POLICY, STANDING = "RateLimit-Policy", "RateLimit"
_PATH = "/api/"
_TOO_MANY = 429
_WINDOW_SECONDS = 60


class RateLimitHeaders:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if request.path.startswith(_PATH):
            _tell(request, response)
        return response


def _tell(request: HttpRequest, response: HttpResponseBase) -> None:
    if response.status_code == _TOO_MANY:
        response[POLICY] = _policies()
        # Which of the limits it was, the words of the refusal tell; all that is known here is when to come back.
        response[STANDING] = f'"{throttle.CALLER}";r=0;t={response.get("Retry-After", str(_WINDOW_SECONDS))}'
        return
    actor = request.META.get(ACTOR)
    if not isinstance(actor, Actor) or actor.kind is ActorKind.SYSTEM:
        return
    allowed = throttle.allowances_of(actor=actor, now=timezone.now())
    if allowed:
        response[POLICY] = ", ".join(f'"{each.name}";q={each.limit};w={_WINDOW_SECONDS}' for each in allowed)
        response[STANDING] = ", ".join(f'"{each.name}";r={each.left};t={each.ends_in_seconds}' for each in allowed)


def _policies() -> str:
    limits = ((throttle.CALLER, settings.THROTTLE_ACTOR_PER_MINUTE), (throttle.TEAM, settings.THROTTLE_TEAM_PER_MINUTE))
    return ", ".join(f'"{name}";q={limit};w={_WINDOW_SECONDS}' for name, limit in limits if limit)
