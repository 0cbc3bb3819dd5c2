"""The tools of the orchestrator dialect, by the names of its contract: one agent leads and asks, others do the work."""

import os

from django.utils import timezone

from sessions_app.engine.handover_refusals import refuse_complete
from sessions_app.engine.runs import Dialect
from sessions_app.services.moves import handed_over
from sessions_app.services.moves.handed_over import Handed, HandoverCall
from sessions_app.services.moves.session_tokens import Wish, begin
from workflows_app.engine.toon_text import toon_text
from workrail_site.dialects.activities import parameters as handing
from workrail_site.dialects.activities.answers import chosen, mode_of
from workrail_site.dialects.activities.asking import HandedOverAsking
from workrail_site.dialects.activities.beginning import refuse_two_tokens, started
from workrail_site.dialects.activities.catalog import VERSION, bootstrap_text, choices, health, left_out
from workrail_site.dialects.activities.definitions import whole_activity
from workrail_site.dialects.activities.entering import entered, move_to
from workrail_site.dialects.activities.printing import answered, headed, listed, tokened, told
from workrail_site.dialects.activities.resources import read_resource
from workrail_site.dialects.activities.skills import Shelf
from workrail_site.dialects.activities.standing import current_activity, moving, notices_of, standing, ungated
from workrail_site.dialects.activities.status import status_of
from workrail_site.dialects.activities.trace import trace_of
from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.dialects.orchestrator import parameters as given
from workrail_site.dialects.orchestrator.material import (
    presented,
    resource_reply,
    resumed,
    skill_of,
    skill_reply,
    skills_reply,
    workflow_reply,
)
from workrail_site.dialects.orchestrator.readings import handle_of
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting
from workrail_site.mcp.library import MCPToolset
from workrail_site.mcp.toolsets import DialectServer, Hints, hinted

SERVER = "workrail-orchestrator"

server = DialectServer(INTRODUCTIONS["orchestrator"], asking=HandedOverAsking(Dialect.ORCHESTRATOR))


class OrchestratorTools(MCPToolset):  # type: ignore[misc]  # the library has no types
    mcp_server = server

    @hinted(Hints(title="How to begin", read_only=True, idempotent=True))
    def discover(self) -> ToolReply:
        """The way in: how to list workflows and begin. Call it first."""
        procedure = bootstrap_text(acting())
        value = {"server": SERVER, "version": VERSION, "discovery": procedure}
        return ToolReply(text=f"server: {SERVER}\nversion: {VERSION}\n\n{procedure}", value=value)

    @hinted(Hints(title="List workflows", read_only=True, idempotent=True))
    def list_workflows(self) -> ToolReply:
        """Lists the workflows that can be started, with tags to match the user's goal against."""
        actor = acting()
        found = choices(actor)
        entries = [
            {"id": each.workflow_id, "title": each.title, "version": each.version, "tags": list(each.tags)}
            for each in found
        ]
        return listed("workflows", entries, omitted=left_out(actor, found))

    @hinted(Hints(title="Check the server", read_only=True, idempotent=True))
    def health_check(self) -> ToolReply:
        """Tells whether the server answers."""
        return told(health(acting(), server=SERVER))

    @hinted(Hints(title="Start a session"))
    def start_session(
        self,
        *,
        agent_id: given.AgentId = given.DEFAULT_AGENT,
        workflow_id: given.WorkflowId = None,
        parent_session_token: given.ParentToken = None,
        session_token: given.ExistingToken = None,
    ) -> ToolReply:
        """Begins a session, goes on with that of session_token (inherited), or begins a child of that of parent_session_token.

        A reply that says recovered is of a fresh session, whose state you must restore from what you saved.
        """
        refuse_two_tokens(session_token, parent_session_token)
        begun = begin(
            actor=acting(),
            wish=Wish(
                dialect=Dialect.ORCHESTRATOR,
                workflow_id=(workflow_id or "").strip(),
                agent_id=agent_id.strip() or given.DEFAULT_AGENT,
                session_token=(session_token or "").strip(),
                parent_token=(parent_session_token or "").strip(),
            ),
            now=timezone.now(),
            entropy=os.urandom,
        )
        return started(begun)

    @hinted(Hints(title="Where a session stands", read_only=True, idempotent=True))
    def get_workflow_status(self, *, session_token: handing.SessionToken) -> ToolReply:
        """Tells where the session stands."""
        held = standing(session_token, dialect=Dialect.ORCHESTRATOR)
        return tokened(status_of(actor=acting(), held=held), token=held.token, warnings=notices_of(held))

    @hinted(Hints(title="Read the workflow", read_only=True, idempotent=True))
    def get_workflow(self, *, session_token: handing.SessionToken, summary: handing.Summary = True) -> ToolReply:
        """Reads the workflow: primary skill, and below --- rules, variables, activities."""
        held = ungated(session_token)
        skill = Shelf(actor=acting(), program=held.program).primary()
        return workflow_reply(skill, held=held, summary=summary, warnings=notices_of(held))

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
        """For the orchestrator: goes to an activity, which the worker reads by get_activity. Send a step_manifest of the one that
        you leave. Warnings stop nothing. Keep trace_token for get_trace.
        """
        target = move_to(activity_id, transition_condition, step_manifest, activity_manifest)
        handed = moving(
            session_token, dialect=Dialect.ORCHESTRATOR, move=lambda call: handed_over.enter_activity(call, target)
        )
        return entered(handed.reply.value, run_id=handed.held.handle.run_id, definition={})

    @hinted(Hints(title="Read the activity", read_only=True, idempotent=True))
    def get_activity(self, *, session_token: handing.SessionToken) -> ToolReply:
        """For the worker: reads the whole activity that the orchestrator entered."""
        held = ungated(session_token)
        refuse_complete(held.snapshot)
        said = whole_activity(held.program, current_activity(held), token=held.token)
        headers = {"session_token": held.token}
        return headed(toon_text(said), headers=headers, value=said, token=held.token, warnings=notices_of(held))

    @hinted(Hints(title="Yield at a checkpoint", idempotent=True))
    def yield_checkpoint(
        self, *, session_token: handing.SessionToken, checkpoint_id: handing.CheckpointId
    ) -> ToolReply:
        """For the worker: asks a checkpoint. Hand over its handle in a <checkpoint_yield> block and stop."""
        name = checkpoint_id.strip()
        handed = moving(
            session_token,
            dialect=Dialect.ORCHESTRATOR,
            move=lambda call: handed_over.yield_checkpoint(call, checkpoint_id=name),
        )
        return answered(handed.reply.value)

    @hinted(Hints(title="Resume after a checkpoint", read_only=True, idempotent=True))
    def resume_checkpoint(self, *, session_token: handing.SessionToken) -> ToolReply:
        """For the worker: goes on when the checkpoint is resolved."""
        standing(session_token, dialect=Dialect.ORCHESTRATOR)
        return resumed(handed_over.resume_checkpoint(actor=acting(), token=session_token, dialect=Dialect.ORCHESTRATOR))

    @hinted(Hints(title="Show a checkpoint", read_only=True, idempotent=True))
    def present_checkpoint(
        self,
        *,
        checkpoint_handle: given.CheckpointHandle = None,
        session_token: given.InPlaceOfHandle = None,
    ) -> ToolReply:
        """For the orchestrator: reads the open checkpoint to show to the user."""
        held = standing(handle_of(checkpoint_handle, session_token), dialect=Dialect.ORCHESTRATOR)
        return presented(held, warnings=notices_of(held))

    @hinted(Hints(title="Resolve a checkpoint", idempotent=True))
    def respond_checkpoint(
        self,
        *,
        checkpoint_handle: given.CheckpointHandle = None,
        session_token: given.InPlaceOfHandle = None,
        option_id: handing.OptionId = None,
        auto_advance: handing.AutoAdvance = None,
        condition_not_met: handing.ConditionNotMet = None,
    ) -> ToolReply:
        """For the orchestrator: resolves the open checkpoint in exactly one way: option_id, auto_advance or condition_not_met.

        Hand the effect that the reply tells to the worker, who calls resume_checkpoint.
        """
        token = handle_of(checkpoint_handle, session_token)

        def respond(call: HandoverCall) -> Handed:
            mode = mode_of(option_id=option_id, auto_advance=auto_advance, condition_not_met=condition_not_met)
            option = chosen(mode, option_id)
            return handed_over.respond_checkpoint(call, checkpoint_id="", mode=mode, option_id=option)

        handed = moving(token, dialect=Dialect.ORCHESTRATOR, move=respond)
        return answered(handed.reply.value)

    @hinted(Hints(title="Read the workflow's skill", read_only=True, idempotent=True))
    def get_skills(self, *, session_token: handing.SessionToken) -> ToolReply:
        """Reads the primary skill of the workflow: how it is led."""
        held = ungated(session_token)
        shelf = Shelf(actor=acting(), program=held.program)
        return skills_reply(shelf.primary(), shelf.leading(), held=held, warnings=notices_of(held))

    @hinted(Hints(title="Read a skill", read_only=True, idempotent=True))
    def get_skill(self, *, session_token: handing.SessionToken, step_id: given.StepId = None) -> ToolReply:
        """Reads the skill that a step names."""
        held = ungated(session_token)
        return skill_reply(skill_of(held, step_id), held=held, warnings=notices_of(held))

    @hinted(Hints(title="Read a resource", read_only=True, idempotent=True))
    def get_resource(self, *, session_token: handing.SessionToken, resource_id: given.ResourceId) -> ToolReply:
        """Reads a guide. A long one comes in parts; next names the call for the next one."""
        held = ungated(session_token)
        reading = read_resource(actor=acting(), program=held.program, reference=resource_id)
        return resource_reply(reading, held=held, warnings=notices_of(held))

    @hinted(Hints(title="Read the trace", read_only=True, idempotent=True))
    def get_trace(self, *, session_token: handing.SessionToken, trace_tokens: handing.TraceTokens = None) -> ToolReply:
        """Tells what was called when, how long it took, and what was warned of."""
        held = ungated(session_token)
        return tokened(trace_of(held, trace_tokens), token=held.token, warnings=notices_of(held))
