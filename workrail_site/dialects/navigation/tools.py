"""The tools of the navigation dialect, by the names of its contract: the server offers what can be done, the agent chooses."""

import os

from django.utils import timezone

from sessions_app.engine.submissions import read_submission
from sessions_app.services.moves import steered
from sessions_app.services.moves.beginning import start_run
from sessions_app.services.moves.speech import Reply
from workrail_site.dialects.introductions import INTRODUCTIONS
from workrail_site.dialects.navigation import definitions, material, parameters as given
from workrail_site.dialects.navigation.asking import NavigationAsking
from workrail_site.dialects.navigation.library import library_at
from workrail_site.dialects.navigation.printing import told
from workrail_site.dialects.navigation.readings import action_of, beginning_of
from workrail_site.dialects.navigation.situations import NAVIGATION, pending_checkpoint
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting, call_name
from workrail_site.mcp.library import MCPToolset
from workrail_site.mcp.toolsets import DialectServer, Hints, hinted

server = DialectServer(INTRODUCTIONS["navigation"], asking=NavigationAsking())


class NavigationTools(MCPToolset):  # type: ignore[misc]  # the library has no types
    mcp_server = server

    @hinted(Hints(title="Start a workflow", knows_names=True))
    def nav_start(
        self, *, workflow_id: given.WorkflowId, initial_variables: given.InitialVariables = None
    ) -> ToolReply:
        """Begins a run and tells its first situation: position, available actions, state. Each call begins another run."""
        beginning = beginning_of(workflow_id.strip(), initial_variables or {}, request_key=call_name())
        return _printed(
            start_run(actor=acting(), beginning=beginning, now=timezone.now(), entropy=os.urandom, speech=NAVIGATION)
        )

    @hinted(Hints(title="Where a run stands", read_only=True, idempotent=True))
    def nav_situation(self, *, state: given.State) -> ToolReply:
        """Tells where the run stands and what can be done: after a pause or a lost chat."""
        return _printed(steered.read_situation(actor=acting(), state_token=state, speech=NAVIGATION))

    @hinted(Hints(title="Act on a run", idempotent=True))
    def nav_action(
        self,
        *,
        state: given.State,
        action: given.Action,
        step_id: given.StepId = None,
        checkpoint_id: given.CheckpointId = None,
        option_id: given.OptionId = None,
        activity_id: given.TargetId = None,
        loop_id: given.LoopId = None,
        loop_items: given.LoopItems = None,
        notes: given.Notes = None,
        artifacts: given.Artifacts = None,
        context: given.Context = None,
    ) -> ToolReply:
        """Does one of the available actions and tells the new situation.

        complete_step needs step_id, and notes, artifacts or context where the step asks; respond_to_checkpoint checkpoint_id and
        option_id; transition activity_id; advance_loop loop_id, and loop_items where the list is unknown. A refused one answers
        success false. The same call again is answered the same.
        """
        asked = action_of(
            action,
            step_id=step_id,
            submission=read_submission(notes=notes or "", artifacts=artifacts or (), context=context),
            checkpoint_id=checkpoint_id,
            option_id=option_id,
            activity_id=activity_id,
            loop_id=loop_id,
            loop_items=loop_items,
        )
        reply = steered.steer_run(
            actor=acting(),
            state_token=state,
            action=asked,
            now=timezone.now(),
            entropy=os.urandom,
            speech=NAVIGATION,
        )
        return _printed(reply)

    @hinted(Hints(title="The checkpoint that waits", read_only=True, idempotent=True))
    def nav_checkpoint(self, *, state: given.State) -> ToolReply:
        """The question that blocks the run, with its options: show it to your user."""
        at = steered.read_standing(actor=acting(), state_token=state)
        return told(pending_checkpoint(at.program, at.snapshot))

    @hinted(Hints(title="List workflows", read_only=True, idempotent=True))
    def list_workflows(self) -> ToolReply:
        """Lists the workflows that can be started."""
        return definitions.workflows()

    @hinted(Hints(title="Read a workflow", read_only=True, idempotent=True))
    def get_workflow(self, *, workflow_id: given.WorkflowId, state: given.OfRun = None) -> ToolReply:
        """Reads a definition: rules, variables, activities. If it says summarized, read each with get_workflow_activity.

        With a run's state: what that run goes by, in all tools that take it.
        """
        return definitions.workflow(workflow_id.strip(), library=library_at(state))

    @hinted(Hints(title="Read an activity of a workflow", read_only=True, idempotent=True))
    def get_workflow_activity(
        self, *, workflow_id: given.KnownWorkflowId, activity_id: given.ActivityId, state: given.OfRun = None
    ) -> ToolReply:
        """Reads an activity: steps, checkpoints, loops, transitions, skills. Read it on entering it."""
        return definitions.activity_of(workflow_id.strip(), activity_id.strip(), library=library_at(state))

    @hinted(Hints(title="Read a checkpoint", read_only=True, idempotent=True))
    def get_checkpoint(
        self,
        *,
        workflow_id: given.KnownWorkflowId,
        activity_id: given.ActivityId,
        checkpoint_id: given.KnownCheckpointId,
        state: given.OfRun = None,
    ) -> ToolReply:
        """Reads a checkpoint, with the effects of its options."""
        return definitions.checkpoint_of(
            workflow_id.strip(), activity_id.strip(), checkpoint_id.strip(), library=library_at(state)
        )

    @hinted(Hints(title="Check a transition", read_only=True, idempotent=True))
    def validate_transition(
        self,
        *,
        workflow_id: given.KnownWorkflowId,
        from_activity: given.FromActivity,
        to_activity: given.ToActivity,
        state: given.OfRun = None,
    ) -> ToolReply:
        """Tells whether the definition knows a way between two activities. Whether it is open, availableActions tells."""
        return definitions.transition(
            workflow_id.strip(), from_activity.strip(), to_activity.strip(), library=library_at(state)
        )

    @hinted(Hints(title="Check the server", read_only=True, idempotent=True))
    def health_check(self) -> ToolReply:
        """Tells whether the server answers."""
        return definitions.health()

    @hinted(Hints(title="Index of activities", read_only=True, idempotent=True))
    def get_activities(self) -> ToolReply:
        """The way in: every goal that the workflows serve, and the skill to load for it."""
        return definitions.activities()

    @hinted(Hints(title="Read an activity", read_only=True, idempotent=True))
    def get_activity(self, *, activity_id: given.ActivityId) -> ToolReply:
        """Reads an activity by its id alone, and names the skill to load next."""
        return definitions.activity(activity_id.strip())

    @hinted(Hints(title="Read the rules", read_only=True, idempotent=True))
    def get_rules(self) -> ToolReply:
        """The rules that hold in every workflow. Read them before you begin."""
        return material.rules()

    @hinted(Hints(title="Index of skills", read_only=True, idempotent=True))
    def get_skills(self) -> ToolReply:
        """Tells what each skill can do."""
        return material.skills()

    @hinted(Hints(title="List skills", read_only=True, idempotent=True))
    def list_skills(self, *, workflow_id: given.OptionalWorkflowId = None, state: given.OfRun = None) -> ToolReply:
        """Lists all skills, or a workflow's beside the universal ones."""
        return material.skill_list(_given(workflow_id), library=library_at(state))

    @hinted(Hints(title="Read a skill", read_only=True, idempotent=True))
    def get_skill(
        self, *, skill_id: given.SkillId, workflow_id: given.OptionalWorkflowId = None, state: given.OfRun = None
    ) -> ToolReply:
        """Reads how to do something."""
        return material.skill(skill_id.strip(), _given(workflow_id), library=library_at(state))

    @hinted(Hints(title="List resources", read_only=True, idempotent=True))
    def list_workflow_resources(self, *, workflow_id: given.KnownWorkflowId, state: given.OfRun = None) -> ToolReply:
        """Lists the guides of a workflow."""
        return material.resources(workflow_id.strip(), library=library_at(state))

    @hinted(Hints(title="Read a resource", read_only=True, idempotent=True))
    def get_resource(
        self, *, workflow_id: given.KnownWorkflowId, index: given.Index, state: given.OfRun = None
    ) -> ToolReply:
        """Reads a guide of a workflow."""
        return material.resource(workflow_id.strip(), index, library=library_at(state))

    @hinted(Hints(title="List templates", read_only=True, idempotent=True))
    def list_templates(self, *, workflow_id: given.KnownWorkflowId, state: given.OfRun = None) -> ToolReply:
        """Lists the templates of a workflow."""
        return material.templates(workflow_id.strip(), library=library_at(state))

    @hinted(Hints(title="Read a template", read_only=True, idempotent=True))
    def get_template(
        self, *, workflow_id: given.KnownWorkflowId, index: given.Index, state: given.OfRun = None
    ) -> ToolReply:
        """Reads a template to fill in."""
        return material.template(workflow_id.strip(), index, library=library_at(state))

    @hinted(Hints(title="Discover what there is", read_only=True, idempotent=True))
    def discover_resources(self) -> ToolReply:
        """Tells what can be read here, and by which tool."""
        return material.discover()


def _printed(reply: Reply) -> ToolReply:
    return told(reply.value)


def _given(workflow_id: str | None) -> str | None:
    return workflow_id.strip() or None if workflow_id is not None else None
