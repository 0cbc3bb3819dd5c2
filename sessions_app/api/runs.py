"""Runs by REST: what drives one, by the services that the rail's tools call, and what people read of it."""

import os
import re
from uuid import UUID

import msgspec
from rest_framework.views import APIView

from sessions_app.api.answers import (
    EventAnswer,
    NodeAnswer,
    NodeDetailAnswer,
    OutputAnswer,
    PreferencesAnswer,
    ReplyAnswer,
    RunAnswer,
    RunDetailAnswer,
    RunGapAnswer,
    TreeAnswer,
)
from sessions_app.api.bodies import (
    BranchBody,
    CheckpointBody,
    ContinueBody,
    NameBody,
    PreferencesBody,
    RehydrateBody,
    ResolutionBody,
    RunsQuery,
    StartBody,
    StopBody,
    TreeQuery,
)
from sessions_app.selectors import nodes, records, runs as runs_read
from sessions_app.selectors.runs import RunFilters
from sessions_app.services.moves import runs
from sessions_app.services.moves.beginning import start_run
from sessions_app.services.moves.speech import bytes_with, house_speech
from sessions_app.services.people import gaps, naming, preferring, stops
from teams_app.api.endpoints import Call, operation, read_id
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix
from teams_app.engine.named_requests import REQUEST_KEY, read_name
from teams_app.engine.pages import Page

_GAP = re.compile("gap_([0-9a-f]{32})")


class RunsView(APIView):
    @operation(summary="The runs of the team, the latest activity first")
    def get(self, *, call: Call, query: RunsQuery) -> Page[RunAnswer]:
        filters = RunFilters(
            status=query.status,
            workflow_id=query.workflow,
            session_id=None if query.session is None else read_id(prefix=Prefix.SESSION, text=query.session),
            text=query.text,
            dialect=query.dialect,
            active_since=query.active_since,
            active_until=query.active_until,
        )
        return runs_read.list_runs(actor=call.actor, filters=filters, page=call.page).map(RunAnswer.of)

    @operation(
        summary="Begin a run of a workflow and be given its first step",
        status=201,
        answer=ReplyAnswer,
        headers=(REQUEST_KEY,),
    )
    def post(self, *, call: Call, body: StartBody) -> msgspec.Raw:
        """The header Idempotency-Key names the request: the same key again is answered the run that it began."""
        beginning = body.beginning(request_key=read_name(self.request.headers.get(REQUEST_KEY, "")))
        reply = start_run(
            actor=call.actor, beginning=beginning, now=call.now, entropy=os.urandom, speech=house_speech()
        )
        return msgspec.Raw(reply.data)


class ContinuationView(APIView):
    @operation(summary="Acknowledge the pending step; without an ackToken be told it again", answer=ReplyAnswer)
    def post(self, *, call: Call, body: ContinueBody) -> msgspec.Raw:
        body.check()
        if body.ack_token is None:
            told = runs.rehydrate_run(
                actor=call.actor, state_token=body.state_token, entropy=os.urandom, speech=house_speech()
            )
            return msgspec.Raw(told.data)
        reply = runs.advance_run(
            actor=call.actor,
            state_token=body.state_token,
            ack_token=body.ack_token,
            submission=body.submission(),
            preferences=body.change(),
            now=call.now,
            entropy=os.urandom,
            speech=house_speech(),
        )
        return msgspec.Raw(bytes_with(reply, body.submission()))


class RehydrationView(APIView):
    @operation(summary="Be told the pending step of a node again, with a recap; nothing is written", answer=ReplyAnswer)
    def post(self, *, call: Call, body: RehydrateBody) -> msgspec.Raw:
        reply = runs.rehydrate_run(
            actor=call.actor, state_token=body.state_token, entropy=os.urandom, speech=house_speech()
        )
        return msgspec.Raw(reply.data)


class BookmarkView(APIView):
    @operation(summary="Record work at a step without finishing it", answer=ReplyAnswer)
    def post(self, *, call: Call, body: CheckpointBody) -> msgspec.Raw:
        reply = runs.bookmark_run(
            actor=call.actor,
            state_token=body.state_token,
            checkpoint_token=body.checkpoint_token,
            submission=body.submission(),
            now=call.now,
            entropy=os.urandom,
            speech=house_speech(),
        )
        return msgspec.Raw(bytes_with(reply, body.submission()))


class RunView(APIView):
    @operation(summary="One run with its session, its tip and the number of its open gaps")
    def get(self, *, call: Call, run: str) -> RunDetailAnswer:
        return RunDetailAnswer.of(runs_read.read_run(actor=call.actor, run_id=_run(run)))

    @operation(summary="Say what a run is called; its goal stays what its agent was told", status=204)
    def patch(self, *, call: Call, run: str, body: NameBody) -> None:
        naming.rename_run(actor=call.actor, run_id=_run(run), name=body.name, now=call.now, entropy=os.urandom)


class ChildrenView(APIView):
    @operation(summary="The runs that a run has triggered, the latest activity first")
    def get(self, *, call: Call, run: str) -> Page[RunAnswer]:
        filters = RunFilters(parent_run_id=_run(run))
        return runs_read.list_runs(actor=call.actor, filters=filters, page=call.page).map(RunAnswer.of)


class TreeView(APIView):
    @operation(summary="The newest nodes of a run as a tree; `before` asks for older ones")
    def get(self, *, call: Call, run: str, query: TreeQuery) -> TreeAnswer:
        return TreeAnswer.of(runs_read.read_tree(actor=call.actor, run_id=_run(run), before=query.before))


class NodesView(APIView):
    @operation(summary="The nodes of a run, the oldest first")
    def get(self, *, call: Call, run: str) -> Page[NodeAnswer]:
        return records.list_nodes(actor=call.actor, run_id=_run(run), page=call.page).map(NodeAnswer.of)


class NodeView(APIView):
    @operation(summary="One node with what was handed in there, why it is blocked, and what came of it")
    def get(self, *, call: Call, node: str) -> NodeDetailAnswer:
        node_id = read_id(prefix=Prefix.NODE, text=node)
        return NodeDetailAnswer.of(nodes.read_node(actor=call.actor, node_id=node_id))


class RunEventsView(APIView):
    @operation(summary="What the session's log says of a run, the oldest first")
    def get(self, *, call: Call, run: str) -> Page[EventAnswer]:
        return records.list_run_events(actor=call.actor, run_id=_run(run), page=call.page).map(EventAnswer.of)


class RunOutputsView(APIView):
    @operation(summary="The notes and artifacts of a run, the oldest first")
    def get(self, *, call: Call, run: str) -> Page[OutputAnswer]:
        return records.list_outputs(actor=call.actor, run_id=_run(run), page=call.page).map(OutputAnswer.of)


class RunGapsView(APIView):
    @operation(summary="The gaps of a run, the oldest first")
    def get(self, *, call: Call, run: str) -> Page[RunGapAnswer]:
        return records.list_gaps(actor=call.actor, run_id=_run(run), page=call.page).map(RunGapAnswer.of)


class GapResolutionView(APIView):
    @operation(summary="Close a gap, saying what supplied that which was missing", status=204)
    def post(self, *, call: Call, gap: str, body: ResolutionBody) -> None:
        gaps.resolve_gap(actor=call.actor, gap_id=_gap(gap), summary=body.summary, now=call.now, entropy=os.urandom)


class RunPreferencesView(APIView):
    @operation(summary="The preferences in force at the tip of a run")
    def get(self, *, call: Call, run: str) -> PreferencesAnswer:
        return PreferencesAnswer.of(runs_read.read_run(actor=call.actor, run_id=_run(run)).tip.preferences)

    @operation(summary="Change the preferences of a run from its tip on", answer=ReplyAnswer)
    def put(self, *, call: Call, run: str, body: PreferencesBody) -> msgspec.Raw:
        reply = runs.change_preferences(
            actor=call.actor,
            run_id=_run(run),
            change=body.required_change(),
            now=call.now,
            entropy=os.urandom,
            speech=house_speech(),
        )
        return msgspec.Raw(reply.data)


class CancellationView(APIView):
    represents = RunView

    @operation(summary="End a run for good; for people. Whoever moves it afterwards is told why", status=204)
    def post(self, *, call: Call, run: str, body: StopBody) -> None:
        stops.cancel_run(actor=call.actor, run_id=_run(run), reason=body.reason, now=call.now, entropy=os.urandom)


class PauseView(APIView):
    represents = RunView

    @operation(summary="Hold a run where it stands; for people", status=204)
    def post(self, *, call: Call, run: str, body: StopBody) -> None:
        stops.pause_run(actor=call.actor, run_id=_run(run), reason=body.reason, now=call.now, entropy=os.urandom)


class ResumptionView(APIView):
    represents = RunView

    @operation(summary="Let a paused run go on; for people", status=204)
    def post(self, *, call: Call, run: str) -> None:
        stops.resume_run(actor=call.actor, run_id=_run(run), now=call.now, entropy=os.urandom)


class PreferredBranchView(APIView):
    represents = RunView

    @operation(
        summary="Say with which branch a run is to go on; for people. There it stands until another is worked on",
        status=204,
    )
    def post(self, *, call: Call, run: str, body: BranchBody) -> None:
        preferring.prefer_branch(
            actor=call.actor,
            run_id=_run(run),
            node_id=read_id(prefix=Prefix.NODE, text=body.node),
            reason=body.reason,
            now=call.now,
            entropy=os.urandom,
        )


def _run(text: str) -> UUID:
    return read_id(prefix=Prefix.RUN, text=text)


def _gap(text: str) -> UUID:
    found = _GAP.fullmatch(text)
    if found is None:
        raise NotFoundError("There is no such gap.", suggestion="List the gaps of the run for their ids.")
    return UUID(hex=found[1])
