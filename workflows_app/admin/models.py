"""The Studio's pages of workflows, revisions and what they are made of."""

from typing import Any, ClassVar

from django.contrib.admin import display
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from teams_app.admin.pages import Act, StudioAdmin
from teams_app.engine.actors import Permission
from workflows_app.admin import acts
from workflows_app.admin.shared import SharedAdmin, of_team_or_bundled
from workflows_app.engine.outline_text import outline_lines
from workflows_app.models import Binding, Content, Program, Revision, TeamContract
from workflows_app.selectors.programs import load_program

_HEADING_CHARS = 100
_SHOWN_CHARS = 200_000
_SHOWN_REVISIONS = 50


class RevisionAdmin(SharedAdmin):
    """A revision is shown on the page of its workflow; what is done with it is done here."""

    acts: ClassVar[tuple[Act, ...]] = (acts.PUBLISH_THIS,)
    list_display = ("workflow", "number", "version", "shown_counts", "author_name", "created_at", "library")
    list_select_related = ("workflow", "workflow__published")
    list_filter = ("format", "origin")
    search_fields = ("workflow__workflow_id",)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",  # noqa: ARG002  Django's signature
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002  as above
    ) -> HttpResponse:
        self.admit(request)
        row = self.get_object(request, object_id)
        if not isinstance(row, Revision):
            raise Http404
        url = reverse("admin:workflows_app_workflow_change", args=(row.workflow_id,))
        return HttpResponseRedirect(f"{url}?revision={row.number}")


class ContentAdmin(StudioAdmin):
    """Content belongs to no team: what is shown is what a program attaches that the team sees."""

    needs = Permission.READ_WORKFLOWS
    list_display = ("heading", "digest")
    fields = ("digest", "shown_text")
    search_fields = ("=digest",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        revisions = Revision.objects.filter(of_team_or_bundled(request), program=OuterRef("pk"))
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
