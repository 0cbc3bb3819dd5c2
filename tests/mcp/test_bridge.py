"""A server elsewhere that is started anew, is busy, or loses its answer: what the bridge does about it."""

import io
import json
import os

import httpx2
import pytest

from teams_app.engine.named_requests import CALL_KEY
from workrail_site.mcp.messages import RpcError, request_of
from workrail_site.mcp.stdio.bridge import BridgeTalk, Patience, pause_for
from workrail_site.mcp.stdio.command import read_options
from workrail_site.mcp.stdio.lines import FinishedError, converse

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
        self.names = []
        self.pauses = []

    def handle(self, request):
        body = json.loads(request.content)
        self.heard.append((body["method"], dict(request.headers)))
        self.names.append(body.get("params", {}).get("_meta", {}).get(CALL_KEY))
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
                "tools": [
                    {"name": "look", "annotations": {"readOnlyHint": True}},
                    {"name": "begin", "annotations": {}},
                    {"name": "start", "annotations": {}},
                ],
                "_meta": {CALL_KEY: ["start"]},
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


def test_a_notification_is_said_once_and_keeps_nobody_waiting():
    far = Far(None, None, httpx2.ConnectError("refused"), 503, httpx2.ReadError("gone"))
    talk = greeted(far)

    for _ in range(3):
        talk.notice(request_of({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}))

    assert (len(far.heard), far.pauses) == (5, [])
    assert talk.answer(asked("tools/call", name="look")) == {"done": "look"}


def test_what_begins_something_is_named_and_so_asked_for_again():
    far = Far(None, None, httpx2.ReadError("gone"), 503)
    talk = greeted(far)
    assert talk.answer(asked("tools/call", name="start", _meta={"theirs": 1})) == {"done": "start"}
    assert talk.answer(asked("tools/call", name="start")) == {"done": "start"}
    assert talk.answer(asked("tools/call", name="start", _meta={CALL_KEY: "their own"})) == {"done": "start"}
    assert talk.answer(asked("tools/call", name="look")) == {"done": "look"}

    first, again, once_more, another, own, unnamed = far.names[2:]
    assert first == again == once_more
    assert len({first, another, own}) == 3
    assert (own, unnamed) == ("their own", None)


def test_a_name_outlives_the_session_that_the_server_forgot():
    far = Far(None, None, 404)
    greeted(far).answer(asked("tools/call", name="start"))

    assert far.names[2] == far.names[-1] is not None


def test_patience_ends():
    far = Far(*[httpx2.ConnectError("refused")] * 1_000)
    talk = far.talk()
    talk._patience = Patience(seconds=0, pause=far.pauses.append)

    with pytest.raises(RpcError):
        talk.answer(request_of(GREETING))
    assert len(far.heard) == 1


def test_a_client_that_leaves_while_its_server_is_away_is_not_waited_for(capsys):
    far = Far(*[httpx2.ConnectError("refused")] * 1_000)
    talk = far.talk()
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as sink:
        pause = pause_for(sink)
        pause(0)
        talk._patience = Patience(seconds=60, pause=pause)
        os.close(reader)
        status = converse(source=io.BytesIO(json.dumps(GREETING).encode()), sink=sink, talk=talk, max_bytes=10_000)

    assert (status, len(far.heard), capsys.readouterr().err) == (0, 1, "")


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


# Whatever comes from either side, the conversation goes on.

STREAM = {"content-type": "text/event-stream"}
OK = {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}
ODD_SERVERS = {
    "no JSON in an event": lambda: httpx2.Response(200, headers=STREAM, content=b"data: nope\n\n"),
    "a number in an event": lambda: httpx2.Response(200, headers=STREAM, content=b"data: 5\n\n"),
    "a list in an event": lambda: httpx2.Response(200, headers=STREAM, content=b"data: [1]\n\n"),
    "an event without data": lambda: httpx2.Response(200, headers=STREAM, content=b": still here\n\n"),
    "a list": lambda: httpx2.Response(200, json=[OK]),
    "a page": lambda: httpx2.Response(200, headers={"content-type": "text/html"}, content=b"<html>"),
    "no JSON": lambda: httpx2.Response(200, content=b'{"jsonrpc":"2.0","id":1,"result":NaN}'),
    "broken gzip": lambda: httpx2.Response(200, headers={"content-encoding": "gzip"}, content=b"xxxx"),
    "a redirect": lambda: httpx2.Response(302, headers={"location": "https://elsewhere.example/"}),
    "a time to wait that is none": lambda: httpx2.Response(429, headers=[(b"retry-after", b"\xb2")]),
    "an error that is none": lambda: httpx2.Response(200, json={"error": {"code": "x", "message": 5}}),
    "a session that is no text": lambda: httpx2.Response(200, headers=[(b"mcp-session-id", b"\xfc\xff")], json=OK),
    "a version that is no text": lambda: httpx2.Response(200, json={**OK, "result": {"protocolVersion": "\u20ac\n"}}),
    "tools that are none": lambda: httpx2.Response(200, json={**OK, "result": {"tools": 5}}),
    "odd tools": lambda: httpx2.Response(
        200, json={**OK, "result": {"tools": [5, {"name": [1]}, {"name": "x", "annotations": [1]}]}}
    ),
    "no answer": lambda: httpx2.RemoteProtocolError("broke off"),
    "an answer that cannot be decoded": lambda: httpx2.DecodingError("broken"),
    "no address": lambda: httpx2.InvalidURL("none"),
}
MODERN_META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
ODD_CLIENTS = [
    GREETING,
    {"method": "tools/list"},
    {"method": "tools/call", "params": {"name": ["x"]}},
    {"method": "tools/call", "params": {"name": "w\u00f6rk \u20ac", "_meta": MODERN_META}},
    {"method": "t\u00f6ls\r\nX: y", "params": {"_meta": {next(iter(MODERN_META)): "2026\r\nX: y"}}},
    {"method": "resources/read", "params": {"uri": {"a": 1}, "_meta": MODERN_META}},
    {"method": "shutdown"},
]


@pytest.mark.parametrize("behaviour", ODD_SERVERS.values(), ids=ODD_SERVERS)
def test_whatever_either_side_says_the_conversation_goes_on_to_its_end(behaviour, capsys):
    def handle(_request):
        said = behaviour()
        if isinstance(said, Exception):
            raise said
        return said

    http = httpx2.Client(transport=httpx2.MockTransport(handle))
    talk = BridgeTalk(http, URL, patience=Patience(seconds=1, pause=lambda _seconds: None))
    lines = [json.dumps({"jsonrpc": "2.0", "id": n, **each}) for n, each in enumerate(ODD_CLIENTS)]
    sink = io.BytesIO()

    status = converse(source=io.BytesIO("\n".join(lines).encode()), sink=sink, talk=talk, max_bytes=100_000)

    answers = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [answer["id"] for answer in answers] == [each.get("id", n) for n, each in enumerate(ODD_CLIENTS)]
    assert (status, answers[-1]["result"]) == (0, None)
    assert not [answer for answer in answers if answer.get("error", {}).get("code") == -32603]
    assert capsys.readouterr().err == ""


def test_an_event_of_several_lines_is_one_message():
    event = b'event: message\r\nid: 7\r\ndata: {"jsonrpc":"2.0","id":1,\r\ndata: "result":{"a":1}}\r\n\r\n'
    http = httpx2.Client(
        transport=httpx2.MockTransport(lambda _request: httpx2.Response(200, headers=STREAM, content=event))
    )
    talk = BridgeTalk(http, URL, patience=Patience(seconds=1, pause=lambda _seconds: None))

    assert talk.answer(asked("tools/list")) == {"a": 1}


def test_a_name_that_no_header_holds_is_sent_as_the_protocol_writes_it():
    far = Far()
    far.talk().answer(asked("tools/call", name="w\u00f6rk", _meta=MODERN_META))

    (_method, headers) = far.heard[0]
    assert headers["mcp-name"] == "=?base64?d8O2cms=?="


class Defective:
    """A talk with a defect in it."""

    def takes_batches(self):
        return True

    def notice(self, request):
        raise ZeroDivisionError

    def answer(self, request):
        if request.method == "shutdown":
            raise FinishedError
        raise ZeroDivisionError


def test_a_defect_is_told_and_the_conversation_goes_on(capsys):
    lines = b'{"jsonrpc":"2.0","id":1,"method":"a"}\n{"jsonrpc":"2.0","method":"b"}\n{"jsonrpc":"2.0","id":2,"method":"shutdown"}\n'
    sink = io.BytesIO()

    assert converse(source=io.BytesIO(lines), sink=sink, talk=Defective(), max_bytes=1000) == 0

    first, last = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert (first["id"], first["error"]["code"], last["result"]) == (1, -32603, None)
    assert "ZeroDivisionError" not in json.dumps(first)
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://x/y", "http://", "http://[", "http://localhost:99999/mcp"])
def test_what_is_no_address_is_refused_at_once(url, capsys):
    with pytest.raises(SystemExit) as ended:
        read_options(["--url", url])

    assert ended.value.code == 2
    assert "no http or https address" in capsys.readouterr().err
