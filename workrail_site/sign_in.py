"""Signing in and out of the Studio: slowed down for whoever guesses, and told to the audit log."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone

from teams_app.admin.pages import find_actor
from teams_app.engine.actors import Door
from teams_app.engine.errors import RateLimitedError
from teams_app.engine.names import fold_username
from teams_app.selectors import find_invitation
from teams_app.services.passwords import is_password_of_account
from teams_app.services.row_scope import within_secret
from teams_app.services.sign_ins import record_refused_sign_in, record_sign_in, record_sign_out
from workrail_site import throttle
from workrail_site.parties import place_of
from workrail_site.refusals import refuse
from workrail_site.themes import leads_to_a_page

_SHOWN_CHARACTERS = 100


class SignIn(LoginView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        refusal = slow_down_guessing(request, account=request.POST.get("username", ""))
        return refusal or super().post(request, *args, **kwargs)

    def get_success_url(self) -> str:
        """Who asks for what is no page comes home."""
        asked = super().get_success_url()
        return asked if leads_to_a_page(asked) else self.get_default_redirect_url()

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        _tell_of_sign_in(self.request, person_id=form.get_user().pk)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        tell_of_refusal(self.request, account=self.request.POST.get("username", ""))
        return super().form_invalid(form)


def slowed_down(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """For pages on which a stranger who holds a link types a password: that of an account counts for its name, whatever the link."""

    @wraps(view)
    def run(request: HttpRequest, link: str) -> HttpResponseBase:
        if request.method != "POST":
            return view(request, link)
        name, before = _guessed_at(link) if request.POST.get("way") == "known" else "", request.user.pk
        answer = slow_down_guessing(request, account=name or link) or view(request, link)
        person_id = request.user.pk
        if person_id is not None and person_id != before:
            _tell_of_sign_in(request, person_id=person_id)
        if name and answer.status_code == HTTPStatus.BAD_REQUEST:
            tell_of_refusal(request, account=name)
        return answer

    return run


def own_slowed_down(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For the page on which somebody signed in proves their password once more: whoever has their browser may not guess either."""

    @wraps(view)
    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST" or not request.user.is_authenticated:
            return view(request, *args, **kwargs)
        name = request.user.get_username()
        refusal = slow_down_guessing(request, account=name)
        if refusal is not None:
            return refusal
        answer = view(request, *args, **kwargs)
        if answer.status_code == HTTPStatus.BAD_REQUEST and not _proves(request):
            tell_of_refusal(request, account=name)
        return answer

    return run


def _tell_of_sign_in(request: HttpRequest, *, person_id: UUID) -> None:
    record_sign_in(person_id=person_id, address=address_of(request), door=Door.STUDIO, now=timezone.now())


def _proves(request: HttpRequest) -> bool:
    return is_password_of_account(person_id=request.user.pk, password=request.POST.get("old_password", ""))


def _guessed_at(link: str) -> str:
    with within_secret(link):
        found = find_invitation(link=link, now=timezone.now())
    return "" if found is None else found.username


def within_limits(view: Callable[..., Any]) -> Callable[..., Any]:
    """For pages of those who have signed in: each counts for its person and team, as a call of REST does."""

    @wraps(view)
    def run(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        actor = find_actor(request)
        if actor is not None:
            try:
                throttle.spend_for(actor=actor, now=timezone.now())
            except RateLimitedError as refusal:
                return refuse(request=request, error=refusal)
        return view(request, *args, **kwargs)

    return run


def tell_of_sign_out(request: HttpRequest) -> None:
    if request.user.is_authenticated:
        record_sign_out(person_id=request.user.pk, address=address_of(request), door=Door.STUDIO, now=timezone.now())


def slow_down_guessing(request: HttpRequest, *, account: str) -> HttpResponse | None:
    """Neither many words for one account, nor many accounts from one place; and a stranger locks nobody out.

    The refusal, when there is one. Whichever way the name is written counts as the same name.
    """
    limit = settings.THROTTLE_SIGN_IN_PER_MINUTE
    name = fold_username(account)[:_SHOWN_CHARACTERS]
    place = place_asked_from(request)
    limits = {f"{name} {place}": limit, f"from {place}": 5 * limit, f"to {name}": 10 * limit}
    now = timezone.now()
    try:
        for bucket, most in limits.items():
            throttle.spend(bucket=f"sign-in {bucket}", limit=most, now=now)
    except RateLimitedError as refusal:
        return refuse(request=request, error=refusal)
    return None


def address_of(request: HttpRequest) -> str:
    """The last address is the one that our proxy saw; those before it are the client's to invent."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.BEHIND_PROXY else ""
    return (forwarded.rpartition(",")[2].strip() or str(request.META.get("REMOTE_ADDR", "")))[:_SHOWN_CHARACTERS]


def place_asked_from(request: HttpRequest) -> str:
    """What limits count for somebody who is not known."""
    return place_of(address_of(request))


def tell_of_refusal(request: HttpRequest, *, account: str) -> None:
    """Once a minute for a name, so that nobody fills a team's log by guessing."""
    name, now = fold_username(account), timezone.now()
    try:
        throttle.spend(bucket=f"told of refusal {name[:_SHOWN_CHARACTERS]}", limit=1, now=now)
    except RateLimitedError:
        return
    record_refused_sign_in(username=name, address=address_of(request), door=Door.STUDIO, now=now)
