"""What a call at the door of MCP may do beside its work, counted: changes of thread, readings of its body, lines in the log."""

import asyncio
import json
import logging

import orjson
import pytest

from tests.cast import issue
from tests.mcp_play import HANDSHAKE
from tests.run_cast import begin, make_desk, plain_steps

pytestmark = pytest.mark.django_db(transaction=True)


class Counted:
    """How often something was called, of one call at the door."""

    def __init__(self):
        self.changes_of_thread = 0
        self.bodies_read = 0
        self.records = 0


@pytest.fixture
def door(monkeypatch, settings):
    """`door(tool, arguments)`: asked of the application itself, in a loop and threads of its own; counts, and the answer."""
    from workrail_site.mcp.mounts import Mounts
    from workrail_site.mcp.toolsets import all_servers

    settings.ALLOWED_HOSTS = ["localhost"]
    counted = Counted()
    count_calls(monkeypatch, counted)
    mounts = Mounts({"rail": all_servers()["rail"]}, threads=2, max_body_bytes=1_000_000)
    loop = asyncio.new_event_loop()

    def ask(key, tool, arguments):
        body = orjson.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        )
        before = {**vars(counted)}
        answer = loop.run_until_complete(answered(mounts, key, body))
        return {name: count - before[name] for name, count in vars(counted).items()}, orjson.loads(answer)

    yield ask
    loop.close()
    mounts._close()


def count_calls(monkeypatch, counted):
    posted, loads, handle = asyncio.BaseEventLoop.call_soon_threadsafe, orjson.loads, logging.Logger.handle

    def post(self, *given, **options):
        counted.changes_of_thread += 1
        return posted(self, *given, **options)

    def load(data):
        if b'"tools/call"' in (data if isinstance(data, bytes) else data.encode()):
            counted.bodies_read += 1
        return loads(data)

    def write(self, record):
        counted.records += record.name == "workrail.request"
        return handle(self, record)

    monkeypatch.setattr(asyncio.BaseEventLoop, "call_soon_threadsafe", post)
    monkeypatch.setattr(orjson, "loads", load)
    monkeypatch.setattr(logging.Logger, "handle", write)


async def answered(application, key, body):
    said = {
        "host": "localhost",
        "authorization": f"Bearer {key}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": HANDSHAKE,
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp/rail",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in said.items()],
        "client": ("127.0.0.1", 1),
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    await application(scope, receive, send)
    return sent[-1]["body"]


def test_an_advance_goes_to_a_thread_and_back_once_and_reads_its_body_once(door):
    desk = make_desk()
    key = issue(desk.owner).text
    value = begin(desk, *plain_steps(4))

    for number in range(3):
        given = {name: value[name] for name in ("stateToken", "ackToken")}
        counted, answer = door(key, "continue_workflow", given)
        value = answer["result"]["structuredContent"]
        assert value["kind"] == "ok", json.dumps(value)
        # The first call asks in a thread of its own whose key it is; later ones know.
        assert counted == {"changes_of_thread": 1 + (number == 0), "bodies_read": 1, "records": 1}
