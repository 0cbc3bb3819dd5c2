"""Sessions by REST, and the preferences that teams and sessions begin with."""

import os
from typing import Any
from uuid import UUID

import msgspec
from rest_framework.views import APIView

from sessions_app.api.answers import (
    EventAnswer,
    OutputAnswer,
    PreferencesAnswer,
    ResumeAnswer,
    RunAnswer,
    SessionAnswer,
    SessionReplyAnswer,
)
from sessions_app.api.bodies import (
    NameBody,
    ObservationsBody,
    PreferencesBody,
    ResumeBody,
    SessionBody,
    SessionNoteBody,
    SessionsQuery,
)
from sessions_app.selectors import (
    preferences as preferences_read,
    records,
    runs as runs_read,
    sessions as sessions_read,
)
from sessions_app.selectors.runs import RunFilters
from sessions_app.selectors.sessions import SessionFilters
from sessions_app.services.moves import resume, sessions
from sessions_app.services.moves.speech import bytes_with, house_speech
from sessions_app.services.people import naming, preferences
from teams_app.api.endpoints import Call, Download, operation, read_id
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import Page

_MOST_DIGITS = 10


class SessionsView(APIView):
    @operation(summary="The sessions of the team, the latest activity first")
    def get(self, *, call: Call, query: SessionsQuery) -> Page[SessionAnswer]:
        filters = SessionFilters(
            status=query.status,
            workflow_id=query.workflow,
            git_branch=query.branch,
            ticket=query.ticket,
            repository=query.repository,
            text=query.text,
            dialect=query.dialect,
            active_since=query.active_since,
            active_until=query.active_until,
        )
        return sessions_read.list_sessions(actor=call.actor, filters=filters, page=call.page).map(SessionAnswer.of)

    @operation(
        summary="Begin a session for notes, before any workflow is chosen", status=201, answer=SessionReplyAnswer
    )
    def post(self, *, call: Call, body: SessionBody) -> msgspec.Raw:
        reply = sessions.start_session(
            actor=call.actor,
            title=body.title.strip(),
            observations=body.observations.observed() if body.observations else {},
            now=call.now,
            entropy=os.urandom,
            speech=house_speech(),
        )
        return msgspec.Raw(reply.data)


class SessionNotesView(APIView):
    @operation(summary="Record notes on a session without a run", answer=SessionReplyAnswer)
    def post(self, *, call: Call, body: SessionNoteBody) -> msgspec.Raw:
        submission = body.submission()
        reply = sessions.bookmark_session(
            actor=call.actor,
            session_token=body.session_token,
            submission=submission,
            now=call.now,
            entropy=os.urandom,
            speech=house_speech(),
        )
        return msgspec.Raw(bytes_with(reply, submission))


class ResumeView(APIView):
    @operation(
        summary="Find the run to go on with in a new chat: at most five, the likeliest first", answer=ResumeAnswer
    )
    def post(self, *, call: Call, body: ResumeBody) -> dict[str, Any]:
        return house_speech().say(resume.resume_sessions(actor=call.actor, query=body.asked()))


class SessionView(APIView):
    @operation(summary="One session")
    def get(self, *, call: Call, session: str) -> SessionAnswer:
        return SessionAnswer.of(sessions_read.read_session(actor=call.actor, session_id=_session(session)))

    @operation(summary="Say what a session is called", status=204)
    def patch(self, *, call: Call, session: str, body: NameBody) -> None:
        naming.rename_session(
            actor=call.actor, session_id=_session(session), name=body.name, now=call.now, entropy=os.urandom
        )


class SessionRunsView(APIView):
    @operation(summary="The runs of a session, the latest activity first")
    def get(self, *, call: Call, session: str) -> Page[RunAnswer]:
        filters = RunFilters(session_id=_session(session))
        return runs_read.list_runs(actor=call.actor, filters=filters, page=call.page).map(RunAnswer.of)


class SessionEventsView(APIView):
    @operation(summary="The log of a session, the oldest event first")
    def get(self, *, call: Call, session: str) -> Page[EventAnswer]:
        found = records.list_events(actor=call.actor, session_id=_session(session), page=call.page)
        return found.map(EventAnswer.of)


class SessionEventView(APIView):
    @operation(
        summary="The canonical bytes of one event: their SHA-256 is the digest that the log has for it",
        files=("application/json",),
    )
    def get(self, *, call: Call, session: str, index: str) -> Download:
        event = records.read_event(actor=call.actor, session_id=_session(session), index=_index(index))
        name = f"{to_text(Prefix.EVENT, event.event_id)}.json"
        return Download(data=event.body, media_type="application/json", filename=name)


class SessionOutputsView(APIView):
    @operation(summary="What was noted on a session outside of its runs, the oldest first")
    def get(self, *, call: Call, session: str) -> Page[OutputAnswer]:
        found = records.list_session_outputs(actor=call.actor, session_id=_session(session), page=call.page)
        return found.map(OutputAnswer.of)


class ObservationsView(APIView):
    @operation(summary="Record where the work stands: branch, commit, repository, ticket", status=204)
    def post(self, *, call: Call, session: str, body: ObservationsBody) -> None:
        sessions.observe(
            actor=call.actor,
            session_id=_session(session),
            observations=body.required(),
            now=call.now,
            entropy=os.urandom,
        )


class SessionPreferencesView(APIView):
    @operation(summary="What the next runs of a session begin with")
    def get(self, *, call: Call, session: str) -> PreferencesAnswer:
        found = sessions_read.read_session(actor=call.actor, session_id=_session(session))
        return PreferencesAnswer.of(found.preferences)

    @operation(summary="Change what the next runs of a session begin with")
    def put(self, *, call: Call, session: str, body: PreferencesBody) -> PreferencesAnswer:
        changed = preferences.set_session_preferences(
            actor=call.actor,
            session_id=_session(session),
            change=body.required_change(),
            now=call.now,
            entropy=os.urandom,
        )
        return PreferencesAnswer.of(changed)


class TeamPreferencesView(APIView):
    @operation(summary="What the sessions of the team begin with")
    def get(self, *, call: Call) -> PreferencesAnswer:
        return PreferencesAnswer.of(preferences_read.read_team_preferences(actor=call.actor))

    @operation(summary="Change what the sessions of the team begin with")
    def put(self, *, call: Call, body: PreferencesBody) -> PreferencesAnswer:
        change = body.required_change()
        return PreferencesAnswer.of(preferences.set_team_preferences(actor=call.actor, change=change, now=call.now))


def _session(text: str) -> UUID:
    return read_id(prefix=Prefix.SESSION, text=text)


def _index(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _MOST_DIGITS:
        raise NotFoundError("There is no such event.", suggestion="Events are numbered from 0.")
    return int(text)
