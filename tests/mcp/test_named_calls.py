"""A call by MCP whose reply was lost comes again under its name: one run, one session, whatever the dialect and the way of the call."""

import contextlib
import io
import json

import pytest

from teams_app.engine.named_requests import CALL_KEY
from tests.api.test_named_requests import TOOLS
from tests.handover_play import text_of
from tests.mcp.test_secrets_in_arguments import OWN
from tests.mcp_play import HANDSHAKE, MODERN
from tests.run_cast import plain_steps, published

pytestmark = pytest.mark.django_db(transaction=True)
NAME = {CALL_KEY: "5a0f3c1e-0002"}


def begun():
    from sessions_app.models import Handle, Run, WorkSession

    return tuple(model.objects.count() for model in (WorkSession, Run, Handle))


@pytest.fixture
def called(wire, desk):
    """`called(dialect, tool, arguments, meta, version)` is the result of the call, or its error."""
    published(desk, *plain_steps(2), workflow_id="team.short")

    def call(dialect, tool, arguments, meta=NAME, version=HANDSHAKE):
        message = wire.message("tools/call", {"name": tool, "arguments": arguments}, version)
        message["params"]["_meta"] = {**message["params"].get("_meta", {}), **(meta or {})}
        params = {"name": tool}
        answered = wire.send("tools/call", params, version=version, path=f"/mcp/{dialect}", message=message).json()
        return answered.get("result") or answered["error"]

    return call


def test_a_call_of_one_name_begins_once_and_is_answered_the_same(called):
    for number, (dialect, tool, arguments, other) in enumerate(TOOLS):
        for version in (HANDSHAKE, MODERN):
            meta = {CALL_KEY: f"{number} {version}"}
            first = called(dialect, tool, arguments, meta, version)
            after = begun()
            again = called(dialect, tool, arguments, meta, version)
            refused = called(dialect, tool, other, meta, version)

            assert not first.get("isError"), text_of(first)
            assert again == first
            assert json.loads(text_of(refused))["code"] == "IDEMPOTENCY_KEY_REUSED"
            assert begun() == after


def test_without_a_name_each_call_begins_another(called):
    dialect, tool, arguments, _other = TOOLS[0]
    for meta in ({}, {"theirs/id": 1}, {CALL_KEY: ""}):
        assert called(dialect, tool, arguments, meta) != called(dialect, tool, arguments, meta)


def test_what_is_no_name_is_refused_and_begins_nothing(called):
    before = begun()
    for dialect, tool, arguments, _other in TOOLS:
        for said in (7, ["a"], {"a": 1}, True, "x" * 201, "a\x00b", "half \ud800", f"of {OWN[0]}", OWN[3]):
            refused = called(dialect, tool, arguments, {CALL_KEY: said})
            assert json.loads(text_of(refused))["code"] == "VALIDATION_ERROR", (tool, said)
    assert begun() == before


def test_each_message_of_a_batch_has_its_own_name_or_none(wire, desk):
    published(desk, *plain_steps(2), workflow_id="team.short")

    def message(number, meta):
        call = {"name": "start_workflow", "arguments": {"workflowId": "team.short"}, "_meta": meta}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}

    batch = [message(1, NAME), message(2, NAME), message(3, {}), message(4, {"theirs": 1})]
    answers = wire.post(json.dumps(batch).encode(), **{"MCP-Protocol-Version": "2025-03-26"}).json()

    told = [answer["result"]["structuredContent"]["session"]["runId"] for answer in answers]
    assert told[0] == told[1]
    assert len(set(told)) == 3


def test_rest_and_mcp_know_a_call_by_one_name(called, wire):
    for number, (dialect, tool, arguments, _other) in enumerate(TOOLS):
        path = f"/api/v1/dialects/{dialect}/tools/{tool}"
        body = json.dumps(arguments).encode()
        first = wire.post(body, path=path, **{"Idempotency-Key": f"both {number}"}).json()

        assert called(dialect, tool, arguments, {CALL_KEY: f"both {number}"})["structuredContent"] == first


def test_a_line_may_be_named_too(wire, desk):
    from workrail_site.mcp.stdio.lines import converse
    from workrail_site.mcp.stdio.serving import ServedDialect
    from workrail_site.mcp.stdio.talks import DialectTalk

    published(desk, *plain_steps(2), workflow_id="team.short")
    dialect, tool, arguments, _other = TOOLS[3]
    call = {"method": "tools/call", "params": {"name": tool, "arguments": arguments, "_meta": NAME}}
    lines = [{"method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}, call, call]
    text = b"".join(json.dumps({"jsonrpc": "2.0", "id": at, **line}).encode() + b"\n" for at, line in enumerate(lines))
    sink = io.BytesIO()
    with contextlib.closing(ServedDialect(dialect, key=wire.key, text_only=False)) as here:
        talk = DialectTalk(dialect, load=lambda: here)
        converse(source=io.BytesIO(text), sink=sink, talk=talk, max_bytes=1_000_000)

    _greeting, first, again = (json.loads(line)["result"] for line in sink.getvalue().splitlines())
    assert again == first


def test_a_list_of_tools_says_which_calls_may_be_named(wire):
    for dialect in ("rail", "navigation", "session", "orchestrator", "lookup"):
        for version in (HANDSHAKE, MODERN):
            listed = wire.send("tools/list", version=version, path=f"/mcp/{dialect}").json()["result"]
            assert listed["_meta"][CALL_KEY] == sorted(tool for name, tool, *_ in TOOLS if name == dialect)
