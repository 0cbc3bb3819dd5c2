"""A defect of ours is logged, and told in words that tell nothing. In one process, with a tool that has a bug."""

import asyncio
import json

import pytest

SECRET = "password=hunter2 at /srv/secret/path.py"
BODY = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "stumble",
        "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        },
    },
}


@pytest.fixture
def planted(monkeypatch):
    """A server with one tool, which raises what no tool should."""
    from workrail_site.dialects.introductions import Introduction
    from workrail_site.mcp.answers import ToolReply
    from workrail_site.mcp.library import MCPToolset, ToolsetMeta
    from workrail_site.mcp.toolsets import DialectServer, Hints, hinted

    monkeypatch.setattr(ToolsetMeta, "registry", {})
    server = DialectServer(Introduction(name="planted", title="Planted", instructions="None."))

    class Stumbling(MCPToolset):
        mcp_server = server

        @hinted(Hints(title="Stumble"))
        def stumble(self) -> ToolReply:
            """Fails."""
            raise RuntimeError(SECRET)

    server.register_mcptoolset(Stumbling())
    return server


def answered(server, key):
    """Status and JSON of one call, through the whole application with its lifespan."""
    from workrail_site.mcp.mounts import Mounts

    headers = {
        "host": "localhost",
        "authorization": f"Bearer {key}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "stumble",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp/planted",
        "raw_path": b"/mcp/planted",
        "query_string": b"",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }

    async def run():
        application = Mounts({"planted": server}, threads=1, max_body_bytes=10_000)
        told, sent, life = asyncio.Queue(), [], asyncio.Queue()

        async def note(message):
            told.put_nowait(message)

        async def keep(message):
            sent.append(message)

        async def body():
            return {"type": "http.request", "body": json.dumps(BODY).encode(), "more_body": False}

        living = asyncio.create_task(application({"type": "lifespan"}, life.get, note))
        life.put_nowait({"type": "lifespan.startup"})
        await told.get()
        await application(scope, body, keep)
        life.put_nowait({"type": "lifespan.shutdown"})
        await living
        return sent

    sent = asyncio.run(run())
    return sent[0], json.loads(sent[1]["body"])


@pytest.mark.django_db(transaction=True)
def test_a_defect_is_logged_under_the_requests_id_and_tells_nothing(planted, caplog):
    from tests.cast import issue
    from tests.run_cast import make_desk

    key = issue(make_desk().owner).text

    start, reply = answered(planted, key)

    result = reply["result"]
    request_id = dict(start["headers"])[b"x-request-id"].decode()
    assert (start["status"], result["isError"]) == (200, True)
    assert result["structuredContent"]["code"] == "INTERNAL_ERROR"
    assert result["structuredContent"]["details"]["requestId"] == request_id
    assert "hunter2" not in json.dumps(reply)
    assert "RuntimeError" not in json.dumps(reply)
    assert any("unhandled_error" in record.getMessage() for record in caplog.records)
