"""What is no message of JSON-RPC is refused by its number and in words of ours, in every revision."""

import io
import json

import pytest

from tests.flood_play import LEAN, Work
from tests.mcp_play import HANDSHAKE, MODERN
from workrail_site.mcp.stdio.lines import converse
from workrail_site.mcp.stdio.talks import DialectTalk

PARSE, REQUEST, PARAMS = -32700, -32600, -32602


def message(**fields):
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/list"} | fields)


NO_JSON = [
    b"",
    b"{",
    b"\xff",
    b"[" * 100_000,
    b'{"jsonrpc": NaN}',
    b"\xef\xbb\xbf" + b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}',
    '{"jsonrpc": "2.0", "id": 7, "method": "ping"}'.encode("utf-16"),
    b'{"jsonrpc": "2.0", "id": 7, "method": "prompts/get", "params": {"name": "\\uD800"}}',
    b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"\\udc00": 1}}',
]
NO_REQUEST = ["1", '"x"', "null", "[]", "{}", message(jsonrpc="1.0"), message(jsonrpc=2), message(method=5)]
NO_ID = [message(id=wrong) for wrong in ("\udc00", None, 1.5, 1.0, True, False, [1], {}, 10**30)]
GREETING = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
NO_PARAMS = [message(params=wrong) for wrong in ([], [1], "x", 5)]
NO_GREETING = [
    message(method="initialize", params={**GREETING, name: wrong}) for name in GREETING for wrong in (None, 5, [])
]
HALF_AN_ANSWER = [
    '{"jsonrpc": "2.0", "result": {}}',
    '{"jsonrpc": "2.0", "id": 7, "error": "x"}',
    '{"jsonrpc": "2.0", "id": 7, "error": {"code": "x", "message": "y"}}',
    '{"jsonrpc": "2.0", "id": 7, "result": {}, "error": {"code": 1, "message": "x"}}',
]
LIBRARIES = (
    "hex escape",
    "at line 1",
    "pydantic",
    "validation error",
    "JSONRPCRequest",
    "input_value",
    "Input should be",
    "Traceback",
)


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN, "2024-11-05", None])
@pytest.mark.parametrize(
    ("bodies", "code"),
    [(NO_JSON, PARSE), (NO_REQUEST, REQUEST), (NO_ID, REQUEST), (NO_PARAMS, PARAMS), (HALF_AN_ANSWER, REQUEST)],
)
def test_what_is_no_message_is_refused_by_its_number_in_plain_words(wire, bodies, code, version):
    for body in bodies:
        sent = body if isinstance(body, bytes) else body.encode()
        response = wire.post(sent, **{"MCP-Protocol-Version": version, "Mcp-Method": "tools/list"})
        error = response.json()["error"]

        assert (response.status_code, error["code"]) == (400, code), body
        assert error["data"]["code"] == "VALIDATION_ERROR"
        assert error["data"]["details"]["suggestion"]
        assert not [word for word in LIBRARIES if word in response.text]
        assert response.json()["id"] == (7 if bodies is NO_PARAMS else None) or bodies in (NO_REQUEST, HALF_AN_ANSWER)


def by_lines(dialect, *lines):
    """The answers to lines that are judged before any dialect is needed for them."""
    sink = io.BytesIO()
    talk = DialectTalk(dialect, load=lambda: None)
    converse(source=io.BytesIO(b"\n".join(lines)), sink=sink, talk=talk, max_bytes=1_000_000)
    return [json.loads(each) for each in sink.getvalue().splitlines()]


@pytest.mark.parametrize("dialect", ["lookup", "rail"])
@pytest.mark.parametrize("method", ["ping", "tools/list", "initialize", "shutdown"])
@pytest.mark.parametrize(
    ("bodies", "code"),
    [(NO_REQUEST, REQUEST), (NO_ID[1:], REQUEST), (NO_PARAMS, PARAMS)],
    ids=["request", "id", "params"],
)
def test_a_line_that_is_no_message_is_refused_by_the_same_number_as_a_body(dialect, method, bodies, code):
    for body in bodies:
        (told,) = by_lines(dialect, body.replace("tools/list", method).encode())

        assert told["error"]["code"] == code, body
        assert told["id"] == (7 if bodies is NO_PARAMS else None) or bodies is NO_REQUEST


def test_a_notification_whose_params_are_not_right_is_answered_by_no_line():
    notices = [
        json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": wrong}) for wrong in ([], [1], "x", 5)
    ]

    assert by_lines("rail", *(each.encode() for each in notices)) == []


@pytest.mark.parametrize(
    "method", ["tools/list", "tools/call", "initialize", "resources/read", "prompts/get", "nope", ""]
)
@pytest.mark.parametrize(
    "params", [{}, {"name": 5}, {"name": "list_workflows", "arguments": []}, {"cursor": 5}, {"_meta": 5}]
)
@pytest.mark.parametrize("version", [HANDSHAKE, MODERN])
def test_no_answer_speaks_the_language_of_our_libraries(wire, method, params, version):
    body = message(method=method, params=params).encode()

    response = wire.post(body, **{"MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": "x"})

    assert response.status_code < 500
    assert not [word for word in LIBRARIES if word in response.text]


MESSAGES = [
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}',
    b'{"jsonrpc":"2.0","method":"notifications/nothing"}',
]


@pytest.mark.parametrize("body", MESSAGES)
@pytest.mark.parametrize("version", [HANDSHAKE, MODERN, "2024-11-05", None])
def test_answers_and_notifications_are_messages_too(wire, body, version):
    taken = wire.post(body, **{"MCP-Protocol-Version": version})

    assert (taken.status_code, taken.content) == (202, b"")


UNREADABLE = [
    ({}, "params.name is required"),
    ({"name": 5}, "params.name is not of the right kind"),
    ({"name": "list_workflows", "arguments": []}, "params.arguments is not of the right kind"),
    ({"name": "list_workflows", "arguments": "{}"}, "params.arguments is not of the right kind"),
]
ELSEWHERE = [
    ("resources/read", {}, "params.uri"),
    ("prompts/get", {"name": 5}, "params.name"),
    ("tools/list", {"cursor": 5}, "params.cursor"),
]


@pytest.mark.parametrize(("params", "details"), UNREADABLE)
def test_parameters_that_cannot_be_read_are_named(wire, params, details):
    one = json.loads(message(method="tools/call", params=params))
    alone = wire.post(json.dumps(one).encode(), **{"MCP-Protocol-Version": HANDSHAKE}).json()
    (among_others,) = wire.post(json.dumps([one]).encode(), **{"MCP-Protocol-Version": "2025-03-26"}).json()

    assert alone["error"] == among_others["error"]
    assert (alone["error"]["code"], alone["error"]["data"]) == (PARAMS, {"details": details})


@pytest.mark.parametrize(("method", "params", "name"), ELSEWHERE)
@pytest.mark.parametrize("version", [HANDSHAKE, "2024-11-05", "2025-11-25", None])
def test_parameters_of_every_method_that_cannot_be_read_are_named(wire, method, params, name, version):
    told = wire.post(message(method=method, params=params).encode(), **{"MCP-Protocol-Version": version}).json()

    assert told["error"]["data"]["details"].startswith(name), told


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN, "2024-11-05", None, "2025-11-25"])
@pytest.mark.parametrize("argument", [{"query": "half \ud800"}, {"\udfff": 1}])
def test_half_a_character_in_an_argument_is_told_by_the_tool(wire, version, argument):
    body = wire.message("tools/call", {"name": "resume_session", "arguments": argument}, version)
    routing = {"Mcp-Method": "tools/call", "Mcp-Name": "resume_session", "MCP-Protocol-Version": version}
    told = wire.post(json.dumps(body).encode(), **routing).json()

    assert told["result"]["isError"], told
    assert told["result"]["structuredContent"]["code"] == "VALIDATION_ERROR"


HALF = "half \ud800"
BESIDE_THE_ARGUMENTS = {
    "a name of the call": {"_meta": {"workrail/idempotencyKey": HALF}},
    "a key of the metadata": {"_meta": {HALF: 1}},
    "a token of progress": {"_meta": {"progressToken": HALF}},
    "who the client is": {"_meta": {"io.modelcontextprotocol/clientInfo": {"name": HALF, "version": HALF}}},
    "an answer of a user": {"inputResponses": {"checkpoint-x": {"action": "accept", "content": {"answer": HALF}}}},
    "a key of an answer": {"inputResponses": {HALF: {"action": "accept", "content": {HALF: HALF}}}},
    "the state of a request": {"requestState": HALF},
}


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN, "2025-11-25", None])
@pytest.mark.parametrize("place", BESIDE_THE_ARGUMENTS)
def test_half_a_character_beside_the_arguments_is_no_defect_of_ours(wire, version, place):
    more = BESIDE_THE_ARGUMENTS[place]
    body = wire.message("tools/call", {"name": "start_workflow", "arguments": {"workflowId": "team.none"}}, version)
    params = body["params"]
    params |= more | {"_meta": {**params.get("_meta", {}), **more.get("_meta", {})}}
    routing = {"Mcp-Method": "tools/call", "Mcp-Name": "start_workflow", "MCP-Protocol-Version": version}

    told = wire.post(json.dumps(body).encode(), **routing)

    assert told.status_code < 500
    assert "INTERNAL_ERROR" not in told.text
    assert told.json().get("error", {}).get("code") != -32603


@pytest.mark.parametrize("version", [HANDSHAKE, "2024-11-05", None])
def test_a_greeting_that_lacks_something_is_told_what(wire, version):
    for body in NO_GREETING:
        told = wire.post(body.encode(), **{"MCP-Protocol-Version": version})

        assert (told.status_code, told.json()["error"]["code"], told.json()["id"]) == (400, PARAMS, 7)
        assert told.json()["error"]["message"].startswith("params.")


def test_the_revision_without_sessions_knows_no_greeting(wire):
    for params in (GREETING, {}):
        told = wire.send("initialize", params)

        assert (told.status_code, told.json()["error"]["code"]) == (404, -32601)


OF_MODERN = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
MISMATCH = -32020


@pytest.mark.parametrize("version", [HANDSHAKE, "2024-11-05", "2025-03-26", None])
@pytest.mark.parametrize(
    ("method", "named"), [("tools/call", {"name": "list_workflows"}), ("tools/list", {}), ("x", {})]
)
def test_metadata_of_another_revision_than_the_header_names_are_refused(wire, method, named, version):
    body = message(method=method, params={**named, "_meta": OF_MODERN})

    told = wire.post(body.encode(), **{"MCP-Protocol-Version": version})

    assert (told.status_code, told.json()["error"]["code"], told.json()["id"]) == (400, MISMATCH, 7)
    assert "MCP-Protocol-Version" in told.json()["error"]["message"]


def test_metadata_of_the_revision_of_the_header_and_other_notes_are_no_fault(wire):
    same = {"io.modelcontextprotocol/protocolVersion": HANDSHAKE}
    for meta in (same, {"io.modelcontextprotocol/clientInfo": {}}, {"mine": 1}):
        told = wire.post(message(params={"_meta": meta}).encode(), **{"MCP-Protocol-Version": HANDSHAKE}).json()
        assert "result" in told, told

    greeted = wire.post(message(method="initialize", params={**GREETING, "_meta": OF_MODERN}).encode())
    assert greeted.json()["result"]["protocolVersion"] == HANDSHAKE


SECRET = "ghp_0123456789abcdefABCDEF"


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN, "2025-11-25", None])
def test_nothing_that_a_client_invents_comes_back_whole_or_with_a_secret_in_it(wire, version):
    """Names of methods, tools, prompts, addresses, revisions and arguments: bounded, and without keys of others."""
    for invented in (f"find/{SECRET}", "x" * 50_000, f"{'x' * 150}-{SECRET}"):
        for method, params in (
            (invented, {}),
            ("tools/call", {"name": invented}),
            ("tools/call", {"name": "list_workflows", "arguments": {invented: 1}}),
            ("prompts/get", {"name": invented}),
            ("prompts/get", {"name": "wr.code-review", "arguments": {invented: "1"}}),
            ("resources/read", {"uri": invented}),
            ("resources/read", {"uri": f"workrail://workflows/{invented}"}),
            ("resources/read", {"uri": f"workrail://schemas/{invented}"}),
            ("resources/list", {"cursor": invented}),
            (
                "completion/complete",
                {"ref": {"type": "ref/prompt", "name": invented}, "argument": {"name": "a", "value": ""}},
            ),
            ("initialize", {**GREETING, "protocolVersion": invented}),
            ("logging/setLevel", {"level": invented}),
            ("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": invented}}),
        ):
            said = asked(wire, method, params, version)
            assert said.status_code < 500, (method[:50], said.text[:300])
            assert len(said.text) < 4_000, (method[:50], said.text[:300])
            assert "0123456789abcdef" not in said.text, (method[:80], said.text[:300])


def asked(wire, method, params, version):
    """As a client of that revision asks, with its metadata and the headers that repeat what the body says."""
    whole = wire.message(method, params, version)
    if "_meta" in params:
        whole["params"]["_meta"] = {**whole["params"].get("_meta", {}), **params["_meta"]}
    named = {"Mcp-Method": method[:200], "Mcp-Name": str(params.get("name", params.get("uri", "")))[:200]}
    return wire.post(json.dumps(whole).encode(), **{"MCP-Protocol-Version": version, **named})


def test_a_long_id_is_judged_without_going_through_its_letters():
    from workrail_site.mcp.messages import is_id

    with Work() as once:
        sum(1 for _ in range(LEAN * 5))
    with Work() as work:
        assert is_id("\u00fc" * LEAN * 5)
        assert not is_id("\u00fc" * LEAN * 5 + "\ud800")

    assert work.seconds < once.seconds


LARGE = ["1e309", "-1e400", "9" * 400, "-" + "9" * 4_400, "9" * 400 + ".5", "1" + "0" * 4_400 + "e-1"]
HOLDING = {
    "an argument": '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_workflows", "arguments": {"a": [%s]}}}',
    "the metadata": '{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": {"\u00fc": %s}}}',
    "something beside": '{"x": {"y": %s}, "jsonrpc": "2.0", "id": 7, "method": "ping"}',
    "a long message": '{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"x": "' + "x" * 70_000 + '", "y": %s}}',
}


@pytest.mark.parametrize("number", LARGE, ids=lambda number: f"{number[:6]} of {len(number)}")
@pytest.mark.parametrize("place", HOLDING)
def test_a_number_that_nobody_can_hold_is_named_as_what_is_wrong(wire, place, number):
    """And not JSON as a whole. Whoever has sent it hears of it under its id."""
    body = HOLDING[place] % number
    said = [
        wire.post(body.encode(), **{"MCP-Protocol-Version": version, "Mcp-Method": "tools/list"}).json()
        for version in (HANDSHAKE, MODERN, "2024-11-05", None)
    ]

    for told in said:
        assert (told["error"]["code"], told["id"]) == (REQUEST, 7), told
        assert "a number beyond" in told["error"]["message"]
        assert told["error"]["data"]["details"]["suggestion"] == "Send such a number as text."
    (line,) = by_lines("rail", body.encode())
    assert (line["error"]["code"], line["id"]) == (REQUEST, 7)
    assert "a number beyond" in line["error"]["data"]["details"]


@pytest.mark.parametrize("number", LARGE, ids=lambda number: f"{number[:6]} of {len(number)}")
def test_such_a_number_as_the_id_or_beside_half_a_character_is_named_too_and_what_is_no_json_is_not(wire, number):
    as_id = wire.post(f'{{"jsonrpc": "2.0", "id": {number}, "method": "ping"}}'.encode()).json()
    halved = wire.post((HOLDING["an argument"] % number).replace('"a"', '"\\ud800"').encode()).json()
    broken = wire.post((HOLDING["an argument"] % number)[:-1].encode()).json()
    quoted = wire("start_workflow", workflowId="team.sample", context=f'{{"a": {number}}}')

    assert (as_id["error"]["code"], as_id["id"]) == (halved["error"]["code"], halved["id"]) == (REQUEST, None)
    assert all("a number beyond" in told["error"]["message"] for told in (as_id, halved))
    assert broken["error"]["code"] == PARSE
    assert "A number is beyond" in quoted.value["message"]


# Each makes as many lists or objects as there is room for.
MANY = {
    "lists": ",".join(["[]"] * 300_000),
    "nested lists": ",".join(["[[[[]]]]"] * 95_000),
    "objects": ",".join(['{"a":1}'] * 100_000),
    "nested objects": ",".join(['{"a":{"b":{}}}'] * 60_000),
    "keys that stand twice": ",".join(['{"a":1,"a":2}'] * 60_000),
    "numbers": ",".join(["0"] * 400_000),
}
PLACES = {
    "id": '{"jsonrpc": "2.0", "id": [%s], "method": "ping"}',
    "method": '{"jsonrpc": "2.0", "id": 7, "method": [%s]}',
    "params": '{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"cursor": [%s]}}',
    "name": '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": [%s]}}',
    "arguments": '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_workflows", "arguments": {"a": [%s]}}}',
    "metadata": '{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_workflows", "_meta": {"a": [%s]}}}',
    "beside": '{"x": [%s], "jsonrpc": "2.0", "id": 7, "method": "ping"}',
    "answer": '{"jsonrpc": "2.0", "id": 7, "result": [%s]}',
    "batch": '[{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list_workflows", "arguments": {"a": [%s]}}}]',
    "nothing": "[%s]",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("many", MANY)
def test_a_body_of_more_values_than_anybody_takes_is_refused_wherever_they_stand(wire, place, many):
    """Unread: it is no JSON, which whoever reads it first would say."""
    for version in (HANDSHAKE, MODERN):
        told = wire.post(f"{PLACES[place] % MANY[many]} no JSON".encode(), **{"MCP-Protocol-Version": version})

        assert (told.status_code, told.json()["error"]["data"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
        assert told.json()["error"]["data"]["details"]["maxValues"] == 110_000


@pytest.mark.parametrize("many", MANY)
def test_the_messages_of_a_list_that_is_refused_unread_are_not_counted(many):
    from workrail_site.mcp.batches import messages_in

    assert messages_in(f"[{MANY[many]}]".encode()) == 1
    assert messages_in(b'[{"jsonrpc": "2.0", "id": 7, "method": "ping"}, {}]') == 2
