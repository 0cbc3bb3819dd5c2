"""The trace by REST."""

from uuid import UUID

from rest_framework.views import APIView

from teams_app.api.endpoints import Call, operation, read_id
from teams_app.engine.ids import Prefix
from teams_app.engine.pages import Page
from traces_app.api.shapes import TimelineAnswer, TimelineQuery, TraceCallAnswer
from traces_app.services import reading


class SessionTraceView(APIView):
    @operation(summary="The tool calls of a session and its runs, the oldest first")
    def get(self, *, call: Call, session: str) -> Page[TraceCallAnswer]:
        session_id = read_id(prefix=Prefix.SESSION, text=session)
        found = reading.read_session_trace(actor=call.actor, session_id=session_id, page=call.page)
        return found.map(TraceCallAnswer.of)


class RunTraceView(APIView):
    @operation(summary="The tool calls of a run, the oldest first")
    def get(self, *, call: Call, run: str) -> Page[TraceCallAnswer]:
        run_id = read_id(prefix=Prefix.RUN, text=run)
        return reading.read_run_trace(actor=call.actor, run_id=run_id, page=call.page).map(TraceCallAnswer.of)


class SessionTimelineView(APIView):
    @operation(summary="What the runs of a session did over time")
    def get(self, *, call: Call, session: str, query: TimelineQuery) -> TimelineAnswer:
        session_id = read_id(prefix=Prefix.SESSION, text=session)
        found = reading.read_session_timeline(
            actor=call.actor, session_id=session_id, limit=query.limit, before=_before(query)
        )
        return TimelineAnswer.of(found)


class RunTimelineView(APIView):
    @operation(summary="What a run did over time")
    def get(self, *, call: Call, run: str, query: TimelineQuery) -> TimelineAnswer:
        run_id = read_id(prefix=Prefix.RUN, text=run)
        found = reading.read_run_timeline(actor=call.actor, run_id=run_id, limit=query.limit, before=_before(query))
        return TimelineAnswer.of(found)


def _before(query: TimelineQuery) -> UUID | None:
    return None if query.before is None else read_id(prefix=Prefix.TRACE, text=query.before)
