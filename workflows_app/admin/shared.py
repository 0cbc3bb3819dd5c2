"""What the pages of workflows and of their revisions have in common."""

from typing import Any

from django.contrib.admin import display
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from teams_app.admin.pages import RowPages, StudioAdmin, actor_of
from teams_app.engine.actors import Permission
from teams_app.engine.counting import counted
from workflows_app.models import Revision, Workflow


def of_team_or_bundled(request: HttpRequest) -> Q:
    return Q(team_id=actor_of(request).team_id) | Q(team__isnull=True)


class SharedAdmin(RowPages):
    """Rows of the team, and those of no team, which are the bundled library's."""

    needs = Permission.READ_WORKFLOWS

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super(StudioAdmin, self).get_queryset(request).filter(of_team_or_bundled(request))

    @display(description="Problems")
    def shown_counts(self, row: Workflow | Revision) -> str:
        counts = ((row.error_count, "error"), (row.warning_count, "warning"))
        return ", ".join(counted(count, noun) for count, noun in counts if count) or "none"

    @display(description="From")
    def library(self, row: Workflow | Revision) -> str:
        return "with Workrail" if row.team_id is None else "your team"
