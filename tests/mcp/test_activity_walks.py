"""Both dialects that hand activities over, in the order that their contracts tell, by tools and with the SDK's client."""

import asyncio
import json

import pytest
import time_machine
from django.utils import timezone
from mcp.client.client import Client

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller, manifest, plan_files
from tests.matrix_play import told_of
from workflows_app.services.bundled import load_bundled
from workrail_site.mcp.calling import Caller, calls_as
from workrail_site.mcp.toolsets import all_servers
from workrail_site.mcp.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clock():
    with time_machine.travel(timezone.now(), tick=False) as moved:
        yield moved


@pytest.fixture
def desk(transactional_db, clock):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    return run_cast.make_desk()


def read_skills(call, token, activity, *, get_resource):
    """Those of all steps that name one, with every resource that they list."""
    inner = [step for loop in activity.get("loops", ()) for step in loop["steps"] if "skill" in step]
    for step in [step for step in activity["steps"] if "skill" in step] + inner:
        skill = call("get_skill", session_token=token, step_id=step["id"])["skill"]
        for resource in skill.get("_resources", ()):
            get_resource(resource["index"])


def test_a_session_goes_as_its_contract_tells(desk, clock):
    """Discover, start, skills, workflow, activity, skills and resources of steps, answers, the next one, and the trace."""
    call = caller("session", desk.agent)
    listed = {each["id"] for each in call("list_workflows")["workflows"]}
    assert listed >= {each["id"] for each in call("discover")["available_workflows"]}
    token = call("start_session", workflow_id="work-package", agent_id="me")["session_token"]
    assert call("get_skills", session_token=token)["skills"]
    first = call("get_workflow", session_token=token)["initialActivity"]
    activity = call("next_activity", session_token=token, activity_id=first)
    token = activity["session_token"]
    read_skills(
        call,
        token,
        activity,
        get_resource=lambda index: call("get_resource", session_token=token, resource_index=index),
    )
    clock.shift(5)
    for name in activity["pending_checkpoints"]:
        question = call("get_checkpoint", session_token=token, activity_id=first, checkpoint_id=name)
        chosen = question["options"][0]["id"]
        answer = call("respond_checkpoint", session_token=token, checkpoint_id=name, option_id=chosen)
        token = answer["session_token"]
    assert answer["remaining_checkpoints"] == []

    target = next(way["to"] for way in activity["transitions"] if way["isDefault"])
    done = manifest(*(step["id"] for step in activity["steps"]))
    clock.shift(1)
    moved = call("next_activity", session_token=token, activity_id=target, step_manifest=done)

    assert moved["id"] == target
    assert "warnings" not in moved
    clock.shift(1)
    told = call("get_trace", session_token=moved["session_token"], trace_tokens=[moved["trace_token"]])
    assert {event["name"] for event in told["events"]} >= {"get_skill", "get_checkpoint", "respond_checkpoint"}


def test_an_orchestrator_and_a_worker_go_as_their_contract_tells(desk, clock):
    call = caller("orchestrator", desk.agent)
    lead = call("start_session", agent_id="lead", workflow_id="work-package")["session_token"]
    assert call("get_skills", session_token=lead)["skills"]
    first = call("get_workflow", session_token=lead)["initialActivity"]
    lead = call("next_activity", session_token=lead, activity_id=first)["session_token"]

    worker = call("start_session", agent_id="worker", session_token=lead)["session_token"]
    activity = call("get_activity", session_token=worker)
    read_skills(
        call,
        worker,
        activity,
        get_resource=lambda index: call("get_resource", session_token=worker, resource_id=index),
    )
    for step in activity["steps"]:
        if "checkpoint" in step:
            handle = call("yield_checkpoint", session_token=worker, checkpoint_id=step["checkpoint"])[
                "checkpoint_handle"
            ]
            question = call("present_checkpoint", checkpoint_handle=handle)
            clock.shift(5)
            chosen = question["options"][0]["id"]
            answer = call("respond_checkpoint", checkpoint_handle=handle, option_id=chosen)
            assert answer["resolved"] is True
            worker = call("resume_checkpoint", session_token=worker)["session_token"]

    status = call("get_workflow_status", session_token=lead)
    assert status["status"] == "active"
    assert status["last_checkpoint"]["checkpoint_id"] == activity["checkpoints"][0]["id"]
    target = next(way["to"] for way in activity["transitions"] if way["isDefault"])
    done = manifest(*(step["id"] for step in activity["steps"]))
    moved = call("next_activity", session_token=lead, activity_id=target, step_manifest=done)

    assert moved["activity_id"] == target
    assert "warnings" not in moved
    assert moved["trace_token"]


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_a_workflow_of_steps_has_one_activity_and_is_done_to_its_end(desk, dialect):
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id="wr.ticket-writing")["session_token"]
    workflow = call("get_workflow", session_token=token)
    assert [activity["id"] for activity in workflow["activities"]] == [workflow["initialActivity"]] == ["main"]
    activity = call("next_activity", session_token=token, activity_id="main")
    token = activity["session_token"]
    activity = activity if dialect == "session" else call("get_activity", session_token=token)
    for step in activity["steps"]:
        told = call("get_skill", session_token=token, step_id=step["id"])["skill"]
        assert told["instructions"]

    done = told_of("wr.ticket-writing", [step["id"] for step in activity["steps"]])
    ended = call("next_activity", session_token=token, activity_id="workflow-end", step_manifest=done)

    assert ended["status"] == "completed"


@pytest.mark.parametrize(("dialect", "count"), [("session", 12), ("orchestrator", 16)])
def test_the_sdk_client_finds_the_tools_and_is_given_meta(desk, dialect, count):
    publish_folder(desk, plan_files())
    calls_as(Caller(actor=desk.agent))
    workers = Workers(threads=1)
    server = all_servers()[dialect].for_sdk(workers=workers)

    async def driven():
        async with Client(server) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            begun = await client.call_tool("start_session", {"workflow_id": "team.plan"})
            token = json.loads(begun.content[0].text)["session_token"]
            moved = await client.call_tool("next_activity", {"session_token": token, "activity_id": "build"})
            return names, begun, moved

    try:
        names, begun, moved = asyncio.run(driven())
    finally:
        workers.close()

    assert len(names) == count
    assert begun.meta["session_token"] == begun.structured_content["session_token"]
    assert moved.meta["validation"]["status"] == "warning"
    assert moved.meta["validation"]["warnings"] == moved.structured_content["warnings"]
    assert moved.meta["session_token"] in moved.content[0].text


def test_each_dialect_is_served_at_an_address_of_its_own(wire):
    for dialect, count in (("session", 12), ("orchestrator", 16)):
        listed = wire.send("tools/list", path=f"/mcp/{dialect}").json()["result"]["tools"]
        assert len(listed) == count
        result = wire.send("tools/call", {"name": "health_check", "arguments": {}}, path=f"/mcp/{dialect}").json()[
            "result"
        ]
        assert result["structuredContent"]["server"] == f"workrail-{dialect}"


def test_a_token_of_one_dialect_is_refused_by_another_with_its_address(desk):
    token = caller("session", desk.agent)("start_session", workflow_id="work-package")["session_token"]

    refusal = caller("orchestrator", desk.agent).refused("get_activity", session_token=token)

    assert refusal["code"] == "TOKEN_SCOPE_MISMATCH"
    assert "/mcp/session" in refusal["details"]["suggestion"]
