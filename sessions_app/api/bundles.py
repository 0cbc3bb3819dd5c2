"""Bundles by REST: asked for, watched, fetched, and handed in."""

from collections.abc import Iterator
from typing import IO, Annotated, Any

import msgspec
from django.conf import settings
from rest_framework.parsers import BaseParser
from rest_framework.views import APIView

from sessions_app.api.answers import Moment
from sessions_app.engine.bundle_values import BundleJobValue
from sessions_app.engine.bundles import MEDIA_TYPE, BundleJobKind, BundleJobState
from sessions_app.selectors import bundle_jobs as jobs_read
from sessions_app.services.bundles import bundle_jobs
from sessions_app.services.bundles.session_reports import MOST_BYTES_AT_ONCE, ReportForm, render_session
from teams_app.api.endpoints import Call, Download, Shape, operation, read_id
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import Page

_PIECE_BYTES = 64 * 1024


class BundleParser(BaseParser):
    """The body is the bundle; it is read as it is stored."""

    media_type = MEDIA_TYPE

    def parse(self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:  # noqa: ARG002  DRF's signature
        return {"bundle": stream.read(settings.MAX_UPLOAD_BYTES + 1)}


class GzippedBundleParser(BundleParser):
    media_type = "application/gzip"


class BundleBody(Shape, frozen=True):
    """Sent as the body itself, as `application/vnd.workrail.bundle+json` or gzipped; or in base64 in JSON."""

    bundle: Annotated[bytes, msgspec.Meta(min_length=1)]

    def pieces(self) -> Iterator[bytes]:
        for at in range(0, len(self.bundle), _PIECE_BYTES):
            yield self.bundle[at : at + _PIECE_BYTES]


class ReportQuery(Shape, frozen=True):
    form: ReportForm = ReportForm.MARKDOWN


class BundleJobAnswer(Shape, frozen=True):
    """`doneEvents` of `totalEvents` are done. `result` is what an import has come to, or the refusal that ended the job."""

    id: str
    kind: BundleJobKind
    state: BundleJobState
    session: str | None
    asked_by: str
    done_events: int
    total_events: int
    size_bytes: int
    result: dict[str, Any] | None
    created_at: Moment
    finished_at: Moment | None
    expires_at: Moment

    @staticmethod
    def of(value: BundleJobValue) -> "BundleJobAnswer":
        return BundleJobAnswer.taken(
            value,
            id=to_text(Prefix.BUNDLE_JOB, value.id),
            session=None if value.session_id is None else to_text(Prefix.SESSION, value.session_id),
            result=None if value.result is None else dict(value.result),
        )


class SessionExportView(APIView):
    @operation(summary="Ask for a bundle of the session: a file from which it can go on elsewhere", status=202)
    def post(self, *, call: Call, session: str) -> BundleJobAnswer:
        session_id = read_id(prefix=Prefix.SESSION, text=session)
        return BundleJobAnswer.of(bundle_jobs.ask_to_export(actor=call.actor, session_id=session_id, now=call.now))


class SessionReportView(APIView):
    @operation(summary="The session as a document for people", files=("text/markdown", "text/html"))
    def get(self, *, call: Call, session: str, query: ReportQuery) -> Download:
        session_id = read_id(prefix=Prefix.SESSION, text=session)
        data = render_session(actor=call.actor, session_id=session_id, form=query.form, most_bytes=MOST_BYTES_AT_ONCE)
        ending = "md" if query.form is ReportForm.MARKDOWN else "html"
        return Download(data=data, media_type=f"text/{query.form.value}", filename=f"{session}.{ending}")


class BundleJobsView(APIView):
    parser_classes = (*APIView.parser_classes, BundleParser, GzippedBundleParser)

    @operation(summary="Exports and imports of the team, the newest first")
    def get(self, *, call: Call) -> Page[BundleJobAnswer]:
        return jobs_read.list_bundle_jobs(actor=call.actor, page=call.page).map(BundleJobAnswer.of)

    @operation(summary="Hand in a bundle to be imported. For people with the role author", status=202)
    def post(self, *, call: Call, body: BundleBody) -> BundleJobAnswer:
        asked = bundle_jobs.ask_to_import(
            actor=call.actor, pieces=body.pieces(), now=call.now, max_bytes=settings.MAX_UPLOAD_BYTES
        )
        return BundleJobAnswer.of(asked)


class BundleJobView(APIView):
    @operation(summary="How far an export or import is, and what it has come to")
    def get(self, *, call: Call, job: str) -> BundleJobAnswer:
        job_id = read_id(prefix=Prefix.BUNDLE_JOB, text=job)
        return BundleJobAnswer.of(jobs_read.read_bundle_job(actor=call.actor, job_id=job_id))


class BundleFileView(APIView):
    @operation(summary="The file of an export that is done, gzipped, until it expires", files=("application/gzip",))
    def get(self, *, call: Call, job: str) -> Download:
        job_id = read_id(prefix=Prefix.BUNDLE_JOB, text=job)
        file = jobs_read.read_bundle_file(actor=call.actor, job_id=job_id, now=call.now)
        return Download(data=file.pieces, media_type="application/gzip", filename=file.name)
