"""Tools of the dialects that hand activities over, as an actor calls them, without a transport."""

import json
from contextlib import contextmanager
from functools import partial

import time_machine
from django.utils import timezone


def text_of(result):
    return result["content"][0]["text"]


def caller(dialect, actor):
    """`call.raw` answers the whole result; `call` its JSON, and a refusal fails the test; `call.refused` the refusal."""
    return Caller(dialect, actor)


class Caller:
    def __init__(self, dialect, actor):
        from workrail_site.mcp.toolsets import all_servers

        self.actor = actor
        self.tools = {tool.name: tool for tool in all_servers()[dialect].tools()}

    def __getattr__(self, tool):
        return partial(self, tool)

    def raw(self, tool, **arguments):
        from workrail_site.mcp.calling import Caller as Calling, calls_as

        calls_as(Calling(actor=self.actor))
        return self.tools[tool].call({key: value for key, value in arguments.items() if value is not None})

    def __call__(self, tool, **arguments):
        result = self.raw(tool, **arguments)
        assert not result.get("isError"), text_of(result)
        return result["structuredContent"]

    def text(self, tool, **arguments):
        result = self.raw(tool, **arguments)
        assert not result.get("isError"), text_of(result)
        return text_of(result)

    def meta(self, tool, **arguments):
        return self.raw(tool, **arguments)["_meta"]

    def refused(self, tool, **arguments):
        result = self.raw(tool, **arguments)
        assert result.get("isError"), text_of(result)
        return json.loads(text_of(result))


@contextmanager
def stopped_clock():
    """It goes on only when it is shifted."""
    with time_machine.travel(timezone.now(), tick=False) as moved:
        yield moved


def load_library():
    """The bundled workflows."""
    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from workflows_app.services.bundled import load_bundled

    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())


def plan_desk():
    """A team that has published the workflow below."""
    from tests.checkpoint_cast import publish_folder
    from tests.run_cast import make_desk

    desk = make_desk()
    publish_folder(desk, plan_files())
    return desk


# A workflow that has everything these dialects speak of

EXPLICIT = {"type": "simple", "variable": "ready", "operator": "==", "value": True}
KIND_BUG = {"type": "simple", "variable": "kind", "operator": "==", "value": "bug"}
NEVER = {"type": "simple", "variable": "ready", "operator": "==", "value": "never"}
AUTO_MS = 30_000


def plan_files(**more):
    """`draft` asks three checkpoints on the way: `sure` blocks, `soft` answers itself after 30 s, `odd` has a false condition."""
    from tests.activity_folders import activity, checkpoint, folder, skill, step, workflow

    sure = [
        {"id": "yes", "label": "Yes", "effect": {"setVariable": {"ready": True}}},
        {"id": "no", "label": "No", "effect": {"transitionTo": "redo", "skipActivities": ["build"]}},
    ]
    draft = activity(
        "draft",
        skills={"primary": "drafting"},
        rules=["Write it down"],
        steps=[
            step("write", skill="drafting", description="Write the plan."),
            step("polish", required=False, skill="universal-only"),
            step("prove", condition=KIND_BUG, skill="as-yaml"),
            step("ask", checkpoint="sure"),
        ],
        loops=[
            {
                "id": "each",
                "name": "Each",
                "type": "forEach",
                "variable": "item",
                "over": "items",
                "steps": [step("inner", skill="meta/session-protocol")],
            }
        ],
        checkpoints=[
            checkpoint("sure", message="Is the plan for {goal} right?", options=sure),
            checkpoint("soft", blocking=False, defaultOption="yes", autoAdvanceMs=AUTO_MS),
            checkpoint("odd", condition=NEVER),
            checkpoint("later", required=False),
        ],
        transitions=[
            {"to": "build", "condition": EXPLICIT},
            {"to": "build", "condition": KIND_BUG},
            {"to": "redo", "isDefault": True},
        ],
    )
    build = activity("build", steps=[step("make"), step("test")], transitions=[{"to": "workflow-end"}])
    about = workflow(
        description="Plans and builds.",
        initialActivity="draft",
        tags=["planning"],
        rules=["One thing at a time"],
        variables=[
            {"name": "goal", "type": "string", "defaultValue": "the roof"},
            {"name": "ready", "type": "boolean", "defaultValue": False},
            {"name": "kind", "type": "string", "defaultValue": "feature"},
            {"name": "items", "type": "array", "defaultValue": ["one"]},
        ],
        modes=[{"id": "fast", "name": "Fast", "activationVariable": "fast", "skipActivities": ["redo"]}],
        executionModel={"roles": [{"id": "planner", "description": "Plans."}]},
        skills={"primary": "leading"},
    )
    files = {
        "skills__00-leading.toon": skill("leading", resources=["01", "meta/04"]),
        "skills__01-drafting.toon": skill("drafting", description="As this workflow drafts."),
        "skills__02-as-yaml.yaml": b"id: as-yaml\nversion: 1.0.0\ncapability: Proves\nprotocol:\n  look:\n    - Look twice\n",
        "resources__01-guide.md": b"---\nid: guide\nversion: 2.1.0\n---\n\n# Guide\n\nMeasure twice.\n",
        "resources__02-long.md": ("# Long\n\n" + "A line of a long guide.\n" * 4_000).encode(),
    }
    return folder(draft, build, activity("redo", steps=[step("again")]), about=about, **{**files, **more})


def manifest(*step_ids, output="Done; see the note."):
    return [{"step_id": step_id, "output": output} for step_id in step_ids]


def entered(call, token, activity_id, **more):
    return call.raw("next_activity", session_token=token, activity_id=activity_id, **more)


def warnings_of(result):
    assert not result.get("isError"), text_of(result)
    validation = result["_meta"]["validation"]
    assert validation["status"] == ("warning" if validation["warnings"] else "valid")
    assert result["structuredContent"].get("warnings", []) == validation["warnings"]
    return validation["warnings"]


def republish(desk, files, workflow_id="team.plan"):
    """Another revision of it, published over the first."""
    from tests.workflow_cast import NOW
    from workflows_app.engine.source import Source, SourceFormat
    from workflows_app.services import publishing, workflows

    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=files)
    saved = workflows.revise_workflow(
        actor=desk.person, workflow_id=workflow_id, source=source, base_revision=1, message="", now=NOW
    )
    publishing.publish_revision(
        actor=desk.person, workflow_id=workflow_id, number=saved.revision.number, base=1, now=NOW
    )
