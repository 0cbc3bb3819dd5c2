"""One table of requests through REST and through MCP: read the same, answered the same, refused the same."""

import json
import re

import pytest

from tests.handover_play import Caller
from tests.run_cast import plain_steps, published
from tests.run_doors import V1, open_doors

pytestmark = pytest.mark.django_db(transaction=True)

WORKFLOW = "team.sample"
NOTES = {"notesMarkdown": "Did what the step says."}
# By the tool of the rail, where REST takes the same, and what is sent. Tokens are those of a run that has begun.
ADDRESSES = {
    "start_workflow": "runs",
    "continue_workflow": "runs/continue",
    "checkpoint_workflow": "runs/checkpoint",
    "resume_session": "sessions/resume",
    "start_session": "sessions",
}
CASES = [
    ("start_workflow", {"workflowId": WORKFLOW, "goal": " Try it "}),
    ("start_workflow", {"workflowId": f" {WORKFLOW} ", "context": {"files": ["one"]}, "title": "Named"}),
    ("start_workflow", {"workflowId": WORKFLOW, "preferences": {"preset": "full_auto_never_stop"}}),
    ("start_workflow", {"workflowId": WORKFLOW, "preferences": {"preset": "guided", "autonomy": "guided"}}),
    ("start_workflow", {"workflowId": WORKFLOW, "preferences": {"preset": "boldly"}}),
    ("start_workflow", {"workflowId": WORKFLOW, "observations": {"gitBranch": "main", "ticket": "T-1"}}),
    ("start_workflow", {"workflowId": WORKFLOW, "observations": {"branch": "main"}}),
    ("start_workflow", {"workflowId": WORKFLOW, "sessionId": "no id"}),
    ("start_workflow", {"workflowId": WORKFLOW, "goal": "x" * 3000}),
    ("start_workflow", {"workflowId": "team.nowhere"}),
    ("start_workflow", {"workflowId": WORKFLOW, "colour": "red"}),
    ("start_workflow", {}),
    ("continue_workflow", {"stateToken": "@state"}),
    ("continue_workflow", {"stateToken": "@state", "intent": "rehydrate"}),
    ("continue_workflow", {"stateToken": "@state", "intent": "advance"}),
    ("continue_workflow", {"stateToken": "@state", "output": NOTES}),
    ("continue_workflow", {"stateToken": "@state", "output": NOTES, "intent": "rehydrate"}),
    ("continue_workflow", {"stateToken": "@state", "context": {"a": 1}, "preferences": {"preset": "guided"}}),
    ("continue_workflow", {"stateToken": "@state", "ackToken": "@ack", "intent": "rehydrate"}),
    ("continue_workflow", {"stateToken": "@state", "ackToken": "@ack", "output": {"artifacts": [{"body": 1}]}}),
    ("continue_workflow", {"stateToken": "@state", "ackToken": "@ack", "output": {"artifacts": [{"kind": "own.a"}] * 21}}),
    ("continue_workflow", {"stateToken": "@state", "ackToken": "@ack", "output": {"notes": "Misspelt."}}),
    ("continue_workflow", {"stateToken": "@state", "ackToken": "ack.v1.nothing"}),
    ("continue_workflow", {"stateToken": "st.v1.nothing"}),
    ("continue_workflow", {"stateToken": "@state", "ackToken": "@ack", "output": NOTES, "context": {"a": 1}}),
    ("checkpoint_workflow", {"stateToken": "@state", "checkpointToken": "@checkpoint", "output": NOTES}),
    ("checkpoint_workflow", {"stateToken": "@state", "checkpointToken": "@checkpoint", "output": {}}),
    ("checkpoint_workflow", {"stateToken": "@state", "checkpointToken": "@ack", "output": NOTES}),
    ("checkpoint_workflow", {"sessionToken": "@session", "output": NOTES}),
    ("checkpoint_workflow", {"sessionToken": "@session", "output": {}}),
    ("checkpoint_workflow", {"sessionToken": "@session", "output": {"artifacts": [{"body": 1}]}}),
    ("checkpoint_workflow", {"sessionToken": "@state", "output": NOTES}),
    ("resume_session", {"query": "what was tried"}),
    ("resume_session", {"sessionId": "no id", "workflowId": WORKFLOW}),
    ("resume_session", {"runId": "no id"}),
    ("resume_session", {"colour": "red"}),
    ("start_session", {"title": "Notes"}),
    ("start_session", {"title": ""}),
    ("start_session", {"title": "Notes", "observations": {"gitBranch": "x" * 600}}),
]  # fmt: skip
_MINTED = re.compile(
    r"\b(?:st|ack|chk|ses)\.v1\.[a-z0-9]+|\b(?:sess|run|node|gap)_[a-z0-9]{20,}|\"[a-zA-Z]*Ms\":[0-9]+"
)


@pytest.fixture
def doors():
    doors = open_doors()
    published(doors.desk, *plain_steps(3))
    return doors


def address_of(tool, given):
    """Notes of a session without a run have an address of their own."""
    return "sessions/checkpoint" if "sessionToken" in given else ADDRESSES[tool]


def filled(doors, given):
    """With the tokens of a run of its own, so that no door is answered what the other one recorded."""
    if "@" not in json.dumps(given):
        return given
    begun = doors.agent.post(f"{V1}/runs", {"workflowId": WORKFLOW, "goal": "Try it"}).json()
    if "@session" in given.values():
        noted = doors.agent.post(f"{V1}/sessions", {"title": "Notes"}).json()
        return given | {"sessionToken": noted["sessionToken"]}
    tokens = {"@state": begun["stateToken"], "@ack": begun["ackToken"], "@checkpoint": begun["checkpointToken"]}
    return {name: tokens.get(value, value) if isinstance(value, str) else value for name, value in given.items()}


def plain(value):
    return json.loads(_MINTED.sub("…", json.dumps(value)))


def by_rest(doors, tool, given):
    answer = doors.agent.post(f"{V1}/{address_of(tool, given)}", given)
    body = answer.json()
    return _refused(body) if answer.status_code >= 400 else plain(body)


def by_mcp(agent, tool, given):
    answer = agent.raw(tool, **given)
    body = answer.get("structuredContent") or json.loads(answer["content"][0]["text"])
    return _refused(body) if answer.get("isError") else plain(body)


def _refused(body):
    """The code, and the places that are named."""
    errors = (body.get("details") or {}).get("validationErrors", [])
    return body["code"], sorted({error["path"] for error in errors})


@pytest.mark.parametrize(("tool", "given"), CASES, ids=[f"{number}-{tool}" for number, (tool, _) in enumerate(CASES)])
def test_a_request_means_the_same_through_both_doors(doors, tool, given):
    agent = Caller("rail", doors.desk.agent)

    assert by_mcp(agent, tool, filled(doors, given)) == by_rest(doors, tool, filled(doors, given))


def test_a_step_is_read_again_alike_by_all_three_ways(doors):
    agent = Caller("rail", doors.desk.agent)
    given = filled(doors, {"stateToken": "@state"})

    answers = [plain(doors.agent.post(f"{V1}/runs/{way}", given).json()) for way in ("rehydrate", "continue")]

    assert answers == [by_mcp(agent, "continue_workflow", given)] * 2


def test_every_tool_that_is_not_of_the_library_is_in_the_table():
    """Workflows are read by REST at addresses with answers of their own."""
    from workrail_site.mcp.toolsets import all_servers

    tools = {tool.name for tool in all_servers()["rail"].tools()}

    assert tools - {"list_workflows", "inspect_workflow"} == set(ADDRESSES) == {tool for tool, _ in CASES}
