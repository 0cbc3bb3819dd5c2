"""A server elsewhere that is started anew, is busy, or loses its answer: what the bridge does about it."""

import json

import httpx2
import pytest

from workrail_site.mcp.messages import RpcError, request_of
from workrail_site.mcp.stdio.bridge import BridgeTalk, Patience

URL = "https://rails.example.com/mcp/rail"
GREETING = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}},
}


class Far:
    """A server that behaves as it is told, once for each request, and then as it should."""

    def __init__(self, *behaviour):
        self.behaviour = list(behaviour)
        self.heard = []
        self.pauses = []

    def handle(self, request):
        body = json.loads(request.content)
        self.heard.append((body["method"], dict(request.headers)))
        if self.behaviour:
            act = self.behaviour.pop(0)
            if isinstance(act, Exception):
                raise act
            if act is not None:
                return httpx2.Response(act, headers={"Retry-After": "2"} if act == 429 else {})
        if "id" not in body:
            return httpx2.Response(202)
        result = {"protocolVersion": "2025-11-25"} if body["method"] == "initialize" else self.result(body)
        return httpx2.Response(
            200,
            json={"jsonrpc": "2.0", "id": body["id"], "result": result},
            headers={"mcp-session-id": f"s{len(self.heard)}"},
        )

    def result(self, body):
        if body["method"] == "tools/list":
            return {
                "tools": [{"name": "look", "annotations": {"readOnlyHint": True}}, {"name": "begin", "annotations": {}}]
            }
        return {"done": body["params"].get("name", body["method"])}

    def talk(self):
        http = httpx2.Client(transport=httpx2.MockTransport(self.handle))
        return BridgeTalk(http, URL, patience=Patience(seconds=60, pause=self.pauses.append))


def asked(method, **params):
    return request_of({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def greeted(far):
    talk = far.talk()
    talk.answer(request_of(GREETING))
    talk.answer(asked("tools/list"))
    return talk


def test_the_session_and_its_revision_travel_with_every_message():
    far = Far()
    greeted(far).answer(asked("tools/call", name="look"))

    _method, headers = far.heard[-1]
    assert headers["mcp-session-id"] == "s1"
    assert headers["mcp-protocol-version"] == "2025-11-25"


def test_a_session_that_the_server_forgot_is_begun_anew():
    far = Far(None, None, 404)
    answer = greeted(far).answer(asked("tools/call", name="begin"))

    methods = [method for method, _headers in far.heard]
    assert answer == {"done": "begin"}
    assert methods[2:] == ["tools/call", "initialize", "notifications/initialized", "tools/call"]
    assert far.heard[-1][1]["mcp-session-id"] == "s4"


@pytest.mark.parametrize("down", [httpx2.ConnectError("refused"), 503, 429])
def test_a_server_that_is_started_anew_or_busy_is_waited_for(down):
    far = Far(None, None, down, down)

    assert greeted(far).answer(asked("tools/call", name="begin")) == {"done": "begin"}
    assert len(far.pauses) == 2
    assert far.pauses[0] > 1 or down != 429


def test_an_answer_that_was_lost_is_asked_for_again_only_where_that_does_no_harm():
    far = Far(None, None, httpx2.ReadError("gone"))
    assert greeted(far).answer(asked("tools/call", name="look")) == {"done": "look"}

    far = Far(None, None, httpx2.ReadError("gone"))
    talk = greeted(far)
    with pytest.raises(RpcError, match="-32000") as lost:
        talk.answer(asked("tools/call", name="begin"))
    assert "may have been done" in lost.value.data["details"]


def test_patience_ends():
    far = Far(*[httpx2.ConnectError("refused")] * 1_000)
    talk = far.talk()
    talk._patience = Patience(seconds=0, pause=far.pauses.append)

    with pytest.raises(RpcError):
        talk.answer(request_of(GREETING))
    assert len(far.heard) == 1


def test_a_message_that_says_its_revision_is_routed_by_its_headers():
    far = Far()
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    far.talk().answer(asked("tools/call", name="look", _meta=meta))

    _method, headers = far.heard[-1]
    assert (headers["mcp-protocol-version"], headers["mcp-method"], headers["mcp-name"]) == (
        "2026-07-28",
        "tools/call",
        "look",
    )
    assert "mcp-session-id" not in headers
