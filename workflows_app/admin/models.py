"""The Studio's pages of workflows, revisions and what they are made of."""

from typing import Any, ClassVar

from django.contrib.admin import display
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from teams_app.admin.pages import Act, StudioAdmin, actor_of
from teams_app.engine.actors import Permission
from workflows_app.admin import acts
from workflows_app.engine.outline_text import outline_lines
from workflows_app.models import Binding, Content, Program, Revision, TeamContract, Workflow
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.rows import problem_value
from workflows_app.selectors.sources import files_of

_HEADING_CHARS = 100
_SHOWN_CHARS = 200_000
_SHOWN_REVISIONS = 50


def _of_team_or_bundled(request: HttpRequest) -> Q:
    return Q(team_id=actor_of(request).team_id) | Q(team__isnull=True)


class _SharedAdmin(StudioAdmin):
    """Rows of the team, and those of no team, which are the bundled library's."""

    needs = Permission.READ_WORKFLOWS

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super(StudioAdmin, self).get_queryset(request).filter(_of_team_or_bundled(request))

    @display(description="problems")
    def shown_counts(self, row: Workflow | Revision) -> str:
        counts = ((row.error_count, "errors"), (row.warning_count, "warnings"))
        return ", ".join(f"{count} {word}" for count, word in counts if count) or "none"

    @display(description="library")
    def library(self, row: Workflow | Revision) -> str:
        return "bundled" if row.team_id is None else "the team's"


class WorkflowAdmin(_SharedAdmin):
    acts: ClassVar[tuple[Act, ...]] = (acts.PUBLISH_LATEST, acts.RETIRE, acts.FORK)
    ordering = ("order_key",)
    list_display = ("workflow_id", "title", "kind", "state", "numbers", "shown_counts", "library")
    list_select_related = ("published",)
    list_filter = ("state", "kind", "family")
    search_fields = ("search_text",)
    fields = (
        "workflow_id",
        "title",
        "description",
        "kind",
        "family",
        "state",
        "library",
        "shown_counts",
        "shown_tags",
        "forked_from",
        "shown_revisions",
        "outline",
        "updated_at",
    )

    @display(description="runs revision")
    def numbers(self, row: Workflow) -> str:
        return f"{row.published.number if row.published else 'none'} of {row.latest_number}"

    @display(description="tags")
    def shown_tags(self, row: Workflow) -> str:
        return ", ".join(row.tags)

    @display(description="revisions")
    def shown_revisions(self, row: Workflow) -> SafeString:
        newest = row.revisions.order_by("-number")[:_SHOWN_REVISIONS]
        return format_html_join(
            "\n",
            '<div><a href="{}">{}</a> by {}, {}{}</div>',
            (
                (
                    reverse("admin:workflows_app_revision_change", args=(revision.pk,)),
                    f"Revision {revision.number}",
                    revision.author_name,
                    self.shown_counts(revision),
                    ", published" if revision.pk == row.published_id else "",
                )
                for revision in newest
            ),
        )

    @display(description="outline")
    def outline(self, row: Workflow) -> SafeString:
        """Of what runs, or of the latest revision while nothing does."""
        shown = row.published or row.revisions.order_by("-number").first()
        return _outline(shown)


class RevisionAdmin(_SharedAdmin):
    acts: ClassVar[tuple[Act, ...]] = (acts.PUBLISH_THIS,)
    list_display = (
        "workflow",
        "number",
        "version",
        "shown_counts",
        "author_name",
        "created_at",
        "published_at",
        "library",
    )
    list_select_related = ("workflow", "workflow__published")
    list_filter = ("format", "origin")
    search_fields = ("workflow__workflow_id",)
    fields = (
        "workflow_name",
        "number",
        "library",
        "format",
        "origin",
        "strictness",
        "version",
        "message",
        "author_name",
        "created_at",
        "published_at",
        "program_id",
        "shown_problems",
        "outline",
        "source",
    )

    @display(description="workflow")
    def workflow_name(self, row: Revision) -> SafeString:
        url = reverse("admin:workflows_app_workflow_change", args=(row.workflow_id,))
        return format_html('<a href="{}">{}</a>', url, row.workflow.workflow_id)

    @display(description="workflow hash")
    def program_id(self, row: Revision) -> str:
        return row.program_id or ""

    @display(description="problems")
    def shown_problems(self, row: Revision) -> SafeString | str:
        problems = [problem_value(item) for item in row.problems]
        if not problems:
            return "none"
        return format_html_join(
            "\n",
            "<div><strong>{}</strong> <code>{}</code> {} {}<br>{} {}</div>",
            (
                (
                    item.severity,
                    item.code,
                    f"{item.file}{f':{item.line}' if item.line else ''}",
                    item.path,
                    item.message,
                    item.suggestion,
                )
                for item in problems
            ),
        )

    @display(description="outline")
    def outline(self, row: Revision) -> SafeString:
        return _outline(row)

    @display(description="source")
    def source(self, row: Revision) -> SafeString:
        return format_html_join(
            "\n",
            "<details><summary>{}</summary><pre>{}</pre></details>",
            ((path, _text(data)) for path, data in sorted(files_of(row.pk).items())),
        )


class ContentAdmin(StudioAdmin):
    """Content belongs to no team: what is shown is what a program attaches that the team sees."""

    needs = Permission.READ_WORKFLOWS
    list_display = ("heading", "digest")
    fields = ("digest", "shown_text")
    search_fields = ("=digest",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        revisions = Revision.objects.filter(_of_team_or_bundled(request), program=OuterRef("pk"))
        programs = Program.objects.filter(Exists(revisions), contents=OuterRef("pk"))
        return super(StudioAdmin, self).get_queryset(request).filter(Exists(programs))

    @display(description="text")
    def heading(self, row: Content) -> str:
        return " ".join(row.text[: 2 * _HEADING_CHARS].split())[:_HEADING_CHARS]

    @display(description="text")
    def shown_text(self, row: Content) -> SafeString:
        return format_html("<pre>{}</pre>", row.text[:_SHOWN_CHARS])


class TeamContractAdmin(StudioAdmin):
    needs = Permission.READ_WORKFLOWS
    ordering = ("contract_id",)
    list_display = ("contract_id", "updated_at")
    fields = ("contract_id", "shown_definition", "created_at", "updated_at")

    @display(description="definition")
    def shown_definition(self, row: TeamContract) -> SafeString:
        return format_html("<pre>{}</pre>", _text(bytes(row.definition)))


class BindingAdmin(StudioAdmin):
    needs = Permission.READ_WORKFLOWS
    ordering = ("slot",)
    list_display = ("slot", "shown_workflow", "routine", "updated_at")
    fields = ("slot", "shown_workflow", "routine", "updated_at")

    @display(description="workflow")
    def shown_workflow(self, row: Binding) -> str:
        return row.workflow_id or "every one that has the slot"


class AliasAdmin(StudioAdmin):
    needs = Permission.READ_WORKFLOWS
    ordering = ("alias",)
    list_display = ("alias", "workflow", "created_at")
    list_select_related = ("workflow",)
    search_fields = ("alias",)
    fields = ("alias", "workflow", "created_at")


def _outline(revision: Revision | None) -> SafeString:
    program_id = None if revision is None else revision.program_id
    lines = (
        ["It does not compile: see its problems."] if program_id is None else outline_lines(load_program(program_id))
    )
    return format_html("<pre>{}</pre>", "\n".join(lines))


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
