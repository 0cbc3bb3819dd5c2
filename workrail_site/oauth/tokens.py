"""Where clients fetch, renew and revoke their tokens: the library's views, for the two grants that are taken here."""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from oauth2_provider.views.base import RevokeTokenView, TokenView

from teams_app.engine.errors import RateLimitedError
from workrail_site import refusals, throttle
from workrail_site.sign_in import place_asked_from

_GRANTS = frozenset({"authorization_code", "refresh_token"})
# The library keeps what it finds under names of its own on the request, where it keeps what was sent, too. So what is no
# parameter of these calls never reaches it; clients may send more, which is passed over.
_OF_TOKENS = frozenset(
    {"grant_type", "client_id", "code", "redirect_uri", "code_verifier", "refresh_token", "scope", "resource"}
)
_OF_REVOKING = frozenset({"client_id", "token", "token_type_hint"})
# RFC 8707 lets this one come more than once. Then it is refused as a target, since a token is for one.
_REPEATED = "resource"
_token = TokenView.as_view()
_revoke = RevokeTokenView.as_view()


@csrf_exempt
@require_POST
def token(request: HttpRequest) -> HttpResponseBase:
    return _answered(request, _OF_TOKENS, _fetch)


@csrf_exempt
@require_POST
def revoke(request: HttpRequest) -> HttpResponseBase:
    return _answered(request, _OF_REVOKING, _revoke)


def _fetch(request: HttpRequest) -> HttpResponse:
    grant = request.POST.get("grant_type")
    if grant and grant not in _GRANTS:
        return _refused("unsupported_grant_type", f"Clients bring one of: {', '.join(sorted(_GRANTS))}.")
    return _token(request) if grant else _refused("invalid_request", "grant_type is missing.")


def _answered(request: HttpRequest, names: frozenset[str], view: Callable[..., HttpResponse]) -> HttpResponseBase:
    limit = settings.THROTTLE_ACTOR_PER_MINUTE
    try:
        throttle.spend(bucket=f"tokens {place_asked_from(request)}", limit=limit, now=timezone.now())
    except RateLimitedError as refusal:
        return refusals.problem_response(request=request, error=refusal)
    # All clients are public, and say who they are in the form: a header that proves it would prove nothing.
    request.META.pop("HTTP_AUTHORIZATION", None)
    given = _given(request, names)
    if given is None:
        return _refused("invalid_request", "Send a form, with each name once and without NUL.")
    request.POST = given  # type: ignore[assignment]  # Django's property takes it
    response = view(request)
    response["Cache-Control"] = "no-store"
    if response.content:
        # Some refusals of the library repeat what was sent, and leave the type to Django: a browser would read them as a page.
        response["Content-Type"] = "application/json"
    return response


def _given(request: HttpRequest, names: frozenset[str]) -> QueryDict | None:
    """What is read of the form; None when it cannot be read, or could be read in two ways."""
    try:
        sent = {name: request.POST.getlist(name) for name in names & request.POST.keys()}
    except (BadRequest, MultiPartParserError, SuspiciousOperation):
        return None
    given = QueryDict(mutable=True)
    for name, values in sent.items():
        if any("\x00" in value for value in values) or (len(values) > 1 and name != _REPEATED):
            return None
        given.setlist(name, values)
    return given


def _refused(error: str, why: str) -> HttpResponse:
    told = {"error": error, "error_description": why}
    return JsonResponse(told, status=400, headers={"Cache-Control": "no-store"})
