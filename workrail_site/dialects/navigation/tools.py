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
from workrail_site.dialects.navigation.printing import told
from workrail_site.dialects.navigation.readings import action_of, beginning_of
from workrail_site.dialects.navigation.situations import NAVIGATION, pending_checkpoint
from workrail_site.mcp.answers import ToolReply
from workrail_site.mcp.calling import acting
from workrail_site.mcp.library import MCPToolset
from workrail_site.mcp.toolsets import DialectServer, Hints, hinted

server = DialectServer(INTRODUCTIONS["navigation"], asking=NavigationAsking())


class NavigationTools(MCPToolset):  # type: ignore[misc]  # the library has no types
    mcp_server = server

    @hinted(Hints(title="Start a workflow"))
    def nav_start(
        self, *, workflow_id: given.WorkflowId, initial_variables: given.InitialVariables = None
    ) -> ToolReply:
        """Begins a run of a workflow and tells its first situation: position, available actions, and the state to go on with.

        Each call begins another run. To look again at one that is under way, call nav_situation with its state.
        """
        beginning = beginning_of(workflow_id.strip(), initial_variables or {})
        return _printed(
            start_run(actor=acting(), beginning=beginning, now=timezone.now(), entropy=os.urandom, speech=NAVIGATION)
        )

    @hinted(Hints(title="Where a run stands", read_only=True, idempotent=True))
    def nav_situation(self, *, state: given.State) -> ToolReply:
        """Tells where the run stands and what can be done, without changing anything. Use it after a pause or a lost chat."""
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

        complete_step needs step_id, and notes, artifacts or context where the step asks for them; respond_to_checkpoint checkpoint_id and option_id; transition activity_id; advance_loop
        loop_id, and loop_items where the list is not known yet. A refused action answers success false with an error code,
        and the state is as it was. The same call again is answered the same and changes nothing.
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
        """Tells the question that blocks the run, with its options, or that there is none. Show it to your user."""
        return told(pending_checkpoint(steered.read_checkpoint(actor=acting(), state_token=state)))

    @hinted(Hints(title="List workflows", read_only=True, idempotent=True))
    def list_workflows(self) -> ToolReply:
        """Lists every workflow that can be started: id, title, version, and what it is for."""
        return definitions.workflows()

    @hinted(Hints(title="Read a workflow", read_only=True, idempotent=True))
    def get_workflow(self, *, workflow_id: given.WorkflowId) -> ToolReply:
        """Reads a definition: rules, variables and activities. Of one that is too long for a reply the activities are named only.

        Such a reply says summarized; read its activities one by one with get_workflow_activity.
        """
        return definitions.workflow(workflow_id.strip())

    @hinted(Hints(title="Read an activity of a workflow", read_only=True, idempotent=True))
    def get_workflow_activity(self, *, workflow_id: given.WorkflowId, activity_id: given.ActivityId) -> ToolReply:
        """Reads one activity: what its steps ask for, its checkpoints, loops, transitions and skills. Read it on entering it."""
        return definitions.activity_of(workflow_id.strip(), activity_id.strip())

    @hinted(Hints(title="Read a checkpoint", read_only=True, idempotent=True))
    def get_checkpoint(
        self,
        *,
        workflow_id: given.WorkflowId,
        activity_id: given.ActivityId,
        checkpoint_id: given.KnownCheckpointId,
    ) -> ToolReply:
        """Reads the definition of a checkpoint, with the effects that its options have."""
        return definitions.checkpoint_of(workflow_id.strip(), activity_id.strip(), checkpoint_id.strip())

    @hinted(Hints(title="Check a transition", read_only=True, idempotent=True))
    def validate_transition(
        self, *, workflow_id: given.WorkflowId, from_activity: given.FromActivity, to_activity: given.ToActivity
    ) -> ToolReply:
        """Tells whether the definition knows a way between two activities: a transition, a decision, or an option's effect.

        Whether that way is open in a run, availableActions of its latest reply tells.
        """
        return definitions.transition(workflow_id.strip(), from_activity.strip(), to_activity.strip())

    @hinted(Hints(title="Check the server", read_only=True, idempotent=True))
    def health_check(self) -> ToolReply:
        """Tells whether the server answers, and how many workflows can be started."""
        return definitions.health()

    @hinted(Hints(title="Index of activities", read_only=True, idempotent=True))
    def get_activities(self) -> ToolReply:
        """The way in: every goal that the workflows serve, the words users have for it, and the skill to load for it."""
        return definitions.activities()

    @hinted(Hints(title="Read an activity", read_only=True, idempotent=True))
    def get_activity(self, *, activity_id: given.ActivityId) -> ToolReply:
        """Reads an activity by its id alone, wherever it stands, and names the skill to load next."""
        return definitions.activity(activity_id.strip())

    @hinted(Hints(title="Read the rules", read_only=True, idempotent=True))
    def get_rules(self) -> ToolReply:
        """Reads the rules that hold in every workflow. Read them once before you begin."""
        return material.rules()

    @hinted(Hints(title="Index of skills", read_only=True, idempotent=True))
    def get_skills(self) -> ToolReply:
        """Tells what each skill can do: the universal ones, and those of each workflow."""
        return material.skills()

    @hinted(Hints(title="List skills", read_only=True, idempotent=True))
    def list_skills(self, *, workflow_id: given.OptionalWorkflowId = None) -> ToolReply:
        """Lists skills: all of them, or with a workflow_id that workflow's beside the universal ones."""
        return material.skill_list(_given(workflow_id))

    @hinted(Hints(title="Read a skill", read_only=True, idempotent=True))
    def get_skill(self, *, skill_id: given.SkillId, workflow_id: given.OptionalWorkflowId = None) -> ToolReply:
        """Reads how to do something. The workflow's own skill goes before the universal one of the same id."""
        return material.skill(skill_id.strip(), _given(workflow_id))

    @hinted(Hints(title="List resources", read_only=True, idempotent=True))
    def list_workflow_resources(self, *, workflow_id: given.WorkflowId) -> ToolReply:
        """Lists the guides of a workflow by number and title."""
        return material.resources(workflow_id.strip())

    @hinted(Hints(title="Read a resource", read_only=True, idempotent=True))
    def get_resource(self, *, workflow_id: given.WorkflowId, index: given.Index) -> ToolReply:
        """Reads a guide of a workflow as it was written."""
        return material.resource(workflow_id.strip(), index)

    @hinted(Hints(title="List templates", read_only=True, idempotent=True))
    def list_templates(self, *, workflow_id: given.WorkflowId) -> ToolReply:
        """Lists the templates for the documents that a workflow asks for, by number and title."""
        return material.templates(workflow_id.strip())

    @hinted(Hints(title="Read a template", read_only=True, idempotent=True))
    def get_template(self, *, workflow_id: given.WorkflowId, index: given.Index) -> ToolReply:
        """Reads a template to fill in, as it was written."""
        return material.template(workflow_id.strip(), index)

    @hinted(Hints(title="Discover what there is", read_only=True, idempotent=True))
    def discover_resources(self) -> ToolReply:
        """Tells everything that can be read here: workflows, resources, templates, activities and skills, and by which tool."""
        return material.discover()


def _printed(reply: Reply) -> ToolReply:
    return told(reply.value)


def _given(workflow_id: str | None) -> str | None:
    return workflow_id.strip() or None if workflow_id is not None else None
