"""An agent walks workflows to their end, over real HTTP, with the SDK's own client."""

import asyncio
import re

import pytest

from tests.mcp_play import CONTEXT, output_for, sdk_client

MAX_CALLS = 60
BUNDLED = ["wr.bug-investigation", "wr.code-review", "wr.ticket-writing"]


@pytest.fixture
def library(served):
    from django.utils import timezone

    from teams_app.engine.actors import NO_TEAM, Door, system_actor
    from workflows_app.services.bundled import load_bundled

    return load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())


async def walk(client, workflow_id):
    """Every result from the start to the end. The agent does what the ready-made next call says."""
    beginning = {"workflowId": workflow_id, "goal": "Try it", "context": CONTEXT}
    results = [await client.call_tool("start_workflow", beginning)]
    while not results[-1].structured_content["isComplete"]:
        reply = results[-1].structured_content
        assert len(results) < MAX_CALLS, results[-1].content[0].text
        arguments = {**reply["nextCall"]["params"], "output": output_for(reply), "context": CONTEXT}
        results.append(await client.call_tool(reply["nextCall"]["tool"], arguments))
    return results


def walked(wire, workflow_id, *, mode="auto", path="/mcp/rail"):
    async def run():
        async with sdk_client(wire, mode=mode, path=path) as client:
            return await walk(client, workflow_id)

    return asyncio.run(run())


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdk_client_walks_bundled_workflows_to_their_end(wire, library, mode):
    for workflow_id in BUNDLED:
        results = walked(wire, workflow_id, mode=mode)

        assert not any(result.is_error for result in results)
        last = results[-1].structured_content
        assert (last["isComplete"], last["pending"], last["nextCall"]) == (True, None, None)
        assert results[-1].content[0].text.startswith("# Workflow complete")


def test_what_a_step_asks_for_blocks_it_until_it_is_handed_in(wire, library):
    results = walked(wire, "wr.code-review")

    kinds = [result.structured_content["kind"] for result in results]
    blocked = results[kinds.index("blocked")]
    assert kinds[kinds.index("blocked") + 1] == "ok"
    assert blocked.content[0].text.startswith("# Blocked\n")
    assert blocked.structured_content["blockers"][0]["message"] in blocked.content[0].text


def test_every_token_stands_on_a_line_of_its_own(wire, library):
    for result in walked(wire, "wr.ticket-writing"):
        tokens = re.findall(r"\b(?:st|ack|chk)\.v1\.[0-9a-z]+", result.content[0].text)
        assert tokens
        assert set(tokens) <= set(result.content[0].text.splitlines())


def test_a_reply_tells_nothing_of_later_steps(wire, desk):
    from tests.run_cast import plain_steps, published

    titles = [f"Title of step-{index}" for index in range(4)]
    published(desk, *plain_steps(4))

    results = walked(wire, "team.sample")

    for place, result in enumerate(results):
        shown = result.content[0].text + str(result.structured_content)
        assert [title for title in titles[place + 1 :] if title in shown] == []


def test_the_bare_address_is_the_rail(wire, desk):
    from tests.run_cast import plain_steps, published

    published(desk, *plain_steps(2))

    assert walked(wire, "team.sample", path="/mcp")[-1].structured_content["isComplete"] is True


def test_eight_clients_at_once_each_finish_their_own_run(wire, desk):
    from tests.run_cast import plain_steps, published

    published(desk, *plain_steps(5))

    async def one():
        async with sdk_client(wire) as client:
            return await walk(client, "team.sample")

    async def together():
        return await asyncio.gather(*(one() for _ in range(8)))

    runs = asyncio.run(together())

    assert [len(results) for results in runs] == [6] * 8
    assert len({results[0].structured_content["session"]["runId"] for results in runs}) == 8
    assert all(results[-1].structured_content["isComplete"] for results in runs)


def test_a_run_is_the_same_whichever_revision_each_call_is_of(wire, desk):
    from tests.run_cast import plain_steps, published

    published(desk, *plain_steps(2))

    async def run():
        async with sdk_client(wire, mode="legacy") as old, sdk_client(wire) as new:
            first = await old.call_tool("start_workflow", {"workflowId": "team.sample"})
            second = await new.call_tool("continue_workflow", first.structured_content["nextCall"]["params"])
            third = await old.call_tool("continue_workflow", second.structured_content["nextCall"]["params"])
            again = await new.call_tool("continue_workflow", second.structured_content["nextCall"]["params"])
            return third, again

    third, again = asyncio.run(run())

    assert third.structured_content["isComplete"] is True
    assert again.structured_content == third.structured_content
    assert again.content[0].text == third.content[0].text
