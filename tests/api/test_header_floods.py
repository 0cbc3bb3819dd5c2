"""Headers as long as the server below lets them through, in every form that a reader of them could stumble over: an answer of
ours, at a price in proportion to what was sent. Nobody has to be known to send one.
"""

import asyncio
import json
import time

import pytest
from django.db import connections

from tests.flood_play import LEAN, allowed
from workrail_site.header_budget import MOST_BYTES_OF, find_excess

pytestmark = pytest.mark.django_db(transaction=True)

ESCAPES = '\\"' * (LEAN // 2)
HEADERS = {
    "a quoted cookie": ("cookie", f'a="{ESCAPES}"'),
    "a quoted cookie in octal": ("cookie", 'a="' + "\\054" * (LEAN // 4) + '"'),
    "many quoted cookies": ("cookie", ";".join(f'a{n}="' + '\\"' * 1_500 + '"' for n in range(20))),
    "quoted cookies within the limits": ("cookie", ";".join(f'a{n}="' + '\\"' * 2_040 + '"' for n in range(3))),
    "many cookies": ("cookie", "; ".join(f"a{n}=b" for n in range(LEAN // 9))),
    "a zone": ("cookie", "workrail_zone=A" + "a/" * (LEAN // 2)),
    "a type with a quote": ("content-type", 'application/json; a="' + ";" * LEAN),
    "a type with escapes": ("content-type", f'multipart/form-data; boundary="{ESCAPES}"'),
    "a type with parameters": ("content-type", "application/json" + "; a=b" * (LEAN // 5)),
    "accepted types": ("accept", "a/b;q=0.1," * (LEAN // 10)),
    "accepted languages": ("accept-language", "a-b-c;q=0.5," * (LEAN // 12)),
    "accepted codings": ("accept-encoding", "gzip;q=0.1," * (LEAN // 11)),
    "tags": ("if-none-match", '"a",' * (LEAN // 4)),
    "weak tags": ("if-match", 'W/"' * (LEAN // 3)),
    "a date": ("if-modified-since", "1" * LEAN),
    "ranges": ("range", "bytes=" + "0-0," * (LEAN // 4)),
    "a key of blanks": ("authorization", "Bearer " + " " * LEAN + "x"),
    "an account": ("authorization", "Basic " + "A" * LEAN),
    "an origin": ("origin", "http://" + "a:" * (LEAN // 2)),
    "where it came from": ("referer", "http://" + "a@" * (LEAN // 2)),
    "whom it was forwarded for": ("x-forwarded-for", "," * LEAN),
    "an id": ("x-request-id", "a" * LEAN),
    "a session of MCP": ("mcp-session-id", "A" * LEAN),
    "a team": ("workrail-team", "team_" + "a" * LEAN),
    "a key of a repetition": ("idempotency-key", "a" * LEAN),
}
PLACES = [
    *(("GET", "/studio/login/"), ("POST", "/studio/login/"), ("GET", "/api/v1/whoami"), ("POST", "/api/v1/sessions")),
    *(("POST", "/mcp/rail"), ("GET", "/static/live.js"), ("GET", "/studio/live/team/"), ("POST", "/oauth/token")),
    *(("GET", "/readyz"), ("GET", "/api/v1/checkpoints/stream")),
]


@pytest.fixture(scope="module")
def address():
    """The whole of it with one thread, whose connection is closed in the end."""
    from workrail_site import asgi
    from workrail_site.live import Live
    from workrail_site.rest_direct import RestDirect
    from workrail_site.wsgi import application
    from workrail_site.wsgi_in_asgi import WsgiInAsgi

    served = RestDirect(application)

    def serve(environ, start_response):
        if environ["PATH_INFO"] != "/ends":
            return served(environ, start_response)
        connections.close_all()
        start_response("200 OK", [])
        return []

    bridge = WsgiInAsgi(serve, threads=1, max_body_bytes=10**6)
    shell = asgi.Shell(django=bridge, mcp=asgi._mcp_application(), live=Live(django=bridge))
    yield shell
    call(shell, "GET", "/ends")


def call(application, method, path, *headers, body=b""):
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "query_string": b"",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "client": ("192.0.2.9", 5000),
        "headers": [(b"host", b"localhost"), *((name.encode(), value.encode()) for name, value in headers)],
    }
    pieces, sent = [{"type": "http.request", "body": body}], []

    async def receive():
        if pieces:
            return pieces.pop()
        return await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_a_flood_in_a_header_is_answered_in_proportion(address, method, path):
    call(address, method, path)
    for name, header in HEADERS.items():
        began = time.process_time()
        status, _body = call(address, method, path, header)

        assert time.process_time() - began <= allowed(plain=0.02, size=LEAN), name
        assert status < 500, name


ADDRESSES = {
    "a word of a secret": "token " + "a-" * (LEAN // 2),
    "words of secrets": "secret-" * (LEAN // 7),
    "wide letters": "\uff41" * (LEAN // 3),
    "what is not seen": "a\u200b" * (LEAN // 4),
    "folders": "a/" * (LEAN // 2),
    "dots": "../" * (LEAN // 3),
    "ids": "run_" + "a" * LEAN,
}


@pytest.mark.parametrize(("method", "path"), PLACES)
def test_a_flood_in_an_address_is_answered_in_proportion_and_told_in_a_short_line(address, method, path, caplog):
    call(address, method, path)
    for name, flood in ADDRESSES.items():
        caplog.clear()
        began = time.process_time()
        status, body = call(address, method, f"{path.rstrip('/')}/{flood}")

        assert time.process_time() - began <= allowed(plain=0.02, size=LEAN), name
        assert status < 500, name
        assert len(body) < 16_384, name
        assert all(len(line.getMessage()) < 4_096 for line in caplog.records), name


def test_an_address_may_be_as_long_as_its_limit_and_no_longer():
    longest = {"headers": [], "path": "/" + "a" * 10_000, "query_string": b"b" * 6_383}

    assert find_excess(longest) is None
    assert find_excess({**longest, "path": longest["path"] + "c"}).code == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize(
    ("name", "longest"),
    [("cookie", "a=" + "b" * 4_094), ("content-type", "application/json;" + "a" * 239), ("x-any", "a" * 16_384)],
)
def test_a_header_may_be_as_long_as_its_limit_and_no_longer(name, longest):
    scope = {"headers": [(name.encode(), longest.encode())]}
    beyond = {"headers": [(name.encode(), longest.encode() + b"c")]}

    assert find_excess(scope) is None
    assert find_excess(beyond).code == "PAYLOAD_TOO_LARGE"


def test_all_headers_together_have_a_limit():
    each = [(f"x-{number}".encode(), b"a" * 8_000) for number in range(5)]

    assert find_excess({"headers": each[:4]}) is None
    assert find_excess({"headers": each}) is not None
    assert find_excess({"headers": [(b"x", b"")] * 101}) is not None


def test_cookies_of_several_lines_count_together():
    line = (b"cookie", b"; ".join(b"a=" + b"b" * 1_000 for _ in range(9)))

    assert find_excess({"headers": [line]}) is None
    assert find_excess({"headers": [line, line]}).details == {"header": "cookie", "maxBytes": MOST_BYTES_OF[b"cookie"]}


@pytest.mark.parametrize("path", ["/api/v1/whoami", "/mcp/rail", "/studio/login/"])
def test_a_header_that_is_too_long_is_refused_in_the_form_of_the_door(address, path):
    status, body = call(address, "POST", path, ("x-any", "a" * 20_000))

    assert status == 413
    if path == "/studio/login/":
        assert b"x-any" in body
    else:
        said = json.loads(body)
        assert "PAYLOAD_TOO_LARGE" in json.dumps(said)
        assert ("jsonrpc" in said) is path.startswith("/mcp")
