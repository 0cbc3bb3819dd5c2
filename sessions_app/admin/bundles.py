"""The Studio's pages of bundles: what was asked for, how far it is, its file, and handing one in."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib.admin import display
from django.db.models import Model
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import content_disposition_header
from django.utils.safestring import SafeString

from sessions_app.admin import pages, showing
from sessions_app.admin.bulk import RowsForm, each_row
from sessions_app.engine.bundles import BundleJobKind, BundleJobState
from sessions_app.models import BundleJob
from sessions_app.selectors.bundle_jobs import read_bundle_file
from sessions_app.selectors.heads import session_of_run
from sessions_app.services.bundles import bundle_jobs
from teams_app.admin.pages import Act, Done, Order, StudioAdmin, actor_of, titled
from teams_app.engine.actors import Permission


class BundleForm(forms.Form):
    bundle = forms.FileField(help_text="A .json or .json.gz file that was exported from a Workrail.")


def _export(order: Order) -> Done:
    job = bundle_jobs.ask_to_export(actor=order.actor, session_id=pages.some(order.row_id), now=order.now)
    return Done(message="The export is under way.", url=_url(job.id))


def _export_each(order: Order) -> Done:
    def ask(session_id: UUID) -> None:
        bundle_jobs.ask_to_export(actor=order.actor, session_id=session_id, now=order.now)

    done = each_row(order, ask, noun="session", done="under way to a file")
    return replace(done, url=reverse("admin:sessions_app_bundlejob_changelist"))


def _export_each_of_runs(order: Order) -> Done:
    """A run goes out with its session; several of one session are one file."""
    sessions = dict.fromkeys(session_of_run(actor=order.actor, run_id=row_id) for row_id in order.values["rows"])
    return _export_each(replace(order, values={"rows": list(sessions)}))


def _import(order: Order) -> Done:
    file = order.values["bundle"]
    job = bundle_jobs.ask_to_import(
        actor=order.actor, pieces=file.chunks(), now=order.now, max_bytes=settings.MAX_UPLOAD_BYTES
    )
    return Done(message="The bundle is being checked and imported.", url=_url(job.id))


EXPORT_SESSION = Act(
    slug="export",
    label="Export",
    question=(
        "A file is made with the session, its log, what its runs triggered, and the programs that they run. "
        "Whoever has it can read all of that."
    ),
    needs=Permission.READ_RUNS,
    run=_export,
)
EXPORT_SESSIONS = Act(
    slug="export-rows",
    label="Export",
    question=(
        "A file is made of each session, with its log, what its runs triggered, and the programs that they run. Whoever has one can "
        "read all of that."
    ),
    needs=Permission.READ_RUNS,
    run=_export_each,
    form=RowsForm,
    on_row=False,
    is_bulk=True,
)
EXPORT_RUNS = replace(EXPORT_SESSIONS, run=_export_each_of_runs)
IMPORT_BUNDLE = Act(
    slug="import",
    label="Import a bundle",
    question=(
        "You vouch for what it tells: the answers of people in it count here, and its runs go on with the programs in it. "
        "All of it is checked before anything is written."
    ),
    needs=Permission.PUBLISH_WORKFLOWS,
    run=_import,
    form=BundleForm,
    on_row=False,
    is_main=True,
)


class BundleJobAdmin(StudioAdmin):
    needs = Permission.READ_RUNS
    acts = (IMPORT_BUNDLE,)
    list_display = ("created_at", "kind", "state", "asked_by", "progress", "session")
    fields = ("created_at", "kind", "state", "asked_by", "progress", "session", "file", "outcome", "expires_at")
    sortable_by = ()

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.file_view)
        return [path("<uuid:row_id>/file/", view, name="bundle_file"), *super().get_urls()]

    def file_view(self, request: HttpRequest, row_id: UUID) -> HttpResponseBase:
        found = pages.found(lambda: read_bundle_file(actor=actor_of(request), job_id=row_id, now=timezone.now()))
        disposition = content_disposition_header(as_attachment=True, filename=found.name)
        headers = {"Cache-Control": "no-store", "Content-Disposition": disposition or "attachment"}
        return StreamingHttpResponse(found.pieces, content_type="application/gzip", headers=headers)

    def row_name(self, request: HttpRequest, row: Model) -> str:
        return titled(row.kind) if isinstance(row, BundleJob) else super().row_name(request, row)

    @display(description="asked by")
    def asked_by(self, row: BundleJob) -> str:
        return row.actor_name

    @display(description="events")
    def progress(self, row: BundleJob) -> str:
        return f"{row.done_events} of {row.total_events}" if row.total_events else "–"

    @display(description="session")
    def session(self, row: BundleJob) -> str | SafeString:
        if row.session_id is None:
            return "–"
        return format_html('<a href="{}">Session</a>', showing.session_url(row.session_id))

    @display(description="file")
    def file(self, row: BundleJob) -> str | SafeString:
        if row.kind == BundleJobKind.IMPORT.value or row.state != BundleJobState.DONE.value:
            return "–"
        return format_html('<a href="{}">Download</a>', reverse("admin:bundle_file", args=(row.pk,)))

    @display(description="outcome")
    def outcome(self, row: BundleJob) -> str:
        result: dict[str, Any] = row.result or {}
        if row.state == BundleJobState.FAILED.value:
            return f"{result.get('code')}: {result.get('message')}"
        return ", ".join(result.get("sessions", [])) or "–"


def _url(job_id: UUID) -> str:
    return reverse("admin:sessions_app_bundlejob_change", args=(job_id,))
