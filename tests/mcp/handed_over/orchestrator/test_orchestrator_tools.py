"""The tools of the orchestrator dialect, how sessions begin, and where they stand."""

import json
from dataclasses import replace

import pytest

from tests.activity_folders import activity, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import (
    caller,
)
from tests.key_turns import rotate_long_ago
from workrail_site.mcp.toolsets import all_servers

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = {
    "discover": [],
    "list_workflows": [],
    "health_check": [],
    "start_session": ["agent_id", "workflow_id", "parent_session_token", "session_token"],
    "get_workflow_status": ["session_token"],
    "get_workflow": ["session_token", "summary"],
    "next_activity": ["session_token", "activity_id", "transition_condition", "step_manifest", "activity_manifest"],
    "get_activity": ["session_token"],
    "yield_checkpoint": ["session_token", "checkpoint_id"],
    "resume_checkpoint": ["session_token"],
    "present_checkpoint": ["checkpoint_handle", "session_token"],
    "respond_checkpoint": [
        "checkpoint_handle",
        "session_token",
        "option_id",
        "auto_advance",
        "condition_not_met",
    ],
    "get_skills": ["session_token"],
    "get_skill": ["session_token", "step_id"],
    "get_resource": ["session_token", "resource_id"],
    "get_trace": ["session_token", "trace_tokens"],
}
REQUIRED = {
    "start_session": [],
    "get_workflow": ["session_token"],
    "next_activity": ["session_token", "activity_id"],
    "present_checkpoint": [],
    "respond_checkpoint": [],
    "get_skill": ["session_token"],
    "get_trace": ["session_token"],
}


def test_the_dialect_has_exactly_its_tools_with_exactly_their_parameters():
    """agent_id may be left out, as in the original's code: agents forget it."""
    tools = {tool.name: tool.schema for tool in all_servers()["orchestrator"].tools()}

    assert {name: list(schema["properties"]) for name, schema in tools.items()} == NAMES
    for name, schema in tools.items():
        assert schema.get("required", []) == REQUIRED.get(name, NAMES[name]), name
    assert tools["get_workflow"]["properties"]["summary"]["default"] is True
    assert tools["start_session"]["properties"]["agent_id"]["default"] == "orchestrator"


# Without a session


@pytest.mark.usefixtures("library")
def test_discover_tells_name_version_and_how_to_begin(call):
    name, version, blank, *procedure = call.text("discover").splitlines()

    assert (name, version, blank) == ("server: workrail-orchestrator", "version: 1", "")
    for tool in ("list_workflows", "start_session", "next_activity", "get_activity", "yield_checkpoint"):
        assert tool in "\n".join(procedure)


@pytest.mark.usefixtures("library")
def test_workflows_are_listed_with_the_tags_that_goals_are_matched_with(call):
    listed = {each["id"]: each for each in json.loads(call.text("list_workflows"))}

    assert listed["team.plan"] == {"id": "team.plan", "title": "Plan", "version": "1.0.0", "tags": ["planning"]}
    assert {"work-package", "work-packages", "wr.code-review"} <= set(listed)


def test_health_tells_the_version_the_number_of_workflows_and_the_uptime(call):
    told = call("health_check")

    assert list(told) == ["status", "server", "version", "workflows_available", "uptime_seconds"]
    assert told["workflows_available"] == 1


@pytest.mark.parametrize("tool", ["discover", "list_workflows", "health_check"])
def test_what_needs_no_session_says_nothing_of_one(call, tool):
    answered = call.raw(tool)

    assert not answered.get("isError")
    assert "_meta" not in answered


# Sessions


def test_a_session_begins_with_its_workflow_and_a_token(call):
    told = call("start_session", agent_id="lead", workflow_id="team.plan")

    assert told["workflow"] == {
        "id": "team.plan",
        "version": "1.0.0",
        "title": "Plan",
        "description": "Plans and builds.",
    }
    assert not {"inherited", "adopted", "recovered", "warning"} & set(told)


@pytest.mark.usefixtures("library")
def test_a_session_without_a_workflow_is_one_of_meta(call):
    assert call("start_session", agent_id="lead")["workflow"]["id"] == "meta"


def test_agents_are_told_apart_in_the_trace_and_the_first_is_the_orchestrator(call, drafting):
    worker = call("start_session", agent_id="worker-1", session_token=drafting)["session_token"]
    call.text("get_activity", session_token=worker)

    events = call("get_trace", session_token=drafting)["events"]

    assert {event["name"]: event["aid"] for event in events} == {
        "start_session": "worker-1",
        "next_activity": "orchestrator",
        "get_activity": "worker-1",
    }


def test_a_session_is_inherited_with_its_place_and_its_workflow(call, drafting):
    told = call("start_session", agent_id="worker-1", session_token=drafting)

    assert told["inherited"] is True
    assert told["workflow"]["id"] == "team.plan"
    assert told["current_activity"] == "draft"


def test_a_worker_that_joins_at_an_open_checkpoint_is_blocked_as_everybody_is(call, yielded):
    told = call("start_session", agent_id="worker-2", session_token=yielded)

    assert told["pending_checkpoints"] == ["sure"]
    assert call.refused("get_activity", session_token=told["session_token"])["code"] == "CHECKPOINT_OPEN"


def test_another_workflow_beside_a_token_is_passed_over_and_said(call, token):
    told = call("start_session", workflow_id="team.other", session_token=token)

    assert told["workflow"]["id"] == "team.plan"
    assert "team.plan" in told["warning"]


def test_a_token_of_a_retired_key_is_adopted_with_the_state_of_its_session(call, drafting):
    """Every server trusts the same keys, so a restart alone retires nothing."""
    rotate_long_ago(2)

    result = call.raw("start_session", session_token=drafting)

    told = result["structuredContent"]
    assert told["adopted"] is True
    assert told["current_activity"] == "draft"
    assert told["warning"] in result["_meta"]["validation"]["warnings"]
    assert told["session_token"] != drafting


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("lost", ["not a token", "eyJ3ZiI6ICJ0ZWFtLnBsYW4ifQ.0000"])
def test_what_is_no_token_is_recovered_as_a_fresh_session(call, lost):
    told = call("start_session", session_token=lost, workflow_id="team.plan")

    assert told["recovered"] is True
    assert "fresh session" in told["warning"]
    assert call("get_workflow_status", session_token=told["session_token"])["current_activity"] == "none"


def test_that_a_token_was_adopted_or_recovered_stands_in_the_trace(call, token):
    lost = call("start_session", session_token="lost", workflow_id="team.plan")

    (event,) = call("get_trace", session_token=lost["session_token"])["events"]

    assert event["vw"] == [lost["warning"]]


def test_a_forged_token_opens_no_session_that_exists(call, drafting):
    """In the original an unsigned payload became a valid token of whatever it said."""
    forged = drafting[:-1] + ("2" if drafting[-1] != "2" else "3")

    told = call("start_session", session_token=forged, workflow_id="team.plan")

    assert told["recovered"] is True
    assert call("get_workflow_status", session_token=told["session_token"])["current_activity"] == "none"


def test_the_session_of_another_team_is_the_same_as_none(desk, drafting):
    stranger = caller("orchestrator", desk.stranger)

    assert stranger.refused("get_activity", session_token=drafting)["code"] == "TOKEN_UNKNOWN_NODE"


def test_a_token_with_a_changed_character_is_refused(call, drafting):
    forged = drafting[:20] + ("2" if drafting[20] != "2" else "3") + drafting[21:]

    assert call.refused("get_activity", session_token=forged)["code"] == "TOKEN_BAD_SIGNATURE"


@pytest.mark.parametrize(
    "tool",
    sorted(
        set(NAMES)
        - {"discover", "list_workflows", "health_check", "start_session", "present_checkpoint", "respond_checkpoint"}
    ),
)
def test_every_other_tool_asks_for_a_token(call, tool):
    arguments = {name: "x" for name in REQUIRED.get(tool, NAMES[tool]) if name != "session_token"}

    assert call.refused(tool, **arguments)["details"]["validationErrors"][0]["path"] == "session_token"


def test_a_child_tells_its_parent_and_the_parent_its_child(desk, call, drafting):
    publish_folder(desk, child_files(), "team.child")

    child = call("start_session", agent_id="lead", workflow_id="team.child", parent_session_token=drafting)

    told = call("get_workflow_status", session_token=child["session_token"])
    parent = call("get_workflow_status", session_token=drafting)
    assert told["parent"] == {
        "session_id": parent["session_id"],
        "workflow_id": "team.plan",
        "activity": "draft",
        "version": "1.0.0",
    }


def test_the_trace_of_a_child_names_its_parent_and_that_of_the_parent_its_child(desk, call, drafting):
    publish_folder(desk, child_files(), "team.child")
    child = call("start_session", agent_id="lead", workflow_id="team.child", parent_session_token=drafting)

    of_child = call("get_trace", session_token=child["session_token"])
    of_parent = call("get_trace", session_token=call("get_workflow_status", session_token=drafting)["session_token"])

    status = call("get_workflow_status", session_token=child["session_token"])
    assert of_child["parent"] == status["parent"]
    assert [begun["session_id"] for begun in of_parent["children"]] == [status["session_id"]]
    assert "children" not in of_child


def test_a_parent_that_does_not_exist_is_refused_and_not_passed_over(call, token):
    forged = token[:20] + ("2" if token[20] != "2" else "3") + token[21:]

    refusal = call.refused("start_session", workflow_id="team.plan", parent_session_token=forged)

    assert refusal["code"] == "TOKEN_BAD_SIGNATURE"


def child_files():
    about = workflow(id="team.child", initialActivity="only")
    return folder(activity("only", steps=[step("do")]), about=about)


# Status


def test_the_status_of_a_session_is_active_blocked_and_completed(call, token, drafting, clock):
    """The original never said completed."""
    fresh = call("start_session", workflow_id="team.plan")["session_token"]
    told = call("get_workflow_status", session_token=fresh)
    assert (told["status"], told["current_activity"], told["completed_activities"]) == ("active", "none", [])

    handle = call("yield_checkpoint", session_token=drafting, checkpoint_id="sure")["checkpoint_handle"]
    told = call("get_workflow_status", session_token=drafting)
    assert (told["status"], told["current_activity"]) == ("blocked", "draft")
    assert told["workflow"] == {"id": "team.plan", "version": "1.0.0", "title": "Plan"}

    clock.shift(3)
    after = call("respond_checkpoint", checkpoint_handle=handle, option_id="yes")["session_token"]
    after = call("next_activity", session_token=after, activity_id="build")["session_token"]
    after = call("next_activity", session_token=after, activity_id="workflow-end")["session_token"]
    told = call("get_workflow_status", session_token=after)
    assert told["status"] == "completed"
    assert told["completed_activities"] == ["draft", "build"]


def test_the_last_checkpoint_is_told_also_when_it_was_answered_by_its_handle(call, approved):
    """The original knew only of answers by session_token."""
    told = call("get_workflow_status", session_token=approved)["last_checkpoint"]

    assert told["activity_id"] == "draft"
    assert told["checkpoint_id"] == "sure"
    assert told["timestamp"]


def test_the_status_is_told_while_a_checkpoint_is_open(call, yielded):
    told = call("get_workflow_status", session_token=yielded)

    assert told["session_token"] == yielded
    assert call("present_checkpoint", session_token=told["session_token"])["id"] == "sure"


def test_completed_activities_do_not_hang_on_what_this_process_remembers(desk, call, approved):
    """The original derived them from a trace in memory."""
    moved = call("next_activity", session_token=approved, activity_id="build")["session_token"]

    fresh = caller("orchestrator", replace(desk.agent, id=desk.agent.id))
    assert fresh("get_workflow_status", session_token=moved)["completed_activities"] == ["draft"]
