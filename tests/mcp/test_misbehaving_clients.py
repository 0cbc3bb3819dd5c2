"""Clients that keep to MCP and not to HTTP, or the other way round: each is told so, and none gets a 5xx."""

import contextlib
import json
import resource
import socket
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.clusters import eventually
from tests.many_cases import each
from tests.mcp.conftest import running_site
from tests.mcp_play import ACCEPT, HANDSHAKE, MODERN

pytestmark = pytest.mark.django_db(transaction=True)
DIALECTS = ["rail", "navigation", "session", "orchestrator", "lookup"]
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()


class Plug:
    """Bytes as they are, to the site and back."""

    def __init__(self, url, key):
        parts = urlsplit(url)
        self.where = (parts.hostname, parts.port)
        self.key = key

    def head(self, path, *, verb="POST", http="1.1", **headers):
        given = {
            "Host": f"{self.where[0]}:{self.where[1]}",
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Accept": ACCEPT,
            "Connection": "close",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = [f"{verb} {path} HTTP/{http}", *(f"{name}: {value}" for name, value in given.items() if value)]
        return "\r\n".join([*lines, "", ""]).encode()

    def says(self, *parts):
        """All that comes back until the server closes, or for a second says nothing more."""
        with socket.create_connection(self.where, timeout=20) as line:
            for part in parts:
                line.sendall(part)
            said = line.recv(65536)
            line.settimeout(1)
            try:
                while more := line.recv(65536):
                    said += more
            except TimeoutError:
                pass
        return said

    def status(self, *parts):
        return int(self.says(*parts).split(b" ", 2)[1])


@pytest.fixture
def plug(wire):
    return Plug(wire.url, wire.key)


# Connections


# More than the server below has places for by itself, and than files, where nobody has asked for more.
MANY = 1_200
OF_HTTP_2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
BEGINNINGS = {
    "nothing": b"",
    "a letter": b"P",
    "half of a word of HTTP/2": b"PRI * HT",
    "what HTTP/2 begins with": OF_HTTP_2,
    "a header that has no end": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n",
    "a request, and none after it": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.fixture(scope="module")
def hasty_site(django_db_setup, tmp_path_factory):
    """It waits half a second for a request, and a second for whoever takes an answer, where it waits half a minute otherwise."""
    environ = {"GRANIAN_HTTP1_HEADER_READ_TIMEOUT": "500"}
    with running_site(tmp_path_factory.mktemp("hasty"), environ, application="tests.hasty_site") as site:
        yield site


@contextlib.contextmanager
def files_allowed(most):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < most:
        pytest.skip("this machine lets no process open so many connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@each("beginning", list(BEGINNINGS))
def test_whoever_sends_no_whole_request_is_hung_up_on(hasty_site, beginning):
    plug = Plug(hasty_site.url, "")
    with socket.create_connection(plug.where, timeout=20) as line:
        line.sendall(BEGINNINGS[beginning])
        # It ends: nobody holds a place for ever.
        while line.recv(65536):
            pass


def test_whoever_takes_nothing_of_their_answers_is_hung_up_on(hasty_site):
    plug = Plug(hasty_site.url, "")
    asked = plug.head("/healthz", verb="GET", Connection=None)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(plug.where)
        line.settimeout(0)
        # Until neither side takes any more, and on until one of them is gone.
        eventually(lambda: is_hung_up(line, asked * 100), "the connection to end")


def is_hung_up(line, asked):
    try:
        while True:
            line.send(asked)
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def test_connections_that_say_nothing_keep_nobody_out(served, tmp_path):
    with contextlib.ExitStack() as silent:
        with files_allowed(1_024):
            site = silent.enter_context(running_site(tmp_path))
        silent.enter_context(files_allowed(3 * MANY))
        plug = Plug(site.url, "")
        for _ in range(MANY):
            silent.enter_context(socket.create_connection(plug.where, timeout=20))

        assert plug.status(plug.head("/healthz", verb="GET")) == 200


def test_a_process_that_is_told_to_end_ends_beside_open_streams(served, agent, tmp_path):
    with contextlib.ExitStack() as streams:
        with running_site(tmp_path) as site:
            plug = Plug(site.url, agent().key)
            lines = [streams.enter_context(socket.create_connection(plug.where, timeout=20)) for _ in range(3)]
            for line in lines:
                line.sendall(plug.head("/api/v1/checkpoints/stream", verb="GET"))
            heard = [line.recv(65536) for line in lines]
            assert all(b" 200 " in each.split(b"\r\n")[0] for each in heard)
        # It has ended, and told whoever listened that this is the end.
        for line in lines:
            rest = b""
            while more := line.recv(65536):
                rest += more
            assert rest.endswith(b"0\r\n\r\n")


# Bodies


PATHS = ["/mcp/rail", "/mcp/lookup", "/api/v1/runs", "/studio/login/", "/api/v1/nothing"]


@each("path", PATHS)
def test_chunks_that_are_none_are_a_bad_request(plug, path):
    head = plug.head(path, Transfer_Encoding="chunked")

    assert plug.status(head, b"zz\r\nabc\r\n0\r\n\r\n") == 400


@each("path", [f"/mcp/{dialect}" for dialect in DIALECTS])
def test_a_body_in_chunks_of_one_byte_is_read(plug, path):
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in PING)

    assert b'"result":{}' in plug.says(plug.head(path, Transfer_Encoding="chunked"), chunks, b"0\r\n\r\n")


def test_requests_that_are_sent_at_once_are_answered_in_their_order(plug):
    asked = [json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}).encode() for n in range(5)]
    said = plug.says(
        b"".join(plug.head("/mcp/rail", Content_Length=len(body), Connection=None) + body for body in asked)
    )

    assert [said.index(f'"id":{n},'.encode()) for n in range(5)] == sorted(
        said.index(f'"id":{n},'.encode()) for n in range(5)
    )
    assert said.count(b"HTTP/1.1 200") == 5


def test_a_client_of_http_1_0_is_served(plug):
    said = plug.says(plug.head("/mcp/rail", http="1.0", Content_Length=len(PING)), PING)

    assert b" 200 " in said.split(b"\r\n")[0]
    assert b'"result":{}' in said


@each("verb", ["HEAD", "OPTIONS", "TRACE", "CONNECT", "post", "NOTHING"])
@each("path", ["/mcp/rail", "/api/v1/whoami"])
def test_a_method_that_there_is_not_is_refused(plug, verb, path):
    wanted = 200 if (verb, path) == ("HEAD", "/api/v1/whoami") else 405

    assert plug.status(plug.head(path, verb=verb, Content_Length="0")) == wanted


# Headers


@each("twice", ["Authorization", "Host", "Content-Type", "MCP-Protocol-Version", "Mcp-Session-Id"])
@each("first", [True, False])
def test_a_header_that_decides_and_stands_twice_is_refused(plug, twice, first):
    head = plug.head("/mcp/rail", Content_Length=len(PING), MCP_Protocol_Version=HANDSHAKE, Mcp_Session_Id="a")
    line, rest = head.split(b"\r\n", 1)
    other = f"{twice}: other\r\n".encode()
    both = line + b"\r\n" + (other + rest if first else rest.removesuffix(b"\r\n") + other + b"\r\n")

    assert plug.status(both, PING) == 400


BATCH = json.dumps([json.loads(LIST)]).encode()
CALL = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {}}}
).encode()
SAID = [(LIST, HANDSHAKE), (LIST, MODERN), (CALL, HANDSHAKE), (BATCH, "2025-03-26"), (PING, None)]


@each(("body", "version"), SAID)
@each("accept", [None, "text/html", "text/event-stream", ";;,", "application/json5"])
def test_who_takes_no_json_is_told_in_json_that_there_is_nothing_else(wire, body, version, accept):
    refused = wire.post(body, Accept=accept or "", **{"MCP-Protocol-Version": version, "Mcp-Method": "tools/list"})

    assert refused.status_code == 406
    assert refused.json()["error"]["data"]["code"] == "NOT_ACCEPTABLE"


@each(("body", "version"), SAID)
@each("kind", [None, "text/plain", "application/xml", "application/jsonl", "multipart/form-data"])
def test_what_is_not_said_to_be_json_is_not_read(wire, body, version, kind):
    refused = wire.post(body, **{"Content-Type": kind, "MCP-Protocol-Version": version, "Mcp-Method": "tools/list"})

    assert refused.status_code == 415
    assert refused.json()["error"]["data"]["code"] == "UNSUPPORTED_MEDIA_TYPE"


@each("accept", ["*/*", "application/*", "application/json;q=0.5", "TEXT/html, Application/JSON"])
@each("body", [LIST, BATCH])
def test_who_takes_anything_is_served(wire, accept, body):
    assert wire.post(body, Accept=accept, **{"MCP-Protocol-Version": "2025-03-26"}).status_code == 200


@each("dialect", DIALECTS)
@each("number", [0, -1, 2**53 + 1, 2**63, "", "ü\u0000😀", "x" * 100_000])
def test_an_id_comes_back_as_it_was(wire, dialect, number):
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode()
    told = wire.post(body, path=f"/mcp/{dialect}", **{"MCP-Protocol-Version": HANDSHAKE})

    assert told.json() == {"jsonrpc": "2.0", "id": number, "result": {}}


def test_two_calls_of_one_id_are_both_answered(wire):
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    told = wire.post(json.dumps([call, call]).encode(), **{"MCP-Protocol-Version": "2025-03-26"}).json()

    assert [each["id"] for each in told] == [1, 1]
    assert told[0] == told[1]


# Refused before all is sent


LONG = 900_000
REFUSED = [
    ("POST", "/mcp/rail", LONG, {"Authorization": "Bearer x"}),
    ("POST", "/mcp/oauth/rail", LONG, {}),
    ("POST", "/mcp/rail", LONG, {"Origin": "http://elsewhere.example"}),
    ("DELETE", "/mcp/rail", LONG, {"Workrail-Reply": "x"}),
    ("POST", "/mcp/lookup", LONG * 4, {}),
    ("POST", "/api/v1/runs", LONG, {"X-Any": "a" * 20_000}),
    ("GET", "/healthz", LONG, {}),
    ("GET", "/api/v1/checkpoints/stream", LONG, {"Authorization": "Bearer x"}),
]


@each(("verb", "path", "length", "headers"), REFUSED)
def test_who_still_sends_hears_the_answer_and_is_served_on_the_same_connection(wire, verb, path, length, headers):
    """A server that answers before it has the whole body ends the connection with its answer: what the client still sends, or
    its next call, meets a closed one.
    """
    given = {"Authorization": f"Bearer {wire.key}", "Content-Type": "application/json", "Accept": ACCEPT}
    line = HTTPConnection(*Plug(wire.url, wire.key).where, timeout=20)
    line.connect()
    line.auto_open = 0

    for _ in range(3):
        line.request(verb, path, b" " * length, {**given, **headers})
        refused = line.getresponse()
        assert refused.read()
        line.request("POST", "/mcp/rail", PING, given)
        assert json.load(line.getresponse())["result"] == {}
    line.close()
