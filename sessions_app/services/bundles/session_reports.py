"""A session as a document for people: Markdown, or HTML that prints."""

from enum import StrEnum
from uuid import UUID

from django.template.loader import render_to_string

from sessions_app.engine.projections import project
from sessions_app.engine.session_reports import SessionReport, report_session, write_markdown
from sessions_app.models import Node
from sessions_app.selectors.log_reading import read_log
from sessions_app.selectors.reading import one_state
from sessions_app.selectors.sessions import no_session, team_sessions
from teams_app.engine.actors import Actor, Permission


class ReportForm(StrEnum):
    MARKDOWN = "markdown"
    HTML = "html"


def render_session(*, actor: Actor, session_id: UUID, form: ReportForm) -> bytes:
    """The same log gives the same bytes."""
    actor.require(Permission.READ_RUNS)
    report = _read(actor, session_id)
    match form:
        case ReportForm.MARKDOWN:
            return write_markdown(report).encode()
        case ReportForm.HTML:
            return render_to_string("reports/session.html", {"report": report}).encode()


def _read(actor: Actor, session_id: UUID) -> SessionReport:
    with one_state():
        session = team_sessions(actor).filter(pk=session_id).order_by("pk").first()
        if session is None:
            raise no_session()
        view = project(event.body for event in read_log(session_id=session.id))
        nodes = Node.objects.filter(run_id__in=list(view.runs)).values_list("id", "pending_title")
        return report_session(session_id=session.id, view=view, titles=dict(nodes))
