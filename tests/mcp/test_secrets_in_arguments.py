"""A key in an argument: one of ours is refused with a word of what to do, one of others is kept nowhere in clear."""

import time

import pytest
from django.test import Client

from tests.cast import Api, issue
from tests.run_cast import plain_steps, published

OWN = [
    "wr_key_" + "abcdefgh" * 5,
    "wr_hook_" + "abcdefgh" * 5,
    "wr_link_" + "abcdefgh" * 5,
    "wr_pat_" + "abcdefgh" * 5,
    "wr_oat_" + "abcdefgh" * 5,
    # Broken by something, in the mark, behind it and in what follows.
    "wr_pat_" + "abcd\u0301" + "abcdef" * 6,
    "wr_k<wbr>ey_" + "abcdefgh" * 5,
    "wr_hook_ " + "abcdefgh" * 5,
]
OTHERS = [
    "ghp_0123456789abcdefABCDEF",
    "sk-ant-api03-0123456789abcdef",
    "AKIA0123456789ABCDEF",
    "xoxb-0123456789-abcdef",
]


def everything_kept():
    """Every text that stands in the database, of every table."""
    from django.apps import apps
    from django.db import connection

    said = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(f"SELECT row_to_json(t)::text FROM {connection.ops.quote_name(model._meta.db_table)} t")
            for (row,) in cursor.fetchall():
                said.append(row)
    return "\n".join(said)


def hexed(text):
    """As `bytea` is printed."""
    return text.encode().hex()


@pytest.mark.parametrize("key", OWN)
@pytest.mark.parametrize(
    ("path", "tool", "arguments"),
    [
        ("/mcp/rail", "start_workflow", lambda key: {"workflowId": "team.sample", "goal": f"Use {key}"}),
        ("/mcp/rail", "start_workflow", lambda key: {"workflowId": "team.sample", "context": {"deep": [{"k": key}]}}),
        ("/mcp/session", "start_session", lambda key: {"workflow_id": "team.sample", "agent_id": key}),
        ("/mcp/orchestrator", "start_session", lambda key: {"workflow_id": "team.sample", key: 1}),
    ],
)
def test_a_key_of_ours_in_an_argument_is_refused_with_what_to_do(wire, desk, key, path, tool, arguments):
    published(desk, *plain_steps(1))

    response = wire.send("tools/call", {"name": tool, "arguments": arguments(key)}, path=path)

    result = response.json()["result"]
    assert result["isError"] is True
    assert result["structuredContent"]["code"] == "VALIDATION_ERROR"
    assert "revoke" in result["structuredContent"]["details"]["suggestion"]
    assert key not in response.text


def test_no_key_that_an_agent_sends_is_kept_in_clear(wire, desk, served):
    from traces_app.models import TraceEvent

    published(desk, *plain_steps(2))
    words = " ".join(OTHERS)
    begun = wire.value(
        "start_workflow", workflowId="team.sample", goal=f"Goal {words}", context={"of": {"the": [words]}}
    )
    tokens = {"stateToken": begun["stateToken"], "ackToken": begun["ackToken"]}
    answer = wire(
        "continue_workflow", **tokens, output={"notesMarkdown": f"Found {words} in the files, and left them."}
    )
    wire.send(
        "tools/call",
        {"name": "start_session", "arguments": {"workflow_id": "team.sample", "agent_id": OTHERS[0]}},
        path="/mcp/session",
    )
    wire.send(
        "tools/call",
        {"name": "start_session", "arguments": {"workflow_id": "team.sample", "agent_id": OWN[0]}},
        path="/mcp/session",
    )
    rest = Api(Client(), Authorization=f"Bearer {issue(desk.owner).text}")
    told = rest.post("/api/v1/runs", {"workflowId": "team.sample", "goal": f"Goal {words}"})
    for _ in range(200):
        if TraceEvent.objects.filter(tool="start_session").count() >= 2:
            break
        time.sleep(0.05)
    kept = everything_kept()

    assert answer.value["_redacted"] == ["output.notesMarkdown"]
    assert "[REDACTED: output.notesMarkdown" in answer.text
    assert (told.status_code, told["Workrail-Redacted"]) == (201, "goal")
    assert "[redacted]" in kept
    for secret in (*OTHERS, OWN[0]):
        assert secret not in kept
        assert hexed(secret) not in kept
        assert secret not in served.logged()


# Put together here, so that no scanner takes this file for a leak.
STRANGE = [
    "AIza" + "Sy0123456789abcdefghijklmnopqrstuv",
    "glpat-" + "0123456789abcdefghij",
    "npm_" + "0123456789abcdefghijklmnopqrstuvwxyz",
    "hf_" + "a1b2c3d4e5f6g7h8i9j0k1l2m3n4",
    "sk_live_" + "0123456789abcdefghijkl",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "https://hooks.slack.com/services/" + "T0123/B0123/abcdefghijkl",
]
PRIVATE = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIabc0123\n-----END EC PRIVATE KEY-----"


def tools():
    from workrail_site.mcp.toolsets import all_servers

    return [(dialect, tool) for dialect, server in all_servers().items() for tool in server.tools()]


@pytest.mark.django_db(transaction=True)
def test_no_argument_of_any_tool_keeps_a_key_in_clear(redis_client):
    from mcp.shared.exceptions import MCPError

    from tests.run_cast import make_desk
    from traces_app.models import TraceEvent
    from traces_app.services.recording import flush_calls
    from workrail_site.mcp.calling import Caller, calls_as

    desk = make_desk()
    published(desk, *plain_steps(2))
    calls_as(Caller(actor=desk.agent))
    words = " and ".join([*STRANGE, PRIVATE])
    known = {"workflowId": "team.sample", "workflow_id": "team.sample"}
    for _, tool in tools():
        names = tool.schema["properties"]
        needed = {name: value for name, value in known.items() if name in names}
        for name in names:
            for value in (words, [words], {"deep": [{"k": words, words: 1}]}, {words: words}):
                try:
                    answer = tool.call({**needed, name: value}).get("structuredContent", {})
                except MCPError as error:
                    answer = error.error.data or {}
                assert answer.get("code") != "INTERNAL_ERROR", (tool.name, name, answer)
    flush_calls()

    kept = everything_kept()
    assert TraceEvent.objects.count() > 100
    for secret in (*STRANGE, "MHcCAQEEIabc0123"):
        assert secret not in kept, kept[max(0, kept.index(secret) - 400) : kept.index(secret) + 50]
        assert hexed(secret) not in kept
