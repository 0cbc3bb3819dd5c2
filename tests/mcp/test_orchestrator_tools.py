"""What each tool of the orchestrator dialect answers, warns of and refuses."""

import json
import os
from dataclasses import replace

import pytest
import time_machine
import toon_format
from django.utils import timezone

from sessions_app.services import keys
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.activity_folders import activity, folder, skill, step, toon, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import AUTO_MS, caller, manifest, plan_files, republish, text_of
from workflows_app.services.bundled import load_bundled
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


@pytest.fixture
def clock():
    with time_machine.travel(timezone.now(), tick=False) as moved:
        yield moved


@pytest.fixture
def library(transactional_db, clock):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())


@pytest.fixture
def desk(transactional_db, clock):
    desk = run_cast.make_desk()
    publish_folder(desk, plan_files())
    return desk


@pytest.fixture
def call(desk):
    return caller("orchestrator", desk.agent)


@pytest.fixture
def token(call):
    """Of a session in which no activity was entered."""
    return call("start_session", workflow_id="team.plan")["session_token"]


@pytest.fixture
def drafting(call, token, clock):
    """The token in the first activity."""
    clock.shift(1)
    return call("next_activity", session_token=token, activity_id="draft")["session_token"]


@pytest.fixture
def yielded(call, drafting):
    """The handle of the checkpoint that the worker has come to."""
    return call("yield_checkpoint", session_token=drafting, checkpoint_id="sure")["checkpoint_handle"]


@pytest.fixture
def approved(call, yielded, clock):
    """The token after the user has agreed."""
    clock.shift(3)
    return call("respond_checkpoint", checkpoint_handle=yielded, option_id="yes")["session_token"]


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
    assert "_meta" not in call.raw(tool)


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
    for _ in range(2):
        keys.rotate_keys(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now(), entropy=os.urandom)

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


# Definitions


def test_a_workflow_begins_with_its_primary_skill_and_then_its_summary(call, token):
    skill_text, told = call.text("get_workflow", session_token=token).split("\n\n---\n\n")

    assert skill_text == toon(skill("leading", resources=["01", "meta/04"])).decode()
    summary = toon_format.loads(told)
    assert list(summary) == [
        "id",
        "version",
        "title",
        "description",
        "rules",
        "variables",
        "executionModel",
        "modes",
        "initialActivity",
        "activities",
        "session_token",
    ]
    assert summary["modes"][0]["id"] == "fast"
    assert summary["activities"][0] == {"id": "draft", "name": "Draft", "required": True}
    assert summary["session_token"] == token


def test_the_whole_definition_is_told_when_it_is_asked_for(call, token):
    whole = toon_format.loads(call.text("get_workflow", session_token=token, summary=False).split("\n\n---\n\n")[1])

    assert [each["id"] for each in whole["activities"]] == ["draft", "build", "redo"]
    assert [each["id"] for each in whole["activities"][0]["steps"]] == ["write", "polish", "prove", "ask"]


def test_a_whole_definition_too_long_for_a_reply_comes_summarised(desk, call):
    long = "Read this with care. " * 400
    files = folder(
        *(activity(f"work-{n}", steps=[step("do", description=long)]) for n in range(20)),
        about=workflow(id="team.long", initialActivity="work-0"),
    )
    publish_folder(desk, files, "team.long")
    token = call("start_session", workflow_id="team.long")["session_token"]

    told = call("get_workflow", session_token=token, summary=False)

    assert told["summarized"] is True
    assert told["next_action"]["tool"] == "get_activity"


def test_entering_an_activity_confirms_it_and_does_not_tell_it(call, token):
    told = call("next_activity", session_token=token, activity_id="draft")

    assert (told["activity_id"], told["name"]) == ("draft", "Draft")
    assert not {"steps", "checkpoints", "transitions"} & set(told)


def test_the_worker_reads_the_whole_activity(call, drafting):
    header, _, told = call.text("get_activity", session_token=drafting).partition("\n\n")

    assert header == f"session_token: {drafting}"
    whole = toon_format.loads(told)
    assert [each["id"] for each in whole["steps"]] == ["write", "polish", "prove", "ask"]
    assert [each["id"] for each in whole["loops"][0]["steps"]] == ["inner"]
    assert [each["id"] for each in whole["checkpoints"]] == ["sure", "soft", "odd", "later"]
    assert [each["to"] for each in whole["transitions"]] == ["build", "build", "redo"]
    assert whole["rules"] == ["Write it down"]
    assert whole["skills"] == {"primary": "drafting"}
    assert whole["artifactPrefix"] == "01"


def test_there_is_no_activity_before_one_was_entered(call, token):
    assert call.refused("get_activity", session_token=token)["code"] == "ACTIVITY_REQUIRED"


@pytest.mark.usefixtures("library")
def test_an_activity_that_was_borrowed_from_another_workflow_is_read_as_well(desk, call):
    """The original entered it and could not load it."""
    about = workflow(
        id="team.borrows", initialActivity="own", activities=["work-package/01-intake.toon"], activitiesDir="activities"
    )
    publish_folder(desk, folder(activity("own", steps=[step("do")]), about=about), "team.borrows")
    token = call("start_session", workflow_id="team.borrows")["session_token"]
    token = call("next_activity", session_token=token, activity_id="intake")["session_token"]

    told = call("get_activity", session_token=token)
    assert told["steps"][0]["id"] == "read-issue"
    assert call("get_skill", session_token=token)["skill"]["id"] == "issue-intake"


@pytest.mark.parametrize("end", ["workflow-end", "__terminal__", "end-workflow"])
def test_a_session_ends_under_any_name_of_the_end(call, approved, end):
    """The original knew no such activity."""
    assert call("next_activity", session_token=approved, activity_id=end)["status"] == "completed"


def test_the_same_call_again_is_answered_the_same_byte_for_byte(call, token):
    first = call.text("next_activity", session_token=token, activity_id="draft")

    assert call.text("next_activity", session_token=token, activity_id="draft") == first


# Checkpoints


def test_a_worker_yields_at_a_checkpoint_and_gets_a_handle(call, drafting):
    told = call("yield_checkpoint", session_token=drafting, checkpoint_id="sure")

    assert list(told)[:3] == ["status", "checkpoint_id", "checkpoint_handle"]
    assert (told["status"], told["checkpoint_id"]) == ("yielded", "sure")
    assert "<checkpoint_yield>" in told["message"]


def test_no_checkpoint_is_asked_before_a_worker_yields(call, drafting):
    assert "session_token" in call.text("get_activity", session_token=drafting)
    assert call.refused("present_checkpoint", session_token=drafting)["code"] == "CHECKPOINT_NOT_PENDING"


def test_a_checkpoint_of_another_activity_is_not_yielded(call, drafting):
    refusal = call.refused("yield_checkpoint", session_token=drafting, checkpoint_id="nope")

    assert refusal["code"] == "CHECKPOINT_NOT_FOUND"
    assert "nope" in refusal["message"]


def test_nothing_is_yielded_before_an_activity_was_entered(call, token):
    refusal = call.refused("yield_checkpoint", session_token=token, checkpoint_id="sure")

    assert refusal["code"] == "ACTIVITY_REQUIRED"


GATED = {
    "get_workflow": {},
    "get_activity": {},
    "get_skills": {},
    "get_skill": {},
    "get_resource": {"resource_id": "01"},
    "get_trace": {},
    "next_activity": {"activity_id": "build"},
    "yield_checkpoint": {"checkpoint_id": "soft"},
    "resume_checkpoint": {},
}


@pytest.mark.parametrize("tool", sorted(GATED))
def test_most_tools_are_blocked_while_a_checkpoint_is_open(call, yielded, tool):
    refusal = call.refused(tool, session_token=yielded, **GATED[tool])

    assert refusal["code"] == "CHECKPOINT_OPEN"
    assert refusal["details"]["pending"] == ["sure"]


@pytest.mark.parametrize("tool", sorted(GATED))
def test_a_token_from_before_the_checkpoint_is_blocked_as_well(call, drafting, yielded, tool):
    """The original let it by: only the handle knew of the gate."""
    assert call.refused(tool, session_token=drafting, **GATED[tool])["code"] == "CHECKPOINT_OPEN"


@pytest.mark.parametrize("tool", sorted(GATED))
def test_the_answer_unblocks_the_token_of_the_worker(call, drafting, approved, tool):
    result = call.raw(tool, session_token=drafting, **GATED[tool])

    assert not result.get("isError"), text_of(result)


@pytest.mark.parametrize("name", ["checkpoint_handle", "session_token"])
def test_the_orchestrator_shows_the_checkpoint_by_its_handle_or_by_the_token(call, drafting, yielded, name):
    told = call("present_checkpoint", **{name: yielded if name == "checkpoint_handle" else drafting})

    assert told["message"] == "Is the plan for the roof right?"
    assert [option["id"] for option in told["options"]] == ["yes", "no"]
    assert told["options"][0]["effect"] == {"setVariable": {"ready": True}}
    assert told["checkpoint_handle"] == yielded


def test_what_answers_itself_is_shown_with_its_default_and_its_time(call, drafting):
    handle = call("yield_checkpoint", session_token=drafting, checkpoint_id="soft")["checkpoint_handle"]

    told = call("present_checkpoint", checkpoint_handle=handle)

    assert (told["blocking"], told["defaultOption"], told["autoAdvanceMs"]) == (False, "yes", AUTO_MS)


@pytest.mark.parametrize("tool", ["present_checkpoint", "respond_checkpoint"])
def test_a_handle_or_a_token_is_needed(call, tool):
    refusal = call.refused(tool, **({"option_id": "yes"} if tool == "respond_checkpoint" else {}))

    assert refusal["code"] == "VALIDATION_ERROR"
    assert refusal["message"] == "Either checkpoint_handle or session_token must be provided."


def respond(call, handle, **mode):
    return call("respond_checkpoint", checkpoint_handle=handle, **mode)


def refused_response(call, handle, **mode):
    return call.refused("respond_checkpoint", checkpoint_handle=handle, **mode)


def test_the_chosen_option_resolves_the_checkpoint_and_tells_its_effect(call, yielded, clock):
    clock.shift(3)
    told = respond(call, yielded, option_id="yes")

    assert (told["checkpoint_id"], told["resolved"], told["resolved_option"]) == ("sure", True, "yes")
    assert told["effect"] == {"setVariable": {"ready": True}}
    assert told["checkpoint_handle"] == told["session_token"] != yielded


def test_an_answer_that_comes_before_the_question_can_be_read_is_refused(call, yielded, clock):
    """The original counted whole seconds and let 2.05 of them pass for 3."""
    clock.shift(2.999)
    assert refused_response(call, yielded, option_id="yes")["code"] == "CHECKPOINT_TOO_EARLY"

    clock.shift(0.001)
    assert respond(call, yielded, option_id="yes")["resolved"] is True


@pytest.mark.parametrize(
    "modes",
    [
        {},
        {"auto_advance": False},
        {"condition_not_met": False},
        {"option_id": "yes", "auto_advance": True},
        {"option_id": "yes", "condition_not_met": True},
        {"auto_advance": True, "condition_not_met": True},
    ],
)
def test_exactly_one_mode_resolves_and_false_is_none(call, yielded, clock, modes):
    """In the original `false` counted as a mode and cleared the checkpoint at once."""
    clock.shift(AUTO_MS / 1000)

    assert refused_response(call, yielded, **modes)["code"] == "CHECKPOINT_MODE_INVALID"
    assert call("get_workflow_status", session_token=yielded)["status"] == "blocked"


def test_an_option_that_the_checkpoint_does_not_have_is_refused(call, yielded, clock):
    clock.shift(3)

    assert refused_response(call, yielded, option_id="perhaps")["code"] == "OPTION_NOT_FOUND"


def test_a_checkpoint_that_does_not_block_answers_itself_after_its_whole_time(call, drafting, clock):
    handle = call("yield_checkpoint", session_token=drafting, checkpoint_id="soft")["checkpoint_handle"]
    clock.shift(AUTO_MS / 1000 - 0.001)
    assert refused_response(call, handle, auto_advance=True)["code"] == "CHECKPOINT_TOO_EARLY"

    clock.shift(0.001)
    assert respond(call, handle, auto_advance=True)["resolved_option"] == "yes"


def test_a_blocking_checkpoint_never_answers_itself(call, yielded, clock):
    """The original looked at the timer alone."""
    clock.shift(3_600)

    assert refused_response(call, yielded, auto_advance=True)["code"] == "CHECKPOINT_NOT_AUTOMATIC"


def test_a_checkpoint_whose_condition_is_false_is_dismissed(call, drafting):
    handle = call("yield_checkpoint", session_token=drafting, checkpoint_id="odd")["checkpoint_handle"]

    told = respond(call, handle, condition_not_met=True)

    assert told["dismissed"] is True
    assert "resolved_option" not in told


def test_a_checkpoint_without_a_condition_is_not_dismissed(call, yielded):
    assert refused_response(call, yielded, condition_not_met=True)["code"] == "CHECKPOINT_CONDITION_HOLDS"


def test_a_handle_is_answered_once(call, yielded, approved, clock):
    """In the original the same handle took one answer after the other."""
    clock.shift(3)
    refusal = refused_response(call, yielded, option_id="no")

    assert refusal["code"] == "CHECKPOINT_NOT_PENDING"


def test_the_same_answer_again_is_told_again(call, yielded, clock):
    clock.shift(3)
    first = call.text("respond_checkpoint", checkpoint_handle=yielded, option_id="yes")

    assert call.text("respond_checkpoint", checkpoint_handle=yielded, option_id="yes") == first


def test_a_worker_resumes_after_the_answer(call, approved):
    told = call("resume_checkpoint", session_token=approved)

    assert told["status"] == "resumed"
    assert told["session_token"] == approved


def test_nothing_is_resumed_that_nobody_was_asked(call, drafting):
    """The original said resumed of a checkpoint that nobody had answered."""
    assert call.refused("resume_checkpoint", session_token=drafting)["code"] == "CHECKPOINT_NOT_PENDING"


def test_a_refusal_names_a_call_that_this_dialect_has(call, yielded):
    suggestion = call.refused("get_skills", session_token=yielded)["details"]["suggestion"]

    assert "respond_checkpoint" in suggestion
    assert '"checkpoint_id"' not in suggestion


# Skills and resources


def test_the_primary_skill_is_told_as_it_was_written_between_fences(call, token):
    told = call.text("get_skills", session_token=token)

    assert told == (
        f"scope: workflow\nsession_token: {token}\n\n---\n\n"
        f"{toon(skill('leading', resources=['01', 'meta/04'])).decode()}\n\n---"
    )


@pytest.mark.usefixtures("library")
def test_a_workflow_of_steps_is_led_by_the_universal_skill(call):
    token = call("start_session", workflow_id="wr.code-review")["session_token"]

    assert list(call("get_skills", session_token=token)["skills"]) == ["orchestrator-management"]


def test_a_skill_is_told_as_it_was_written_under_the_token(call, drafting):
    told = call.text("get_skill", session_token=drafting, step_id="write")

    assert told.startswith(f"session_token: {drafting}\n")
    assert told.endswith(toon(skill("drafting", description="As this workflow drafts.")).decode())


def test_without_a_step_the_skill_is_that_of_the_activity_or_before_it_of_the_workflow(call, token, drafting):
    fresh = call("start_session", workflow_id="team.plan")["session_token"]

    assert call("get_skill", session_token=fresh)["skill"]["id"] == "leading"
    assert call("get_skill", session_token=drafting)["skill"]["id"] == "drafting"


def test_a_step_is_not_asked_for_before_its_activity(call, token):
    refusal = call.refused("get_skill", session_token=token, step_id="write")

    assert refusal["message"] == "Cannot provide step_id when no activity is active."


@pytest.mark.usefixtures("library")
def test_a_step_of_a_loop_and_a_skill_of_another_workflow_are_found(call, drafting):
    assert call("get_skill", session_token=drafting, step_id="inner")["skill"]["id"] == "session-protocol"


@pytest.mark.usefixtures("library")
def test_a_skill_that_the_workflow_lacks_is_the_universal_one(desk, call):
    """Promised by the original and not done."""
    about = workflow(id="team.own", initialActivity="work")
    steps = [step("one", skill="evidence-protocol")]
    publish_folder(desk, folder(activity("work", steps=steps), about=about), "team.own")
    token = call("start_session", workflow_id="team.own")["session_token"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]

    assert call("get_skill", session_token=token, step_id="one")["skill"]["id"] == "evidence-protocol"


def test_a_skill_that_was_not_written_as_toon_is_told_as_toon(call, drafting):
    told = call.text("get_skill", session_token=drafting, step_id="prove").partition("\n\n")[2]

    assert toon_format.loads(told) == {
        "id": "as-yaml",
        "version": "1.0.0",
        "capability": "Proves",
        "protocol": {"look": ["Look twice"]},
    }


def test_a_step_of_a_workflow_of_steps_is_its_own_skill(desk, call):
    run_cast.published(desk, run_cast.notes_free("look", prompt="Look twice.", guidance=["Slowly"]))
    token = call("start_session", workflow_id="team.sample")["session_token"]
    token = call("next_activity", session_token=token, activity_id="main")["session_token"]

    told = toon_format.loads(call.text("get_skill", session_token=token, step_id="look").partition("\n\n")[2])

    assert told["id"] == "look"
    assert "Look twice." in told["instructions"]
    assert told["guidance"] == ["Slowly"]


@pytest.mark.parametrize(
    ("step_id", "said"),
    [
        ("nope", "Step 'nope' not found in activity 'draft'. Available steps: [write, polish, prove, ask, inner]"),
        ("ask", "Step 'ask' in activity 'draft' has no associated skill."),
        ("polish", "Skill not found: universal-only"),
    ],
)
def test_a_skill_that_cannot_be_told_says_why(call, drafting, step_id, said):
    refusal = call.refused("get_skill", session_token=drafting, step_id=step_id)

    assert (refusal["code"], refusal["message"]) == ("NOT_FOUND", said)


@pytest.mark.parametrize("resource_id", ["01", "1", "guide"])
def test_a_resource_is_told_under_its_id_and_version(call, token, resource_id):
    head, _, body = call.text("get_resource", session_token=token, resource_id=resource_id).partition("\n\n")

    assert head.splitlines() == [
        f"resource_id: {resource_id}",
        "id: guide",
        "version: 2.1.0",
        f"session_token: {token}",
    ]
    assert body == "# Guide\n\nMeasure twice.\n"


@pytest.mark.usefixtures("library")
def test_a_prefixed_resource_is_of_the_workflow_that_it_names(call, token):
    assert call("get_resource", session_token=token, resource_id="meta/04")["id"] == "checkpoint-presentation"


def test_a_bare_number_is_not_that_of_another_workflow(call, token):
    assert call.refused("get_resource", session_token=token, resource_id="04")["code"] == "NOT_FOUND"


def test_a_long_resource_comes_in_parts_that_make_the_whole(call, token):
    parts, resource_id = [], "02"
    while resource_id:
        reply = call("get_resource", session_token=token, resource_id=resource_id)
        parts.append(reply["content"])
        resource_id = reply.get("next_action", {}).get("parameters", {}).get("resource_id", "")

    assert "".join(parts) == "# Long\n\n" + "A line of a long guide.\n" * 4_000


# Validation and trace


def entered(call, token, activity_id, **more):
    return call.raw("next_activity", session_token=token, activity_id=activity_id, **more)


def warnings_of(result):
    assert not result.get("isError"), text_of(result)
    validation = result["_meta"]["validation"]
    assert validation["status"] == ("warning" if validation["warnings"] else "valid")
    assert result["structuredContent"].get("warnings", []) == validation["warnings"]
    return validation["warnings"]


def test_a_transition_as_the_workflow_has_it_is_valid(call, approved):
    result = entered(
        call,
        approved,
        "build",
        transition_condition="ready == true",
        step_manifest=manifest("write", "ask"),
        activity_manifest=[{"activity_id": "draft", "outcome": "completed"}],
    )

    assert warnings_of(result) == []


@pytest.mark.parametrize("claim", ["ready == true", 'kind == "bug"'])
def test_a_claim_may_be_that_of_any_transition_to_the_target(call, approved, claim):
    """The original compared with the first one only."""
    said = warnings_of(
        entered(call, approved, "build", transition_condition=claim, step_manifest=manifest("write", "ask"))
    )

    assert not [warning for warning in said if "No transition" in warning]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"transition_condition": "ready == false"}, "No transition from"),
        ({"step_manifest": manifest("ask")}, "leaves out 'write'"),
        ({"step_manifest": manifest("ask", "write")}, "out of the order"),
        ({"step_manifest": manifest("write", "ask", output="")}, "says nothing of what came of"),
        ({"step_manifest": manifest("write", "extra", "ask")}, "lists 'extra'"),
        ({"activity_manifest": [{"activity_id": "nope", "outcome": "done"}]}, "no activity 'nope'"),
        ({"activity_manifest": [{"activity_id": "draft", "outcome": ""}]}, "no outcome"),
    ],
)
def test_a_claim_that_the_workflow_does_not_bear_out_is_warned_of_and_stops_nothing(call, approved, more, said):
    result = entered(call, approved, "build", **{"step_manifest": manifest("write", "ask"), **more})

    (warning,) = warnings_of(result)
    assert said in warning
    assert result["structuredContent"]["activity_id"] == "build"


def test_a_transition_that_the_workflow_does_not_have_is_warned_of(call, approved):
    built = call("next_activity", session_token=approved, activity_id="build", step_manifest=manifest("write", "ask"))

    (warning,) = warnings_of(entered(call, built["session_token"], "redo", step_manifest=manifest("make", "test")))
    assert "not a direct transition" in warning


def test_a_session_knows_the_version_that_it_began_with(desk, call, token):
    """In the original it was empty for every fresh session, so that drift was never told."""
    republish(desk, {**plan_files(), "workflow.toon": toon(workflow(version="2.0.0", initialActivity="draft"))})

    result = call.raw("get_workflow", session_token=token)

    assert "changed since" in result["_meta"]["validation"]["warnings"][0]
    assert result["structuredContent"]["version"] == "1.0.0"


def test_warnings_stand_in_the_trace(call, token):
    moved = call("next_activity", session_token=token, activity_id="build")

    events = call("get_trace", session_token=moved["session_token"])["events"]

    (told,) = [event["vw"] for event in events if event["name"] == "next_activity"]
    assert told == moved["warnings"]


def test_a_trace_token_names_what_was_called_in_the_activity_that_was_left(call, approved, clock):
    clock.shift(1)
    result = entered(call, approved, "build", step_manifest=manifest("write", "ask"))
    trace_token = result["_meta"]["trace_token"]
    assert result["structuredContent"]["trace_token"] == trace_token
    clock.shift(1)

    told = call("get_trace", session_token=result["structuredContent"]["session_token"], trace_tokens=[trace_token])

    assert told["source"] == "tokens"
    assert [event["name"] for event in told["events"]] == ["next_activity", "yield_checkpoint", "respond_checkpoint"]


def test_the_trace_of_the_session_tells_agents_times_and_errors(call, drafting):
    call.refused("yield_checkpoint", session_token=drafting, checkpoint_id="nope")

    told = call("get_trace", session_token=drafting)

    assert told["event_count"] == len(told["events"]) == 3
    last = told["events"][-1]
    assert (last["name"], last["s"], last["err"], last["act"]) == (
        "yield_checkpoint",
        "error",
        "CHECKPOINT_NOT_FOUND",
        "draft",
    )
    assert all(event["ms"] >= 0 for event in told["events"])


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_workflow", {}),
        ("get_activity", {}),
        ("get_skills", {}),
        ("get_skill", {}),
        ("get_resource", {"resource_id": "01"}),
        ("get_trace", {}),
        ("get_workflow_status", {}),
        ("yield_checkpoint", {"checkpoint_id": "sure"}),
        ("next_activity", {"activity_id": "draft"}),
    ],
)
def test_every_reply_repeats_the_token_and_the_validation(call, drafting, tool, arguments):
    """In the text as well: some clients keep _meta from their model."""
    result = call.raw(tool, session_token=drafting, **arguments)

    token = result["structuredContent"]["session_token"]
    assert result["_meta"]["session_token"] == token
    assert result["_meta"]["validation"] == {"status": "valid", "warnings": []}
    assert token in text_of(result)
