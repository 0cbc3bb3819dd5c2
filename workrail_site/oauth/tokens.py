"""Where clients fetch, renew and revoke their tokens: the library's views, for the two grants that are taken here."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from oauth2_provider.views.base import RevokeTokenView, TokenView

from teams_app.engine.errors import RateLimitedError
from workrail_site import refusals, throttle
from workrail_site.sign_in import address_of

_GRANTS = frozenset({"authorization_code", "refresh_token"})
# The library keeps what it finds under names of its own on the request, where it keeps what was sent, too. So what is no
# parameter of these calls never reaches it; clients may send more, which is passed over.
_OF_TOKENS = frozenset(
    {"grant_type", "client_id", "code", "redirect_uri", "code_verifier", "refresh_token", "scope", "resource"}
)
_OF_REVOKING = frozenset({"client_id", "token", "token_type_hint"})
_token = TokenView.as_view()
_revoke = RevokeTokenView.as_view()


@csrf_exempt
@require_POST
def token(request: HttpRequest) -> HttpResponseBase:
    if request.POST.get("grant_type") not in _GRANTS:
        return JsonResponse({"error": "unsupported_grant_type"}, status=400)
    return _within_limits(_with(request, _OF_TOKENS), _token)


@csrf_exempt
@require_POST
def revoke(request: HttpRequest) -> HttpResponseBase:
    return _within_limits(_with(request, _OF_REVOKING), _revoke)


def _with(request: HttpRequest, names: frozenset[str]) -> HttpRequest:
    given = QueryDict(mutable=True)
    for name in names & request.POST.keys():
        given.setlist(name, request.POST.getlist(name))
    request.POST = given  # type: ignore[assignment]  # Django's property takes it
    return request


def _within_limits(request: HttpRequest, view: Callable[..., HttpResponse]) -> HttpResponseBase:
    limit = settings.THROTTLE_ACTOR_PER_MINUTE
    try:
        throttle.spend(bucket=f"tokens {address_of(request)}", limit=limit, now=timezone.now())
    except RateLimitedError as refusal:
        return refusals.problem_response(request=request, error=refusal)
    response = view(request)
    response["Cache-Control"] = "no-store"
    return response
