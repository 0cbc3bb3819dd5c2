"""The trace and the timeline by REST, and what a tool call over MCP leaves in them."""

import pytest
from django.utils import timezone

from teams_app.engine.actors import Door, Scope
from teams_app.engine.ids import Prefix, from_text, to_text
from tests.cast import issue
from tests.run_cast import begin, make_desk, notes_free, run_id, session_id
from tests.trace_calls import at_ms, made, rows, write
from tests.workflow_cast import NOW
from traces_app.services import recording
from workrail_site.mcp.calling import Caller, TracedCall, calls_as

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk():
    return make_desk()


@pytest.fixture
def reply(desk):
    return begin(desk, notes_free("plan"), notes_free("work"))


@pytest.fixture
def agent(desk, as_key):
    """REST by a key of the desk's team."""
    return as_key(issue(desk.owner, now=NOW).text)


@pytest.fixture
def stranger(desk, as_key):
    from dataclasses import replace

    owner = replace(desk.owner, team_id=desk.stranger.team_id)
    return as_key(issue(owner, now=NOW).text)


def on_run(desk, reply, tool="continue_workflow", **fields):
    return made(desk.agent, tool, arguments={"stateToken": reply["stateToken"]}, **fields)


def run_path(reply):
    return f"/api/v1/runs/{reply['session']['runId']}"


def session_path(reply):
    return f"/api/v1/sessions/{reply['session']['sessionId']}"


def test_a_call_is_told_whole(desk, reply, agent):
    write(on_run(desk, reply, error_code="NOT_FOUND", request_id="req-1", ended_ns=at_ms(NOW, 250)))

    (told,) = agent.get(f"{run_path(reply)}/trace").json()["items"]

    assert told == {
        "id": to_text(Prefix.TRACE, rows()[0].pk),
        "session": reply["session"]["sessionId"],
        "run": reply["session"]["runId"],
        "workflowId": "team.sample",
        "dialect": "rail",
        "tool": "continue_workflow",
        "actor": desk.agent.id,
        "actorName": desk.agent.name,
        "agentId": "",
        "activity": "",
        "step": "plan",
        "startedAt": "2026-11-18T12:00:00.248500Z",
        "durationUs": 1500,
        "outcome": "refused",
        "errorCode": "NOT_FOUND",
        "warnings": [],
        "arguments": {"stateToken": "[redacted]"},
        "requestId": "req-1",
    }


@pytest.mark.parametrize("path_of", [run_path, session_path])
def test_a_trace_is_paged_by_cursors(desk, reply, agent, path_of):
    write(*(on_run(desk, reply, f"tool-{number}") for number in range(5)))

    seen, query = [], "?limit=2"
    while query:
        told = agent.get(f"{path_of(reply)}/trace{query}").json()
        seen += [item["tool"] for item in told["items"]]
        query = f"?limit=2&cursor={told['nextCursor']}" if told["nextCursor"] else ""

    assert seen == [f"tool-{number}" for number in range(5)]


@pytest.mark.parametrize("path_of", [run_path, session_path])
def test_a_timeline_is_told_by_lanes(desk, reply, agent, path_of):
    write(on_run(desk, reply, ended_ns=at_ms(NOW, 10)), on_run(desk, reply, ended_ns=at_ms(NOW, 90_000)))

    told = agent.get(f"{path_of(reply)}/timeline").json()

    (lane,) = told["lanes"]
    assert (told["calls"], told["isCut"], lane["run"]) == (2, False, reply["session"]["runId"])
    assert [(span["label"], span["calls"]) for span in lane["spans"]] == [("plan", 2)]
    assert len(lane["gaps"]) == 1


@pytest.mark.parametrize("path_of", [run_path, session_path])
@pytest.mark.parametrize("what", ["trace", "timeline"])
def test_what_another_team_did_is_not_found(desk, reply, stranger, path_of, what):
    write(on_run(desk, reply))

    refused = stranger.get(f"{path_of(reply)}/{what}")

    assert (refused.status_code, refused.json()["code"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize("path", ["runs/run_x/trace", "runs/nonsense/timeline", "sessions/run_abc/trace"])
def test_what_is_no_id_is_not_found(agent, path):
    assert agent.get(f"/api/v1/{path}").status_code == 404


def test_a_key_without_the_scope_is_refused(desk, reply, as_key):
    key = issue(desk.owner, scopes=frozenset({Scope.RUNS_READ}), now=NOW)

    refused = as_key(key.text).get(f"{run_path(reply)}/trace")

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")


# What the door of MCP hands over


@pytest.fixture
def tools(desk):
    """The rail's tools, called as the door calls them; what the process holds of earlier calls is written first."""
    from workrail_site.mcp.toolsets import all_servers

    recording.flush_calls()
    calls_as(Caller(actor=desk.agent))
    return {tool.name: tool for tool in all_servers()["rail"].tools()}


def traced(desk):
    recording.flush_calls()
    return [row for row in rows() if row.team_id == desk.team_id]


def test_a_tool_call_leaves_one_row(desk, tools, reply):
    before = timezone.now()

    tools["continue_workflow"].call({"stateToken": reply["stateToken"], "ackToken": reply["ackToken"]})

    (row,) = traced(desk)
    assert (row.dialect, row.tool, row.outcome) == ("rail", "continue_workflow", "ok")
    assert (row.session_id, row.run_id, row.step_key) == (session_id(reply), run_id(reply), "plan")
    assert (row.actor_id, row.actor_name) == (desk.agent.id, desk.agent.name)
    assert before <= row.started_at <= timezone.now()
    assert row.duration_us > 0


def test_a_refused_tool_call_leaves_its_code(desk, tools):
    tools["continue_workflow"].call({"stateToken": "nonsense"})

    (row,) = traced(desk)
    assert (row.outcome, row.error_code) == ("refused", "TOKEN_INVALID_FORMAT")


def test_the_start_of_a_run_is_in_its_trace(desk, tools, agent):
    begin(desk, notes_free("plan"), workflow_id="team.other")
    told = tools["start_workflow"].call({"workflowId": "team.other", "goal": "Try it"})

    run = told["structuredContent"]["session"]["runId"]
    (item,) = agent.get(f"/api/v1/runs/{run}/trace").json()["items"]
    assert (item["tool"], item["workflowId"]) == ("start_workflow", "team.other")
    assert from_text(Prefix.RUN, run)


def test_a_call_of_nobody_or_of_no_dialect_leaves_no_trace(desk):
    recording.flush_calls()
    calls_as(Caller(actor=desk.agent))

    TracedCall(dialect="echo", tool="say", given={}).ended(reply={})

    assert traced(desk) == []
    assert desk.agent.door is Door.MCP
