"""The Studio's pages of the trace: the calls of a team, and what a run did over time."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.admin import SimpleListFilter, display
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.admin import naming
from sessions_app.admin.artifacts import json_html
from sessions_app.admin.places import ShownPlaces, places_of
from sessions_app.engine.runs import Dialect
from sessions_app.selectors.runs import RunName, name_runs
from teams_app.admin.pages import RowPages, actor_of
from teams_app.admin.parts import State, ago, pill
from teams_app.engine.actors import Permission
from teams_app.engine.ids import Prefix, from_text, to_text
from traces_app.engine.calls import TraceOutcome
from traces_app.models import TraceEvent
from traces_app.selectors.traces import oldest_searched
from workflows_app.selectors.programs import load_program, load_programs

OUTCOMES = {
    TraceOutcome.OK: State(shape="done", word="Done"),
    TraceOutcome.REFUSED: State(shape="rejected", word="Refused"),
    TraceOutcome.FAILED: State(shape="blocked", word="Failed"),
}
_SLOW_US = 1_000_000
_NARROWING = frozenset({"q", "only", "dialect__exact"})


class HowItWent(SimpleListFilter):
    """Slow or refused calls, which are what people look for."""

    title = "Show"
    parameter_name = "only"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002  Django's signature
        return [("slow", "slow ones"), ("refused", "refused ones")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[TraceEvent]) -> QuerySet[TraceEvent]:  # noqa: ARG002  as above
        match self.value():
            case "slow":
                return queryset.filter(duration_us__gte=_SLOW_US)
            case "refused":
                return queryset.exclude(error_code="")
            case _:
                return queryset


class TraceEventAdmin(RowPages):
    needs = Permission.READ_TRACES
    list_display = ("shown_tool", "when", "shown_outcome", "agent", "place", "milliseconds", "run")
    list_filter = (HowItWent, "dialect")
    filter_values: ClassVar[Mapping[str, Iterable[str]]] = {"dialect": tuple(Dialect)}
    search_fields = ("=tool", "=error_code", "=actor_id", "=actor_name", "=request_id", "=agent_id", "=workflow_id")
    heading = "Traces"
    empty = ("No agent has called yet", "Each call of an agent stands here, with what it asked and how it went.")
    search_help_text = "A tool, an agent, a workflow or a code"

    def get_queryset(self, request: HttpRequest) -> QuerySet[TraceEvent]:
        """What is searched is bounded: a word that nobody used would be looked for in all that the team ever called."""
        rows = super().get_queryset(request)
        if not request.GET.keys() & _NARROWING:
            return rows
        oldest = oldest_searched(actor=actor_of(request))
        return rows if oldest is None else rows.filter(pk__gt=oldest)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        # As many as `MOST_SEARCHED`.
        says = "What agents called, newest first. Searches look through the newest 20,000 calls."
        return super().changelist_view(request, {"subtitle": says, **(extra_context or {})})

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """The runs of the rows are named in one query, their steps in another."""
        found: ChangeList = super().get_changelist_instance(request)
        rows = list(found.result_list)
        runs = _runs(request, {row.run_id for row in rows if row.run_id is not None})
        programs = load_programs(run.workflow_hash for run in runs.values())
        places = {name: places_of(program=program, state=None) for name, program in programs.items()}
        for row in rows:
            run = runs.get(row.run_id)
            row.run_name = naming.named_run(run) if run else ""
            row.step = (
                places[run.workflow_hash].title(_place(row)) if run and run.workflow_hash in places else _place(row)
            )
        found.result_list = rows
        return found

    def show(self, request: HttpRequest, row: TraceEvent) -> HttpResponse:
        page = {
            **self.admin_site.each_context(request),
            **_shown(request, row),
            "title": row.tool,
            "crumbs": [self.list_crumb()],
        }
        return TemplateResponse(request, "studio/call.html", page)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self._timeline_view)
        return [path("runs/<str:run>/timeline/", view, name="run_timeline"), *super().get_urls()]

    @display(description="Call")
    def shown_tool(self, row: TraceEvent) -> SafeString:
        return format_html("<code>{}</code>", row.tool)

    @display(description="When", ordering="id")
    def when(self, row: TraceEvent) -> SafeString | str:
        return ago(row.started_at)

    @display(description="Outcome")
    def shown_outcome(self, row: TraceEvent) -> SafeString | str:
        """With the code that their agent was told."""
        said = pill(OUTCOMES[TraceOutcome(row.outcome)])
        return format_html('{} <code class="small">{}</code>', said, row.error_code) if row.error_code else said

    @display(description="Agent")
    def agent(self, row: TraceEvent) -> str:
        return f"{row.actor_name} · {row.agent_id}" if row.agent_id else row.actor_name

    @display(description="At")
    def place(self, row: TraceEvent) -> str:
        return str(getattr(row, "step", _place(row)))

    @display(description="Took")
    def milliseconds(self, row: TraceEvent) -> str:
        return f"{row.duration_us / 1000:,.1f} ms"

    @display(description="Run")
    def run(self, row: TraceEvent) -> SafeString | str:
        if row.run_id is None:
            return ""
        run = to_text(Prefix.RUN, row.run_id)
        name = getattr(row, "run_name", "") or row.workflow_id or run
        return format_html('<a href="{}">{}</a>', reverse("admin:run_timeline", args=(run,)), name)

    def _timeline_view(self, request: HttpRequest, run: str) -> HttpResponse:  # noqa: ARG002  Django's signature
        """The address that a timeline had before it became a part of the page of its run."""
        run_id = from_text(Prefix.RUN, run)
        if run_id is None:
            raise Http404
        return HttpResponseRedirect(f"{reverse('admin:sessions_app_run_change', args=(run_id,))}?tab=timeline")


def _runs(request: HttpRequest, ids: set[UUID]) -> Mapping[UUID | None, RunName]:
    actor = actor_of(request)
    found = name_runs(actor=actor, ids=ids) if ids and actor.may(Permission.READ_RUNS) else {}
    return dict(found.items())


def _place(row: TraceEvent) -> str:
    return row.activity or row.step_key.rpartition("::")[2]


def _shown(request: HttpRequest, row: TraceEvent) -> dict[str, Any]:
    actor = actor_of(request)
    may_read = row.run_id is not None and actor.may(Permission.READ_RUNS)
    run = name_runs(actor=actor, ids=[row.run_id]).get(row.run_id) if may_read and row.run_id else None
    places = places_of(program=load_program(run.workflow_hash), state=None) if run else ShownPlaces()
    ids = (("Call", Prefix.TRACE, row.pk), ("Session", Prefix.SESSION, row.session_id), ("Run", Prefix.RUN, row.run_id))
    return {
        "row": row,
        "state": OUTCOMES[TraceOutcome(row.outcome)],
        "took": f"{row.duration_us / 1000:,.1f} ms",
        "run_name": naming.named_run(run) if run else "",
        "run_url": reverse("admin:sessions_app_run_change", args=(row.run_id,)) if run else "",
        "step": places.title(row.activity or row.step_key),
        "warnings": [each.get("message", each) if isinstance(each, Mapping) else each for each in row.warnings],
        "arguments": json_html(row.arguments),
        "ids": [(label, to_text(prefix, pk)) for label, prefix, pk in ids if pk is not None],
    }
