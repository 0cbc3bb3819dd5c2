"""Pages on which a person sets a password: an invitation, a forgotten one, their own. A link acts only on POST."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model, login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from teams_app import selectors
from teams_app.admin.pages import Act, Done, Order, attempt, choose_team
from teams_app.engine.actors import Door, Permission
from teams_app.engine.passwords import in_one_form
from teams_app.engine.values import InvitationValue
from teams_app.services import invitations, passwords, resets
from teams_app.services.row_scope import within_secret


class _Opened(TypedDict):
    """What all ways to use a link are told."""

    link: str
    door: Door
    now: datetime


# Of nobody: a stranger proves nothing by being signed in.
NOBODY = UUID(int=0)
_BACKEND = "django.contrib.auth.backends.ModelBackend"
_RULES = "At least 12 characters, and not your login name."


def _password(label: str, kind: str, help_text: str = "") -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": kind})
    return forms.CharField(label=label, strip=False, max_length=1024, widget=widget, help_text=help_text)


class KnownForm(forms.Form):
    password = _password("Your password", "current-password")


class NewForm(forms.Form):
    new_password = _password("New password", "new-password", _RULES)
    again = _password("The same again", "new-password")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if {"new_password", "again"} <= given.keys() and in_one_form(given["new_password"]) != in_one_form(
            given["again"]
        ):
            self.add_error("again", "The two are not the same.")
        return given


class OwnForm(NewForm):
    old_password = _password("The password that you have", "current-password")
    field_order = ("old_password", "new_password", "again")


@never_cache
@csrf_protect
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, link: str) -> HttpResponse:
    """Three ways to accept: signed in already, with the password of an account, with a new account."""
    with within_secret(link):
        found = selectors.find_invitation(link=link, now=timezone.now())
    if found is None:
        return _spent(request, "This invitation does not hold", "It was used or withdrawn, or it has expired.")
    way = request.POST.get("way", "")
    known = KnownForm(request.POST if way == "known" else None)
    new = NewForm(request.POST if way == "new" else None)
    bare = forms.Form(request.POST if way == "signed-in" else None)
    if request.method == "POST":
        joined = _accept(request, link, {"known": known, "new": new, "signed-in": bare})
        if joined is not None:
            return _let_in(request, joined)
    return _join_page(request, found, {"known": known, "new": new, "bare": bare})


@never_cache
@csrf_protect
@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
def reset(request: HttpRequest, link: str) -> HttpResponse:
    with within_secret(link):
        found = selectors.find_reset(link=link, now=timezone.now())
    if found is None:
        return _spent(request, "This link does not hold", "It was used or replaced, or it has expired.")
    form = NewForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        password = form.cleaned_data["new_password"]
        done = attempt(
            form,
            lambda: resets.reset_password(link=link, password=password, door=Door.STUDIO, now=timezone.now()),
        )
        if done is not None:
            messages.success(request, f"The new password of {done} holds. Sign in with it.")
            return HttpResponseRedirect(reverse("admin:login"))
    shown = {"title": "Set a new password", "reset": found, "form": form}
    return render(request, "studio/reset.html", shown, status=400 if form.errors else 200)


def _change_own(order: Order) -> Done:
    given = order.values
    passwords.change_password(actor=order.actor, old=given["old_password"], new=given["new_password"], now=order.now)
    return Done(
        message="The new password holds. Where you were signed in elsewhere you are signed out.",
        url=reverse("admin:index"),
        renews_sign_in=True,
    )


CHANGE_PASSWORD = Act(
    slug="password",
    label="Change your password",
    question="You stay signed in here, and nowhere else.",
    needs=Permission.READ_TEAM,
    run=_change_own,
    form=OwnForm,
    on_row=False,
    is_quiet=True,
)


def _accept(request: HttpRequest, link: str, ways: Mapping[str, forms.Form]) -> invitations.Joined | None:
    way = request.POST.get("way", "")
    form = ways.get(way)
    if form is None or not form.is_valid():
        return None
    given, how = form.cleaned_data, _Opened(link=link, door=Door.STUDIO, now=timezone.now())
    match way:
        case "known":
            return attempt(form, lambda: invitations.accept_with_account(password=given["password"], **how))
        case "new":
            return attempt(form, lambda: invitations.accept_with_new_account(password=given["new_password"], **how))
        case _:
            person_id = request.user.pk or NOBODY
            return attempt(form, lambda: invitations.accept_signed_in(person_id=person_id, **how))


def _let_in(request: HttpRequest, joined: invitations.Joined) -> HttpResponse:
    """They have just proved who they are."""
    if request.user.pk != joined.person_id:
        login(request, get_user_model().objects.get(pk=joined.person_id), backend=_BACKEND)
    choose_team(request=request, team_id=joined.member.team_id)
    messages.success(request, f"You are in the team {joined.team_name} now.")
    return HttpResponseRedirect(reverse("admin:index"))


def _join_page(request: HttpRequest, found: InvitationValue, ways: Mapping[str, forms.Form]) -> HttpResponse:
    is_them = request.user.is_authenticated and request.user.get_username() == found.username
    shown = {"title": f"Join {found.team_name}", "invitation": found, "is_them": is_them, **ways}
    status = 400 if any(form.errors for form in ways.values()) else 200
    return render(request, "studio/join.html", shown, status=status)


def _spent(request: HttpRequest, title: str, why: str) -> HttpResponse:
    return render(request, "studio/spent.html", {"title": title, "why": why}, status=404)
