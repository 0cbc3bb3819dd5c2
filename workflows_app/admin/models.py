"""The Studio's pages of workflows, revisions and what they are made of."""

from typing import Any, ClassVar

from django.contrib.admin import display
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from teams_app.admin.pages import Act, RowPages, StudioAdmin, actor_of
from teams_app.admin.parts import Crumb, Tab
from teams_app.engine.actors import Permission
from teams_app.engine.markdown import render_markdown
from workflows_app.admin import acts
from workflows_app.admin.shared import SharedAdmin, of_team_or_bundled
from workflows_app.admin.source_view import lines_of
from workflows_app.engine.source import ContentKind
from workflows_app.models import Binding, Content, Program, Revision, TeamContract
from workflows_app.selectors.attachments import Attached, list_attached, read_attached

_SHOWN_CHARS = 200_000
_SHOWN_REVISIONS = 50


class RevisionAdmin(SharedAdmin):
    """A revision is shown on the page of its workflow; what is done with it is done here."""

    acts: ClassVar[tuple[Act, ...]] = (acts.PUBLISH_THIS,)
    list_display = ("workflow", "number", "version", "shown_counts", "author_name", "created_at", "library")
    list_select_related = ("workflow", "workflow__published")
    list_filter = ("format", "origin")
    search_fields = ("workflow__workflow_id",)

    def show(self, request: HttpRequest, row: Revision) -> HttpResponse:  # noqa: ARG002  its workflow shows it
        url = reverse("admin:workflows_app_workflow_change", args=(row.workflow_id,))
        return HttpResponseRedirect(f"{url}?revision={row.number}")


class ContentAdmin(RowPages):
    """Content belongs to no team: what is shown is what a program attaches that the team sees."""

    needs = Permission.READ_WORKFLOWS
    search_fields = ("=digest",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        revisions = Revision.objects.filter(of_team_or_bundled(request), program=OuterRef("pk"))
        programs = Program.objects.filter(Exists(revisions), contents=OuterRef("pk"))
        return super(StudioAdmin, self).get_queryset(request).filter(Exists(programs))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        self.take_declared(request)
        asked = request.GET.get("q", "").strip().lower()[:100]
        found = list_attached(actor=actor_of(request), kind=self._kind)
        digests = [each.attachment.digest for each in found]
        pages = dict(self.get_queryset(request).filter(digest__in=digests).values_list("digest", "pk"))
        page = {
            **self.admin_site.each_context(request),
            "title": self._plural,
            "crumbs": [_workflows_crumb()],
            "tabs": content_tabs(self._kind),
            "q": asked,
            "things": [
                {"attached": each, "url": self._row_url(pages.get(each.attachment.digest))}
                for each in found
                if asked in f"{each.attachment.id} {each.attachment.owner} {each.attachment.title}".lower()
            ],
            **(extra_context or {}),
        }
        return TemplateResponse(request, "studio/contents.html", page)

    def show(self, request: HttpRequest, row: Content) -> HttpResponse:
        found = read_attached(actor=actor_of(request), kind=self._kind, digest=row.digest)
        is_markdown = found is not None and found[0].attachment.format in {"", "markdown", "md"}
        page = {
            **self.admin_site.each_context(request),
            "title": found[0].attachment.id if found else "No longer used",
            "subtitle": found[0].attachment.summary if found else "",
            "crumbs": [_workflows_crumb(), Crumb(label=self._plural, url=self.list_url())],
            "attached": found[0] if found else None,
            "used_by": _used_by(found[0]) if found else [],
            "rendered": _rendered(row.text) if is_markdown and row.kind != "skill" else "",
            "lines": lines_of(path="x.yaml", text=row.text[:_SHOWN_CHARS]),
            "digest": row.digest,
        }
        return TemplateResponse(request, "studio/content.html", page)

    @property
    def _kind(self) -> ContentKind:
        return ContentKind(str(self.opts.model_name))

    @property
    def _plural(self) -> str:
        return _CONTENTS[self._kind]

    def _row_url(self, pk: object) -> str:
        return "" if pk is None else reverse(f"admin:workflows_app_{self.opts.model_name}_change", args=(pk,))


_CONTENTS = {ContentKind.SKILL: "Skills", ContentKind.RESOURCE: "Resources", ContentKind.TEMPLATE: "Templates"}


def _rendered(text: str) -> SafeString:
    """Without the front matter, which is no prose."""
    parts = text.split("---\n", 2) if text.startswith("---\n") else []
    return mark_safe(render_markdown((parts[2] if len(parts) == 3 else text)[:_SHOWN_CHARS]))  # noqa: S308  what the one renderer lets through


def _workflows_crumb() -> Crumb:
    return Crumb(label="Workflows", url=reverse("admin:workflows_app_workflow_changelist"))


def content_tabs(here: ContentKind | None) -> list[Tab]:
    of_workflows = Tab(label="Workflows", url=reverse("admin:workflows_app_workflow_changelist"), is_here=here is None)
    return [
        of_workflows,
        *(
            Tab(label=label, url=reverse(f"admin:workflows_app_{kind.value}_changelist"), is_here=kind is here)
            for kind, label in _CONTENTS.items()
        ),
    ]


def _used_by(attached: Attached) -> list[dict[str, str]]:
    return [
        {"title": title, "url": reverse("admin:workflows_app_workflow_change", args=(pk,))}
        for pk, title in attached.used_by
    ]


class TeamContractAdmin(StudioAdmin):
    needs = Permission.READ_WORKFLOWS
    heading = "Output contracts"
    empty = ("No contract of your own", "Those of Workrail are there for every team. A program registers more by REST.")
    is_setting = True
    ordering = ("contract_id",)
    list_display = ("contract_id", "updated_at")
    fields = ("contract_id", "shown_definition", "created_at", "updated_at")

    @display(description="definition")
    def shown_definition(self, row: TeamContract) -> SafeString:
        return format_html("<pre>{}</pre>", _text(bytes(row.definition)))


class BindingAdmin(StudioAdmin):
    needs = Permission.READ_WORKFLOWS
    heading = "Routines in slots"
    empty = ("Each slot has the routine that its workflow names", "A program puts another one there by REST.")
    is_setting = True
    ordering = ("slot",)
    list_display = ("slot", "shown_workflow", "routine", "updated_at")
    fields = ("slot", "shown_workflow", "routine", "updated_at")

    def row_name(self, request: HttpRequest, row: Model) -> str:
        return row.slot if isinstance(row, Binding) else super().row_name(request, row)

    @display(description="workflow")
    def shown_workflow(self, row: Binding) -> str:
        return row.workflow_id or "every one that has the slot"


class AliasAdmin(StudioAdmin):
    needs = Permission.READ_WORKFLOWS
    heading = "Other names of workflows"
    empty = ("No workflow has another name", "A program gives one by REST, so that what called an old name goes on.")
    is_setting = True
    ordering = ("alias",)
    list_display = ("alias", "workflow", "created_at")
    list_select_related = ("workflow",)
    search_fields = ("alias",)
    fields = ("alias", "workflow", "created_at")


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"
