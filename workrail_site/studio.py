"""Workrail Studio: the stock Django admin as a site of our own, for whoever is in a team."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from sessions_app.admin.checkpoints import CheckpointAdmin
from sessions_app.admin.models import RunAdmin, WorkSessionAdmin
from sessions_app.models import CheckpointRequest, Run, WorkSession
from sessions_app.selectors import checkpoints
from teams_app import selectors
from teams_app.admin.models import AgentKeyAdmin, AuditEntryAdmin, MembershipAdmin, TeamAdmin
from teams_app.admin.pages import actor_of, choose_team, find_actor
from teams_app.engine.errors import RateLimitedError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.models import AgentKey, AuditEntry, Membership, Team
from traces_app.admin.models import TraceEventAdmin
from traces_app.models import TraceEvent
from workflows_app.admin.models import (
    AliasAdmin,
    BindingAdmin,
    ContentAdmin,
    RevisionAdmin,
    TeamContractAdmin,
    WorkflowAdmin,
)
from workflows_app.models import Alias, Binding, Resource, Revision, Skill, TeamContract, Template, Workflow
from workrail_site import throttle
from workrail_site.refusals import refuse


class StudioSite(AdminSite):
    site_title = "Workrail Studio"
    site_header = "Workrail Studio"
    index_title = "Your team"
    site_url = None
    login_form = AuthenticationForm
    empty_value_display = "–"

    def has_permission(self, request: HttpRequest) -> bool:
        """A role in some team is what lets a person in; Django's staff flag does not exist here."""
        return request.user.is_authenticated and selectors.is_in_a_team(person_id=request.user.pk)

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().each_context(request)
        if context["has_permission"]:
            context |= _teams_of(request)
        return context

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "POST":
            try:
                _slow_down_guessing(request)
            except RateLimitedError as refusal:
                return refuse(request=request, error=refusal)
        return super().login(request, extra_context)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002  Django's signature
        """A page counts against the limits of its person and team, as a call of REST does."""
        admitted = super().admin_view(view, cacheable)

        @wraps(admitted)
        def counted(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            actor = find_actor(request)
            if actor is not None:
                try:
                    throttle.spend_for(actor=actor, now=timezone.now())
                except RateLimitedError as refusal:
                    return refuse(request=request, error=refusal)
            return admitted(request, *args, **kwargs)

        return counted

    def get_urls(self) -> list[URLResolver | URLPattern]:
        switch = self.admin_view(require_POST(switch_team))
        return [path("team/", switch, name="switch_team"), *super().get_urls()]


def switch_team(request: HttpRequest) -> HttpResponse:
    team_id = from_text(Prefix.TEAM, request.POST.get("team", ""))
    if team_id is not None:
        choose_team(request=request, team_id=team_id)
    return HttpResponseRedirect(reverse("admin:index"))


def _teams_of(request: HttpRequest) -> dict[str, Any]:
    actor = actor_of(request)
    teams = selectors.list_own_teams(actor=actor)
    return {
        "actor": actor,
        "team_name": next(team.name for team in teams if team.id == actor.team_id),
        "open_questions": checkpoints.count_open(actor=actor),
        "other_teams": [
            {"id": to_text(Prefix.TEAM, team.id), "name": team.name} for team in teams if team.id != actor.team_id
        ],
    }


def _slow_down_guessing(request: HttpRequest) -> None:
    """Neither many words for one account, nor many accounts from one place; and a stranger locks nobody out."""
    limit = settings.THROTTLE_SIGN_IN_PER_MINUTE
    account = request.POST.get("username", "").strip().lower()[:100]
    address = _address_of(request)
    limits = {f"{account} {address}": limit, f"from {address}": 5 * limit, f"to {account}": 10 * limit}
    now = timezone.now()
    for bucket, most in limits.items():
        throttle.spend(bucket=f"sign-in {bucket}", limit=most, now=now)


def _address_of(request: HttpRequest) -> str:
    """The last address is the one that our proxy saw; those before it are the client's to invent."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.BEHIND_PROXY else ""
    return forwarded.rpartition(",")[2].strip() or str(request.META.get("REMOTE_ADDR", ""))


studio = StudioSite(name="studio")
studio.register(Team, TeamAdmin)
studio.register(Membership, MembershipAdmin)
studio.register(AgentKey, AgentKeyAdmin)
studio.register(AuditEntry, AuditEntryAdmin)
studio.register(Workflow, WorkflowAdmin)
studio.register(Revision, RevisionAdmin)
studio.register((Skill, Resource, Template), ContentAdmin)
studio.register(Alias, AliasAdmin)
studio.register(TeamContract, TeamContractAdmin)
studio.register(Binding, BindingAdmin)
studio.register(WorkSession, WorkSessionAdmin)
studio.register(Run, RunAdmin)
studio.register(CheckpointRequest, CheckpointAdmin)
studio.register(TraceEvent, TraceEventAdmin)
