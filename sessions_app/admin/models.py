"""The Studio's pages of sessions, runs and nodes. They show; the one thing that is changed here is the mode."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.admin import SimpleListFilter, display
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from sessions_app.admin import modes, pages, showing
from sessions_app.admin.bundles import EXPORT_SESSION
from sessions_app.admin.filters import DialectFilter, StatusFilter, WorkflowFilter
from sessions_app.admin.retention import DELETE_SESSION, HOLD_SESSION, LET_GO
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.runs import COMPLETE, RunStatus
from sessions_app.engine.values import RunDetail, SessionValue
from sessions_app.models import Run, WorkSession
from sessions_app.selectors import (
    nodes,
    preferences as preferences_read,
    records,
    runs as runs_read,
    sessions as sessions_read,
)
from sessions_app.selectors.checkpoints import Wanted, list_checkpoints
from sessions_app.selectors.runs import RunFilters
from sessions_app.services import preferences, runs
from teams_app.admin.pages import actor_of
from teams_app.admin.queries import Reader
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.pages import PageRequest

_SHOWN = 50
_SHOWN_EVENTS = 100
_MOST_EVENT_INDEX = 2**31 - 1
_ROW = "<uuid:row_id>"


class _ActivityAdmin(pages.RowStudio):
    """The latest activity first, which is the order of the index that serves the list."""

    needs = Permission.READ_RUNS

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": ["runs.css"]}

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:  # noqa: ARG002  Django's signature
        return ("-last_activity_at", "id")


class WorkSessionAdmin(_ActivityAdmin):
    acts = (EXPORT_SESSION, HOLD_SESSION, LET_GO, DELETE_SESSION)
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
            path("defaults/mode/", guard(self.team_mode_view), name="team_mode_change"),
            path(f"{_ROW}/mode/", guard(self.mode_view), name="session_mode_change"),
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

    @method_decorator(require_POST)
    def mode_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        actor = actor_of(request)

        def change(wanted: PreferenceChange) -> modes.Changed:
            now = timezone.now()
            return modes.changed_to(
                preferences.set_session_preferences(
                    actor=actor, session_id=row_id, change=wanted, now=now, entropy=os.urandom
                )
            )

        return modes.change_mode(
            request=request,
            change=change,
            again=lambda refusal: self._session(request, row_id, refusal=refusal),
            back=showing.session_url(row_id),
            done="The next runs of the session begin",
        )

    def team_view(self, request: HttpRequest) -> HttpResponse:
        return self._team(request)

    @method_decorator(require_POST)
    def team_mode_view(self, request: HttpRequest) -> HttpResponse:
        actor = actor_of(request)

        def change(wanted: PreferenceChange) -> modes.Changed:
            return modes.changed_to(preferences.set_team_preferences(actor=actor, change=wanted, now=timezone.now()))

        return modes.change_mode(
            request=request,
            change=change,
            again=lambda refusal: self._team(request, refusal=refusal),
            back=reverse("admin:team_mode"),
            done="New sessions begin",
        )

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
                url=reverse("admin:team_mode_change"),
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
            mode=_mode_of_session(actor, session, is_open=bool(refusal)),
            session=session,
            facts=showing.session_facts(session),
            runs=[(run, showing.run_url(run.id)) for run in runs.items],
            more_runs=f"{reverse('admin:sessions_app_run_changelist')}?session_id={session.id}"
            if runs.next_position
            else "",
            outputs=[showing.shown_output(output) for output in notes.items],
            log=reverse("admin:session_log", args=(session.id,)),
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


class RunAdmin(_ActivityAdmin):
    sortable_by = ()
    list_display = ("workflow_title", "shown_status", "shown_goal", "shown_session", "last_activity_at")
    list_filter: ClassVar[tuple[type[SimpleListFilter], ...]] = (StatusFilter, WorkflowFilter, DialectFilter)
    search_fields = ("goal",)
    lookups: ClassVar[Mapping[str, Reader]] = {"session_id": UUID}
    search_help_text = "Words of the goal, or the id of a run."

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        own = [
            path(f"{_ROW}/mode/", guard(self.mode_view), name="run_mode_change"),
            path(f"{_ROW}/nodes/<uuid:node_id>/", guard(self.node_view), name="run_node"),
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        titles = WorkSession.objects.filter(pk=OuterRef("session_id")).values("title")
        rows: QuerySet[Any] = super().get_queryset(request)
        annotated: QuerySet[Any] = rows.annotate(session_title=Subquery(titles[:1]))
        return annotated

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        run_id = from_text(Prefix.RUN, term)
        if run_id is not None:
            return queryset.filter(pk=run_id), False
        if "\x00" in term:
            return queryset, False
        return super().get_search_results(request, queryset, term)

    def show_row(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self._run(request, row_id)

    @method_decorator(require_POST)
    def mode_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        actor = actor_of(request)

        def change(wanted: PreferenceChange) -> modes.Changed:
            now = timezone.now()
            return modes.changed_by(
                runs.change_preferences(actor=actor, run_id=row_id, change=wanted, now=now, entropy=os.urandom)
            )

        return modes.change_mode(
            request=request,
            change=change,
            again=lambda refusal: self._run(request, row_id, refusal=refusal),
            back=showing.run_url(row_id),
            done="From this step on the mode is",
        )

    def _run(self, request: HttpRequest, run_id: UUID, *, refusal: str = "") -> HttpResponse:
        actor = actor_of(request)
        detail = pages.found(lambda: runs_read.read_run(actor=actor, run_id=run_id))
        tree = runs_read.read_tree(actor=actor, run_id=run_id, before=_before(request))
        notes = records.notes_between(run_id=run_id, node_ids=[line.node.id for line in tree.lines])
        gaps = records.list_gaps(actor=actor, run_id=run_id, page=PageRequest(limit=_SHOWN))
        wanted = Wanted(run_id=run_id)
        waiting = list_checkpoints(actor=actor, page=PageRequest(limit=_SHOWN), wanted=wanted, now=timezone.now())
        return pages.page(
            self,
            request,
            "admin/runs_run.html",
            title=detail.run.workflow_title,
            status=400 if refusal else 200,
            refusal=refusal,
            mode=_mode_of_run(actor, detail, is_open=bool(refusal)),
            run=detail.run,
            public_id=to_text(Prefix.RUN, detail.run.id),
            facts=showing.run_facts(detail.run, detail.session, detail.tip),
            blocked=detail.blocked,
            questions=[
                (value.title or value.checkpoint_id, showing.checkpoint_url(value.id)) for value in waiting.items
            ],
            tip_url=showing.node_url(detail.run.id, detail.tip.id),
            open_gaps=sorted(detail.open_gaps.items()),
            lines=showing.shown_tree(tree.lines, notes),
            before=tree.before,
            is_older=_before(request) is not None,
            gaps=[showing.shown_gap(gap) for gap in gaps.items],
            more_gaps=gaps.next_position is not None,
            log=reverse("admin:session_log", args=(detail.session.id,)),
        )

    def node_view(self, request: HttpRequest, row_id: UUID, node_id: UUID) -> HttpResponse:
        actor = actor_of(request)
        detail = pages.found(lambda: nodes.read_node(actor=actor, node_id=node_id))
        if detail.run.id != row_id:
            raise Http404
        return pages.page(
            self,
            request,
            "admin/runs_node.html",
            title=showing.title_of(detail.node),
            detail=detail,
            kind=showing.KINDS[detail.node.kind],
            facts=showing.node_facts(detail),
            run_url=showing.run_url(detail.run.id),
            session_url=showing.session_url(detail.node.session_id),
            blocked=detail.blocked,
            outputs=[showing.shown_output(output) for output in detail.outputs],
            gaps=[showing.shown_gap(gap) for gap in detail.gaps],
            attempts=[(attempt, showing.node_url(row_id, attempt.to_node_id)) for attempt in detail.attempts],
            children=[
                (showing.title_of(child), showing.KINDS[child.kind], showing.node_url(row_id, child.id))
                for child in detail.children
            ],
            context=showing.shown_context(detail.context),
            events=[showing.shown_event(event) for event in nodes.events_at(detail=detail)],
            more=sorted(detail.more),
        )

    @display(description="status")
    def shown_status(self, row: Run) -> SafeString:
        return pages.badge(row.status)

    @display(description="goal")
    def shown_goal(self, row: Run) -> str:
        return showing.excerpt_of(row.goal)

    @display(description="session")
    def shown_session(self, row: Any) -> SafeString:
        title = row.session_title or to_text(Prefix.SESSION, row.session_id)
        return format_html('<a href="{}">{}</a>', showing.session_url(row.session_id), title)


def _mode_of_session(actor: Actor, session: SessionValue, *, is_open: bool) -> modes.ModeForm | None:
    """What the page offers; the service decides."""
    if not actor.may(Permission.STEER_RUNS):
        return None
    return modes.mode_form(
        url=reverse("admin:session_mode_change", args=(session.id,)),
        title="Change how its next runs begin",
        says="It holds for the runs of this session that are begun from now on. Those that are there keep what they have.",
        preferences=session.preferences,
        is_open=is_open,
    )


def _mode_of_run(actor: Actor, detail: RunDetail, *, is_open: bool) -> modes.ModeForm | None:
    if detail.run.status in COMPLETE or not actor.may(Permission.STEER_RUNS):
        return None
    return modes.mode_form(
        url=reverse("admin:run_mode_change", args=(detail.run.id,)),
        title="Change the mode",
        says="It holds from the pending step on. Whoever works on the run goes on with the tokens they have.",
        preferences=detail.tip.preferences,
        is_open=is_open,
    )


def _before(request: HttpRequest) -> int | None:
    text = request.GET.get("before", "")
    return min(int(text), _MOST_EVENT_INDEX) if text.isascii() and text.isdigit() and len(text) <= 10 else None


def _after(request: HttpRequest) -> str | None:
    text = request.GET.get("after", "")
    is_index = text.isascii() and text.isdigit() and len(text) <= 10
    return str(min(int(text), _MOST_EVENT_INDEX)) if is_index else None
