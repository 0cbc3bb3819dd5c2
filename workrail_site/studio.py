"""Workrail Studio: the stock Django admin as a site of our own, for whoever is in a team."""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from sessions_app.admin.checkpoints import CheckpointAdmin
from sessions_app.admin.models import RunAdmin, WorkSessionAdmin
from sessions_app.models import CheckpointRequest, Run, WorkSession
from sessions_app.selectors import checkpoints
from teams_app import selectors
from teams_app.admin import accounts
from teams_app.admin.models import AgentKeyAdmin, AuditEntryAdmin, InvitationAdmin, MembershipAdmin, TeamAdmin
from teams_app.admin.pages import actor_of, choose_team
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.models import AgentKey, AuditEntry, Invitation, Membership, Team
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
from workrail_site.sign_in import SignIn, slowed_down, tell_of_sign_out


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
        """Django's own, with a view that is slowed down for guessers and writes to the audit log."""
        if request.method == "GET" and self.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        context = {
            **self.each_context(request),
            "title": "Sign in",
            "app_path": request.get_full_path(),
            "username": request.user.get_username(),
            **(extra_context or {}),
        }
        if not {REDIRECT_FIELD_NAME} & {*request.GET, *request.POST}:
            context[REDIRECT_FIELD_NAME] = reverse("admin:index")
        view = SignIn.as_view(
            extra_context=context, authentication_form=AuthenticationForm, template_name="admin/login.html"
        )
        return never_cache(view)(request)  # type: ignore[return-value]  # a view answers more than Django's login says

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        if request.method == "POST":
            tell_of_sign_out(request)
        return super().logout(request, extra_context)

    def password_change(  # type: ignore[override]  # the stubs promise a template's answer, Django redirects
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        shown = {**self.each_context(request), **(extra_context or {})}
        return never_cache(accounts.own_password)(request, shown)

    def get_urls(self) -> list[URLResolver | URLPattern]:
        switch = self.admin_view(require_POST(switch_team))
        return [
            path("team/", switch, name="switch_team"),
            path("join/<str:link>/", slowed_down(accounts.join), name="join"),
            path("password/<str:link>/", slowed_down(accounts.reset), name="reset_password"),
            *super().get_urls(),
        ]


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


studio = StudioSite(name="studio")
studio.register(Team, TeamAdmin)
studio.register(Membership, MembershipAdmin)
studio.register(Invitation, InvitationAdmin)
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
