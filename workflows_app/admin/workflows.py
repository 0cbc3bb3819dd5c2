"""The Studio's pages of a workflow: the catalogue, one workflow, its editor, two revisions beside each other."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.admin import display
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from teams_app.admin.pages import (
    Act,
    ActLink,
    Refused,
    actor_of,
    attempt,
    refused_before,
    shows_refusals,
    words_of_form,
)
from teams_app.admin.parts import Crumb, Tab, pill
from teams_app.engine.actors import Actor, Permission
from teams_app.engine.counting import counted, read_count
from teams_app.engine.errors import NotFoundError
from workflows_app.admin import acts, drafts, editor, source_view, words
from workflows_app.admin.differences import shown_difference
from workflows_app.admin.flow import draw_flow
from workflows_app.admin.models import content_tabs
from workflows_app.admin.shared import SharedAdmin
from workflows_app.engine.places import lines_of_text
from workflows_app.engine.program import Program
from workflows_app.engine.values import WorkflowDiff, WorkflowState
from workflows_app.models import Revision, Workflow
from workflows_app.selectors.exports import export_workflow
from workflows_app.selectors.programs import load_program
from workflows_app.selectors.rows import problem_value
from workflows_app.selectors.sources import diff_revisions, files_of, find_revision

_SHOWN_REVISIONS = 100
_TABS = {"steps": "Steps", "source": "Source", "revisions": "Revisions"}


class WorkflowAdmin(SharedAdmin):
    acts: ClassVar[tuple[Act, ...]] = (
        acts.NEW,
        acts.IMPORT,
        acts.PUBLISH_LATEST,
        acts.COPY,
        acts.RETIRE,
        acts.SAVE,
    )
    ordering = ("order_key",)
    list_display = ("named", "shown_state", "numbers", "shown_counts", "shown_family", "library")
    list_select_related = ("published",)
    list_filter = ("state", "kind", "family")
    search_fields = ("search_text",)

    @display(description="Workflow")
    def named(self, row: Workflow) -> SafeString:
        return format_html('{} <span class="quiet small mono">{}</span>', row.title or row.workflow_id, row.workflow_id)

    @display(description="State")
    def shown_state(self, row: Workflow) -> SafeString:
        return pill(words.state_of(WorkflowState(row.state)))

    @display(description="Revision")
    def numbers(self, row: Workflow) -> str:
        if row.published is None:
            return f"r{row.latest_number}"
        newer = "" if row.published.number == row.latest_number else f", newest r{row.latest_number}"
        return f"r{row.published.number}{newer}"

    @display(description="Format")
    def shown_family(self, row: Workflow) -> str:
        return words.family_of(row.family)  # type: ignore[arg-type]  # the column holds its value

    change_list_template = "studio/catalogue.html"

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return super().changelist_view(request, {"tabs": content_tabs(None), **(extra_context or {})})

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        guard = self.admin_site.admin_view
        own = [
            path("<uuid:row_id>/edit/", guard(shows_refusals(self.edit_view)), name=f"{name}_edit"),
            path("<uuid:row_id>/export/", guard(self.export_view), name=f"{name}_export"),
            path("<uuid:row_id>/compare/", guard(self.compare_view), name=f"{name}_compare"),
        ]
        return own + super().get_urls()

    def links(self, request: HttpRequest, row: Model | None = None) -> list[ActLink]:
        """Of a row the editor comes first: it is a page, not an act."""
        found = super().links(request, row)
        if not isinstance(row, Workflow):
            return found
        export = ActLink(label="Export", url=f"{_address('export', row)}", is_main=False, is_stop=False)
        edit = ActLink(label="Edit", url=_address("edit", row), is_main=True, is_stop=False)
        return [export, *found, *([edit] if acts.is_own(actor_of(request), row) else [])]

    def show(self, request: HttpRequest, row: Workflow) -> HttpResponse:
        wanted = request.GET.get("tab", "steps")
        number = request.GET.get("revision", "")
        shown = _shown_revision(row, number)
        told = self.beside(request, row)
        page = {
            **self.admin_site.each_context(request),
            "title": row.title or row.workflow_id,
            "crumbs": [self.list_crumb()],
            "row": row,
            "state": words.state_of(WorkflowState(row.state)),
            "acts": [*self._of_revision(request, row, shown), *self.links(request, row)],
            "revision": shown,
            "revisions": _revisions(row),
            "tab": wanted if wanted in _TABS else "steps",
            "tabs": self._tabs(row, wanted),
            "parts": self._part(shown, wanted, told.get("seen", {}), as_table=request.GET.get("as") == "table"),
            "views": _views(request),
            **told,
        }
        return TemplateResponse(request, "studio/workflow.html", page)

    def _of_revision(self, request: HttpRequest, row: Workflow, shown: Revision) -> list[ActLink]:
        """An earlier revision, or one of several drafts, is published from its own page."""
        is_newest = shown.number == row.latest_number
        own = acts.is_own(actor_of(request), row)
        if is_newest or not own or shown.pk == row.published_id or shown.error_count:
            return []
        url = reverse("admin:workflows_app_revision_act_publish", args=(shown.pk,))
        return [ActLink(label=f"Publish r{shown.number}", url=url, is_main=False, is_stop=False)]

    def beside(self, request: HttpRequest, row: Workflow) -> Mapping[str, Any]:  # noqa: ARG002  for those who know of runs
        """What stands beside the steps: nothing here, for this app knows of no runs."""
        return {}

    def edit_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        """GET begins from the latest revision; POST looks at what was typed. Saving is an act."""
        row, actor = self._editable(request, row_id)
        if request.method != "POST":
            latest = find_revision(row, None)
            draft = drafts.begun(latest, path=request.GET.get("file", ""))
            return self._editor(request, actor, row, latest, draft, asked=None)
        form = drafts.DraftForm(request.POST)
        base = form.cleaned_data["base"] if not refused_before(request, form) and form.is_valid() else None
        revision = None if base is None else attempt(form, lambda: drafts.began_from(row, base))
        if revision is None:
            revision, draft = drafts.as_typed(form, row)
            return self._editor(request, actor, row, revision, draft, asked=request.POST, refusal=words_of_form(form))
        draft = drafts.read_draft(form, revision)
        ordered = attempt(form, lambda: _ordered(draft, request.POST))
        if ordered is None:
            return self._editor(request, actor, row, revision, draft, asked=request.POST, refusal=words_of_form(form))
        changed = _changed_word(request.POST, actor, row, revision, ordered)
        return self._editor(request, actor, row, revision, changed or ordered, asked=request.POST)

    def refused(self, request: HttpRequest, act: Act, row_id: UUID | None, refused: Refused) -> HttpResponse:
        """Saving was refused: the editor again, with what was typed and what was saved meanwhile."""
        if act.slug != acts.SAVE.slug or row_id is None:
            return super().refused(request, act, row_id, refused)
        row, actor = self._editable(request, row_id)
        form = drafts.DraftForm(request.POST)
        form.full_clean()
        revision, draft = drafts.as_typed(form, row)
        meanwhile = None
        if row.latest_number != draft.base:
            draft = draft.on_top_of(files_of(find_revision(row, None).pk))
            meanwhile = diff_revisions(
                actor=actor, workflow_id=row.workflow_id, number=row.latest_number, base=draft.base
            )
        return self._editor(
            request, actor, row, revision, draft, asked=request.POST, refusal=refused.words, meanwhile=meanwhile
        )

    def export_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        row = self._shown_row(request, row_id)
        number = read_count(request.GET.get("revision", ""))
        done = export_workflow(actor=actor_of(request), workflow_id=row.workflow_id, number=number)
        headers = {"Content-Disposition": f'attachment; filename="{done.filename}"', "Cache-Control": "no-store"}
        return HttpResponse(done.data, content_type=done.media_type, headers=headers)

    def compare_view(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        row = self._shown_row(request, row_id)
        number = read_count(request.GET.get("revision", "")) or row.latest_number
        base = read_count(request.GET.get("base", ""))
        if base is None:
            base = row.published.number if row.published and row.published.number != number else max(number - 1, 0)
        try:
            diff = diff_revisions(
                actor=actor_of(request), workflow_id=row.workflow_id, number=number, base=base or None
            )
        except NotFoundError:
            raise Http404 from None
        page = {
            **self.admin_site.each_context(request),
            "title": f"r{number} beside r{base}" if base else f"All of r{number}",
            "crumbs": [self.list_crumb(), self._crumb(row)],
            "row": row,
            "number": number,
            "base": base,
            "numbers": range(row.latest_number, 0, -1),
            **shown_difference(diff),
        }
        return TemplateResponse(request, "studio/workflow_compare.html", page)

    def _editor(
        self,
        request: HttpRequest,
        actor: Actor,
        row: Workflow,
        revision: Revision,
        draft: drafts.Draft,
        *,
        asked: QueryDict | None,
        refusal: str = "",
        meanwhile: WorkflowDiff | None = None,
    ) -> HttpResponse:
        page = {
            **self.admin_site.each_context(request),
            "title": row.title or row.workflow_id,
            "here": f"Draft r{row.latest_number}" if row.published is None else f"After r{row.latest_number}",
            "crumbs": [self.list_crumb(), self._crumb(row)],
            "revision": revision,
            "save_url": self.act_url(acts.SAVE, row.pk),
            "publish_url": self.act_url(acts.PUBLISH_LATEST, row.pk),
            "may_publish": actor.may(Permission.PUBLISH_WORKFLOWS),
            "is_newer": bool(draft.changed) or row.published is None or row.published.number != row.latest_number,
            **editor.page_of(actor=actor, row=row, revision=revision, draft=draft, asked=asked),
            **({} if meanwhile is None else {"meanwhile": row.latest_number, **shown_difference(meanwhile)}),
        }
        page["refusal"] = refusal or page["unread"]
        page["new_path"] = request.POST.get("new_path", "") if page["refusal"] else ""
        return TemplateResponse(request, "studio/editor.html", page, status=400 if page["refusal"] else 200)

    def _editable(self, request: HttpRequest, row_id: UUID) -> tuple[Workflow, Actor]:
        actor = actor_of(request)
        if not actor.may(Permission.EDIT_WORKFLOWS):
            raise PermissionDenied
        row = self._shown_row(request, row_id)
        if row.team_id is None:
            raise Http404
        return row, actor

    def _shown_row(self, request: HttpRequest, row_id: UUID) -> Workflow:
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_queryset(request).select_related("published").filter(pk=row_id).first()
        if not isinstance(row, Workflow):
            raise Http404
        return row

    def _crumb(self, row: Workflow) -> Crumb:
        return Crumb(label=row.title or row.workflow_id, url=workflow_url(row.pk))

    def _tabs(self, row: Workflow, wanted: str) -> list[Tab]:
        counts = {"revisions": row.latest_number}
        here = wanted if wanted in _TABS else "steps"
        return [
            Tab(label=label, url=f"?tab={slug}", is_here=slug == here, count=counts.get(slug))
            for slug, label in _TABS.items()
        ]

    def _part(self, revision: Revision, wanted: str, seen: Mapping[str, Any], *, as_table: bool) -> Mapping[str, Any]:
        problems = [problem_value(item) for item in revision.problems]
        placed = source_view.placed(
            problems=problems, files=files_of(revision.pk), first=drafts.first_of(revision, files_of(revision.pk))
        )
        part: dict[str, Any] = {"problems": placed}
        if wanted == "source":
            part["files"] = _files(revision, placed)
        elif wanted != "revisions":
            program = load_program(revision.program_id) if revision.program_id else None
            part["program"] = program
            stages = list(words.stages_of(program)) if program else []
            part["stages"] = [(stage, seen.get(stage.item_id)) for stage in stages]
            part["flow"] = None if program is None or as_table else _flow(program, stages, seen, revision)
        return part


def _views(request: HttpRequest) -> list[Tab]:
    """The steps drawn, or as a table that says the same."""
    kept = {"revision": request.GET["revision"]} if read_count(request.GET.get("revision", "")) is not None else {}
    is_table = request.GET.get("as") == "table"
    return [
        Tab(label="Graph", url=f"?{urlencode(kept)}", is_here=not is_table),
        Tab(label="Table", url=f"?{urlencode({**kept, 'as': 'table'})}", is_here=is_table),
    ]


def _flow(
    program: Program, stages: Sequence[words.WorkflowStage], seen: Mapping[str, Any], revision: Revision
) -> SafeString | None:
    ways = {activity.id: [way.to for way in activity.transitions] for activity in program.activities}
    return draw_flow(
        stages=stages, ways=ways, seen=seen, label=f"The steps of r{revision.number}, as the table lists them"
    )


def _address(page: str, row: Workflow) -> str:
    return reverse(f"admin:workflows_app_workflow_{page}", args=(row.pk,))


def workflow_url(row_id: UUID) -> str:
    return reverse("admin:workflows_app_workflow_change", args=(row_id,))


def _files(revision: Revision, placed: list[words.ShownProblem]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = []
    room = source_view.PageRoom()
    for file_path, data in sorted(files_of(revision.pk).items(), key=lambda each: (each[0].count("/"), each[0])):
        text = source_view.text_of(data)
        lines = [] if text is None else source_view.lines_of(path=file_path, text=text, problems=placed, room=room)
        is_cut = text is not None and len(lines) < len(lines_of_text(text))
        shown.append({"path": file_path, "lines": lines, "size": len(data), "is_cut": is_cut})
    return shown


def _revisions(row: Workflow) -> list[dict[str, Any]]:
    newest = row.revisions.order_by("-number").defer("problems")[:_SHOWN_REVISIONS]
    return [
        {
            "number": each.number,
            "before": each.number - 1,
            "message": each.message or ("The first one" if each.number == 1 else "Without a note"),
            "author": each.author_name,
            "at": each.created_at,
            "is_published": each.pk == row.published_id,
            "was_published": each.published_at is not None,
            "problems": counted(each.error_count, "error") if each.error_count else "",
            "hash": each.program_id,
        }
        for each in newest
    ]


def _shown_revision(row: Workflow, number: str) -> Revision:
    """The one that is asked for, else what runs, else the latest."""
    asked = read_count(number)
    if asked is not None:
        try:
            return find_revision(row, asked)
        except NotFoundError:
            raise Http404 from None
    return row.published or find_revision(row, None)


def _ordered(draft: drafts.Draft, asked: QueryDict) -> drafts.Draft:
    """A tab was chosen, or a file made or dropped."""
    what, _, named = asked.get("do", "").partition(":")
    path_given = str(asked.get("new_path", "")).strip()
    match what:
        case "open" if named in draft.files:
            return draft.opened(named)
        case "add" if path_given:
            return draft.added(path_given)
        case "drop" if len(draft.files) > 1:
            return draft.dropped(draft.path)
    return draft


def _changed_word(
    asked: QueryDict, actor: Actor, row: Workflow, revision: Revision, draft: drafts.Draft
) -> drafts.Draft | None:
    """“Change it” of a problem: the word that was meant, in its line."""
    what, _, index = asked.get("do", "").partition(":")
    number = read_count(index)
    if what != "change" or number is None:
        return None
    problems = editor.page_of(actor=actor, row=row, revision=revision, draft=draft, asked=None)["problems"]
    found = dict(problems).get(number)
    if found is None or not found.wrong or found.line is None:
        return None
    return draft.mended(found.file, line=found.line, wrong=found.wrong, right=found.right)
