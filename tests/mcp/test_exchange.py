"""A call without a session is answered as the SDK answers it, whoever of the two does."""

import asyncio
import json

import pytest

from teams_app.engine.errors import WorkrailError
from tests.flood_play import Work
from tests.mcp_play import HANDSHAKE, MODERN
from workrail_site.errors import ERRORS
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.calling import acting

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}
HEADERS = {
    "host": "localhost",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": HANDSHAKE,
}


@pytest.fixture
def sdk_server(monkeypatch):
    """A server of the SDK with tools that answer, refuse, break the protocol and fail."""
    from teams_app.engine.actors import Actor, ActorKind, Door, Role
    from teams_app.engine.errors import NotFoundError, UnauthenticatedError
    from teams_app.engine.ids import uuid7
    from workrail_site.dialects.introductions import Introduction
    from workrail_site.mcp.answers import ToolReply
    from workrail_site.mcp.calling import Caller, calls_as
    from workrail_site.mcp.library import MCPToolset, ToolsetMeta
    from workrail_site.mcp.toolsets import DialectServer, Hints, hinted
    from workrail_site.mcp.workers import Workers

    monkeypatch.setattr(ToolsetMeta, "registry", {})
    server = DialectServer(Introduction(name="planted", title="Planted", instructions="None."))

    class Planted(MCPToolset):
        mcp_server = server

        @hinted(Hints(title="Echo"))
        def echo(self, *, text: str) -> ToolReply:
            """Says it again."""
            return ToolReply(text=text, value={"text": text, "nothing": None, "deep": [{"é": 1.5}]})

        @hinted(Hints(title="Refuse"))
        def refuse(self) -> ToolReply:
            """Refuses."""
            raise NotFoundError("There is none.", suggestion="Make one.")

        @hinted(Hints(title="Break"))
        def break_off(self) -> ToolReply:
            """Breaks the call."""
            raise UnauthenticatedError("Nobody.", suggestion="Be somebody.")

        @hinted(Hints(title="Fail"))
        def fail(self) -> ToolReply:
            """Has a defect."""
            raise ZeroDivisionError

    server.register_mcptoolset(Planted())
    actor = Actor(
        kind=ActorKind.PERSON,
        id="person_x",
        name="Alice",
        team_id=uuid7(unix_ms=1, random=bytes(10)),
        door=Door.MCP,
        role=Role.OWNER,
    )
    calls_as(Caller(actor=actor))
    workers = Workers(threads=1)
    yield server, workers
    workers.close()


async def sent_by(serve, body, headers):
    """Status, type and body of an answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp/planted",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "workrail.body": data,
        "workrail.actor": acting(),
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message):
        sent.append(message)

    try:
        await serve(scope, receive, send)
    except WorkrailError as refusal:
        # The door tells it.
        return ERRORS[refusal.code].status, None, refusal.as_json()
    kind = dict(sent[0]["headers"]).get(b"content-type")
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], kind, json.loads(body) if body.startswith(b"{") else body


def in_revision(version, message):
    """The message as a client of that revision sends it, with the headers."""
    if version != MODERN:
        return message, {**HEADERS, "mcp-protocol-version": version}
    own = "io.modelcontextprotocol/"
    client = {f"{own}clientInfo": {"name": "test", "version": "1"}, f"{own}clientCapabilities": {}}
    params = message["params"]
    meta = {f"{own}protocolVersion": MODERN, **client, **params.get("_meta", {})}
    routing = {"mcp-method": message["method"], **({"mcp-name": params["name"]} if "name" in params else {})}
    return {**message, "params": {**params, "_meta": meta}}, {**HEADERS, "mcp-protocol-version": version, **routing}


@pytest.mark.parametrize("version", ["2025-03-26", HANDSHAKE, MODERN])
@pytest.mark.parametrize("text", ["x" * 80_000, "\u200d" * 15_000, '"\\' * 20_000], ids=["plain", "unseen", "escaped"])
def test_a_long_call_is_answered_as_the_sdk_does(sdk_server, version, text):
    ours, theirs = both_answers(sdk_server, *in_revision(version, called(arguments={"text": text})))

    assert ours == theirs
    assert ours[2]["result"]["content"][0]["text"] == text


def test_the_arguments_of_one_message_are_no_others(sdk_server):
    long, none = called(arguments={"text": "x" * 80_000}), called()
    _status, _kind, told = both_answers(
        sdk_server, [long, none, long], {**HEADERS, "mcp-protocol-version": "2025-03-26"}
    )[0]

    said = [each["result"]["content"][0]["text"] for each in json.loads(told)]
    assert (said[0], said[2]) == ("x" * 80_000,) * 2
    assert "text: Required, and missing." in said[1]


MUCH = {
    "lists": {"x": [[]] * 225_000},
    "objects": {"x": [{"a": 1}] * 90_000},
    "names": {f"k{number}": 1 for number in range(75_000)},
    "text": {"x": "a" * 900_000},
    "letters that are not seen": {"x": "\u200d" * 300_000},
}
PLACES = {
    "arguments": lambda much: called(arguments=much),
    "notes": lambda much: called(_meta=much),
    "beside": lambda much: called(x=much),
    "another method": lambda much: {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"x": much}},
    "what a client can": lambda much: called(
        _meta={"io.modelcontextprotocol/clientCapabilities": {"experimental": much}}
    ),
    "a batch": lambda much: [called(x=much)],
}


@pytest.mark.parametrize("much", MUCH.values(), ids=MUCH)
@pytest.mark.parametrize("version", [HANDSHAKE, MODERN, "2025-03-26"])
def test_the_event_loop_does_not_go_through_a_long_message(sdk_server, much, version):
    from workrail_site.mcp.endpoint import McpEndpoint

    async def run():
        endpoint = McpEndpoint(sdk_server[0], workers=sdk_server[1], max_body_bytes=2**20)
        async with endpoint.run():
            for name, place in PLACES.items():
                message = place(much)
                body, headers = (message, HEADERS) if isinstance(message, list) else in_revision(version, message)
                data = json.dumps(body, ensure_ascii=False).encode()
                with Work() as work:
                    await sent_by(endpoint, data, {**headers, "mcp-protocol-version": version})
                found[name] = work.seconds

    found = {}
    with Work() as once:
        sum(1 for _ in range(900_000))
    asyncio.run(run())

    assert max(found.values()) < once.seconds, found


def both_answers(sdk_server, body, headers):
    """Ours, and what the SDK would have said."""
    from workrail_site.mcp.endpoint import McpEndpoint

    async def run():
        endpoint = McpEndpoint(sdk_server[0], workers=sdk_server[1], max_body_bytes=100_000)
        async with endpoint.run():
            ours = await sent_by(endpoint, body, headers)
            theirs = await sent_by(endpoint._stateless.handle_request, body, headers)
            return ours, theirs

    return asyncio.run(run())


def called(name="echo", **params):
    return {**CALL, "params": {"name": name, "arguments": {}, **params}}


MESSAGES = {
    "answered": CALL,
    "an id that is text": {**CALL, "id": "first"},
    "refused by the tool": called("refuse"),
    "broken off": called("break_off"),
    "no such tool": called("nothing"),
    "arguments missing": called("echo"),
    "no arguments at all": {**CALL, "params": {"name": "refuse"}},
    "no name": {**CALL, "params": {}},
    "a name that is no text": called(7),
    "arguments that are a list": called("echo", arguments=[1]),
    "a token for progress": {**CALL, "params": {**CALL["params"], "_meta": {"progressToken": 7}}},
    "notes of the client's own": called("refuse", _meta={"progressToken": "a", "theirs/id": {"a": [1]}}),
    "a token for progress that is none": called("refuse", _meta={"progressToken": [1]}),
    "names that the protocol keeps": called("refuse", _meta={"io.modelcontextprotocol/related-task": 7}),
    "metadata that are text": called("refuse", _meta="x"),
    "no metadata": called("refuse", _meta=None),
    "null for arguments": called("refuse", arguments=None),
    "something beside the arguments": called("refuse", task={"ttl": 5}),
    "a defect": called("fail"),
    "a notification": {"jsonrpc": "2.0", "method": "tools/call", "params": CALL["params"]},
    "another method": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    "no method of anybody": {"jsonrpc": "2.0", "id": 1, "method": "no/such"},
    "a ping": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
}


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_a_message_without_a_session_is_answered_as_the_sdk_does(sdk_server, message):
    ours, theirs = both_answers(sdk_server, message, HEADERS)

    if has_no_words(theirs):
        # Ours names the parameter besides.
        assert ours[2]["error"].pop("data")["details"].startswith("params.")
        assert theirs[2]["error"].pop("data") == ""
    assert ours == theirs


@pytest.mark.parametrize("refusal", ["RATE_LIMITED", "SERVICE_UNAVAILABLE"])
def test_a_call_that_was_let_in_and_finds_no_turn_is_told_so(sdk_server, monkeypatch, refusal):
    from teams_app.engine.errors import RateLimitedError
    from workrail_site.errors import ServiceUnavailableError
    from workrail_site.lanes import ThreadLanes

    async def full(*_):
        raise {kind.code: kind("No turn.") for kind in (RateLimitedError, ServiceUnavailableError)}[refusal]

    monkeypatch.setattr(ThreadLanes, "run", full)

    for status, _, told in both_answers(sdk_server, CALL, HEADERS):
        assert (status, told["id"]) == (200, CALL["id"])
        assert told["error"]["code"] == ERRORS[refusal].json_rpc != RpcCode.INTERNAL
        assert told["error"]["data"]["code"] == refusal


def has_no_words(answer):
    return isinstance(answer[2], dict) and answer[2].get("error", {}).get("message") == "Invalid request parameters"


TERMS = {
    "no version": {"mcp-protocol-version": None},
    "an older version": {"mcp-protocol-version": "2025-03-26"},
    "a version that nobody knows": {"mcp-protocol-version": "1999-01-01"},
    "everything accepted": {"accept": "*/*"},
    "JSON alone accepted": {"accept": "application/json"},
    "nothing said of what is accepted": {"accept": None},
    "pages accepted": {"accept": "text/html"},
    "a kindred type accepted": {"accept": "application/json-patch+json"},
    "a body that is called text": {"content-type": "text/plain"},
    "a body of a kindred type": {"content-type": "application/json-patch+json"},
    "a body with a charset": {"content-type": "application/json; charset=utf-8"},
}


NOT_MET = [
    {"accept": None},
    {"accept": "text/html"},
    {"accept": "application/json-patch+json"},
    {"content-type": "text/plain"},
    {"content-type": "application/json-patch+json"},
]


@pytest.mark.parametrize("changed", TERMS.values(), ids=TERMS)
def test_the_terms_of_a_request_are_those_of_the_sdk(sdk_server, changed):
    headers = {name: value for name, value in {**HEADERS, **changed}.items() if value is not None}

    ours, theirs = both_answers(sdk_server, CALL, headers)

    if changed in NOT_MET:
        # The SDK refuses it in other words, or in none.
        assert ours[0] == (406 if "accept" in changed else 415)
        assert theirs[0] in {400, 406, 415}
    else:
        assert ours == theirs


def test_a_call_is_answered_without_the_sdks_transport(sdk_server):
    """What the whole is for; a new form of scope or message would send every call the long way unseen."""
    from workrail_site.mcp.exchange import read_tool_call

    headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
    modern = [(b"mcp-protocol-version", MODERN.encode()), *headers[:3]]

    assert read_tool_call({"headers": headers, "workrail.body": json.dumps(CALL).encode()}).params == CALL["params"]
    assert read_tool_call({"headers": modern, "workrail.body": json.dumps(CALL).encode()}) is None
