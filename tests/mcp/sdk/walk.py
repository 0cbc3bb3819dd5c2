"""Walks a workflow of the rail to its end with the official SDK of Python, of either version; questions go to the test.

The plan comes as the first argument. Each thing that happens is one line of JSON on stdout; after a question for a signed-in
person this waits for a line on stdin, as a user would who has been there.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

PLAN = json.loads(sys.argv[1])
ADDRESS_REQUIRED = -32042


def tell(what):
    print(json.dumps(what), flush=True)


async def until_been_there():
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)


async def first(stack):
    import httpx
    from mcp import ClientSession, StdioServerParameters, types
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.exceptions import McpError

    async def answered(_context, params):
        return await answer_to(params, types.ElicitResult)

    if PLAN.get("url"):
        http = await stack.enter_async_context(httpx.AsyncClient(headers={"Authorization": f"Bearer {PLAN['key']}"}))
        read, write, _ = await stack.enter_async_context(streamable_http_client(PLAN["url"], http_client=http))
    else:
        read, write = await stack.enter_async_context(stdio_client(server_of(StdioServerParameters)))
    session = await stack.enter_async_context(ClientSession(read, write, elicitation_callback=answered))
    await session.initialize()

    async def call(name, given):
        try:
            return value_of(await session.call_tool(name, given), "structuredContent", "isError")
        except McpError as error:
            if error.error.code != ADDRESS_REQUIRED:
                raise
            (asked,) = error.error.data["elicitations"]
        tell({"asked": "error", "message": asked["message"], "url": asked["url"]})
        await until_been_there()
        return await call(name, given)

    return (await session.list_tools()).tools, call


async def second(stack):
    import httpx2
    from mcp.client import session
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import ElicitResult

    # A server that a busy machine starts more slowly than this is taken for one of an older revision.
    session.DISCOVER_TIMEOUT_SECONDS = 60.0

    async def answered(_context, params):
        return await answer_to(params, ElicitResult)

    if PLAN.get("url"):
        http = await stack.enter_async_context(httpx2.AsyncClient(headers={"Authorization": f"Bearer {PLAN['key']}"}))
        transport = streamable_http_client(PLAN["url"], http_client=http)
    else:
        transport = stdio_client(server_of(StdioServerParameters))
    client = await stack.enter_async_context(Client(transport, mode="auto", elicitation_callback=answered))

    async def call(name, given):
        return value_of(await client.call_tool(name, given), "structured_content", "is_error")

    return (await client.list_tools()).tools, call


def server_of(parameters):
    return parameters(command=PLAN["command"], args=PLAN["args"], env=PLAN["env"], cwd=PLAN["cwd"])


async def answer_to(params, result):
    url = getattr(params, "url", None)
    tell({"asked": params.mode, "message": params.message, "url": url})
    if url:
        await until_been_there()
        return result(action="accept")
    return result(action="accept", content={"answer": PLAN["answer"]})


def value_of(told, value, is_error):
    if getattr(told, is_error):
        raise RuntimeError(told.content)
    return getattr(told, value)


def output_for(reply):
    question = reply["pending"].get("checkpoint")
    if question is None:
        return {"notesMarkdown": "Did what the step says."}
    answer = {"kind": "wr.checkpoint_answer", "checkpointId": question["checkpointId"], "optionId": PLAN["answer"]}
    return {"notesMarkdown": "Did what the step says.", "artifacts": [answer]}


async def main():
    async with AsyncExitStack() as stack:
        tools, call = await (first if PLAN["sdk"] == "python-1" else second)(stack)
        tell({"tools": [tool.name for tool in tools]})
        reply = await call("start_workflow", {"workflowId": PLAN["workflowId"]})
        seen = []
        while not reply["isComplete"] and len(seen) < 20:
            seen.append(reply["pending"]["stepId"])
            tokens = {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]}
            reply = await call("continue_workflow", {**tokens, "output": output_for(reply)})
        tell({"seen": seen, "complete": reply["isComplete"]})


asyncio.run(main())
