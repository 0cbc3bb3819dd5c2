"""Clients that start a process and speak to it by lines: what each line is answered, byte by byte where the contract says so."""

import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import timezone
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.mcp.conftest import environ_of_site
from tests.step_documents import step
from workflows_app.services.bundled import load_bundled
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.messages import RpcError
from workrail_site.mcp.revisions import (
    BATCHES,
    CAPABILITIES_KEY,
    CLIENT_KEY,
    SEED,
    VERSION_KEY,
    WITH_HANDSHAKE,
    WITHOUT_SESSIONS,
)
from workrail_site.mcp.stdio.lines import converse
from workrail_site.mcp.stdio.talks import DialectTalk

ROOT = Path(__file__).parents[2]
DIALECTS = ("rail", "navigation", "session", "orchestrator")


def line(method, request_id=1, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def greeting(version=SEED, request_id=0):
    return line("initialize", request_id, protocolVersion=version, capabilities={})


class Echo:
    """A dialect that answers with the name of what it was asked."""

    def answer(self, request, *, version, client):
        if request.method == "defect":
            raise RpcError(RpcCode.INTERNAL)
        return {"asked": request.method, "version": version}


def told(*lines, dialect="lookup", load=Echo, max_bytes=10_000):
    """The raw answers to raw lines, and the exit status."""
    source = io.BytesIO(
        b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines)
    )
    sink = io.BytesIO()
    status = converse(source=source, sink=sink, talk=DialectTalk(dialect, load=load), max_bytes=max_bytes)
    return sink.getvalue().splitlines(), status


NO_MESSAGES = [
    (
        b"{nope",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":{"details":"Unexpected token in JSON"}}}',
    ),
    (
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":{"details":"Unexpected token in JSON"}}}',
    ),
    (
        b"7",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"details":"a message is an object"}}}',
    ),
    (
        b'{"id":4,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"Invalid Request","data":{"details":"jsonrpc must be \\"2.0\\""}}}',
    ),
    (
        b'{"jsonrpc":"2.0","id":"a","method":7}',
        b'{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"Invalid Request","data":{"details":"method must be a string"}}}',
    ),
    (
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"details":"id must be a string or a whole number"}}}',
    ),
    (
        b'{"jsonrpc":"2.0","id":5,"method":"ping","params":7}',
        b'{"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"Invalid params","data":{"details":"params must be an object"}}}',
    ),
    (
        b"[]",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"details":"batches of 1 to 100 messages belong to revision 2025-03-26"}}}',
    ),
    (
        b"x" * 20_000,
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":{"details":"the line is too long"}}}',
    ),
]


@pytest.mark.parametrize(("sent", "answer"), NO_MESSAGES, ids=range(len(NO_MESSAGES)))
def test_a_line_that_is_no_message_is_told_so_and_the_next_one_is_answered(sent, answer):
    assert told(sent, line("ping", 9)) == ([answer, b'{"jsonrpc":"2.0","id":9,"result":{}}'], 0)


def test_the_lookup_server_greets_as_its_contract_says():
    answers, _status = told(greeting())

    assert answers == [
        (
            b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{"listChanged":false,'
            b'"notifyProgress":false},"resources":{"listChanged":false}},"serverInfo":{"name":"workflowlookup","version":"1.0.0",'
            b'"description":"Workflow Orchestration System MCP Server"}}}'
        )
    ]


def test_a_greeting_that_is_not_right_is_refused_as_the_contract_says():
    answers, _status = told(greeting("2024-10-01", 1), line("initialize", 2, capabilities={}))

    assert answers == [
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Unsupported protocol version","data":'
            b'{"supportedVersions":["2024-11-05"],"requestedVersion":"2024-10-01"}}}'
        ),
        (
            b'{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params","data":'
            b'{"details":"protocolVersion is required"}}}'
        ),
    ]


@pytest.mark.parametrize("dialect", ["lookup", *DIALECTS])
def test_nothing_is_answered_before_the_greeting_and_everything_in_its_order_after_it(dialect):
    answers, status = told(
        line("tools/list", 1),
        greeting(),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        line("a", 2),
        b"",
        line("b", "3"),
        dialect=dialect,
    )

    said = [json.loads(answer) for answer in answers]
    assert status == 0
    assert [each["id"] for each in said] == [1, 0, 2, "3"]
    assert said[0]["error"]["code"] == RpcCode.INVALID_REQUEST
    assert [each["result"]["asked"] for each in said[2:]] == ["a", "b"]


def test_a_farewell_is_answered_with_null_and_ends_the_process():
    answers, status = told(greeting(), line("shutdown", 99), line("ping", 100))

    assert (answers[-1], status) == (b'{"jsonrpc":"2.0","id":99,"result":null}', 0)


def test_what_cannot_be_served_at_all_is_answered_and_ends_with_a_failure(capsys):
    def broken():
        raise OSError("/secret/path")

    answers, status = told(greeting(), line("tools/list", 1), line("ping", 2), load=broken)

    assert (json.loads(answers[-1])["error"]["code"], status) == (RpcCode.INTERNAL, 1)
    assert b"secret" not in answers[-1]
    assert "secret" in capsys.readouterr().err


def test_several_messages_on_a_line_are_answered_where_the_revision_demands_it():
    batch = [line("a", 1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, 7, line("b", 2)]

    answers, _status = told(greeting(BATCHES), batch, dialect="rail")
    refused, _status = told(greeting("2025-06-18"), batch, dialect="rail")

    assert [each["id"] for each in json.loads(answers[-1])] == [1, None, 2]
    assert json.loads(refused[-1])["error"]["code"] == RpcCode.INVALID_REQUEST


def test_a_request_that_says_its_revision_needs_no_greeting():
    answers, _status = told(line("tools/list", 1, _meta={VERSION_KEY: "2026-07-28"}), dialect="rail")

    assert json.loads(answers[0])["result"] == {"asked": "tools/list", "version": None}


SAID = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {"elicitation": {}}, CLIENT_KEY: {"name": "t", "version": "1"}}


@pytest.mark.parametrize(
    "params",
    [
        {"_meta": {VERSION_KEY: "2026-07-28"}},
        {"_meta": {**SAID, VERSION_KEY: "2030-01-01"}},
        {"_meta": {**SAID, VERSION_KEY: ["2026-07-28"]}},
        {"_meta": {**SAID, "progressToken": 1}},
        {"_meta": SAID, "more": 1},
    ],
)
def test_discovery_that_is_not_exactly_in_order_is_for_the_sdk_to_judge(params):
    answers, _status = told(line("server/discover", 1, **params), dialect="rail")

    assert json.loads(answers[0])["result"] == {"asked": "server/discover", "version": None}


def test_the_contract_of_lookup_knows_no_discovery():
    answers, _status = told(line("server/discover", 1, _meta=SAID), dialect="lookup")

    assert json.loads(answers[0])["error"]["code"] == RpcCode.INVALID_REQUEST


def test_the_revisions_are_those_of_the_sdk():
    assert set(HANDSHAKE_PROTOCOL_VERSIONS) == set(WITH_HANDSHAKE)
    assert set(MODERN_PROTOCOL_VERSIONS) == set(WITHOUT_SESSIONS)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_discovery_by_lines_is_that_by_http_and_asks_for_nothing_to_be_loaded(wire, dialect):
    by_http = wire.send("server/discover", {"_meta": SAID}, version="2026-07-28", path=f"/mcp/{dialect}").json()
    ((by_lines,), _status) = told(line("server/discover", by_http["id"], _meta=SAID), dialect=dialect, load=None)

    assert json.loads(by_lines) == by_http


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("version", WITH_HANDSHAKE)
def test_a_greeting_by_lines_is_the_greeting_by_http(wire, version):
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    for dialect in DIALECTS:
        by_http = wire.send("initialize", params, version=version, path=f"/mcp/{dialect}").json()["result"]
        by_lines = json.loads(told(line("initialize", 1, **params), dialect=dialect)[0][0])["result"]
        assert by_lines == by_http


# A process of its own


def run_process(wire, *lines, arguments, key=None):
    environ = {**environ_of_site(), "WORKRAIL_KEY": wire.key if key is None else key}
    text = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    done = subprocess.run(  # the exit status is what is looked at
        [sys.executable, "manage.py", "mcp", *arguments],
        cwd=ROOT,
        env=environ,
        input=text,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return [json.loads(each) for each in done.stdout.splitlines()], done


@pytest.mark.django_db(transaction=True)
def test_the_tools_of_lookup_are_called_in_both_ways_and_each_error_has_its_number(wire, desk):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    run_cast.published(desk, step("one"))
    lines = [
        greeting(),
        line("tools/list", 1),
        line("workflow_next", 2, workflowId="team.sample", completedSteps=[]),
        line("tools/call", 3, name="workflow_next", arguments={"workflowId": "team.sample", "completedSteps": []}),
        line("workflow_get", 5, id="nonexistent-workflow"),
        line("workflow_validate", 6, workflowId="team.sample", stepId="nonexistent-step", output="x"),
        line("workflow_next", 4, completedSteps=[]),
        line("non_existent_tool", 7),
        line("shutdown", 99),
    ]

    said, done = run_process(wire, *lines, arguments=["--dialect", "lookup"])

    assert done.returncode == 0
    assert [tool["name"] for tool in said[1]["result"]["tools"]][:4] == [
        "workflow_list",
        "workflow_get",
        "workflow_next",
        "workflow_validate",
    ]
    assert said[2]["result"]["step"]["id"] == "one"
    assert json.loads(said[3]["result"]["content"][0]["text"]) == said[2]["result"]
    assert done.stdout.splitlines()[4:] == [
        b'{"jsonrpc":"2.0","id":5,"error":{"code":-32001,"message":"Workflow not found","data":{"workflowId":"nonexistent-workflow"}}}',
        b'{"jsonrpc":"2.0","id":6,"error":{"code":-32003,"message":"Step not found","data":{"stepId":"nonexistent-step"}}}',
        b'{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Invalid params","data":{"details":"workflowId is required"}}}',
        b'{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found","data":{"method":"non_existent_tool"}}}',
        b'{"jsonrpc":"2.0","id":99,"result":null}',
    ]


@pytest.mark.django_db(transaction=True)
def test_a_process_without_a_key_says_so_and_fails(wire, desk):
    said, done = run_process(wire, greeting(), line("workflow_list", 1), arguments=["--dialect", "lookup"], key="")

    assert said[-1]["error"]["code"] == RpcCode.SERVER
    assert "WORKRAIL_KEY" in json.dumps(said[-1]) or "key" in said[-1]["error"]["data"]["details"]
    assert done.returncode == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_run_is_begun_and_continued_by_lines_here_and_over_a_bridge(wire, desk, where):
    run_cast.published(desk, step("one", notesOptional=True))
    arguments = ["--dialect", "rail"] if where == "here" else ["--url", f"{wire.url}/mcp/rail"]

    said, done = run_process(
        wire,
        greeting("2025-11-25"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        line("tools/list", 1),
        line("tools/call", 2, name="start_workflow", arguments={"workflowId": "team.sample"}),
        line("tools/call", 3, name="start_workflow", arguments={"workflowId": "team.nowhere"}),
        arguments=arguments,
    )

    assert done.returncode == 0
    assert said[2]["result"]["structuredContent"]["pending"]["stepId"] == "one"
    assert said[3]["result"]["structuredContent"]["code"] == "NOT_FOUND"


def test_a_client_is_greeted_before_the_weight_of_django_and_of_the_sdk_is_loaded():
    code = "import sys, workrail_site.local.mcp_command; print([m for m in ('django', 'mcp', 'pydantic') if m in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_told_to_leave_does_so_in_order(number):
    code = """if True:
        from workrail_site.mcp.stdio.command import serve_dialect
        try:
            serve_dialect(dialect="rail", reply="both", key="", prepare=lambda: None)
        finally:
            print("closed", file=__import__("sys").stderr)
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, **pipes) as process:
        process.stdin.write(json.dumps(greeting()).encode() + b"\n")
        process.stdin.flush()
        greeted = json.loads(process.stdout.readline())
        process.send_signal(number)
        rest, told = process.communicate(timeout=60)

    assert greeted["result"]["serverInfo"]["name"] == "workrail-rail"
    assert (process.returncode, rest, told) == (0, b"", b"closed\n")
