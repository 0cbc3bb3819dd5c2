"""What the contract of navigation says of the workflows and skills that come with the server."""

import json

import pytest
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.activity_folders import activity, checkpoint, folder, step
from tests.checkpoint_cast import publish_folder
from tests.handover_play import caller
from workflows_app.services.bundled import load_bundled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(transactional_db, settings):
    settings.CHECKPOINT_MIN_RESPONSE_MS = 0
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())
    return run_cast.make_desk()


@pytest.fixture
def call(desk):
    return caller("navigation", desk.agent)


def test_the_bundled_workflows_have_the_activities_that_are_promised(call):
    counts = {
        workflow_id: len(call("get_workflow", workflow_id=workflow_id)["activities"])
        for workflow_id in ("meta", "work-package", "work-packages")
    }

    assert counts == {"meta": 3, "work-package": 11, "work-packages": 7}


def test_starting_resuming_and_ending_are_led_by_the_skill_of_workflow_execution(call):
    index = {each["id"]: each for each in call("get_activities")["activities"]}

    assert [index[name]["primary_skill"] for name in ("start-workflow", "resume-workflow", "end-workflow")] == [
        "workflow-execution"
    ] * 3


def test_the_skill_of_workflow_execution_says_all_that_a_skill_is_promised_to(call):
    told = call("get_skill", skill_id="workflow-execution")

    said = json.dumps(told)
    assert {"protocol", "operations", "rules", "errors"} <= set(told)
    for tool in ("list_workflows", "get_workflow", "get_workflow_activity", "get_checkpoint", "validate_transition"):
        assert tool in said


def test_activities_of_meta_are_entry_points_without_transitions_between_them(call):
    told = call("get_workflow", workflow_id="meta")["activities"]

    assert [activity.get("transitions", []) for activity in told] == [[], [], []]
    assert all(activity["recognition"] for activity in told)


def test_steps_are_done_only_after_the_checkpoint_was_answered(desk, call):
    publish_folder(desk, folder(activity("work", checkpoints=[checkpoint("sure")], steps=[step("do")])))
    begun = call("nav_start", workflow_id="team.plan")
    refused = call("nav_action", state=begun["state"], action="complete_step", step_id="do")
    assert (refused["success"], refused["error"]["code"]) == (False, "CHECKPOINT_BLOCKING")
    assert [option["id"] for option in call("nav_checkpoint", state=begun["state"])["checkpoint"]["options"]] == [
        "yes",
        "no",
    ]

    answered = call(
        "nav_action", state=begun["state"], action="respond_to_checkpoint", checkpoint_id="sure", option_id="yes"
    )

    done = call("nav_action", state=answered["state"], action="complete_step", step_id="do")
    assert done["success"] is True
