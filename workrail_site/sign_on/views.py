"""Signing in by the provider: there, back, and, once, the link to an account that is here already."""

from typing import Any

import structlog
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user_model, login
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from teams_app.engine.actors import Door
from teams_app.engine.errors import RateLimitedError, WorkrailError
from teams_app.engine.names import USERNAME_CHARACTERS
from teams_app.services.sign_on import link_account
from workrail_site import throttle
from workrail_site.refusals import refuse
from workrail_site.sign_in import place_asked_from, slow_down_guessing, tell_of_refusal
from workrail_site.sign_on.backend import LINKS, PENDING, enter, read_kept, setting_of
from workrail_site.sign_on.provider import ProviderDownError
from workrail_site.themes import leads_to_a_page

log = structlog.get_logger(__name__)

# That a session began at the provider, so that its end offers the end there too.
BY_PROVIDER = "workrail_signed_on"
_BACKEND = "workrail_site.sign_on.backend.ProviderBackend"
_TO_LINK_SECONDS = 10 * 60


class Begin(OIDCAuthenticationRequestView):  # type: ignore[misc]  # the library has no types
    get_settings = staticmethod(setting_of)

    def get(self, request: HttpRequest) -> HttpResponseBase:
        request.session.pop(PENDING, None)
        request.session[LINKS] = "link" in request.GET
        answer: HttpResponseBase = super().get(request)
        return answer


class Back(OIDCAuthenticationCallbackView):  # type: ignore[misc]  # as above
    get_settings = staticmethod(setting_of)

    @property
    def success_url(self) -> str:
        """Who asked for what is no page comes home."""
        asked = str(super().success_url)
        return asked if leads_to_a_page(asked) else reverse("admin:index")

    def login_success(self) -> HttpResponseBase:
        answer: HttpResponseBase = super().login_success()
        self.request.session[BY_PROVIDER] = True
        return answer

    def login_failure(self) -> HttpResponseBase:
        if PENDING in self.request.session:
            return HttpResponseRedirect(reverse("admin:sign_on_link"))
        return _not_signed_in(self.request, "You were not signed in.")


class LinkForm(forms.Form):
    username = forms.CharField(
        label="Login name",
        max_length=USERNAME_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = forms.CharField(
        strip=False, max_length=1024, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


@never_cache
def begin(request: HttpRequest) -> HttpResponseBase:
    return _slowed(request) or _tried(request, Begin)


@never_cache
def back(request: HttpRequest) -> HttpResponseBase:
    if "error" in request.GET:
        # The library would sign out whoever is signed in here, and anybody can send them to this address.
        return _not_signed_in(request, f"{settings.OIDC_NAME} did not sign you in.")
    return _slowed(request) or _tried(request, Back)


@never_cache
@csrf_protect
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def link(request: HttpRequest) -> HttpResponseBase:
    """For whom the provider vouches, and who is nobody here: an account is linked by its password, and by nothing else."""
    found = request.session.get(PENDING)
    if found is None or timezone.now().timestamp() - found["at"] > _TO_LINK_SECONDS:
        return _not_signed_in(request, "Sign in by the provider first.")
    form = LinkForm(request.POST or None)
    if request.method == "POST":
        refusal = slow_down_guessing(request, account=request.POST.get("username", ""))
        if refusal is not None:
            return refusal
        if form.is_valid():
            if _link(request, form, found):
                return HttpResponseRedirect(reverse("admin:index"))
            tell_of_refusal(request, account=form.cleaned_data["username"])
    shown = {"title": "Link your account", "form": form, "provider": settings.OIDC_NAME, "who": found["username"]}
    return render(request, "studio/sign_on_link.html", shown, status=400 if form.errors else 200)


def _link(request: HttpRequest, form: LinkForm, found: dict[str, Any]) -> bool:
    identity, given = read_kept(found), form.cleaned_data
    try:
        link_account(
            identity=identity,
            username=given["username"],
            password=given["password"],
            door=Door.STUDIO,
            now=timezone.now(),
        )
        person_id = enter(request, identity)
    except WorkrailError as refusal:
        form.add_error(None, " ".join(filter(None, [refusal.message, refusal.suggestion])))
        return False
    del request.session[PENDING]
    login(request, get_user_model().objects.get(pk=person_id), backend=_BACKEND)
    request.session[BY_PROVIDER] = True
    messages.success(request, f"From now on {settings.OIDC_NAME} signs you in to this account.")
    return True


def _tried(request: HttpRequest, view: type[Any]) -> HttpResponseBase:
    try:
        answer: HttpResponseBase = view.as_view()(request)
    except ProviderDownError as error:
        log.warning("sign_on_provider_down", error=str(error))
        return _not_signed_in(request, f"{settings.OIDC_NAME} does not answer as it should. Try again in a moment.")
    except SuspiciousOperation as error:
        log.warning("sign_on_refused", error=str(error))
        return _not_signed_in(request, "The sign-on was not accepted. Begin again on this page.")
    except WorkrailError as refusal:
        return _not_signed_in(request, refusal.message)
    return answer


def _slowed(request: HttpRequest) -> HttpResponse | None:
    limit = 5 * settings.THROTTLE_SIGN_IN_PER_MINUTE
    try:
        throttle.spend(bucket=f"sign-on from {place_asked_from(request)}", limit=limit, now=timezone.now())
    except RateLimitedError as refusal:
        return refuse(request=request, error=refusal)
    return None


def _not_signed_in(request: HttpRequest, why: str) -> HttpResponse:
    messages.error(request, why)
    return HttpResponseRedirect(reverse("admin:login"))
