"""Workrail Studio: the Django admin as a site of our own, for whoever is in a team."""

from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.forms import AuthenticationForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from sessions_app.admin import home
from sessions_app.admin.audit_names import NamedAuditAdmin
from sessions_app.admin.bundles import BundleJobAdmin
from sessions_app.admin.checkpoints import CheckpointAdmin
from sessions_app.admin.models import WorkSessionAdmin
from sessions_app.admin.retention import RetentionAdmin
from sessions_app.admin.team_modes import ModedTeamAdmin
from sessions_app.admin.workflow_runs import RunningWorkflowAdmin
from sessions_app.models import BundleJob, CheckpointRequest, Retention, Run, WorkSession
from sessions_app.selectors import checkpoints
from teams_app.admin import accounts
from teams_app.admin.connecting import connecting
from teams_app.admin.models import EndpointAdmin, InvitationAdmin, NoticeDeliveryAdmin
from teams_app.admin.pages import actor_of, choose_team, find_actor, own_teams_of
from teams_app.admin.parts import Crumb
from teams_app.admin.team_pages import MembershipAdmin
from teams_app.admin.token_pages import PersonalTokenAdmin
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.models import AgentKey, AuditEntry, Endpoint, Invitation, Membership, NoticeDelivery, PersonalToken, Team
from traces_app.admin.called_keys import CalledKeyAdmin
from traces_app.admin.models import TraceEventAdmin
from traces_app.admin.run_parts import TracedRunAdmin
from traces_app.models import TraceEvent
from workflows_app.admin.models import (
    AliasAdmin,
    BindingAdmin,
    ContentAdmin,
    RevisionAdmin,
    TeamContractAdmin,
)
from workflows_app.models import Alias, Binding, Resource, Revision, Skill, TeamContract, Template, Workflow
from workflows_app.selectors.workflows import find_workflow
from workrail_site import replica_reads, studio_finding as finding
from workrail_site.kept_forms import without_keys
from workrail_site.sign_in import SignIn, own_slowed_down, slowed_down, tell_of_sign_out, within_limits
from workrail_site.studio_health import health_page
from workrail_site.studio_nav import navigation
from workrail_site.studio_watch import no_stream, watch_run, watch_team
from workrail_site.themes import switch_theme

# What a team that has run nothing is told to begin with.
_FIRST_WORKFLOW = "wr.research"


class StudioSite(AdminSite):
    site_title = "Workrail Studio"
    site_header = "Workrail Studio"
    index_title = "Home"
    site_url = None
    login_form = AuthenticationForm
    empty_value_display = "–"

    def has_permission(self, request: HttpRequest) -> bool:
        """A role in some team is what lets a person in; Django's staff flag does not exist here."""
        return find_actor(request) is not None

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return self._shell(request)

    def _shell(self, request: HttpRequest, *, open_questions: int | None = None) -> dict[str, Any]:
        """`open_questions` where the page has counted them already."""
        context = super().each_context(request)
        name = settings.OIDC_NAME if settings.OIDC_ISSUER else ""
        context |= {"request": request, "sign_on_name": name}
        if context["has_permission"]:
            context |= _teams_of(request, open_questions)
        return context

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Django asks for it on every page, for a menu that the Studio does not have."""
        return super().get_app_list(request, app_label) if app_label else []

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
        return super().logout(request, {"sign_on_out": _way_out(request), **(extra_context or {})})

    def password_change(  # type: ignore[override]  # the stubs promise a template's answer, Django redirects
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002  Django's signature
    ) -> HttpResponse:
        """An act as any other, at the address that Django gave it."""
        members = cast("MembershipAdmin", self.get_model_admin(Membership))
        return never_cache(sensitive_post_parameters()(own_slowed_down(members.do_act)))(
            request, accounts.CHANGE_PASSWORD
        )

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002  Django's signature
        return within_limits(super().admin_view(without_keys(replica_reads.read_page(view)), cacheable))

    def get_urls(self) -> list[URLResolver | URLPattern]:
        guard = self.admin_view
        return [
            path("team/", guard(require_POST(switch_team)), name="switch_team"),
            # Whoever signs in chooses light or dark too.
            path("theme/", require_POST(switch_theme), name="theme"),
            path("join/<str:link>/", slowed_down(accounts.join), name="join"),
            path("password/<str:link>/", slowed_down(accounts.reset), name="reset_password"),
            path("sign-on/", _of_provider("begin"), name="sign_on"),
            path("sign-on/back/", _of_provider("back"), name="sign_on_back"),
            path("sign-on/link/", _of_provider("link"), name="sign_on_link"),
            path("watch/run/<uuid:run_id>/", guard(watch_run), name="watch_run"),
            path("watch/team/", guard(watch_team), name="watch_team"),
            path("live/run/<uuid:run_id>/", no_stream, name="live_run"),
            path("live/team/", no_stream, name="live_team"),
            path("more/", guard(self.more), name="more"),
            path("health/", guard(self.health), name="health"),
            path("find/", guard(self.find), name="find"),
            *super().get_urls(),
        ]

    def health(self, request: HttpRequest) -> HttpResponse:
        return health_page(request, self.each_context(request))

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        told = home.context_of(actor=actor_of(request), now=timezone.now())
        shown = {**self._shell(request, open_questions=told["counts"].open), **told}
        if shown["is_new"]:
            shown |= _first_steps(request)
        return TemplateResponse(request, "admin/index.html", {**shown, **(extra_context or {})})

    def more(self, request: HttpRequest) -> HttpResponse:
        return TemplateResponse(request, "studio/more.html", {**self.each_context(request), "title": "More"})

    def find(self, request: HttpRequest) -> HttpResponse:
        """An id leads straight to what it names, words to the runs that have them."""
        query = request.GET.get("q", "").strip()
        if query and not finding.is_id(query):
            return HttpResponseRedirect(f"{reverse('admin:sessions_app_run_changelist')}?{urlencode({'q': query})}")
        place = finding.find(actor=actor_of(request), text=query) if query else None
        if place is not None:
            return HttpResponseRedirect(place)
        shown = {**self.each_context(request), "title": "Find", "q": query, "missed": query}
        return TemplateResponse(request, "studio/find.html", shown, status=404 if query else 200)


def _first_steps(request: HttpRequest) -> dict[str, Any]:
    """For a team that has run nothing yet: how an agent is connected, and a workflow to begin with."""
    try:
        row = find_workflow(actor_of(request), _FIRST_WORKFLOW)
    except NotFoundError:
        return connecting(request)
    first = Crumb(label=row.title, url=reverse("admin:workflows_app_workflow_change", args=(row.pk,)))
    return {**connecting(request, workflow_id=row.workflow_id), "first_workflow": first}


def _of_provider(name: str) -> Callable[..., HttpResponseBase]:
    """Pages of signing in by a provider, loaded when the first of them is opened: most installations have none."""

    def view(request: HttpRequest) -> HttpResponseBase:
        if not settings.OIDC_ISSUER:
            raise Http404
        from workrail_site.sign_on import views  # noqa: PLC0415  see above

        answer: HttpResponseBase = getattr(views, name)(request)
        return answer

    return view


def _way_out(request: HttpRequest) -> str:
    """Where whoever came by the provider signs out there too. A link: a form may not lead away from here."""
    if not settings.OIDC_ISSUER or not request.session.get("workrail_signed_on"):
        return ""
    from workrail_site.sign_on import provider  # noqa: PLC0415  as above

    return provider.way_out(back_to=request.build_absolute_uri(reverse("admin:login")))


def switch_team(request: HttpRequest) -> HttpResponse:
    team_id = from_text(Prefix.TEAM, request.POST.get("team", ""))
    if team_id is not None:
        choose_team(request=request, team_id=team_id)
    return HttpResponseRedirect(reverse("admin:index"))


def _teams_of(request: HttpRequest, counted: int | None) -> dict[str, Any]:
    actor = actor_of(request)
    teams = own_teams_of(request)
    open_questions = checkpoints.count_open(actor=actor) if counted is None else counted
    return {
        "actor": actor,
        "team_name": next(team.name for team in teams if team.id == actor.team_id),
        "nav": navigation(actor=actor, path=request.path, open_questions=open_questions),
        "open_questions": open_questions,
        "other_teams": [
            {"id": to_text(Prefix.TEAM, team.id), "name": team.name} for team in teams if team.id != actor.team_id
        ],
    }


studio = StudioSite(name="studio")
studio.register(Team, ModedTeamAdmin)
studio.register(Membership, MembershipAdmin)
studio.register(Invitation, InvitationAdmin)
studio.register(AgentKey, CalledKeyAdmin)
studio.register(PersonalToken, PersonalTokenAdmin)
studio.register(Endpoint, EndpointAdmin)
studio.register(NoticeDelivery, NoticeDeliveryAdmin)
studio.register(AuditEntry, NamedAuditAdmin)
studio.register(Workflow, RunningWorkflowAdmin)
studio.register(Revision, RevisionAdmin)
studio.register((Skill, Resource, Template), ContentAdmin)
studio.register(Alias, AliasAdmin)
studio.register(TeamContract, TeamContractAdmin)
studio.register(Binding, BindingAdmin)
studio.register(WorkSession, WorkSessionAdmin)
studio.register(BundleJob, BundleJobAdmin)
studio.register(Retention, RetentionAdmin)
studio.register(Run, TracedRunAdmin)
studio.register(CheckpointRequest, CheckpointAdmin)
studio.register(TraceEvent, TraceEventAdmin)
