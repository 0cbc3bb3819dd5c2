"""The ASGI shell: what goes to Django, what to MCP, and how a body and an answer travel."""

import asyncio
import json
import socket
import threading
from io import BytesIO
from pathlib import Path

import pytest

from workrail_site import bodies, wsgi_in_asgi
from workrail_site.bodies import BodyTooSlowError, HeardOut, read_body
from workrail_site.wsgi_in_asgi import BODY_TOO_LARGE, BODY_TOO_SLOW, TAKEN_WITHIN_SECONDS, BrokenOffError, WsgiInAsgi


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
        piece = pieces.pop(0) if pieces else await asyncio.Event().wait()
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


def test_what_ended_before_it_was_there_reaches_nobody(bridge, wsgi):
    """A client that left, or a body that is none: servers tell both alike, and of the second somebody waits for an answer."""
    assert told(call(bridge, scope(method="POST"), gone=True))[0] == 400
    assert wsgi.environ == {}


def test_what_streams_goes_out_as_it_comes():
    class Stream(list):
        streaming = True

    sent = call(WsgiInAsgi(Recorder(Stream([b"a", b"b"])), threads=1, max_body_bytes=10), scope())

    assert [message.get("body") for message in sent[1:]] == [b"a", b"b", b""]
    assert [message.get("more_body", False) for message in sent[1:]] == [True, True, False]


class Stream(list):
    """An answer in pieces, which knows how often it was closed."""

    streaming = True
    closed = 0

    def close(self):
        self.closed += 1


def whole_request():
    """`receive` of a client that stays."""
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive():
        return messages.pop() if messages else await asyncio.Event().wait()

    return receive


def test_an_answer_that_nobody_takes_ends(monkeypatch):
    monkeypatch.setattr(wsgi_in_asgi, "TAKEN_WITHIN_SECONDS", 0.05)
    answer = Stream([b"a", b"b"])
    bridge = WsgiInAsgi(Recorder(answer), threads=1, max_body_bytes=10)

    async def stuck(message):
        if message.get("body"):
            await asyncio.Event().wait()

    async def play():
        async with asyncio.timeout(20):
            with pytest.raises(BrokenOffError):
                await bridge(scope(), whole_request(), stuck)

    asyncio.run(play())

    assert answer.closed == 1


def test_whoever_takes_an_answer_slowly_holds_no_thread():
    answer = Stream([b"a", b"b"])
    bridge = WsgiInAsgi(Recorder(answer), threads=1, max_body_bytes=10)

    async def play():
        all_begin, goes_on, slowly, quickly = asyncio.Event(), asyncio.Event(), [], []

        async def takes_slowly(message):
            if message.get("body"):
                await goes_on.wait()
            slowly.append(message.get("body"))
            if slowly == [None] * 5:
                all_begin.set()

        async def takes_quickly(message):
            quickly.append(message.get("body"))

        async with asyncio.timeout(20):
            readers = [asyncio.create_task(bridge(scope(), whole_request(), takes_slowly)) for _ in range(5)]
            await all_begin.wait()
            await bridge(scope(), whole_request(), takes_quickly)
            goes_on.set()
            await asyncio.gather(*readers)
        return slowly, quickly

    slowly, quickly = asyncio.run(play())

    assert quickly[1:] == [b"a", b"b", b""]
    assert (slowly.count(b"a"), slowly.count(b"b")) == (5, 5)
    assert answer.closed == 6


def test_nothing_more_is_made_for_whoever_has_left():
    made = []

    class Long(Stream):
        def __iter__(self):
            for number in range(1_000):
                made.append(number)
                yield b"x"

    bridge = WsgiInAsgi(Recorder(Long()), threads=1, max_body_bytes=10)
    messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"", "more_body": False}]

    async def leaves():
        return messages.pop() if messages else await asyncio.Event().wait()

    async def takes(message):
        await asyncio.sleep(0)

    async def play():
        async with asyncio.timeout(20):
            await bridge(scope(), leaves, takes)

    asyncio.run(play())

    assert len(made) < 5


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


class Trickle:
    """A client that sends a byte in each so many seconds of a clock that goes when somebody waits."""

    def __init__(self, seconds_each):
        self.seconds_each = seconds_each
        self.sent = 0

    async def __call__(self):
        if self.seconds_each is None:
            await asyncio.Event().wait()
        await asyncio.sleep(self.seconds_each)
        self.sent += 1
        return {"type": "http.request", "body": b"x", "more_body": True}


@pytest.mark.parametrize("seconds_each", [None, 0.002])
def test_a_body_that_stops_or_trickles_is_given_up(seconds_each):
    with pytest.raises(BodyTooSlowError):
        asyncio.run(read_body(Trickle(seconds_each), max_bytes=10**9, patience_seconds=0.05))


def test_a_long_body_that_keeps_coming_is_read(monkeypatch):
    monkeypatch.setattr(bodies, "LEAST_BYTES_PER_SECOND", 100)
    pieces = [b"x" * 10] * 30

    async def receive():
        await asyncio.sleep(0.004)
        piece = pieces.pop()
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    # Slower than its patience alone allows, and quicker than the least that is expected.
    assert len(asyncio.run(read_body(receive, max_bytes=1_000, patience_seconds=0.05))) == 300


class ByAddress:
    """Nobody is known, so each address is a party of its own."""

    def of(self, scope):
        return scope["client"][0]

    def learn(self, scope, actor):
        return None


def test_bodies_that_wait_have_a_budget_of_each_party_and_of_all_and_give_it_back(wsgi):
    """Anybody may send as much as an upload has, at once on every connection, before anything is asked of who they are."""
    bridge = WsgiInAsgi(wsgi, threads=1, max_body_bytes=10, parties=ByAddress())

    def asked(address, receive, sent):
        async def send(message):
            sent.append(message)

        return asyncio.ensure_future(bridge(scope(method="POST", client=(address, 1)), receive, send))

    def sending(body, *, gone):
        messages = [{"type": "http.request", "body": body, "more_body": True}]

        async def receive():
            if messages:
                return messages.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        return receive

    async def whole():
        return {"type": "http.request", "body": b"0123456789", "more_body": False}

    async def play():
        gone = asyncio.Event()
        open_ones = [asked(f"10.0.0.{number // 4}", sending(b"123456789", gone=gone), []) for number in range(16)]
        await asyncio.sleep(0)
        greedy, others, later = [], [], []
        await asked("10.0.0.0", whole, greedy)
        open_ones += [asked(f"10.0.1.{number}", sending(b"1234567", gone=gone), []) for number in range(2)]
        await asked("10.0.1.2", whole, others)
        gone.set()
        await asyncio.gather(*open_ones)
        await asked("10.0.0.0", whole, later)
        return greedy, others, later

    async def bounded():
        async with asyncio.timeout(20):
            return await play()

    greedy, others, later = asyncio.run(bounded())

    assert greedy[0]["status"] == 429
    assert [message["status"] for message in others if "status" in message] == [503]
    assert later[0]["status"] == 201
    assert bridge._held.bytes == 0


def test_of_a_body_that_trickles_the_application_is_told_and_holds_no_thread(wsgi, monkeypatch):
    monkeypatch.setattr(wsgi_in_asgi, "read_body", _impatient)
    bridge = WsgiInAsgi(wsgi, threads=1, max_body_bytes=10**6)
    sent = []

    async def send(message):
        sent.append(message)

    async def play():
        slow = [asyncio.ensure_future(bridge(scope(method="POST"), Trickle(None), send)) for _ in range(50)]
        await asyncio.sleep(0)
        await bridge(scope(), _nothing_more, send)
        served_meanwhile = wsgi.environ.get("REQUEST_METHOD")
        await asyncio.gather(*slow)
        return served_meanwhile

    assert asyncio.run(play()) == "GET"
    assert wsgi.environ[BODY_TOO_SLOW] is True


async def _impatient(receive, *, max_bytes, take):
    return await read_body(receive, max_bytes=max_bytes, patience_seconds=0.05, take=take)


PIECE = {"type": "http.request", "body": b"12345", "more_body": True}
LAST = {"type": "http.request", "body": b"", "more_body": False}
GONE = {"type": "http.disconnect"}


@pytest.mark.parametrize(
    ("comes", "headers", "http", "left", "is_said_to_end"),
    [
        ([PIECE, PIECE, LAST], {}, "1.1", 0, False),
        ([PIECE, PIECE, PIECE, PIECE, LAST], {}, "1.1", 2, True),
        ([PIECE, PIECE, PIECE, PIECE, LAST], {}, "2", 2, False),
        ([PIECE, LAST], {"content-length": "11"}, "1.1", 2, True),
        ([PIECE, LAST], {"expect": "100-continue"}, "1.1", 2, True),
        ([PIECE, GONE, LAST], {}, "1.1", 1, True),
        ([PIECE], {}, "1.1", 0, True),
    ],
)
def test_an_answer_waits_for_the_rest_of_the_body_or_says_that_the_connection_ends(
    monkeypatch, comes, headers, http, left, is_said_to_end
):
    monkeypatch.setattr(bodies, "PATIENCE_SECONDS", 0.05)
    messages, sent = list(comes), []

    async def receive():
        return messages.pop(0) if messages else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    async def play():
        asked = scope(method="POST", headers=headers.items(), http_version=http)
        heard = HeardOut(asked, receive, send, most_bytes=10)
        for message in ({"type": "http.response.start", "status": 401}, {"type": "http.response.body", "body": b"no"}):
            await heard.send(message)

    asyncio.run(play())

    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert ((b"connection", b"close") in sent[0].get("headers", [])) is is_said_to_end
    assert len(messages) == left


async def _nothing_more():
    return {"type": "http.request", "body": b"", "more_body": False}


class Long:
    """An application that works until it is let go."""

    def __init__(self):
        self.stopped = threading.Event()
        self.finished = []

    def __call__(self, environ, start_response):
        self.finished.append(self.stopped.wait(5))
        start_response("200 OK", [])
        return [b""]

    def stopper(self):
        return self.stopped.set


@pytest.mark.parametrize(("method", "is_stopped"), [("GET", True), ("HEAD", True), ("POST", False)])
def test_what_only_reads_is_stopped_when_its_client_leaves_and_what_writes_is_finished(monkeypatch, method, is_stopped):
    monkeypatch.setattr(wsgi_in_asgi, "WATCHED_AFTER_SECONDS", 0.01)
    long = Long()
    bridge = WsgiInAsgi(long, threads=1, max_body_bytes=10, stopper=long.stopper)
    messages = [{"type": "http.request", "body": b"", "more_body": False}, {"type": "http.disconnect"}]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message)

    async def play():
        task = asyncio.ensure_future(bridge(scope(method=method), receive, send))
        await asyncio.sleep(0.1)
        seen = long.stopped.is_set()
        long.stopped.set()
        await task
        return seen

    assert asyncio.run(play()) is is_stopped
    assert long.finished == [True]


def test_whether_the_process_lives_is_answered_while_every_thread_is_taken():
    from workrail_site.asgi import Shell

    long = Long()
    bridge = WsgiInAsgi(long, threads=2, max_body_bytes=10)
    shell = Shell(django=bridge, mcp=None)
    answered = []

    async def send(message):
        answered.append(message)

    async def ask(path):
        await shell(scope(path), _nothing_more, send)

    async def play():
        crowd = [asyncio.ensure_future(ask("/api/v1/runs")) for _ in range(8)]
        await asyncio.sleep(0.02)
        await ask("/healthz")
        alive = list(answered)
        long.stopped.set()
        await asyncio.gather(*crowd)
        return alive

    alive = asyncio.run(play())
    assert told(alive)[0] == 200
    assert json.loads(told(alive)[2]) == {"status": "ok"}


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system has no such limit")
def test_the_limit_of_who_takes_nothing_is_of_the_listening_socket_and_leaves_no_file_open(tmp_path):
    """What was opened besides, a lock for one, is held by nobody else when its owner closes it."""
    from workrail_site import asgi

    folder = Path("/proc/self/fd")
    with socket.create_server(("127.0.0.1", 0)) as listening, (tmp_path / "lock").open("w"):
        before = {each.name for each in folder.iterdir()}
        asgi._hang_up_on_whoever_takes_nothing.__wrapped__()
        after = {each.name for each in folder.iterdir()}

        limit = listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert len(after) == len(before)
    assert limit == TAKEN_WITHIN_SECONDS * 1000
