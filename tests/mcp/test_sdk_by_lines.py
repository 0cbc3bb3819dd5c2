"""The official client of Python, which starts our process and speaks to it: whole walks, and questions put to its user."""

import asyncio
import sys
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import ElicitResult

from sessions_app.models import CheckpointRequest
from tests import run_cast
from tests.checkpoint_cast import asking, publish_folder
from tests.mcp.conftest import environ_of_site
from tests.mcp_play import MODERN
from tests.step_documents import step

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[2]


def walk(wire, steps, *, arguments, mode, answer=None):
    """`steps(client)` in a conversation with a process of its own."""
    asked = []

    async def on_question(_context, params):
        asked.append(params)
        return answer

    async def run():
        server = StdioServerParameters(
            command=sys.executable,
            args=["manage.py", "mcp", *arguments],
            env={**environ_of_site(), "WORKRAIL_KEY": wire.key, "WORKRAIL_CHECKPOINT_MIN_RESPONSE_MS": "0"},
            cwd=ROOT,
        )
        callback = {} if answer is None else {"elicitation_callback": on_question}
        async with Client(stdio_client(server), mode=mode, **callback) as client:
            return await steps(client)

    return asyncio.run(asyncio.wait_for(run(), timeout=90)), asked


async def to_the_end(client, workflow_id):
    tools = await client.list_tools()
    reply = (await client.call_tool("start_workflow", {"workflowId": workflow_id})).structured_content
    seen = []
    while not _is_complete(reply) and len(seen) < 20:
        seen.append(reply["pending"]["stepId"])
        given = {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}
        output = {"notesMarkdown": "Did what the step says."}
        reply = (await client.call_tool("continue_workflow", {**given, "output": output})).structured_content
    return [tool.name for tool in tools.tools], seen


def _is_complete(reply):
    assert "isComplete" in reply, reply
    return reply["isComplete"]


@pytest.mark.parametrize(("mode", "where"), [("legacy", "here"), ("auto", "elsewhere")])
def test_a_workflow_is_walked_to_its_end(wire, desk, mode, where):
    run_cast.published(desk, step("one"), step("two"))
    arguments = ["--dialect", "rail"] if where == "here" else ["--url", f"{wire.url}/mcp/rail"]

    (tools, seen), _asked = walk(wire, lambda client: to_the_end(client, "team.sample"), arguments=arguments, mode=mode)

    assert "start_workflow" in tools
    assert seen == ["one", "two"]


def test_a_question_is_put_to_the_user_of_the_client(wire, desk):
    publish_folder(desk, asking())
    said = ElicitResult(action="accept", content={"answer": "yes"})

    # Asked which revisions there are, a client waits ten seconds, and then falls back to one that puts no form.
    (_tools, seen), asked = walk(
        wire, lambda client: to_the_end(client, "team.plan"), arguments=["--dialect", "rail"], mode=MODERN, answer=said
    )

    assert [params.message for params in asked] == [CheckpointRequest.objects.get().message]
    assert seen == ["ask", "work", "last", "again"]
    assert CheckpointRequest.objects.get().door == "client_form"
