"""An agent walks a workflow to its end, over real HTTP, with the SDK's own client."""

import asyncio

import pytest

from tests.mcp_play import CONTEXT, output_for, sdk_client

MAX_CALLS = 60


@pytest.fixture
def library(served):
    from django.utils import timezone

    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from workflows_app.services.bundled import load_bundled

    return load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())


async def walked(wire, mode, workflow_id):
    """Every reply from the start to the end, as the client saw it."""
    async with sdk_client(wire, mode=mode) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"start_workflow", "continue_workflow"} <= tools
        results = [
            await client.call_tool("start_workflow", {"workflowId": workflow_id, "goal": "Try", "context": CONTEXT})
        ]
        while not results[-1].structured_content["isComplete"]:
            assert len(results) < MAX_CALLS, results[-1].content[0].text
            reply = results[-1].structured_content
            call = reply["nextCall"]
            arguments = {**call["params"], "output": output_for(reply), "context": CONTEXT}
            results.append(await client.call_tool(call["tool"], arguments))
        return results


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("workflow_id", ["wr.bug-investigation", "wr.ticket-writing", "wr.code-review"])
def test_the_sdk_client_walks_a_bundled_workflow_to_its_end(wire, library, mode, workflow_id):
    results = asyncio.run(walked(wire, mode, workflow_id))

    last = results[-1]
    assert last.structured_content["kind"] == "ok"
    assert last.structured_content["nextIntent"] == "complete"
    assert "# Workflow complete" in last.content[0].text
    assert not any(result.is_error for result in results)
