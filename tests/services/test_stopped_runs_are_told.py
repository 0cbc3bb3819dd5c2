"""Whoever looks at a run that a person has stopped is told so, and why, from whichever of its steps they look."""

import os

import pytest

from sessions_app.engine.resume_signals import ResumeQuery
from sessions_app.models import Run
from sessions_app.services.moves.resume import resume_sessions
from sessions_app.services.people import stops
from tests import run_cast
from tests.checkpoint_cast import publish_folder
from tests.handover_cast import WORKFLOW, two_activities
from tests.handover_play import caller
from tests.navigation_play import tool_caller
from tests.run_cast import NOW, advanced, begin, plain_steps, published, rehydrate, run_id, soon, start, words_of
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.dialects.rail.resuming import render_text

pytestmark = pytest.mark.django_db(transaction=True)
REASON = "The customer has left."


@pytest.fixture
def desk():
    return run_cast.make_desk()


def stopped(desk, how, id_):
    how(actor=desk.person, run_id=id_, reason=REASON, now=NOW, entropy=os.urandom)


HOWS = pytest.mark.parametrize(
    ("how", "kind"), [(stops.cancel_run, "cancelled"), (stops.pause_run, "paused")], ids=["cancelled", "paused"]
)


@HOWS
@pytest.mark.parametrize("steps", [0, 1])
def test_the_rail_tells_it_at_the_tip_and_before_it(desk, how, kind, steps):
    value = first = begin(desk, *plain_steps(4))
    for _ in range(steps):
        value = advanced(desk.agent, value)
    stopped(desk, how, run_id(value))

    for token in (first, value):
        reply = rehydrate(desk.agent, token)
        assert (reply.value["stopped"]["kind"], reply.value["stopped"]["reason"]) == (kind, REASON)
        assert (reply.value["nextCall"] is None) == (kind == "cancelled")
        assert REASON in words_of(reply)


@HOWS
@pytest.mark.parametrize("steps", [0, 1])
def test_a_search_for_runs_tells_it_and_what_it_offers_answers_the_same(desk, how, kind, steps):
    value = begin(desk, *plain_steps(4))
    for _ in range(steps):
        value = advanced(desk.agent, value)
    stopped(desk, how, run_id(value))

    found = RAIL.say(resume_sessions(actor=desk.agent, query=ResumeQuery(workflow_id="team.sample")))
    (candidate,) = found["candidates"]
    reply = rehydrate(desk.agent, candidate)

    assert candidate["stopped"] == kind == reply.value["stopped"]["kind"]
    assert candidate["isComplete"] is reply.value["isComplete"] is (kind != "paused")
    assert f"{kind} by a person" in render_text(found)
    assert "waits at" not in render_text(found)
    assert "Workflow complete" not in words_of(reply)


def test_a_run_that_goes_on_comes_before_one_that_a_person_has_ended(desk):
    published(desk, *plain_steps(2))
    begun = [start(desk, now=soon(number)).value for number in range(2)]
    stopped(desk, stops.cancel_run, run_id(begun[1]))

    found = RAIL.say(resume_sessions(actor=desk.agent, query=ResumeQuery(workflow_id="team.sample")))["candidates"]

    assert [each["runId"] for each in found] == [each["session"]["runId"] for each in begun]


@HOWS
def test_navigation_tells_it_from_any_state(desk, how, kind):
    publish_folder(desk, two_activities(), WORKFLOW)
    call = tool_caller(desk.agent)
    first = call("nav_start", workflow_id=WORKFLOW)["state"]
    later = call("nav_action", state=first, action="complete_step", step_id="draft")["state"]
    stopped(desk, how, Run.objects.get().pk)

    for state in (first, later):
        told = call("nav_situation", state=state)["stopped"]
        assert (told["kind"], told["reason"]) == (kind, REASON)


@HOWS
@pytest.mark.parametrize(("dialect", "reading"), [("session", "get_skills"), ("orchestrator", "get_workflow")])
def test_what_is_read_in_a_session_comes_with_a_word_of_it(desk, dialect, reading, how, kind):
    publish_folder(desk, two_activities(), WORKFLOW)
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id=WORKFLOW)["session_token"]
    call("next_activity", session_token=token, activity_id="plan")
    stopped(desk, how, Run.objects.get().pk)

    assert f"A person has {kind} this run. Their reason: {REASON}" in call(reading, session_token=token)["warnings"]


@HOWS
def test_the_status_of_a_session_is_that_it_was_stopped(desk, how, kind):
    publish_folder(desk, two_activities(), WORKFLOW)
    call = caller("orchestrator", desk.agent)
    token = call("start_session", workflow_id=WORKFLOW)["session_token"]
    call("next_activity", session_token=token, activity_id="plan")
    stopped(desk, how, Run.objects.get().pk)

    told = call("get_workflow_status", session_token=token)

    assert (told["status"], told["stopped"]["reason"]) == (kind, REASON)
