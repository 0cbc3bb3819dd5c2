"""The tools of the rail, by the names of its contract. Each reads its arguments, makes one call and prints the reply."""

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.utils import timezone

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.presets import read_preferences
from sessions_app.engine.resume_signals import ResumeQuery
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.submissions import ANY_NOTES_PLACEHOLDER, Submission, read_submission
from sessions_app.services.moves import runs, sessions
from sessions_app.services.moves.beginning import Beginning, start_run
from sessions_app.services.moves.requests import Intent, check_intent, read_observations, read_session_id
from sessions_app.services.moves.resume import resume_sessions
from sessions_app.services.moves.speech import Reply, beside
from teams_app.engine.errors import InvalidInputError
from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.dialects.rail import library, parameters as given, resuming
from workrail_site.dialects.rail.asking import RailAsking
from workrail_site.dialects.rail.parameters import GivenMode, GivenOutput, Observed
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.dialects.rail.wording import render_text
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting, call_name
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
        """Lists the workflows that you can start, with what each is for. inspect_workflow tells more of one."""
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
        """Shows a workflow before you start it: what it is for, what it needs, its first step."""
        return library.inspect(
            workflow_id=workflow_id,
            part=part,
            revision=revision,
            workflow_hash=workflow_hash,
            skill=skill,
            cursor=cursor,
        )

    @hinted(Hints(title="Start a workflow", knows_names=True))
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

        Do the step, then call continue_workflow as nextCall says. Each call begins another run: to see the step again, call
        continue_workflow with the stateToken alone.
        """
        beginning = Beginning(
            workflow_id=workflow_id.strip(),
            goal=goal.strip(),
            context=context or {},
            preferences=change_of(preferences),
            observations=observations_of(observations),
            session_id=read_session_id(session_id),
            title=title.strip(),
            request_key=call_name(),
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
        """With ackToken: the step is done, output says what came of it, and the next one is answered. With the stateToken alone:
        the pending step again, with a recap, for a lost or rewound chat.

        If the reply is blocked, mend what it names and call with its tokens. The same tokens again are answered the same, so a
        call whose reply got lost can be repeated.
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
        submission = submission_of(output, context)
        reply = runs.advance_run(
            actor=acting(),
            state_token=state_token,
            ack_token=ack_token,
            submission=submission,
            preferences=change_of(preferences),
            now=timezone.now(),
            entropy=os.urandom,
            speech=RAIL,
        )
        return _printed(reply, beside(reply, submission))

    @hinted(Hints(title="Record work in between", idempotent=True))
    def checkpoint_workflow(
        self,
        *,
        output: given.NoteOutput,
        state_token: given.OptionalStateToken = None,
        checkpoint_token: given.CheckpointToken = None,
        session_token: given.SessionToken = None,
    ) -> ToolReply:
        """Records notes without finishing the step, by stateToken and checkpointToken, or in a session without a run by its
        sessionToken.
        """
        submission = submission_of(output)
        if session_token is not None and state_token is None and checkpoint_token is None:
            return _noted(session_token, submission)
        if session_token is not None or state_token is None or checkpoint_token is None:
            raise _which_tokens()
        reply = runs.bookmark_run(
            actor=acting(),
            state_token=state_token,
            checkpoint_token=checkpoint_token,
            submission=submission,
            now=timezone.now(),
            entropy=os.urandom,
            speech=RAIL,
        )
        return _printed(reply, beside(reply, submission))

    @hinted(Hints(title="Start a session for notes"))
    def start_session(
        self,
        *,
        title: given.SessionTitle,
        observations: given.Observations = None,
    ) -> ToolReply:
        """Begins a session for notes without a workflow (checkpoint_workflow). No run needs it; start_workflow takes its sessionId later."""
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
        """Finds earlier work in a new chat: at most five runs, the likeliest first; without arguments the latest. Then call
        continue_workflow with the stateToken of the one that is meant.
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
    return _printed(reply, beside(reply, submission))


def _which_tokens() -> InvalidInputError:
    run = {
        "stateToken": "<stateToken>",
        "checkpointToken": "<checkpointToken>",
        "output": {"notesMarkdown": ANY_NOTES_PLACEHOLDER},
    }
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


def _printed(reply: Reply, more: Mapping[str, str] = MappingProxyType({})) -> ToolReply:
    """`more` is said beside the reply, in both of its forms."""
    text = render_text(reply.value, template=reply.template)
    if not more:
        return ToolReply(text=text, value=reply.value, data=reply.data)
    beside_it = (f"Note: {words}" for words in more.values())
    return ToolReply(text="\n\n".join([text, *beside_it]), value={**reply.value, **more})


def submission_of(output: GivenOutput | None, context: Mapping[str, Any] | None = None) -> Submission:
    return read_submission(
        notes=(output and output.notes_markdown) or "",
        artifacts=(output and output.artifacts) or (),
        context=context,
        place="output.artifacts",
    )


def change_of(mode: GivenMode | None) -> PreferenceChange | None:
    if mode is None:
        return None
    return read_preferences(preset=mode.preset, autonomy=mode.autonomy, risk_policy=mode.risk_policy)


def observations_of(observed: Observed | None) -> dict[ObservationKey, str]:
    if observed is None:
        return {}
    return read_observations(
        git_branch=observed.git_branch,
        git_head_sha=observed.git_head_sha,
        repository=observed.repository,
        ticket=observed.ticket,
    )


def resume_query_of(
    text: str, observed: Observed | None, *, workflow_id: str, session_id: str, run_id: str
) -> ResumeQuery:
    where = observations_of(observed)
    return ResumeQuery(
        text=text,
        session_id=session_id,
        run_id=run_id,
        git_branch=where.get(ObservationKey.GIT_BRANCH, ""),
        git_head_sha=where.get(ObservationKey.GIT_HEAD_SHA, ""),
        repository=where.get(ObservationKey.REPOSITORY, ""),
        ticket=where.get(ObservationKey.TICKET, ""),
        workflow_id=workflow_id,
    )


def check_meant(
    *,
    intent: Intent | None,
    state_token: str,
    ack_token: str | None,
    output: GivenOutput | None,
    context: Mapping[str, Any] | None,
    mode: GivenMode | None,
) -> None:
    kept = {"output": _says(output), "context": bool(context), "preferences": _says(mode)}
    check_intent(intent=intent, state_token=state_token, ack_token=ack_token, kept=kept, tool="continue_workflow")


def _says(group: GivenOutput | GivenMode | None) -> bool:
    return group is not None and any(value for _name, value in group)
