"""A key that an object names twice is refused at every door: whoever stands between may go by the other one of the two."""

import io
import json

import pytest

from tests.mcp_play import HANDSHAKE, MODERN
from tests.run_cast import begin, make_desk, plain_steps
from workrail_site.mcp.doubled_keys import DoubledKeyError, check_keys
from workrail_site.mcp.stdio.lines import converse
from workrail_site.mcp.stdio.talks import DialectTalk

REQUEST = -32600
# Each a message, the key that is doubled in it, and the id that the answer has.
DOUBLED = [
    ('{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/list"}', "id", None),
    ('{"jsonrpc":"2.0","id":7,"\\u0069d":8,"method":"tools/list"}', "id", None),
    ('{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"tools/list"}', "jsonrpc", 7),
    ('{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"tools/call"}', "method", 7),
    ('{"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": {}, "params": {"cursor": "x"}}', "params", "a"),
    ('{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"list_workflows"}}', "name", 7),
    (
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"list_workflows","arguments":{"a":{"b":1,"b":1}}}}',
        "b",
        7,
    ),
    ('{"jsonrpc":"2.0","id":1.5e0,"id":7,"method":"tools/list","params":{"n":[1e5,1e5,1e5,1e5,1e5]}}', "id", None),
]
# A colon that stands escaped in a text makes up for the one that is lost with a pair.
MADE_UP_FOR = [
    ('{"jsonrpc":"2.0","id":7,"method":"ping","method":"\\u003aa"}', "method", 7),
    ('{"a":"\\u003A","a": ":"}', "a", None),
]
DOUBLED += MADE_UP_FOR[:1]
SINGLE = [
    b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a:b": "c\\":d", "e": {"a:b": [{}, {"x": ":"}]}}}',
    b'{"a":1e5,"b":"\\u00e9\\/","c":{"a":1},"d":[{"a":1},{"a":1}]}\n',
    b" [1, 2.50, null, true, [], {}]",
    b'"a:b"',
    b'{"a": "\\u003a", "b": "\\\\u003a"}',
]


@pytest.mark.parametrize("data", SINGLE)
def test_what_names_each_key_once_is_no_fault_however_it_is_written(data):
    check_keys(data, json.loads(data))


@pytest.mark.parametrize(("data", "key", "_request_id"), [*DOUBLED, *MADE_UP_FOR])
def test_what_names_a_key_twice_is_found_however_it_is_written(data, key, _request_id):
    for written in (data, data.replace(",", " , "), data + "\n"):
        with pytest.raises(DoubledKeyError, match=f"'{key}' stands twice"):
            check_keys(written.encode(), json.loads(written))


def test_a_secret_that_is_a_key_is_not_told():
    data = '{"ghp_0123456789abcdefABCDEF":1,"ghp_0123456789abcdefABCDEF":2}'

    with pytest.raises(DoubledKeyError) as told:
        check_keys(data.encode(), json.loads(data))
    assert "0123456789" not in str(told.value)


@pytest.mark.django_db(transaction=True)
def test_by_http_it_is_refused_in_every_revision_and_in_a_batch(wire):
    for body, key, request_id in DOUBLED:
        for version in (HANDSHAKE, MODERN, "2025-11-25", None):
            headers = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/list"}
            response = wire.post(body.encode(), **headers)
            said = response.json()
            assert (response.status_code, said["error"]["code"], said["id"]) == (400, REQUEST, request_id), body
            assert f"'{key}' stands twice" in said["error"]["message"]
            assert said["error"]["data"]["details"]["suggestion"] == "Send each key once."

    batch = f"[{DOUBLED[0][0]}]".encode()
    said = wire.post(batch, **{"MCP-Protocol-Version": "2025-03-26"}).json()
    assert (said["error"]["code"], said["id"]) == (REQUEST, None)


@pytest.mark.django_db(transaction=True)
def test_a_long_body_is_held_to_the_same(wire):
    filler = json.dumps({"note": "x" * 100_000})[1:-1]
    body = f'{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{{filler}}},"id":8}}'

    said = wire.post(body.encode(), **{"MCP-Protocol-Version": HANDSHAKE}).json()
    whole = wire.post(body.replace(',"id":8', "").encode(), **{"MCP-Protocol-Version": HANDSHAKE}).json()

    assert (said["error"]["code"], said["id"]) == (REQUEST, None)
    assert whole == {"jsonrpc": "2.0", "id": 7, "result": {}}


class Silent:
    """A dialect that is asked nothing."""

    def answer(self, request, *, version, client):
        raise AssertionError(request)


def test_by_lines_it_is_refused_and_the_next_line_is_answered():
    sink = io.BytesIO()
    lines = [*(body for body, _key, _id in DOUBLED), '{"jsonrpc":"2.0","id":"last","method":"ping"}']
    source = io.BytesIO("".join(f"{each}\n" for each in lines).encode())

    converse(source=source, sink=sink, talk=DialectTalk("lookup", load=Silent), max_bytes=10_000)

    *refused, last = (json.loads(line) for line in sink.getvalue().splitlines())
    assert [(each["error"]["code"], each["id"]) for each in refused] == [(REQUEST, known) for _b, _k, known in DOUBLED]
    assert all(
        f"'{key}' stands twice" in each["error"]["data"]["details"]
        for (_b, key, _i), each in zip(DOUBLED, refused, strict=True)
    )
    assert last["result"] == {}


@pytest.mark.django_db(transaction=True)
def test_an_argument_that_is_json_text_is_held_to_the_same(wire):
    asked = wire("start_workflow", workflowId="team.sample", context='{"a": 1, "a": 2}')

    assert asked.code == "VALIDATION_ERROR"
    assert asked.details["reason"] == "duplicate_key"


@pytest.mark.django_db(transaction=True)
def test_by_rest_it_is_refused_whatever_the_address(client):
    from tests.cast import issue

    desk = make_desk()
    value = begin(desk, *plain_steps(2))
    headers = {"Authorization": f"Bearer {issue(desk.owner).text}"}
    state, ack = value["stateToken"], value["ackToken"]
    bodies = {
        "/api/v1/runs": '{"workflowId":"team.other","workflowId":"team.sample","goal":"Look"}',
        "/api/v1/runs/continue": f'{{"stateToken":"{state}","ackToken":"{ack}","ackToken":"{ack}"}}',
        "/api/v1/dialects/rail/tools/list_workflows": '{"text":"a","text":"b"}',
    }

    for path, body in bodies.items():
        answer = client.post(path, body, content_type="application/json", headers=headers)
        assert (answer.status_code, answer.json()["details"]["reason"]) == (400, "duplicate_key"), path
    registration = '{"redirect_uris":["https://a.example/"],"redirect_uris":["https://b.example/"]}'
    assert client.post("/oauth/register", registration, content_type="application/json").status_code == 400
