"""The navigation tools, where one workflow triggers another: suspended, completed, and gone on with what came back."""

import pytest

from tests import run_cast
from tests.navigation_play import raw_caller, text_of, tool_caller
from tests.trigger_play import publish_all

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def call():
    desk = run_cast.make_desk()
    publish_all(desk)
    call = tool_caller(desk.agent)
    call.raw = raw_caller(desk.agent)
    return call


def triggered(call):
    """The parent's first reply, and that of the child which it offers."""
    parent = call("nav_start", workflow_id="team.parent", initial_variables={"ticket": "T-1"})
    [entry] = [each for each in parent["availableActions"]["optional"] if each["action"] == "nav_start"]
    given = entry["initial_variables"]
    return parent, call("nav_start", workflow_id=entry["workflow"], initial_variables=given)


def completed(call, state, *step_ids):
    value = {"state": state}
    for step_id in step_ids:
        value = call("nav_action", state=value["state"], action="complete_step", step_id=step_id)
    return value


def test_a_run_that_triggered_another_is_suspended_until_it_is_complete(call):
    parent, child = triggered(call)

    waiting = call("nav_situation", state=parent["state"])
    assert (waiting["availableActions"]["required"], waiting["availableActions"]["optional"]) == ([], [])
    assert waiting["availableActions"]["blocked"][0]["state"] == child["state"]
    refused = completed(call, parent["state"], "draft")
    assert (refused["success"], refused["error"]["code"]) == (False, "RUN_SUSPENDED")

    ended = completed(call, child["state"], "do", "end")
    assert "the run that triggered it goes on" in ended["message"]
    back = call("nav_situation", state=parent["state"])
    assert back["availableActions"]["required"][0]["step"] == "draft"
    [entry] = [each for each in back["availableActions"]["optional"] if each["action"] == "nav_start"]
    assert entry["initial_variables"] == {"ticket": "T-1", "parent_state": back["state"]}
    assert completed(call, parent["state"], "draft")["success"]


def test_a_lost_child_is_found_by_its_parents_state(call):
    parent, _child = triggered(call)

    waits = call("nav_situation", state=parent["state"])["availableActions"]["blocked"][0]

    assert call(waits["action"], state=waits["state"])["position"]["workflow"] == waits["workflow"]


def test_a_parent_state_of_null_is_the_same_as_none(call):
    begun = call("nav_start", workflow_id="team.child", initial_variables={"parent_state": None, "ticket": "T-1"})

    assert begun["success"] is True


def test_a_parent_state_that_is_no_state_is_told_as_a_token_error(call):
    result = call.raw("nav_start", workflow_id="team.child", initial_variables={"parent_state": "lost"})

    assert result["isError"]
    assert "TOKEN_INVALID_FORMAT" in text_of(result)
