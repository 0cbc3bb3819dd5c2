"""Bundled workflows driven by hand from their start to their end, with the SDK's own client."""

import asyncio
import json
from pathlib import Path

import pytest
from django.utils import timezone
from mcp.client.client import Client

from sessions_app.models import Run
from sessions_app.selectors.integrity import verify_session
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.navigation_play import Agent, tool_caller
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Origin, Strictness
from workflows_app.selectors.bundled import read_folder
from workflows_app.services.bundled import load_bundled
from workflows_app.services.importing import ImportOptions, import_files
from workrail_site.mcp.calling import Caller, calls_as
from workrail_site.mcp.toolsets import all_servers
from workrail_site.mcp.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "navigation" / "workflows"


@pytest.fixture
def desk(transactional_db, settings):
    # These walk; that an answer takes its time is held elsewhere.
    settings.CHECKPOINT_MIN_RESPONSE_MS = 0
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    return run_cast.make_desk()


def assert_ended():
    run = Run.objects.get()
    assert run.status in {"complete", "complete_with_gaps"}
    assert [str(finding) for finding in verify_session(run.session_id)] == []


@pytest.mark.parametrize(
    "workflow_id", ["meta", "work-package", "work-packages", "wr.code-review", "wr.bug-investigation"]
)
def test_a_bundled_workflow_is_driven_to_its_end(desk, workflow_id):
    agent = Agent(tool_caller(desk.agent))

    replies = agent.drive(workflow_id)

    assert replies[-1]["complete"] is True
    assert replies[-1]["availableActions"] == {"required": [], "optional": [], "blocked": []}
    assert_ended()


def test_the_work_package_runs_through_its_activities_and_its_tasks(desk):
    choose = {"depth": "full"}
    agent = Agent(tool_caller(desk.agent), choose=choose)

    replies = agent.drive("work-package", tasks=["first", "second"])

    assert agent.activities[0] == "intake"
    assert {"plan", "implement", "validate", "review"} <= set(agent.activities)
    rounds = [reply["position"]["loop"] for reply in replies if "loop" in reply["position"]]
    assert {(at["item"], at["total"]) for at in rounds if "total" in at} >= {("first", 2), ("second", 2)}


def test_the_triggers_of_an_activity_are_shown(desk):
    agent = Agent(tool_caller(desk.agent))

    replies = agent.drive("work-packages")

    begun = [
        each
        for reply in replies
        for each in reply["availableActions"]["optional"]
        if each["action"] == "nav_start" and each["workflow"] == "work-package"
    ]
    assert begun


def test_the_sdk_client_drives_a_run(desk):
    run_cast.published(desk, *run_cast.plain_steps(3))
    calls_as(Caller(actor=desk.agent))
    workers = Workers(threads=1)
    server = all_servers()["navigation"].for_sdk(workers=workers)

    async def driven():
        async with Client(server) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}

            async def call(tool, **arguments):
                result = await client.call_tool(tool, arguments)
                assert not result.is_error, result.content[0].text
                return json.loads(result.content[0].text)

            value = await call("nav_start", workflow_id="team.sample")
            while not value.get("complete"):
                agent = Agent(None)
                agent.replies = [value]
                value = await call("nav_action", state=value["state"], **agent.arguments(agent.next()))
                assert value["success"], value
            return names, value

    try:
        names, last = asyncio.run(driven())
    finally:
        workers.close()

    assert len(names) == 21
    assert last["complete"] is True


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
def test_a_session_through_the_first_generations_work_package_meets_no_error(desk):
    files = {
        f"{name}/{path}": data for name in ("meta", "work-package") for path, data in read_folder(CORPUS / name).items()
    }
    options = ImportOptions(origin=Origin.PROJECT, strictness=Strictness.LEGACY, rename=True)
    imported = import_files(actor=desk.person, files=files, options=options, now=NOW)
    for saved in imported.workflows:
        publish(desk.person, saved.revision.workflow_id, saved.revision.number)
    (workflow_id,) = [
        saved.revision.workflow_id
        for saved in imported.workflows
        if saved.revision.workflow_id.endswith("work-package")
    ]
    call = tool_caller(desk.agent)
    agent = Agent(call, choose={"review-result": "pass"}, prefer=("strategic-review", "finalize"))

    replies = agent.drive(workflow_id, needs_issue_creation=True, issue_platform="github")

    assert_ended()
    for reply in replies:
        at = reply["position"]["activity"]["id"]
        call("nav_situation", state=reply["state"])
        call("nav_checkpoint", state=reply["state"])
        call("get_workflow_activity", workflow_id=workflow_id, activity_id=at)
    for each in call("list_workflow_resources", workflow_id=workflow_id):
        assert each["index"]
    assert len(agent.activities) >= 8
    assert len(replies) * 4 >= 170
