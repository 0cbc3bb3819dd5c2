"""One table of calls through MCP by HTTP, by lines, and by REST: the same answer, and the same refusal."""

import contextlib
import io
import json
import re

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.mcp.conftest import agent_of
from tests.step_documents import step
from workflows_app.services.bundled import load_bundled
from workrail_site.mcp.stdio.lines import converse
from workrail_site.mcp.stdio.serving import ServedDialect
from workrail_site.mcp.stdio.talks import DialectTalk

pytestmark = pytest.mark.django_db(transaction=True)

SAMPLE = "team.sample"
# dialect, tool, arguments
CALLS = [
    ("rail", "list_workflows", {"limit": 2}),
    ("rail", "list_workflows", {"kind": "nothing"}),
    ("rail", "list_workflows", {"colour": "red"}),
    ("rail", "inspect_workflow", {"workflowId": SAMPLE}),
    ("rail", "inspect_workflow", {"workflowId": "team.nowhere"}),
    ("rail", "start_workflow", {"workflowId": SAMPLE, "goal": "Try it"}),
    ("rail", "start_workflow", {}),
    ("rail", "continue_workflow", {"stateToken": "st.v1.nothing"}),
    ("navigation", "list_workflows", {}),
    ("navigation", "get_activities", {}),
    ("navigation", "nav_start", {"workflow_id": SAMPLE}),
    ("navigation", "nav_action", {"state": "st.v1.nothing", "action": "complete_step", "step_id": "one"}),
    ("session", "discover", {}),
    ("session", "start_session", {"workflow_id": SAMPLE, "agent_id": "a"}),
    ("session", "get_workflow", {"session_token": "ses.v1.nothing"}),
    ("orchestrator", "list_workflows", {}),
    ("orchestrator", "start_session", {"workflow_id": SAMPLE, "agent_id": "a"}),
    ("lookup", "workflow_list", {}),
    ("lookup", "workflow_next", {"workflowId": SAMPLE, "completedSteps": []}),
    ("lookup", "workflow_get", {"id": SAMPLE}),
    ("lookup", "workflow_get", {"id": "no-such-workflow"}),
]
_MINTED = re.compile(
    r"\b(?:st|ack|chk|ses|tr)\.v1\.[a-z0-9.]+|\b(?:sess|run|node|ckpt|gap)_[a-z0-9]{20,}|sha256:[0-9a-f]{64}"
)


def plain(value):
    """Without what each call mints for itself."""
    return json.loads(_MINTED.sub("…", json.dumps(value)))


def by_lines(key, dialect, calls):
    version = "2024-11-05" if dialect == "lookup" else "2025-11-25"
    lines = [{"method": "initialize", "params": {"protocolVersion": version, "capabilities": {}}}]
    lines += [{"method": "tools/call", "params": {"name": tool, "arguments": given}} for tool, given in calls]
    text = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": number, **line}).encode() + b"\n" for number, line in enumerate(lines)
    )
    sink = io.BytesIO()
    with contextlib.closing(ServedDialect(dialect, key=key, text_only=False)) as dialect_here:
        talk = DialectTalk(dialect, load=lambda: dialect_here)
        converse(source=io.BytesIO(text), sink=sink, talk=talk, max_bytes=1_000_000)
    return [json.loads(each) for each in sink.getvalue().splitlines()][1:]


def by_rest(wire, dialect, tool, given):
    return wire.post(json.dumps(given).encode(), path=f"/api/v1/dialects/{dialect}/tools/{tool}")


def told(message):
    """The value of an answer, or the refusal, of either form that MCP has for it."""
    if "error" in message:
        return message["error"]
    return message["result"]["structuredContent"]


@pytest.fixture
def wire(served, desk):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    run_cast.published(desk, step("one", notesOptional=True))
    return agent_of(served, desk.owner)


@pytest.mark.parametrize("dialect", ["rail", "navigation", "session", "orchestrator", "lookup"])
def test_every_door_gives_one_answer(wire, dialect):
    calls = [(tool, given) for name, tool, given in CALLS if name == dialect]

    for (tool, given), line in zip(calls, by_lines(wire.key, dialect, calls), strict=True):
        request = {"name": tool, "arguments": given}
        http = wire.send("tools/call", request, version="2025-06-18", path=f"/mcp/{dialect}").json()
        rest = by_rest(wire, dialect, tool, given)

        assert plain(told(line)) == plain(told(http)), tool
        if rest.status_code == 200:
            assert plain(rest.json()) == plain(told(http)), tool
        elif dialect != "lookup":
            refusal, envelope = rest.json(), told(http)
            assert (refusal["code"], refusal["detail"], refusal["details"], refusal["retry"]) == (
                envelope["code"],
                envelope["message"],
                envelope["details"],
                envelope["retry"],
            )


def test_the_table_has_answers_and_refusals_of_every_dialect():
    assert {name for name, _tool, _given in CALLS} == {"rail", "navigation", "session", "orchestrator", "lookup"}


def test_tools_are_listed_by_rest_with_their_schemas(wire):
    listed = wire.post(b"", path="/api/v1/dialects/rail/tools", verb="GET").json()
    nowhere = by_rest(wire, "rail", "start_workflows", {})
    no_dialect = by_rest(wire, "railway", "start_workflow", {})

    assert "start_workflow" in [tool["name"] for tool in listed["tools"]]
    assert listed["tools"][0]["inputSchema"]["type"] == "object"
    assert (nowhere.status_code, no_dialect.status_code) == (404, 404)
    assert "start_workflow" in nowhere.json()["detail"]
