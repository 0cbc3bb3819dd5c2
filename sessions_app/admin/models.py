"""The Studio's pages of sessions, runs and nodes. They show; the one thing that is changed here is the mode."""

import os
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.admin import SimpleListFilter, display
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, F, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from sessions_app.admin import modes, pages, showing
from sessions_app.admin.bundles import EXPORT_SESSION
from sessions_app.admin.filters import StatusFilter, WorkflowFilter
from sessions_app.admin.retention import DELETE_SESSION, HOLD_SESSION, LET_GO
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.values import SessionValue
from sessions_app.models import Run, WorkSession
from sessions_app.selectors import (
    preferences as preferences_read,
    records,
    runs as runs_read,
    sessions as sessions_read,
)
from sessions_app.selectors.runs import RunFilters
from sessions_app.services import preferences
from teams_app.admin.pages import Act, Done, Order, Refused, actor_of
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import PageRequest

_SHOWN = 50
_SHOWN_EVENTS = 100
_MOST_EVENT_INDEX = 2**31 - 1
_ROW = "<uuid:row_id>"


def _change_session_mode(order: Order) -> Done:
    row_id = pages.some(order.row_id)
    changed = preferences.set_session_preferences(
        actor=order.actor,
        session_id=row_id,
        change=modes.read_change(order.values),
        now=order.now,
        entropy=os.urandom,
    )
    mode = modes.changed_to(changed).mode
    return Done(message=f"The next runs of the session begin {mode}.", url=showing.session_url(row_id))


def _change_team_mode(order: Order) -> Done:
    changed = preferences.set_team_preferences(actor=order.actor, change=modes.read_change(order.values), now=order.now)
    return Done(message=f"New sessions begin {modes.changed_to(changed).mode}.", url=reverse("admin:team_mode"))


SESSION_MODE = Act(
    slug="mode",
    label="Change how its next runs begin",
    needs=Permission.STEER_RUNS,
    run=_change_session_mode,
    form=modes.PreferencesForm,
    asks=False,
)
TEAM_MODE = Act(
    slug="defaults/mode",
    label="Change how new sessions begin",
    needs=Permission.MANAGE_TEAM,
    run=_change_team_mode,
    form=modes.PreferencesForm,
    on_row=False,
    asks=False,
)


class ActivityAdmin(pages.RowStudio):
    """The latest activity first, which is the order of the index that serves the list."""

    needs = Permission.READ_RUNS

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": ["runs.css"]}

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:  # noqa: ARG002  Django's signature
        return ("-last_activity_at", "id")


class WorkSessionAdmin(ActivityAdmin):
    acts: ClassVar[tuple[Act, ...]] = (EXPORT_SESSION, HOLD_SESSION, LET_GO, DELETE_SESSION, SESSION_MODE, TEAM_MODE)
    sortable_by = ()
    list_display = ("shown_title", "shown_runs", "git_branch", "ticket", "last_activity_at")
    list_filter: ClassVar[tuple[type[SimpleListFilter], ...]] = (StatusFilter, WorkflowFilter)
    change_list_template = "admin/runs_sessions.html"
    search_fields = ("title",)
    search_help_text = "Words of the title or of a goal, a ticket, how a branch begins, or an id."

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        own = [
            path("defaults/", guard(self.team_view), name="team_mode"),
            path(f"{_ROW}/log/", guard(self.log_view), name="session_log"),
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the runs of each session counted by status, in the query of the list itself."""
        runs = Run.objects.filter(session_id=OuterRef("pk")).order_by().values("status").annotate(count=Count("pk"))
        counted = runs.values(counted=JSONObject(status=F("status"), count=F("count")))
        rows: QuerySet[Any] = super().get_queryset(request)
        annotated: QuerySet[Any] = rows.annotate(run_counts=ArraySubquery(counted))
        return annotated

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term or "\x00" in term:
            return queryset, False
        session_id = from_text(Prefix.SESSION, term)
        if session_id is not None:
            return queryset.filter(pk=session_id), False
        texts = sessions_read.sessions_with_text(actor=actor_of(request), text=term)
        named = Q(ticket__iexact=term) | (~Q(git_branch="") & Q(git_branch__istartswith=term))
        return queryset.filter(Q(pk__in=texts) | named), False

    def show_row(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self._session(request, row_id)

    def refused(self, request: HttpRequest, act: Act, row_id: UUID | None, refused: Refused) -> HttpResponse:
        if act.on_row:
            return self._session(request, pages.some(row_id), refusal=refused.words)
        return self._team(request, refusal=refused.words)

    def team_view(self, request: HttpRequest) -> HttpResponse:
        return self._team(request)

    def _team(self, request: HttpRequest, *, refusal: str = "") -> HttpResponse:
        actor = actor_of(request)
        now = pages.found(lambda: preferences_read.read_team_preferences(actor=actor))
        return pages.page(
            self,
            request,
            "admin/runs_defaults.html",
            title="How new sessions begin",
            status=400 if refusal else 200,
            refusal=refusal,
            now=showing.mode(now.autonomy, now.risk_policy),
            mode=modes.mode_form(
                url=self.act_url(TEAM_MODE),
                title="Change it",
                says="It holds for the sessions that are begun from now on. Those that are there keep what they have.",
                preferences=now,
                is_open=True,
            )
            if actor.may(Permission.MANAGE_TEAM)
            else None,
        )

    def _session(self, request: HttpRequest, session_id: UUID, *, refusal: str = "") -> HttpResponse:
        actor = actor_of(request)
        session = pages.found(lambda: sessions_read.read_session(actor=actor, session_id=session_id))
        page = PageRequest(limit=_SHOWN)
        runs = runs_read.list_runs(actor=actor, filters=RunFilters(session_id=session_id), page=page)
        notes = records.list_session_outputs(actor=actor, session_id=session_id, page=page)
        return pages.page(
            self,
            request,
            "admin/runs_session.html",
            title=session.title or to_text(Prefix.SESSION, session.id),
            status=400 if refusal else 200,
            refusal=refusal,
            mode=self._mode(actor, session, is_open=bool(refusal)),
            session=session,
            facts=showing.session_facts(session),
            runs=[(run, showing.run_url(run.id)) for run in runs.items],
            more_runs=f"{reverse('admin:sessions_app_run_changelist')}?session_id={session.id}"
            if runs.next_position
            else "",
            outputs=[showing.shown_output(output) for output in notes.items],
            log=reverse("admin:session_log", args=(session.id,)),
        )

    def _mode(self, actor: Actor, session: SessionValue, *, is_open: bool) -> modes.ModeForm | None:
        """What the page offers; the service decides."""
        if not actor.may(Permission.STEER_RUNS):
            return None
        return modes.mode_form(
            url=self.act_url(SESSION_MODE, session.id),
            title="Change how its next runs begin",
            says="It holds for the runs of this session that are begun from now on. Those that are there keep what they have.",
            preferences=session.preferences,
            is_open=is_open,
        )

    def log_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        actor = actor_of(request)
        session = pages.found(lambda: sessions_read.read_session(actor=actor, session_id=row_id))
        page = PageRequest(after=_after(request), limit=_SHOWN_EVENTS)
        events = records.list_events(actor=actor, session_id=row_id, page=page)
        return pages.page(
            self,
            request,
            "admin/runs_log.html",
            title="Log",
            back=showing.session_url(session.id),
            back_title=session.title or to_text(Prefix.SESSION, session.id),
            count=session.event_count,
            events=[showing.shown_event(event) for event in events.items],
            following=events.next_position,
        )

    @display(description="session")
    def shown_title(self, row: WorkSession) -> str:
        return row.title or to_text(Prefix.SESSION, row.pk)

    @display(description="runs")
    def shown_runs(self, row: Any) -> SafeString:
        counts = sorted(row.run_counts, key=lambda counted: list(RunStatus).index(RunStatus(counted["status"])))
        return format_html_join(
            " ", "{} {}", ((counted["count"], pages.badge(counted["status"])) for counted in counts)
        )


def _after(request: HttpRequest) -> str | None:
    text = request.GET.get("after", "")
    is_index = text.isascii() and text.isdigit() and len(text) <= 10
    return str(min(int(text), _MOST_EVENT_INDEX)) if is_index else None
