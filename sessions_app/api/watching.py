"""How far a run, or the team's inbox, has come; and a stream that tells when that changes."""

from typing import NoReturn
from uuid import UUID

from rest_framework.views import APIView

from sessions_app.selectors.heads import session_of_run, versions_of
from teams_app.api.endpoints import Call, Download, Shape, operation, read_id
from teams_app.engine.actors import Permission
from teams_app.engine.errors import PreconditionFailedError
from teams_app.engine.ids import Prefix


class VersionAnswer(Shape, frozen=True):
    """`version` is another one as soon as anything has changed. `kind` and `watched` say whose it is."""

    kind: str
    watched: UUID
    version: str


class RunVersionView(APIView):
    @operation(summary="How far a run and its session have come: another version as soon as anything has changed")
    def get(self, *, call: Call, run: str) -> VersionAnswer:
        session_id = session_of_run(actor=call.actor, run_id=read_id(prefix=Prefix.RUN, text=run))
        versions = versions_of(sessions=[session_id], teams=[])
        return VersionAnswer(kind="session", watched=session_id, version=versions.get(session_id, ""))


class InboxVersionView(APIView):
    @operation(summary="How far the inbox and the runs of the team have come, as one version")
    def get(self, *, call: Call) -> VersionAnswer:
        call.actor.require(Permission.READ_RUNS)
        team_id = call.actor.team_id
        return VersionAnswer(
            kind="team", watched=team_id, version=versions_of(sessions=[], teams=[team_id]).get(team_id, "")
        )


class RunStreamView(APIView):
    @operation(
        summary="Server-sent events: `changed` with the new version, whenever a run or its session moves on",
        files=("text/event-stream",),
    )
    def get(self, *, call: Call, run: str) -> Download:  # noqa: ARG002  answered by the server in front
        _cannot_stream()


class InboxStreamView(APIView):
    @operation(
        summary="Server-sent events: `changed` with the new version, whenever a question comes, goes or is claimed"
    )
    def get(self, *, call: Call) -> None:  # noqa: ARG002  answered by the server in front
        _cannot_stream()


def _cannot_stream() -> NoReturn:
    raise PreconditionFailedError(
        "This server cannot hold a stream open, or has as many as it holds.",
        suggestion="Ask for /version every few seconds, with If-None-Match.",
    )
