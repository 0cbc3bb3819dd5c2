"""The Studio's pages of the trace: the calls of a team, and what a run did over time."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import orjson
from django.contrib.admin import SimpleListFilter, display
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.engine.runs import Dialect
from teams_app.admin.pages import StudioAdmin, actor_of
from teams_app.admin.parts import State, ago, pill
from teams_app.engine.actors import Permission
from teams_app.engine.ids import Prefix, from_text, to_text
from traces_app.models import TraceEvent
from traces_app.selectors.traces import oldest_searched

_DONE = State(shape="done", word="Done")
_REFUSED = State(shape="rejected", word="Refused")
_SLOW_US = 1_000_000
_NARROWING = frozenset({"q", "only", "dialect__exact"})


class HowItWent(SimpleListFilter):
    """Slow or refused calls, which are what people look for."""

    title = "Only"
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


class TraceEventAdmin(StudioAdmin):
    needs = Permission.READ_TRACES
    list_display = ("shown_tool", "when", "shown_outcome", "agent", "place", "milliseconds", "run")
    list_filter = (HowItWent, "dialect")
    filter_values: ClassVar[Mapping[str, Iterable[str]]] = {"dialect": tuple(Dialect)}
    search_fields = ("=tool", "=error_code", "=actor_id", "=actor_name", "=request_id", "=agent_id", "=workflow_id")
    fields = (
        "started_at",
        "milliseconds",
        "public_id",
        "tool",
        "dialect",
        "outcome",
        "error_code",
        "actor_name",
        "actor_id",
        "agent_id",
        "session",
        "run",
        "workflow_id",
        "activity",
        "step_key",
        "shown_warnings",
        "shown_arguments",
        "request_id",
    )

    # As many as `MOST_SEARCHED`.
    search_help_text = "Filters and searches look through the newest 20,000 calls."

    def get_queryset(self, request: HttpRequest) -> QuerySet[TraceEvent]:
        """What is searched is bounded: a word that nobody used would be looked for in all that the team ever called."""
        rows = super().get_queryset(request)
        if not request.GET.keys() & _NARROWING:
            return rows
        oldest = oldest_searched(actor=actor_of(request))
        return rows if oldest is None else rows.filter(pk__gt=oldest)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"title": "Traces", **(extra_context or {})})

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self._timeline_view)
        return [path("runs/<str:run>/timeline/", view, name="run_timeline"), *super().get_urls()]

    @display(description="id")
    def public_id(self, row: TraceEvent) -> str:
        return to_text(Prefix.TRACE, row.pk)

    @display(description="Call")
    def shown_tool(self, row: TraceEvent) -> SafeString:
        return format_html("<code>{}</code>", row.tool)

    @display(description="When", ordering="id")
    def when(self, row: TraceEvent) -> SafeString | str:
        return ago(row.started_at)

    @display(description="Outcome")
    def shown_outcome(self, row: TraceEvent) -> SafeString | str:
        """Refusals by their code, which is what their agent was told."""
        if not row.error_code:
            return pill(_DONE)
        return format_html('{} <code class="small">{}</code>', pill(_REFUSED), row.error_code)

    @display(description="Agent")
    def agent(self, row: TraceEvent) -> str:
        return f"{row.actor_name} · {row.agent_id}" if row.agent_id else row.actor_name

    @display(description="At")
    def place(self, row: TraceEvent) -> str:
        return row.activity or row.step_key.rpartition("::")[2]

    @display(description="Took")
    def milliseconds(self, row: TraceEvent) -> str:
        return f"{row.duration_us / 1000:,.1f} ms"

    @display(description="session")
    def session(self, row: TraceEvent) -> str:
        return "" if row.session_id is None else to_text(Prefix.SESSION, row.session_id)

    @display(description="Run")
    def run(self, row: TraceEvent) -> SafeString | str:
        if row.run_id is None:
            return ""
        run = to_text(Prefix.RUN, row.run_id)
        name = row.workflow_id or run
        return format_html('<a href="{}">{}</a>', reverse("admin:run_timeline", args=(run,)), name)

    @display(description="warnings")
    def shown_warnings(self, row: TraceEvent) -> SafeString:
        return _json(row.warnings)

    @display(description="arguments")
    def shown_arguments(self, row: TraceEvent) -> SafeString:
        return _json(row.arguments)

    def _timeline_view(self, request: HttpRequest, run: str) -> HttpResponse:  # noqa: ARG002  Django's signature
        """The address that a timeline had before it became a part of the page of its run."""
        run_id = from_text(Prefix.RUN, run)
        if run_id is None:
            raise Http404
        return HttpResponseRedirect(f"{reverse('admin:sessions_app_run_change', args=(run_id,))}?tab=timeline")


def _json(value: Any) -> SafeString:
    return format_html("<pre>{}</pre>", orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
