"""The tools of the session dialect, how sessions begin, and what is told of definitions."""

import json

import pytest

from tests import run_cast
from tests.activity_folders import activity, equals, folder, step, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import (
    caller,
    text_of,
)
from workrail_site.mcp.answers import MAX_REPLY_BYTES
from workrail_site.mcp.toolsets import all_servers

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = {
    "discover": [],
    "list_workflows": [],
    "health_check": [],
    "start_session": ["workflow_id", "session_token", "agent_id"],
    "get_workflow": ["session_token", "summary"],
    "next_activity": ["session_token", "activity_id", "transition_condition", "step_manifest", "activity_manifest"],
    "get_checkpoint": ["session_token", "activity_id", "checkpoint_id"],
    "respond_checkpoint": ["session_token", "checkpoint_id", "option_id", "auto_advance", "condition_not_met"],
    "get_skills": ["session_token"],
    "get_skill": ["session_token", "step_id"],
    "get_resource": ["session_token", "resource_index"],
    "get_trace": ["session_token", "trace_tokens"],
}
REQUIRED = {
    "start_session": ["workflow_id"],
    "get_workflow": ["session_token"],
    "next_activity": ["session_token", "activity_id"],
    "respond_checkpoint": ["session_token", "checkpoint_id"],
    "get_trace": ["session_token"],
}


def test_the_dialect_has_exactly_its_tools_with_exactly_their_parameters():
    tools = {tool.name: tool.schema for tool in all_servers()["session"].tools()}

    assert {name: list(schema["properties"]) for name, schema in tools.items()} == NAMES
    for name, schema in tools.items():
        assert schema.get("required", []) == REQUIRED.get(name, NAMES[name]), name
    assert tools["get_workflow"]["properties"]["summary"]["default"] is True


# Without a session


@pytest.mark.usefixtures("library")
def test_discover_tells_the_server_the_workflows_and_how_to_begin(call):
    told = call("discover")

    assert list(told) == ["server", "version", "available_workflows", "discovery"]
    assert {"id": "team.plan", "title": "Plan", "version": "1.0.0"} in told["available_workflows"]
    for tool in (
        "list_workflows",
        "start_session",
        "get_skills",
        "get_workflow",
        "next_activity",
        "respond_checkpoint",
    ):
        assert tool in told["discovery"]


@pytest.mark.usefixtures("library")
def test_every_workflow_is_listed_with_its_metadata(call):
    listed = {each["id"]: each for each in json.loads(call.text("list_workflows"))}

    assert {"team.plan", "work-package", "work-packages", "wr.code-review"} <= set(listed)
    assert listed["team.plan"] == {
        "id": "team.plan",
        "title": "Plan",
        "version": "1.0.0",
        "description": "Plans and builds.",
        "tags": ["planning"],
    }


@pytest.mark.usefixtures("library")
def test_meta_is_the_goal_of_nobody_and_not_listed(call):
    assert "meta" not in {each["id"] for each in call("list_workflows")["workflows"]}
    assert "meta" not in {each["id"] for each in call("discover")["available_workflows"]}


def test_health_tells_the_version_the_number_of_workflows_and_the_uptime(call):
    told = call("health_check")

    assert list(told) == ["status", "server", "version", "workflows_available", "uptime_seconds"]
    assert told["workflows_available"] == len(call("list_workflows")["workflows"])


@pytest.mark.parametrize("tool", ["discover", "list_workflows", "health_check"])
def test_what_needs_no_session_says_nothing_of_one(call, tool):
    answered = call.raw(tool)

    assert not answered.get("isError")
    assert "_meta" not in answered


def test_a_list_too_long_for_a_reply_loses_descriptions_and_no_workflow():
    from types import SimpleNamespace

    from workrail_site.dialects.session.material import entries_of

    many = [
        SimpleNamespace(workflow_id=f"team.w{n}", title="T" * 40, version="1.0.0", description="D" * 300, tags=("a",))
        for n in range(300)
    ]

    told = entries_of(many)

    assert [each["id"] for each in told] == [each.workflow_id for each in many]
    assert len(json.dumps(told)) <= MAX_REPLY_BYTES


# Sessions


def test_a_session_begins_with_its_workflow_and_a_token(call):
    result = call.raw("start_session", workflow_id="team.plan")

    told = result["structuredContent"]
    assert told["workflow"] == {
        "id": "team.plan",
        "version": "1.0.0",
        "title": "Plan",
        "description": "Plans and builds.",
    }
    assert told["session_token"].startswith("ses.v1.")
    assert "inherited" not in told
    assert result["_meta"]["session_token"] == told["session_token"]


def test_a_token_stands_on_a_line_of_its_own_and_is_short(call):
    lines = call.text("start_session", workflow_id="team.plan").splitlines()

    (line,) = [line.strip() for line in lines if "ses.v1." in line]
    assert line.startswith('"session_token": "ses.v1.')
    assert len(line.split('"')[3]) <= 64


def test_a_session_is_inherited_with_its_place_and_what_is_pending(call, drafting):
    told = call("start_session", workflow_id="team.plan", session_token=drafting["session_token"], agent_id="worker-1")

    assert told["inherited"] is True
    assert told["current_activity"] == "draft"
    assert told["pending_checkpoints"] == ["sure", "soft", "odd"]
    refusal = call.refused("next_activity", session_token=told["session_token"], activity_id="build")
    assert refusal["code"] == "CHECKPOINT_OPEN"


def test_agents_of_one_session_are_told_apart_in_its_trace(call, drafting):
    joined = call(
        "start_session", workflow_id="team.plan", session_token=drafting["session_token"], agent_id="worker-1"
    )
    call("get_skills", session_token=joined["session_token"])

    events = call("get_trace", session_token=drafting["session_token"])["events"]

    assert [event["aid"] for event in events if event["name"] == "get_skills"] == ["worker-1"]
    assert [event["aid"] for event in events if event["name"] == "next_activity"] == [""]


def test_who_joins_without_a_name_keeps_the_one_there_is(call, token):
    """The original blanked it."""
    first = call("start_session", workflow_id="team.plan", session_token=token, agent_id="worker-1")
    again = call("start_session", workflow_id="team.plan", session_token=first["session_token"])
    call("get_skills", session_token=again["session_token"])

    events = call("get_trace", session_token=token)["events"]

    assert [event["aid"] for event in events if event["name"] == "get_skills"] == ["worker-1"]


@pytest.mark.usefixtures("library")
def test_a_session_is_not_inherited_under_another_workflow(call, token):
    refusal = call.refused("start_session", workflow_id="work-package", session_token=token)

    assert refusal["code"] == "VALIDATION_ERROR"
    assert "team.plan" in refusal["message"]


def test_a_workflow_that_does_not_exist_is_not_begun(call):
    assert call.refused("start_session", workflow_id="team.none")["code"] == "NOT_FOUND"


@pytest.mark.parametrize("place", [10, 30, -1])
def test_a_token_with_a_changed_character_is_refused(call, token, place):
    forged = list(token)
    forged[place] = "2" if forged[place] != "2" else "3"

    assert call.refused("get_workflow", session_token="".join(forged))["code"] == "TOKEN_BAD_SIGNATURE"


@pytest.mark.parametrize("tool", sorted(set(NAMES) - {"discover", "list_workflows", "health_check", "start_session"}))
def test_every_other_tool_asks_for_a_token(call, tool):
    arguments = {name: "x" for name in REQUIRED.get(tool, NAMES[tool]) if name != "session_token"}

    refusal = call.refused(tool, **arguments)

    assert refusal["details"]["validationErrors"][0]["path"] == "session_token"


def test_the_session_of_another_team_is_the_same_as_none(desk, token):
    stranger = caller("session", desk.stranger)

    assert stranger.refused("get_skills", session_token=token)["code"] == "TOKEN_UNKNOWN_NODE"


def test_a_token_is_read_as_chats_write_it(call, token):
    assert call("get_skills", session_token=f" `{token.upper()}` ")["session_token"] == token


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_workflow", {}),
        ("get_skills", {}),
        ("get_skill", {"step_id": "write"}),
        ("get_resource", {"resource_index": "01"}),
        ("get_trace", {}),
        ("get_checkpoint", {"activity_id": "draft", "checkpoint_id": "sure"}),
    ],
)
def test_every_reply_repeats_the_token_and_the_validation(call, drafting, tool, arguments):
    """In the text as well: some clients keep _meta from their model."""
    result = call.raw(tool, session_token=drafting["session_token"], **arguments)

    token = result["structuredContent"]["session_token"]
    assert result["_meta"]["session_token"] == token
    assert result["_meta"]["validation"] == {"status": "valid", "warnings": []}
    assert token in text_of(result)


# Definitions


def test_a_workflow_is_summarised_by_default(call, token):
    told = call("get_workflow", session_token=token)

    assert list(told) == [
        "id",
        "version",
        "title",
        "description",
        "rules",
        "variables",
        "executionModel",
        "initialActivity",
        "activities",
        "session_token",
    ]
    assert told["rules"] == ["One thing at a time"]
    assert told["executionModel"] == {"roles": [{"id": "planner", "description": "Plans."}]}
    assert told["initialActivity"] == "draft"
    assert told["activities"][0] == {"id": "draft", "name": "Draft", "required": True}


def test_the_whole_definition_is_told_when_it_is_asked_for(call, token):
    told = call("get_workflow", session_token=token, summary=False)

    assert [activity["id"] for activity in told["activities"]] == ["draft", "build", "redo"]
    assert told["activities"][0]["checkpoints"][0]["options"][0]["effect"] == {"setVariable": {"ready": True}}
    assert told["modes"][0]["id"] == "fast"


def test_a_definition_too_long_for_a_reply_is_summarised_and_names_the_next_call(desk, call):
    long = "Read this with care. " * 400
    files = folder(
        *(activity(f"work-{n}", steps=[step("do", description=long)]) for n in range(20)),
        about=workflow(id="team.long", initialActivity="work-0"),
    )
    publish_folder(desk, files, "team.long")
    token = call("start_session", workflow_id="team.long")["session_token"]

    told = call("get_workflow", session_token=token, summary=False)

    assert told["summarized"] is True
    assert told["next_action"]["tool"] == "next_activity"
    assert len(told["activities"]) == 20
    whole = call("next_activity", session_token=token, activity_id="work-0")
    assert whole["steps"][0]["description"] == long


def test_an_activity_too_long_for_a_reply_has_its_steps_shortened_and_each_told_by_its_skill(desk, call):
    long = "Read this with care. " * 300
    steps = [run_cast.notes_free(f"step-{n}", prompt=long) for n in range(16)]
    run_cast.published(desk, *steps, workflow_id="team.steps")
    token = call("start_session", workflow_id="team.steps")["session_token"]

    result = call.raw("next_activity", session_token=token, activity_id="main")

    told = result["structuredContent"]
    assert told["summarized"] is True
    assert told["next_action"]["tool"] == "get_skill"
    assert len(text_of(result).encode()) <= MAX_REPLY_BYTES
    skill = call("get_skill", session_token=told["session_token"], step_id="step-3")["skill"]
    assert skill["instructions"].strip() == long.strip()


def test_an_activity_is_handed_over_whole(call, drafting):
    assert [step["id"] for step in drafting["steps"]] == ["write", "polish", "prove", "ask"]
    assert [step["id"] for step in drafting["loops"][0]["steps"]] == ["inner"]
    assert [checkpoint["id"] for checkpoint in drafting["checkpoints"]] == ["sure", "soft", "odd", "later"]
    assert [transition["to"] for transition in drafting["transitions"]] == ["build", "build", "redo"]
    assert drafting["rules"] == ["Write it down"]
    assert drafting["skills"] == {"primary": "drafting"}
    assert drafting["artifactPrefix"] == "01"


def test_an_activity_without_a_way_out_says_how_the_run_ends(call, cleared):
    """Otherwise nobody ends it: most saved sessions of the original were never told to be done."""
    last = call("next_activity", session_token=cleared, activity_id="redo")

    named = {"session_token": last["session_token"], "activity_id": "end-workflow"}
    assert last["when_done"] == {"tool": "next_activity", "parameters": named}
    ended = call("next_activity", **last["when_done"]["parameters"])
    assert ended["status"] == "completed"


def test_an_activity_that_does_not_exist_is_not_entered(call, token):
    refusal = call.refused("next_activity", session_token=token, activity_id="drafts")

    assert refusal["code"] == "ACTIVITY_NOT_FOUND"
    assert "draft" in refusal["details"]["suggestion"]


def test_an_activity_that_is_left_out_is_passed_over_and_that_is_said(call, drafting, clock):
    clock.shift(3)
    chosen = call("respond_checkpoint", session_token=drafting["session_token"], checkpoint_id="sure", option_id="no")

    told = call("next_activity", session_token=chosen["session_token"], activity_id="build")

    assert told["status"] == "completed"
    assert "'build' is left out of this run" in told["warnings"][-1]


def test_an_activity_that_is_left_out_and_leads_nowhere_is_refused_with_what_follows_it(desk, call):
    about = workflow(
        id="team.modes",
        initialActivity="first",
        variables=[{"name": "fast", "type": "boolean", "defaultValue": True}],
        modes=[{"id": "fast", "name": "Fast", "activationVariable": "fast", "skipActivities": ["slow"]}],
    )
    ways = [{"to": "last", "condition": equals("fast", value=False)}]
    files = folder(*(activity(name, transitions=ways) for name in ("first", "slow")), activity("last"), about=about)
    publish_folder(desk, files, "team.modes")
    token = call("start_session", workflow_id="team.modes")["session_token"]
    token = call("next_activity", session_token=token, activity_id="first")["session_token"]

    refusal = call.refused("next_activity", session_token=token, activity_id="slow")

    assert refusal["code"] == "INVALID_TRANSITION"
    assert refusal["details"]["leadsTo"] == ["last", "end-workflow"]


@pytest.mark.parametrize("end", ["workflow-end", "__terminal__", "end-workflow"])
def test_a_session_ends_under_any_name_of_the_end(call, cleared, end):
    told = call("next_activity", session_token=cleared, activity_id=end)

    assert told["status"] == "completed"
    assert (
        call.refused("next_activity", session_token=told["session_token"], activity_id="build")["code"]
        == "RUN_COMPLETE"
    )


def test_the_same_call_again_is_answered_the_same_byte_for_byte(call, token):
    first = call.text("next_activity", session_token=token, activity_id="draft")

    assert call.text("next_activity", session_token=token, activity_id="draft") == first
