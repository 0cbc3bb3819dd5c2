"""The tools of the session dialect, by the names of its contract: activities are handed over whole, with their questions."""

import os
from collections.abc import Sequence

from django.utils import timezone

from sessions_app.engine.runs import Dialect
from sessions_app.services.moves import handed_over
from sessions_app.services.moves.handed_over import Handed, HandoverCall
from sessions_app.services.moves.session_tokens import Wish, begin
from workrail_site.dialects.activities import parameters as handing
from workrail_site.dialects.activities.answers import chosen, mode_of
from workrail_site.dialects.activities.asking import HandedOverAsking
from workrail_site.dialects.activities.beginning import started
from workrail_site.dialects.activities.catalog import VERSION, bootstrap_text, choices, health, left_out
from workrail_site.dialects.activities.definitions import activity_of, question_json, whole_activity
from workrail_site.dialects.activities.entering import entered, move_to
from workrail_site.dialects.activities.printing import answered, listed, tokened, told
from workrail_site.dialects.activities.resources import part_in, read_resource
from workrail_site.dialects.activities.skills import Shelf, in_parts
from workrail_site.dialects.activities.speech import answer_of
from workrail_site.dialects.activities.standing import current_activity, moving, notices_of, standing
from workrail_site.dialects.activities.trace import trace_of
from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.dialects.session import parameters as given
from workrail_site.dialects.session.material import entries_of, resource_json, skills_json, workflow_json_of
from workrail_site.mcp.answers import ToolReply, as_many_as_fit
from workrail_site.mcp.calling import acting
from workrail_site.mcp.library import MCPToolset
from workrail_site.mcp.toolsets import DialectServer, Hints, hinted

SERVER = "workrail-session"

server = DialectServer(
    INTRODUCTIONS["session"], asking=HandedOverAsking(Dialect.SESSION, without=("checkpoint_handle",))
)


class SessionTools(MCPToolset):  # type: ignore[misc]  # the library has no types
    mcp_server = server

    @hinted(Hints(title="How to begin", read_only=True, idempotent=True))
    def discover(self) -> ToolReply:
        """The way in: what this server is, which workflows there are, and how a session goes. Call it before anything else."""
        actor = acting()
        found = choices(actor)
        available = [{"id": one.workflow_id, "title": one.title, "version": one.version} for one in found]
        procedure = bootstrap_text(actor)

        def say(kept: Sequence[dict[str, str]]) -> ToolReply:
            said = {"server": SERVER, "version": VERSION, "available_workflows": list(kept)}
            return told({**said, "discovery": procedure})

        return as_many_as_fit(available, say, omitted=left_out(actor, found))

    @hinted(Hints(title="List workflows", read_only=True, idempotent=True))
    def list_workflows(self) -> ToolReply:
        """Lists the workflows that a session can be started with: id, title, version, description and tags."""
        actor = acting()
        found = choices(actor)
        return listed("workflows", entries_of(found), omitted=left_out(actor, found))

    @hinted(Hints(title="Check the server", read_only=True, idempotent=True))
    def health_check(self) -> ToolReply:
        """Tells whether the server answers, its version, how many workflows there are, and since when it runs."""
        return told(health(acting(), server=SERVER))

    @hinted(Hints(title="Start a session"))
    def start_session(
        self,
        *,
        workflow_id: given.WorkflowId,
        session_token: given.ExistingToken = None,
        agent_id: given.AgentId = None,
    ) -> ToolReply:
        """Begins a session with a workflow, or goes on with the one of session_token, and gives the token for all other calls.

        With a session_token the session's place and its pending checkpoints stay, and agent_id says who goes on. The
        workflow_id must be that of the session.
        """
        begun = begin(
            actor=acting(),
            wish=Wish(
                dialect=Dialect.SESSION,
                workflow_id=workflow_id.strip(),
                agent_id=(agent_id or "").strip(),
                session_token=(session_token or "").strip(),
            ),
            now=timezone.now(),
            entropy=os.urandom,
        )
        return started(begun)

    @hinted(Hints(title="Read the workflow", read_only=True, idempotent=True))
    def get_workflow(self, *, session_token: handing.SessionToken, summary: handing.Summary = True) -> ToolReply:
        """Reads the session's workflow: rules, variables, execution model, initialActivity, and the activities by name.

        summary=false gives the whole definition with every activity; one that is too long for a reply comes summarized.
        """
        held = standing(session_token, dialect=Dialect.SESSION)
        said = workflow_json_of(held, summary=summary)
        return tokened(said, token=held.token, warnings=notices_of(held))

    @hinted(Hints(title="Enter an activity", idempotent=True))
    def next_activity(
        self,
        *,
        session_token: handing.SessionToken,
        activity_id: handing.NextActivityId,
        transition_condition: handing.TransitionCondition = None,
        step_manifest: handing.StepManifest = None,
        activity_manifest: handing.ActivityManifest = None,
    ) -> ToolReply:
        """Goes to an activity and hands it over whole: steps, checkpoints, loops, decisions, transitions, rules and skills.

        Its required checkpoints are pending from then on: no other activity is entered until each is resolved with
        respond_checkpoint. Send a step_manifest of the activity that you leave. What the server finds otherwise than you
        claim comes as a warning and stops nothing. Keep trace_token for get_trace.
        """
        target = move_to(activity_id, transition_condition, step_manifest, activity_manifest, asks_on_entry=True)
        handed = moving(
            session_token, dialect=Dialect.SESSION, move=lambda call: handed_over.enter_activity(call, target)
        )
        reply = handed.reply.value
        activity = handed.held.program.activity(reply["activity_id"])
        return entered(
            reply,
            run_id=handed.held.handle.run_id,
            definition={}
            if activity is None
            else whole_activity(handed.held.program, activity, token=reply["session_token"]),
        )

    @hinted(Hints(title="Read a checkpoint", read_only=True, idempotent=True))
    def get_checkpoint(
        self,
        *,
        session_token: handing.SessionToken,
        activity_id: handing.ActivityId,
        checkpoint_id: handing.CheckpointId,
    ) -> ToolReply:
        """Reads a checkpoint to show to your user: message, options with their effects, and whether it blocks or times out."""
        held = standing(session_token, dialect=Dialect.SESSION)
        activity = activity_of(held.program, activity_id.strip())
        question = question_json(
            program=held.program, activity=activity, snapshot=held.snapshot, name=checkpoint_id.strip()
        )
        here = held.activity is not None and held.activity.id == activity.id
        pending = here and any(open_.checkpoint == question["id"] for open_ in held.pending)
        told = answer_of(held.snapshot) if held.snapshot.answered and not pending else {}
        return tokened({**question, "pending": pending, **told}, token=held.token, warnings=notices_of(held))

    @hinted(Hints(title="Resolve a checkpoint", idempotent=True))
    def respond_checkpoint(
        self,
        *,
        session_token: handing.SessionToken,
        checkpoint_id: handing.CheckpointId,
        option_id: handing.OptionId = None,
        auto_advance: handing.AutoAdvance = None,
        condition_not_met: handing.ConditionNotMet = None,
    ) -> ToolReply:
        """Resolves a pending checkpoint in exactly one way: option_id, auto_advance or condition_not_met.

        option_id is what your user chose, and no answer comes before the question can have been read. The reply tells the
        effect of the option, which the server has applied, and the checkpoints that remain.
        """

        def respond(call: HandoverCall) -> Handed:
            mode = mode_of(option_id=option_id, auto_advance=auto_advance, condition_not_met=condition_not_met)
            option = chosen(mode, option_id)
            return handed_over.respond_checkpoint(
                call, checkpoint_id=checkpoint_id.strip(), mode=mode, option_id=option
            )

        handed = moving(session_token, dialect=Dialect.SESSION, move=respond)
        return answered(handed.reply.value, without=("checkpoint_handle",))

    @hinted(Hints(title="Read the workflow's skills", read_only=True, idempotent=True))
    def get_skills(self, *, session_token: handing.SessionToken) -> ToolReply:
        """Reads the skills of the workflow as a whole: how to behave in it. Their resources are listed, not told."""
        held = standing(session_token, dialect=Dialect.SESSION)
        skills, failed = Shelf(actor=acting(), program=held.program).declared()
        said = skills_json(skills, failed=failed, held=held)
        return tokened(said, token=held.token, warnings=notices_of(held))

    @hinted(Hints(title="Read a step's skill", read_only=True, idempotent=True))
    def get_skill(self, *, session_token: handing.SessionToken, step_id: given.StepId) -> ToolReply:
        """Reads the skill that a step of the current activity names: how the step is done. Call next_activity before it.

        A long one comes in parts; next_action names the call for the next part.
        """
        held = standing(session_token, dialect=Dialect.SESSION)
        shelf = Shelf(actor=acting(), program=held.program)
        asked = part_in(step_id)
        named = shelf.require(asked.whole) if "/" in asked.whole else None
        if held.activity is None:
            named = named or shelf.named(asked.whole)
        found = named or shelf.of_step(current_activity(held), asked.whole)
        skill = in_parts(found, asked, token=held.token)
        return tokened({"skill": skill.bundled(within=held.program.id)}, token=held.token, warnings=notices_of(held))

    @hinted(Hints(title="Read a resource", read_only=True, idempotent=True))
    def get_resource(self, *, session_token: handing.SessionToken, resource_index: given.ResourceIndex) -> ToolReply:
        """Reads a guide in full. A bare number is of the session's workflow, meta/04 of the one that is named.

        A long one comes in parts; next_action names the call for the next part.
        """
        held = standing(session_token, dialect=Dialect.SESSION)
        reading = read_resource(actor=acting(), program=held.program, reference=resource_index)
        return tokened(
            {"resource": resource_json(reading, token=held.token)}, token=held.token, warnings=notices_of(held)
        )

    @hinted(Hints(title="Read the trace", read_only=True, idempotent=True))
    def get_trace(self, *, session_token: handing.SessionToken, trace_tokens: handing.TraceTokens = None) -> ToolReply:
        """Tells what was called when, how long it took, and what was warned of: in this session, or as trace_tokens name it."""
        held = standing(session_token, dialect=Dialect.SESSION)
        return tokened(trace_of(held, trace_tokens), token=held.token, warnings=notices_of(held))
