"""What the lists of sessions and of runs are filtered by."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from sessions_app.engine.runs import Dialect, RunStatus
from sessions_app.models import Run
from sessions_app.selectors import runs as runs_read
from teams_app.admin.pages import actor_of


class StatusFilter(SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002  Django's signature
        return [(status.value, status.value.replace("_", " ")) for status in RunStatus]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return _having_run(queryset, status=self.value()) if self.value() else queryset


class WorkflowFilter(SimpleListFilter):
    title = "workflow"
    parameter_name = "workflow"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002  Django's signature
        return [(workflow, workflow) for workflow in runs_read.workflows_run(actor=actor_of(request))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return _having_run(queryset, workflow_id=self.value()) if self.value() else queryset


class DialectFilter(SimpleListFilter):
    title = "dialect"
    parameter_name = "dialect"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:  # noqa: ARG002  Django's signature
        return [(dialect.value, dialect.value) for dialect in Dialect]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:  # noqa: ARG002  Django's signature
        return queryset.filter(dialect=self.value()) if self.value() else queryset


def _having_run(queryset: QuerySet[Any], **wanted: Any) -> QuerySet[Any]:
    """Runs that are so, or sessions that have such a run."""
    if queryset.model is Run:
        return queryset.filter(**wanted)
    return queryset.filter(Exists(Run.objects.filter(session_id=OuterRef("pk"), **wanted)))
