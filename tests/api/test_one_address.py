"""The ASGI shell: what goes to Django, what to MCP, and how a body and an answer travel."""

import asyncio
import json
from io import BytesIO

import pytest

from workrail_site.wsgi_in_asgi import BODY_TOO_LARGE, WsgiInAsgi


def scope(path="/", *, method="GET", headers=(), **more):
    given = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "query_string": b"a=1",
        "scheme": "http",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 5000),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
    }
    return given | more


def call(application, scope_of_it, *, body=(b"",), gone=False):
    """The messages that the application sent, for a body that came in these pieces."""
    sent = []
    pieces = list(body)

    async def receive():
        if gone:
            return {"type": "http.disconnect"}
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message):
        sent.append(message)

    asyncio.run(application(scope_of_it, receive, send))
    return sent


def told(sent):
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent[1:])


class Recorder:
    """A WSGI application that remembers what it was given."""

    def __init__(self, answer=(b"he", b"llo")):
        self.answer = answer
        self.environ = {}
        self.body = b""

    def __call__(self, environ, start_response):
        self.environ = environ
        self.body = environ["wsgi.input"].read()
        start_response("201 Created", [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", " b=2")])
        return self.answer


@pytest.fixture
def wsgi():
    return Recorder()


@pytest.fixture
def bridge(wsgi):
    return WsgiInAsgi(wsgi, threads=1, max_body_bytes=10)


def test_an_answer_goes_out_in_one_piece(bridge):
    sent = call(bridge, scope())

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["headers"].count((b"set-cookie", b"b=2")) == 1
    assert (told(sent)[0], told(sent)[2]) == (201, b"hello")


def test_a_body_that_comes_in_pieces_is_read_whole(bridge, wsgi):
    call(bridge, scope(method="POST"), body=(b"abc", b"def"))

    assert (wsgi.body, wsgi.environ["CONTENT_LENGTH"]) == (b"abcdef", "6")


def test_path_query_and_headers_arrive(bridge, wsgi):
    headers = [("content-type", "text/x"), ("x-one", "1"), ("x-one", "2"), ("cookie", "a=1"), ("cookie", "b=2")]

    call(bridge, scope("/é/x y", headers=headers))

    environ = wsgi.environ
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/é/x y"
    assert (environ["QUERY_STRING"], environ["CONTENT_TYPE"], environ["REMOTE_ADDR"]) == ("a=1", "text/x", "127.0.0.1")
    assert (environ["HTTP_X_ONE"], environ["HTTP_COOKIE"]) == ("1,2", "a=1; b=2")


def test_a_header_does_not_pass_for_another_by_its_underscore(bridge, wsgi):
    call(bridge, scope(headers=[("x_forwarded_for", "6.6.6.6"), ("x-forwarded-for", "1.1.1.1")]))

    assert wsgi.environ["HTTP_X_FORWARDED_FOR"] == "1.1.1.1"


@pytest.mark.parametrize(
    ("headers", "body"),
    [([("content-length", "11")], (b"",)), ([], (b"12345678", b"901")), ([("content-length", "9" * 30)], (b"",))],
)
def test_a_body_beyond_the_limit_reaches_nobody(bridge, wsgi, headers, body):
    call(bridge, scope(method="POST", headers=headers), body=body)

    assert wsgi.environ[BODY_TOO_LARGE] is True
    assert wsgi.body == b""


def test_a_client_that_left_is_answered_by_nobody(bridge, wsgi):
    assert call(bridge, scope(method="POST"), gone=True) == []
    assert wsgi.environ == {}


def test_what_streams_goes_out_as_it_comes():
    class Stream(list):
        streaming = True

    sent = call(WsgiInAsgi(Recorder(Stream([b"a", b"b"])), threads=1, max_body_bytes=10), scope())

    assert [message.get("body") for message in sent[1:]] == [b"a", b"b", b""]
    assert [message.get("more_body", False) for message in sent[1:]] == [True, True, False]


def test_an_answer_is_closed_when_it_was_sent():
    class Closing(BytesIO):
        def __iter__(self):
            return iter([b"x"])

    answer = Closing()

    call(WsgiInAsgi(Recorder(answer), threads=1, max_body_bytes=10), scope())

    assert answer.closed


def test_a_web_socket_is_closed(bridge):
    assert call(bridge, {"type": "websocket"}) == [{"type": "websocket.close", "code": 1000}]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/mcp", b"mcp"),
        ("/mcp/rail", b"mcp"),
        ("/mcp/", b"mcp"),
        ("/mcpx", b"django"),
        ("/api/v1/mcp", b"django"),
        ("/", b"django"),
        ("/MCP", b"django"),
    ],
)
def test_only_what_is_under_mcp_goes_there(path, expected):
    from workrail_site.asgi import Shell

    def answering(text):
        async def application(_scope, _receive, send):
            await send({"type": "x", "body": text})

        return application

    shell = Shell(django=answering(b"django"), mcp=answering(b"mcp"))

    assert call(shell, scope(path))[0]["body"] == expected


def test_without_mcp_the_lifespan_is_answered_and_its_address_is_djangos():
    from workrail_site.asgi import Shell

    shell = Shell(django=WsgiInAsgi(Recorder(), threads=1, max_body_bytes=10), mcp=None)

    sent = call(shell, {"type": "lifespan"}, body=(b"", b""))

    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert told(call(shell, scope("/mcp")))[2] == b"hello"


@pytest.mark.django_db(transaction=True)
def test_the_whole_address_answers_with_django_behind_it():
    from workrail_site.asgi import application

    status, headers, body = told(call(application, scope("/api/v1/whoami", headers=[("host", "localhost")])))

    assert (status, json.loads(body)["code"]) == (401, "UNAUTHENTICATED")
    assert headers[b"x-request-id"]


@pytest.mark.django_db(transaction=True)
def test_an_upload_beyond_the_limit_is_refused_in_the_form_of_the_house(settings):
    from workrail_site.asgi import application

    too_much = str(settings.MAX_UPLOAD_BYTES + 1)
    asked = scope("/api/v1/keys", method="POST", headers=[("host", "localhost"), ("content-length", too_much)])

    status, headers, body = told(call(application, asked))

    assert (status, json.loads(body)["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert headers[b"content-type"] == b"application/problem+json"
    assert b"content-security-policy" in headers
