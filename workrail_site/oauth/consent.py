"""The page on which a person lets a client act: who it says it is, where the answer goes, in which team, and what it may do.

GET changes nothing. The address of the form is the client's own request, which is read anew with each POST.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from uuid import UUID

from django import forms
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.models import get_application_model
from oauth2_provider.views.mixins import OAuthLibMixin
from oauthlib.oauth2.rfc6749 import errors

from teams_app import selectors
from teams_app.admin import words
from teams_app.admin.pages import find_actor, own_teams_of
from teams_app.engine.actors import USUAL_SCOPES, Actor, Door, Scope, scopes_within
from teams_app.engine.errors import InvalidInputError, WorkrailError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.services.connections import Client, connect_client
from teams_app.services.row_scope import enter_scope_of
from workrail_site.errors import PayloadTooLargeError
from workrail_site.oauth import addresses, redirects
from workrail_site.oauth.documents import base_of_request
from workrail_site.refusals import refuse
from workrail_site.sign_in import within_limits

_SCHEMES = ["https", "http", *redirects.EDITORS]
# What a client asks is read many times over on its way, by patterns; what is asked in earnest has a few hundred bytes.
MOST_ASKED_BYTES = 8 * 1024
# A SHA-256 in base64url: whatever else is sent, no verifier leads to it.
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class _Asked:
    """What the client asks for, as far as it is in order."""

    def __init__(self, request: HttpRequest) -> None:
        scopes, self.credentials = OAuthLibMixin.get_oauthlib_core().validate_authorization_request(request)
        self.redirect_uri: str = self.credentials["redirect_uri"]
        self.client: Any = get_application_model().objects.get(client_id=self.credentials["client_id"])
        self.scopes = [scope for scope in Scope if scope.value in scopes] or list(USUAL_SCOPES)
        self.resource = self._resource(request)
        if self.credentials.get("code_challenge_method") != "S256":
            raise self._refusal(errors.InvalidRequestError(description="Only the PKCE method S256 is taken."))
        if not _CHALLENGE.fullmatch(self.credentials.get("code_challenge") or ""):
            raise self._refusal(
                errors.InvalidRequestError(description="The code_challenge is no digest of a verifier.")
            )

    def _resource(self, request: HttpRequest) -> str:
        named = request.GET.getlist("resource")
        if len(named) != 1 or not addresses.is_resource(base=base_of_request(request), resource=named[0]):
            error = errors.CustomOAuth2Error(error="invalid_target", description="Name the address of one MCP server.")
            raise self._refusal(error)
        return named[0]

    def _refusal(self, error: errors.OAuth2Error) -> OAuthToolkitError:
        error.state = self.credentials.get("state")
        return OAuthToolkitError(error=error, redirect_uri=self.redirect_uri)


class ConsentForm(forms.Form):
    team = forms.ChoiceField(widget=forms.RadioSelect)
    may = forms.MultipleChoiceField(label="It may", widget=forms.CheckboxSelectMultiple)

    def __init__(self, asked: _Asked, teams: list[tuple[str, str]], **more: Any) -> None:
        super().__init__(**more)
        self.fields["team"].choices = teams  # type: ignore[attr-defined]  # of a field of choices
        if len(teams) == 1:
            self.fields["team"].widget = forms.HiddenInput()
        self.fields["may"].choices = [  # type: ignore[attr-defined]  # as above
            (scope.value, "{}: {}".format(*words.SCOPES[scope])) for scope in asked.scopes
        ]


def _of_bounded_length(view: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Judged before anything reads it."""

    @wraps(view)
    def run(request: HttpRequest) -> HttpResponseBase:
        if max(len(request.META.get("QUERY_STRING", "")), len(request.body)) <= MOST_ASKED_BYTES:
            return view(request)
        error = PayloadTooLargeError(
            f"The program that sent you here asks with more than {MOST_ASKED_BYTES} bytes.",
            suggestion="Begin again in that program. If it fails again, tell those who make it.",
            details={"maxBytes": MOST_ASKED_BYTES},
        )
        return refuse(request=request, error=error)

    return run


@never_cache
@_of_bounded_length
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
@within_limits
def authorize(request: HttpRequest) -> HttpResponseBase:
    actor = find_actor(request)
    if actor is None:
        return redirect_to_login(request.get_full_path(), reverse("admin:login"))
    try:
        asked = _Asked(request)
    except FatalClientError as error:
        return refuse(request=request, error=_unknown(error))
    except OAuthToolkitError as error:
        # Anybody can register a site: whoever has agreed to nothing yet is not sent to one by a link of ours.
        if redirects.is_of_a_site(_goes_to(error)):
            return refuse(request=request, error=_unknown(error))
        return _send_back(request, error)
    form = _form(request, asked, actor)
    if request.method != "POST":
        return _page(request, asked, form, actor)
    if request.POST.get("answer") != "allow":
        return _send_back(request, asked._refusal(errors.AccessDeniedError()))  # noqa: SLF001  of this module
    return _connect(request, asked, form) if form.is_valid() else _page(request, asked, form, actor)


def _connect(request: HttpRequest, asked: _Asked, form: ConsentForm) -> HttpResponseBase:
    client = Client(
        client_id=asked.client.client_id,
        name=asked.client.name,
        goes_to=redirects.place_of(asked.redirect_uri),
        resource=asked.resource,
    )
    scopes = frozenset(Scope(value) for value in form.cleaned_data["may"])
    try:
        actor = selectors.person_actor(
            person_id=UUID(str(request.user.pk)),
            team_id=from_text(Prefix.TEAM, form.cleaned_data["team"]),
            door=Door.STUDIO,
        )
        # Of all their teams the one that they chose here.
        enter_scope_of(actor)
        key_id = connect_client(actor=actor, client=client, scopes=scopes, now=timezone.now())
    except WorkrailError as refusal:
        form.add_error(None, " ".join(filter(None, [refusal.message, refusal.suggestion])))
        return _page(request, asked, form, find_actor(request))
    given = {**asked.credentials, "nonce": str(key_id), "resource": [asked.resource]}
    granted = [scope.value for scope in Scope if scope in scopes & scopes_within_of(actor)]
    try:
        uri, _headers, _body, _status = OAuthLibMixin.get_oauthlib_core().create_authorization_response(
            request, scopes=granted, credentials=given, allow=True
        )
    except OAuthToolkitError as error:
        return _send_back(request, error)
    return _redirect(uri, request)


def scopes_within_of(actor: Actor) -> frozenset[Scope]:
    return frozenset() if actor.role is None else scopes_within(actor.role)


def _form(request: HttpRequest, asked: _Asked, actor: Actor) -> ConsentForm:
    teams = [(to_text(Prefix.TEAM, team.id), team.name) for team in own_teams_of(request)]
    usual = [scope.value for scope in asked.scopes if scope in USUAL_SCOPES]
    initial = {"team": to_text(Prefix.TEAM, actor.team_id), "may": usual}
    return ConsentForm(asked, teams, data=request.POST if request.method == "POST" else None, initial=initial)


def _page(request: HttpRequest, asked: _Asked, form: ConsentForm, actor: Actor | None) -> HttpResponse:
    teams = own_teams_of(request)
    shown = {
        "title": "Connect a client",
        "client": asked.client.name or "A client without a name",
        "document": asked.client.client_id if asked.client.client_id.startswith("https://") else "",
        "place": redirects.place_of(asked.redirect_uri),
        "resource": asked.resource,
        "person": actor.name if actor else "",
        "team_of_one": teams[0].name if len(teams) == 1 else "",
        "form": form,
    }
    response = render(request, "oauth/consent.html", shown, status=400 if form.errors else 200)
    # Browsers hold a policy of forms to where the answer leads, too: for this page, to this client's own address.
    response.__dict__["_csp_update"] = {"form-action": [redirects.source_of(asked.redirect_uri)]}
    return response


def _send_back(request: HttpRequest, error: OAuthToolkitError) -> HttpResponseBase:
    """To the client, whose address was checked before."""
    return _redirect(error.oauthlib_error.in_uri(_goes_to(error)), request)


def _goes_to(error: OAuthToolkitError) -> str:
    return str(error.oauthlib_error.redirect_uri or error.redirect_uri)


def _redirect(uri: str, request: HttpRequest) -> HttpResponse:
    answer: HttpResponse = OAuth2ResponseRedirect(_signed(uri, request), _SCHEMES)
    return answer


def _signed(uri: str, request: HttpRequest) -> str:
    """With the issuer (RFC 9207), by which a client sees that the answer is from the server that it asked."""
    parts = urlsplit(uri)
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "iss"]
    issuer = addresses.issuer_of(base=base_of_request(request))
    return urlunsplit(parts._replace(query=urlencode([*query, ("iss", issuer)])))


def _unknown(error: OAuthToolkitError) -> WorkrailError:
    why = error.oauthlib_error.description or error.oauthlib_error.error
    return InvalidInputError(
        f"The program that sent you here cannot be connected: {why}",
        suggestion="Begin again in that program. If it fails again, tell those who make it.",
    )
