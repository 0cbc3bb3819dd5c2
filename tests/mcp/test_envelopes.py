"""What is no message of JSON-RPC is refused by its number and in words of ours, in every revision."""

import json

import pytest

from tests.mcp_play import HANDSHAKE, MODERN

PARSE, REQUEST, PARAMS = -32700, -32600, -32602


def message(**fields):
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/list"} | fields)


NO_JSON = [b"", b"{", b"\xff", b"[" * 100_000, b'{"jsonrpc": NaN}']
NO_REQUEST = ["1", '"x"', "null", "[]", "{}", message(jsonrpc="1.0"), message(jsonrpc=2), message(method=5)]
NO_ID = [message(id=wrong) for wrong in (None, 1.5, 1.0, True, False, [1], {}, 10**30)]
NO_PARAMS = [message(params=wrong) for wrong in ([], [1], "x", 5)]
LIBRARIES = ("pydantic", "validation error", "JSONRPCRequest", "input_value", "Input should be", "Traceback")


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN, "2024-11-05", None])
@pytest.mark.parametrize(
    ("bodies", "code"), [(NO_JSON, PARSE), (NO_REQUEST, REQUEST), (NO_ID, REQUEST), (NO_PARAMS, PARAMS)]
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
        assert response.json()["id"] == (7 if bodies is NO_PARAMS else None) or bodies is NO_REQUEST


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


def test_answers_and_notifications_are_messages_too(wire):
    for body in (b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","method":"notifications/initialized"}'):
        assert wire.post(body, **{"MCP-Protocol-Version": HANDSHAKE}).status_code == 202
