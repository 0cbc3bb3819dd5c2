"""The tools of the rail, by the names of its contract. Each reads its arguments, makes one call and prints the reply."""

import os

from django.utils import timezone

from sessions_app.engine.submissions import Submission
from sessions_app.services.moves import runs, sessions
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.requests import read_session_id
from sessions_app.services.moves.resume import resume_sessions
from sessions_app.services.moves.speech import Reply
from teams_app.engine.errors import InvalidInputError
from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.dialects.rail import library, parameters as given, resuming
from workrail_site.dialects.rail.asking import RailAsking
from workrail_site.dialects.rail.readings import (
    change_of,
    check_meant,
    observations_of,
    resume_query_of,
    submission_of,
)
from workrail_site.dialects.rail.replies import RAIL, render_text
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting, caller
from workrail_site.mcp.library import MCPToolset
from workrail_site.mcp.toolsets import DialectServer, Hints, hinted

rail = DialectServer(INTRODUCTIONS["rail"], asking=RailAsking())


class RailTools(MCPToolset):  # type: ignore[misc]  # the library has no types
    mcp_server = rail

    @hinted(Hints(title="List workflows", read_only=True, idempotent=True))
    def list_workflows(
        self,
        *,
        kind: given.Kind = None,
        search: given.Search = "",
        tags: given.Tags = None,
        limit: given.Limit = given.DEFAULT_LISTED,
        cursor: given.Cursor = None,
    ) -> ToolReply:
        """Lists the workflows that you can start, with what each is for. Read-only.

        Choose by the description; inspect_workflow tells more of one. A workflow with errors is listed too, and says so.
        """
        return library.list_page(kind=kind, search=search, tags=tuple(tags or ()), limit=limit, cursor=cursor)

    @hinted(Hints(title="Inspect a workflow", read_only=True, idempotent=True))
    def inspect_workflow(
        self,
        *,
        workflow_id: given.WorkflowId,
        part: given.InspectPart = given.Part.PREVIEW,
        revision: given.Revision = None,
        workflow_hash: given.WorkflowHash = None,
        skill: given.Skill = None,
        cursor: given.Cursor = None,
    ) -> ToolReply:
        """Shows one workflow before you start it: what it is for, what it needs, and its first step. Read-only.

        It begins nothing. The steps come one by one after start_workflow.
        """
        return library.inspect(
            workflow_id=workflow_id,
            part=part,
            revision=revision,
            workflow_hash=workflow_hash,
            skill=skill,
            cursor=cursor,
        )

    @hinted(Hints(title="Start a workflow"))
    def start_workflow(
        self,
        *,
        workflow_id: given.WorkflowId,
        goal: given.Goal = "",
        context: given.StartContext = None,
        title: given.Title = "",
        session_id: given.SessionId = None,
        preferences: given.Preferences = None,
        observations: given.Observations = None,
    ) -> ToolReply:
        """Begins a run of a workflow and answers its first step, with the tokens for the next call.

        Do the step, then call continue_workflow as the reply's nextCall says. Each call begins another run, so do not call
        it again to see the step once more: call continue_workflow with the stateToken alone.
        """
        beginning = Beginning(
            workflow_id=workflow_id.strip(),
            goal=goal.strip(),
            context=context or {},
            preferences=change_of(preferences),
            observations=observations_of(observations),
            session_id=read_session_id(session_id),
            title=title.strip(),
            request_key=caller().request_key,
        )
        return _printed(
            start_run(actor=acting(), beginning=beginning, now=timezone.now(), entropy=os.urandom, speech=RAIL),
        )

    @hinted(Hints(title="Continue a workflow", idempotent=True))
    def continue_workflow(
        self,
        *,
        state_token: given.StateToken,
        ack_token: given.AckToken = None,
        output: given.StepOutput = None,
        context: given.Context = None,
        preferences: given.Preferences = None,
        intent: given.ContinueIntent = None,
    ) -> ToolReply:
        """Finishes the pending step and answers the next one; or, with the stateToken alone, tells the pending step again.

        With ackToken: the step is done, and output says what came of it. A reply may be blocked: then mend what it names
        and call with the tokens of that reply. The same tokens again are answered the same and change nothing, so a call
        whose reply got lost can be repeated.

        Without ackToken: for a lost or rewound chat. The reply is the pending step with a recap; nothing is recorded.
        """
        check_meant(
            intent=intent,
            state_token=state_token,
            ack_token=ack_token,
            output=output,
            context=context,
            mode=preferences,
        )
        if ack_token is None:
            return _printed(
                runs.rehydrate_run(actor=acting(), state_token=state_token, entropy=os.urandom, speech=RAIL)
            )
        return _printed(
            runs.advance_run(
                actor=acting(),
                state_token=state_token,
                ack_token=ack_token,
                submission=submission_of(output, context),
                preferences=change_of(preferences),
                now=timezone.now(),
                entropy=os.urandom,
                speech=RAIL,
            ),
        )

    @hinted(Hints(title="Record work in between", idempotent=True))
    def checkpoint_workflow(
        self,
        *,
        output: given.NoteOutput,
        state_token: given.OptionalStateToken = None,
        checkpoint_token: given.CheckpointToken = None,
        session_token: given.SessionToken = None,
    ) -> ToolReply:
        """Records notes without finishing the step: for work between steps, and before a long stretch of it.

        Send stateToken and checkpointToken of a run's reply, or the sessionToken of a session without a run. The run stays
        where it is. The same tokens again are answered the same and record nothing twice.
        """
        submission = submission_of(output)
        if session_token is not None and state_token is None and checkpoint_token is None:
            return _noted(session_token, submission)
        if session_token is not None or state_token is None or checkpoint_token is None:
            raise _which_tokens()
        return _printed(
            runs.bookmark_run(
                actor=acting(),
                state_token=state_token,
                checkpoint_token=checkpoint_token,
                submission=submission,
                now=timezone.now(),
                entropy=os.urandom,
                speech=RAIL,
            ),
        )

    @hinted(Hints(title="Start a session for notes"))
    def start_session(
        self,
        *,
        title: given.SessionTitle,
        observations: given.Observations = None,
    ) -> ToolReply:
        """Begins a session for durable notes without a workflow. Record them with checkpoint_workflow and the sessionToken.

        When a workflow is wanted later, start_workflow takes the sessionId. To run a workflow you need no session first.
        """
        reply = sessions.start_session(
            actor=acting(),
            title=title.strip(),
            observations=observations_of(observations),
            now=timezone.now(),
            entropy=os.urandom,
            speech=RAIL,
        )
        return _printed(reply)

    @hinted(Hints(title="Find a run to go on with", read_only=True, idempotent=True))
    def resume_session(
        self,
        *,
        query: given.Query = "",
        observations: given.WhereNow = None,
        workflow_id: given.KnownWorkflowId = "",
        session_id: given.KnownSessionId = "",
        run_id: given.RunId = "",
    ) -> ToolReply:
        """Finds earlier work in a new chat: at most five runs, the likeliest first, with why each was found. Read-only.

        Then call continue_workflow with the stateToken of the one that is meant. Send what you know; without anything the
        latest runs are named.
        """
        asked = resume_query_of(query, observations, workflow_id=workflow_id, session_id=session_id, run_id=run_id)
        value = RAIL.say(resume_sessions(actor=acting(), query=asked))
        return ToolReply(text=resuming.render_text(value), value=value)


def _noted(session_token: str, submission: Submission) -> ToolReply:
    reply = sessions.bookmark_session(
        actor=acting(),
        session_token=session_token,
        submission=submission,
        now=timezone.now(),
        entropy=os.urandom,
        speech=RAIL,
    )
    return _printed(reply)


def _which_tokens() -> InvalidInputError:
    run = {"stateToken": "<stateToken>", "checkpointToken": "<checkpointToken>", "output": {"notesMarkdown": "<notes>"}}
    return InvalidInputError(
        "Nothing was recorded: a note goes either to a step of a run or to a session.",
        suggestion="Send stateToken and checkpointToken of one reply, or sessionToken alone.",
        details={
            "validationErrors": [
                {"path": "checkpointToken", "message": "Belongs with stateToken, and with nothing else."},
                {"path": "sessionToken", "message": "Stands alone."},
            ],
            "correctTemplate": run,
        },
    )


def _printed(reply: Reply) -> ToolReply:
    return ToolReply(text=render_text(reply.value, template=reply.template), value=reply.value, data=reply.data)
