"""What each tool of the session dialect answers, warns of and refuses."""

import json

import pytest
import time_machine
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.activity_folders import activity, equals, folder, skill, step, toon, workflow
from tests.checkpoint_cast import publish_folder
from tests.handover_play import AUTO_MS, caller, manifest, plan_files, republish, text_of
from workflows_app.services.bundled import load_bundled
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
    return caller("session", desk.agent)


@pytest.fixture
def token(call):
    """Of a session in which no activity was entered."""
    return call("start_session", workflow_id="team.plan")["session_token"]


@pytest.fixture
def drafting(call, token, clock):
    """The reply of entering the activity that asks."""
    clock.shift(1)
    return call("next_activity", session_token=token, activity_id="draft")


@pytest.fixture
def cleared(call, drafting, clock):
    """The token of a session whose checkpoints are all resolved."""
    clock.shift(AUTO_MS / 1000)
    token = drafting["session_token"]
    for answer in (
        {"checkpoint_id": "sure", "option_id": "yes"},
        {"checkpoint_id": "soft", "auto_advance": True},
        {"checkpoint_id": "odd", "condition_not_met": True},
    ):
        token = call("respond_checkpoint", session_token=token, **answer)["session_token"]
    return token


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
    assert "_meta" not in call.raw(tool)


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
        ("next_activity", {"activity_id": "draft"}),
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

    assert last["when_done"] == {"tool": "next_activity", "parameters": {"activity_id": "end-workflow"}}
    ended = call("next_activity", session_token=last["session_token"], **last["when_done"]["parameters"])
    assert ended["status"] == "completed"


def test_an_activity_that_does_not_exist_is_not_entered(call, token):
    refusal = call.refused("next_activity", session_token=token, activity_id="drafts")

    assert refusal["code"] == "ACTIVITY_NOT_FOUND"
    assert "draft" in refusal["details"]["suggestion"]


def test_an_activity_that_is_left_out_is_passed_over_and_that_is_said(call, drafting, clock):
    clock.shift(3)
    chosen = respond(call, drafting["session_token"], option_id="no")

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
    assert refusal["details"]["leadsTo"] == ["last"]


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


# Checkpoints


def test_the_required_checkpoints_are_pending_when_an_activity_is_entered(drafting):
    assert drafting["pending_checkpoints"] == ["sure", "soft", "odd"]


def test_no_other_activity_is_entered_while_a_checkpoint_is_pending(call, drafting):
    refusal = call.refused("next_activity", session_token=drafting["session_token"], activity_id="build")

    assert refusal["code"] == "CHECKPOINT_OPEN"
    assert refusal["details"]["pending"] == ["sure", "soft", "odd"]
    assert "respond_checkpoint" in refusal["details"]["suggestion"]


def test_skills_and_resources_are_read_while_checkpoints_are_pending(call, drafting):
    """The lifecycle of the contract reads them before it answers; the original refused them."""
    token = drafting["session_token"]

    assert call("get_skill", session_token=token, step_id="write")["skill"]["id"] == "drafting"
    assert call("get_resource", session_token=token, resource_index="01")["resource"]["id"] == "guide"


def test_the_current_activity_can_be_read_again_and_asks_nothing_anew(call, drafting, clock):
    """The original armed the checkpoints and their clock again."""
    clock.shift(10)
    again = call("next_activity", session_token=drafting["session_token"], activity_id="draft")

    assert again["pending_checkpoints"] == ["sure", "soft", "odd"]
    answer = call("respond_checkpoint", session_token=again["session_token"], checkpoint_id="sure", option_id="yes")
    assert answer["resolved"] is True


def test_a_token_from_before_the_gate_does_not_pass_it(call, token, drafting):
    """The original let any older token by: it carried its own position."""
    assert call.refused("next_activity", session_token=token, activity_id="build")["code"] == "CHECKPOINT_OPEN"


def test_a_checkpoint_is_told_in_full_with_the_values_of_the_run(call, drafting):
    told = call("get_checkpoint", session_token=drafting["session_token"], activity_id="draft", checkpoint_id="soft")
    assert (told["blocking"], told["defaultOption"], told["autoAdvanceMs"]) == (False, "yes", AUTO_MS)

    told = call("get_checkpoint", session_token=drafting["session_token"], activity_id="draft", checkpoint_id="sure")
    assert told["message"] == "Is the plan for the roof right?"
    assert told["options"][0]["effect"] == {"setVariable": {"ready": True}}
    assert told["pending"] is True


def test_reading_the_checkpoint_of_another_activity_moves_nothing(call, drafting):
    """The original wrote that activity into the token, and the gate was walked past."""
    told = call.refused(
        "get_checkpoint", session_token=drafting["session_token"], activity_id="build", checkpoint_id="sure"
    )
    assert told["code"] == "NOT_FOUND"
    read = call("get_checkpoint", session_token=drafting["session_token"], activity_id="draft", checkpoint_id="later")

    refusal = call.refused("next_activity", session_token=read["session_token"], activity_id="build")

    assert refusal["code"] == "CHECKPOINT_OPEN"


def respond(call, token, checkpoint_id="sure", **mode):
    return call("respond_checkpoint", session_token=token, checkpoint_id=checkpoint_id, **mode)


def refused_response(call, token, checkpoint_id="sure", **mode):
    return call.refused("respond_checkpoint", session_token=token, checkpoint_id=checkpoint_id, **mode)


def test_the_chosen_option_is_recorded_and_its_effect_told_and_applied(call, drafting, clock):
    clock.shift(3)
    told = respond(call, drafting["session_token"], option_id="yes")

    assert (told["checkpoint_id"], told["resolved"], told["resolved_option"]) == ("sure", True, "yes")
    assert told["effect"] == {"setVariable": {"ready": True}}
    assert told["remaining_checkpoints"] == ["soft", "odd"]


def test_an_applied_effect_is_what_the_server_evaluates_conditions_with(call, cleared):
    result = call.raw(
        "next_activity",
        session_token=cleared,
        activity_id="build",
        transition_condition="ready == true",
        step_manifest=manifest("write", "ask"),
    )

    assert result["_meta"]["validation"] == {"status": "valid", "warnings": []}


def test_an_option_that_leads_elsewhere_says_so(call, drafting, clock):
    clock.shift(3)
    told = respond(call, drafting["session_token"], option_id="no")

    assert told["effect"] == {"transitionTo": "redo", "skipActivities": ["build"]}
    moved = call("next_activity", session_token=told["session_token"], activity_id="redo")
    assert moved["id"] == "redo"


def test_an_answer_that_comes_before_the_question_can_be_read_is_refused(call, drafting, clock):
    clock.shift(2.9)
    refusal = refused_response(call, drafting["session_token"], option_id="yes")
    assert refusal["code"] == "CHECKPOINT_TOO_EARLY"
    assert refusal["retry"]["kind"] == "retryable_after_ms"

    clock.shift(0.1)
    assert respond(call, drafting["session_token"], option_id="yes")["resolved"] is True


def test_an_option_that_the_checkpoint_does_not_have_is_refused_with_those_it_has(call, drafting, clock):
    clock.shift(3)
    refusal = refused_response(call, drafting["session_token"], option_id="perhaps")

    assert refusal["code"] == "OPTION_NOT_FOUND"
    assert refusal["details"]["options"] == ["yes", "no"]


@pytest.mark.parametrize(
    "modes",
    [
        {},
        {"auto_advance": False},
        {"condition_not_met": False},
        {"auto_advance": False, "condition_not_met": False},
        {"option_id": "yes", "auto_advance": True},
        {"option_id": "yes", "condition_not_met": True},
        {"auto_advance": True, "condition_not_met": True},
        {"option_id": " "},
    ],
)
@pytest.mark.parametrize("checkpoint_id", ["sure", "soft", "odd"])
def test_exactly_one_mode_resolves_and_false_is_none(call, drafting, clock, checkpoint_id, modes):
    """In the original `false` counted as a mode and cleared any checkpoint at once."""
    clock.shift(AUTO_MS / 1000)

    refusal = refused_response(call, drafting["session_token"], checkpoint_id, **modes)

    assert refusal["code"] == "CHECKPOINT_MODE_INVALID"
    assert call("next_activity", session_token=drafting["session_token"], activity_id="draft")[
        "pending_checkpoints"
    ] == ["sure", "soft", "odd"]


def test_false_beside_a_mode_is_as_if_left_out(call, drafting, clock):
    clock.shift(3)

    assert respond(call, drafting["session_token"], option_id="yes", auto_advance=False)["resolved_option"] == "yes"


def test_a_checkpoint_that_does_not_block_answers_itself_after_its_whole_time(call, drafting, clock):
    clock.shift(AUTO_MS / 1000 - 0.001)
    refusal = refused_response(call, drafting["session_token"], "soft", auto_advance=True)
    assert refusal["code"] == "CHECKPOINT_TOO_EARLY"

    clock.shift(0.001)
    assert respond(call, drafting["session_token"], "soft", auto_advance=True)["resolved_option"] == "yes"


def test_a_blocking_checkpoint_never_answers_itself(call, drafting, clock):
    clock.shift(3_600)

    assert refused_response(call, drafting["session_token"], auto_advance=True)["code"] == "CHECKPOINT_NOT_AUTOMATIC"


def test_a_checkpoint_whose_condition_is_false_is_dismissed(call, drafting):
    told = respond(call, drafting["session_token"], "odd", condition_not_met=True)

    assert told["dismissed"] is True
    assert "resolved_option" not in told
    assert told["remaining_checkpoints"] == ["sure", "soft"]


def test_a_checkpoint_without_a_condition_is_not_dismissed(call, drafting):
    refusal = refused_response(call, drafting["session_token"], condition_not_met=True)

    assert refusal["code"] == "CHECKPOINT_CONDITION_HOLDS"


def test_what_is_not_pending_is_not_answered(call, drafting, clock):
    clock.shift(3)
    refusal = refused_response(call, drafting["session_token"], "later", option_id="yes")

    assert refusal["code"] == "CHECKPOINT_NOT_PENDING"
    assert refusal["details"]["pending"] == ["sure", "soft", "odd"]


def test_an_answer_is_given_once(call, drafting, clock):
    clock.shift(3)
    first = respond(call, drafting["session_token"], option_id="yes")

    refusal = refused_response(call, first["session_token"], option_id="no")

    assert refusal["code"] == "CHECKPOINT_NOT_PENDING"
    assert refusal["details"]["answer"] == "yes"


def test_the_approval_of_a_step_is_pending_and_only_a_person_gives_it(desk, call, clock):
    confirm = {"kind": "human_approval"}
    run_cast.published(desk, run_cast.notes_free("ship", prompt="Ship it.", requireConfirmation=confirm))
    token = call("start_session", workflow_id="team.sample")["session_token"]
    entered = call("next_activity", session_token=token, activity_id="main")
    clock.shift(5)

    told = call("get_checkpoint", session_token=entered["session_token"], activity_id="main", checkpoint_id="ship")

    assert entered["pending_checkpoints"] == ["ship"]
    assert (told["human"], told["pending"]) == (True, True)
    refusal = refused_response(call, entered["session_token"], "ship", option_id="approve")
    assert refusal["code"] == "HUMAN_REQUIRED"


# Skills and resources


@pytest.mark.usefixtures("library")
def test_the_skills_of_the_workflow_list_their_resources_and_do_not_tell_them(call, token):
    told = call("get_skills", session_token=token)

    assert told["scope"] == "workflow"
    assert list(told["skills"]) == ["leading"]
    leading = told["skills"]["leading"]
    assert "resources" not in leading
    assert leading["_resources"] == [
        {"index": "01", "id": "guide", "version": "2.1.0"},
        {"index": "meta/04", "id": "checkpoint-presentation", "version": "1.0.0"},
    ]


def test_a_skill_that_the_workflow_names_and_nobody_has_is_said_to_be_missing(desk, call):
    about = workflow(id="team.gap", skills=["nowhere"], initialActivity="work")
    publish_folder(desk, folder(activity("work", steps=[step("do")]), about=about), "team.gap")
    token = call("start_session", workflow_id="team.gap")["session_token"]

    told = call("get_skills", session_token=token)

    assert told["failed_skills"] == ["nowhere"]
    assert told["skills"] == {}


def test_a_step_has_the_skill_that_it_names(call, drafting):
    skill = call("get_skill", session_token=drafting["session_token"], step_id="write")["skill"]

    assert skill["description"] == "As this workflow drafts."


@pytest.mark.usefixtures("library")
def test_a_step_within_a_loop_has_its_skill_and_a_prefix_names_another_workflow(call, drafting):
    skill = call("get_skill", session_token=drafting["session_token"], step_id="inner")["skill"]

    assert skill["id"] == "session-protocol"


@pytest.mark.usefixtures("library")
def test_a_skill_is_looked_for_in_the_workflow_and_then_among_the_universal_ones(desk, call):
    steps = [step("own", skill="session-protocol"), step("other", skill="execute-activity")]
    about = workflow(id="team.own", initialActivity="work")
    own = {"skills__00-session-protocol.toon": skill("session-protocol", description="Ours.")}
    publish_folder(desk, folder(activity("work", steps=steps), about=about, **own), "team.own")
    token = call("start_session", workflow_id="team.own")["session_token"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]

    assert call("get_skill", session_token=token, step_id="own")["skill"]["description"] == "Ours."
    assert call("get_skill", session_token=token, step_id="other")["skill"]["id"] == "execute-activity"


def test_no_step_has_a_skill_before_an_activity_is_entered(call, token):
    assert call.refused("get_skill", session_token=token, step_id="write")["code"] == "ACTIVITY_REQUIRED"


def test_a_skill_longer_than_a_reply_is_told_by_its_beginning_and_says_so(desk, call):
    about = workflow(id="team.wordy", initialActivity="work")
    long = skill("wordy", description="Read this with care. " * 6_000)
    files = folder(activity("work", steps=[step("do", skill="wordy")]), about=about, **{"skills__00-wordy.toon": long})
    publish_folder(desk, files, "team.wordy")
    token = call("start_session", workflow_id="team.wordy")["session_token"]
    token = call("next_activity", session_token=token, activity_id="work")["session_token"]

    told = call("get_skill", session_token=token, step_id="do")

    assert told["skill"]["truncated"] is True
    assert told["skill"]["text"].startswith("id: wordy")
    assert told["session_token"] == token


@pytest.mark.parametrize(
    ("step_id", "said"),
    [
        ("nope", "Step 'nope' not found in activity 'draft'. Available steps: [write, polish, prove, ask, inner]"),
        ("ask", "Step 'ask' in activity 'draft' has no associated skill."),
        ("polish", "Skill not found: universal-only"),
    ],
)
def test_a_skill_that_cannot_be_told_says_why(call, drafting, step_id, said):
    refusal = call.refused("get_skill", session_token=drafting["session_token"], step_id=step_id)

    assert (refusal["code"], refusal["message"]) == ("NOT_FOUND", said)
    assert refusal["details"]["suggestion"]


@pytest.mark.parametrize("index", ["01", "1", "001", "guide"])
def test_a_bare_index_is_of_the_workflow_however_it_is_written(call, token, index):
    told = call("get_resource", session_token=token, resource_index=index)["resource"]

    assert (told["index"], told["id"], told["version"]) == (index, "guide", "2.1.0")
    assert told["content"] == "# Guide\n\nMeasure twice.\n"


@pytest.mark.usefixtures("library")
def test_a_prefixed_index_is_of_the_workflow_that_it_names(call, token):
    assert (
        call("get_resource", session_token=token, resource_index="meta/04")["resource"]["id"]
        == "checkpoint-presentation"
    )
    assert (
        call("get_resource", session_token=token, resource_index="work-package/01")["resource"]["id"] == "intake-guide"
    )


@pytest.mark.usefixtures("library")
def test_a_bare_index_is_not_that_of_another_workflow(call, token):
    refusal = call.refused("get_resource", session_token=token, resource_index="04")

    assert refusal["code"] == "NOT_FOUND"
    assert "01 guide" in refusal["details"]["suggestion"]


def test_a_long_resource_comes_in_parts_that_make_the_whole(call, token):
    parts, index = [], "02"
    while index:
        reply = call("get_resource", session_token=token, resource_index=index)["resource"]
        parts.append(reply["content"])
        index = reply.get("next_action", {}).get("parameters", {}).get("resource_index", "")

    assert reply["parts"] == len(parts) > 1
    assert "".join(parts) == "# Long\n\n" + "A line of a long guide.\n" * 4_000


# Validation


def entered(call, token, activity_id, **more):
    return call.raw("next_activity", session_token=token, activity_id=activity_id, **more)


def warnings_of(result):
    assert not result.get("isError"), text_of(result)
    validation = result["_meta"]["validation"]
    assert validation["status"] == ("warning" if validation["warnings"] else "valid")
    assert result["structuredContent"].get("warnings", []) == validation["warnings"]
    return validation["warnings"]


def test_another_first_activity_is_warned_of(call, token):
    (warning,) = warnings_of(entered(call, token, "build"))

    assert "'draft'" in warning


def test_an_activity_that_is_no_target_is_warned_of_and_entered(call, cleared):
    built = call("next_activity", session_token=cleared, activity_id="build", step_manifest=manifest("write", "ask"))
    result = entered(call, built["session_token"], "draft", step_manifest=manifest("make", "test"))

    (warning,) = warnings_of(result)
    assert "not a direct transition" in warning
    assert result["structuredContent"]["id"] == "draft"


@pytest.mark.parametrize("claim", ["ready == true", 'kind == "bug"'])
def test_a_claim_may_be_that_of_any_transition_to_the_target(call, cleared, claim):
    """The original compared with the first one only."""
    said = warnings_of(
        entered(call, cleared, "build", transition_condition=claim, step_manifest=manifest("write", "ask"))
    )

    assert not [warning for warning in said if "No transition" in warning]


def test_a_claim_that_does_not_hold_is_warned_of(call, cleared):
    said = warnings_of(
        entered(call, cleared, "build", transition_condition='kind == "bug"', step_manifest=manifest("write", "ask"))
    )

    assert [warning for warning in said if "does not hold" in warning]


def test_a_claim_that_no_transition_has_is_warned_of(call, cleared):
    said = warnings_of(
        entered(call, cleared, "build", transition_condition="default", step_manifest=manifest("write", "ask"))
    )

    assert len(said) == 1
    assert "ready == true" in said[0]


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (None, "No step_manifest came for 'draft'"),
        ([], "leaves out 'write', 'ask'"),
        (manifest("ask"), "leaves out 'write'"),
        (manifest("write", "extra", "ask"), "lists 'extra', which 'draft' does not have"),
        (manifest("ask", "write"), "out of the order"),
        (manifest("write") + manifest("ask", output=" "), "says nothing of what came of 'ask'"),
    ],
)
def test_a_manifest_of_steps_is_checked_and_stops_nothing(call, cleared, steps, said):
    result = entered(call, cleared, "build", transition_condition="ready == true", step_manifest=steps)

    (warning,) = warnings_of(result)
    assert said in warning
    assert result["structuredContent"]["id"] == "build"


@pytest.mark.parametrize(
    "steps",
    [("write", "ask"), ("write", "polish", "ask"), ("write", "inner", "inner", "ask"), ("write", "ask", "each")],
)
def test_optional_skipped_and_repeated_steps_are_in_order(call, cleared, steps):
    """In the original a step that its condition skipped was missing, and those of loops unexpected."""
    assert warnings_of(entered(call, cleared, "build", step_manifest=manifest(*steps))) == []


def test_a_manifest_of_activities_is_advisory(call, cleared):
    outcomes = [
        {"activity_id": "draft", "outcome": "completed", "transition_condition": "ready == true"},
        {"activity_id": "nope", "outcome": " "},
    ]
    said = warnings_of(
        entered(call, cleared, "build", step_manifest=manifest("write", "ask"), activity_manifest=outcomes)
    )

    assert len(said) == 2
    assert all("'nope'" in warning for warning in said)


def test_a_workflow_that_was_published_anew_is_warned_of_and_the_session_stays_with_its_own(desk, call, token):
    republish(desk, {**plan_files(), "workflow.toon": toon(workflow(version="2.0.0", initialActivity="draft"))})

    result = call.raw("get_workflow", session_token=token)

    (warning,) = warnings_of(result)
    assert "changed since" in warning
    assert result["structuredContent"]["version"] == "1.0.0"


def test_warnings_stand_in_the_trace(call, token):
    moved = call("next_activity", session_token=token, activity_id="build")

    events = call("get_trace", session_token=moved["session_token"])["events"]

    (told,) = [event["vw"] for event in events if event["name"] == "next_activity"]
    assert told == moved["warnings"]


# The trace


def test_the_trace_of_the_session_tells_each_call_with_its_time_and_its_error(call, drafting):
    token = drafting["session_token"]
    call.refused("next_activity", session_token=token, activity_id="build")

    told = call("get_trace", session_token=token)

    assert told["event_count"] == len(told["events"]) == 3
    assert [(event["name"], event["s"], event["act"]) for event in told["events"]] == [
        ("start_session", "ok", ""),
        ("next_activity", "ok", ""),
        ("next_activity", "error", "draft"),
    ]
    assert all(event["ms"] >= 0 and event["wf"] == "team.plan" for event in told["events"])
    assert told["events"][2]["err"] == "CHECKPOINT_OPEN"


def test_a_trace_token_names_what_was_called_in_the_activity_that_was_left(call, cleared, clock):
    clock.shift(1)
    result = entered(call, cleared, "build", step_manifest=manifest("write", "ask"))
    trace_token = result["_meta"]["trace_token"]
    assert trace_token.startswith("tr.v1.")
    assert result["structuredContent"]["trace_token"] == trace_token
    clock.shift(1)

    told = call("get_trace", session_token=result["structuredContent"]["session_token"], trace_tokens=[trace_token])

    assert told["source"] == "tokens"
    assert [event["name"] for event in told["events"]] == ["next_activity", *["respond_checkpoint"] * 3]


def test_a_trace_token_that_names_nothing_is_told_beside_the_others(call, drafting):
    told = call("get_trace", session_token=drafting["session_token"], trace_tokens=["tr.v1.nothing"])

    assert told["events"] == []
    assert told["token_errors"][0]["code"] == "TOKEN_INVALID_FORMAT"


def test_no_trace_token_comes_before_an_activity_was_left(drafting):
    assert "trace_token" not in drafting
