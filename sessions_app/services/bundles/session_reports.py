"""A session as a document for people: Markdown, or HTML that prints."""

from collections.abc import Iterator
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
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.ids import Prefix, to_text


class ReportForm(StrEnum):
    MARKDOWN = "markdown"
    HTML = "html"


# Of a log of which a request makes a document. A command takes the time that it takes.
MOST_BYTES_AT_ONCE = 2 * 1024 * 1024


def render_session(*, actor: Actor, session_id: UUID, form: ReportForm, most_bytes: int | None = None) -> bytes:
    """The same log gives the same bytes. Raises PreconditionFailedError where the log has more than it may."""
    actor.require(Permission.READ_RUNS)
    report = _read(actor, session_id, most_bytes)
    match form:
        case ReportForm.MARKDOWN:
            return write_markdown(report).encode()
        case ReportForm.HTML:
            return render_to_string("reports/session.html", {"report": report}).encode()


def _read(actor: Actor, session_id: UUID, most_bytes: int | None) -> SessionReport:
    with one_state():
        session = team_sessions(actor).filter(pk=session_id).order_by("pk").first()
        if session is None:
            raise no_session()
        view = project(_bodies(session.id, most_bytes))
        nodes = Node.objects.filter(run_id__in=list(view.runs)).values_list("id", "pending_title")
        return report_session(session_id=session.id, view=view, titles=dict(nodes))


def _bodies(session_id: UUID, most_bytes: int | None) -> Iterator[bytes]:
    read = 0
    for event in read_log(session_id=session_id):
        read += len(event.body)
        if most_bytes is not None and read > most_bytes:
            raise PreconditionFailedError(
                f"The log of the session has more than {most_bytes} bytes, which is what a request makes a document of.",
                suggestion=f"Write it where the server runs: ./workrail export {to_text(Prefix.SESSION, session_id)} session.md. "
                "Or ask for a bundle of the session, which a worker makes.",
                details={"maxBytes": most_bytes},
            )
        yield event.body
