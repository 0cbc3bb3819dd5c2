"""Whatever tells an agent that a person has to answer tells where they do."""

import pytest

from sessions_app.models import CheckpointRequest
from tests import run_cast
from tests.checkpoint_cast import asking, at_question, publish_folder
from tests.gate_play import approval_steps
from tests.handover_cast import WORKFLOW, question, two_activities
from tests.handover_play import caller
from tests.navigation_play import tool_caller
from tests.run_cast import advance, notes_free, rehydrate, run_id, words_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def address(**of):
    row = CheckpointRequest.objects.get(authority="human", **of)
    return f"https://rails.example.com/studio/sessions_app/checkpointrequest/{row.pk}/change/"


@pytest.fixture(autouse=True)
def _known_address(settings):
    settings.PUBLIC_URL = "https://rails.example.com"


@pytest.mark.parametrize("again", [False, True])
def test_the_rail_tells_the_address_of_an_approval_and_of_a_question(desk, again):
    approval = run_cast.begin(
        desk, notes_free("ship", requireConfirmation={"kind": "human_approval"}), notes_free("end")
    )
    blocked = advance(desk.agent, approval)
    asked = at_question(desk, authority="human")

    for reply in (rehydrate(desk.agent, blocked.value) if again else blocked, rehydrate(desk.agent, asked)):
        told = address(run_id=run_id(reply.value))
        assert [each["answerAt"] for each in reply.value["waitsForPerson"]] == [told]
        assert told in words_of(reply)


def test_a_question_that_the_agent_may_pass_on_has_no_address(desk):
    assert "waitsForPerson" not in at_question(desk)


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_dialects_that_hand_over_tell_it_where_they_wait_and_where_they_show_the_question(desk, dialect):
    publish_folder(desk, two_activities(question(authority="human")), WORKFLOW)
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id=WORKFLOW)["session_token"]
    told = call("next_activity", session_token=token, activity_id="plan")
    if dialect == "session":
        shown = call("get_checkpoint", session_token=token, activity_id="plan", checkpoint_id="agreed")
        assert [each["answer_at"] for each in told["waits_for_person"]] == [address()]
    else:
        handle = call("yield_checkpoint", session_token=token, checkpoint_id="agreed")["checkpoint_handle"]
        shown = call("present_checkpoint", checkpoint_handle=handle)

    assert shown["answer_at"] == address()


@pytest.mark.parametrize("dialect", ["session", "orchestrator"])
def test_dialects_that_hand_over_tell_the_address_of_an_approval(desk, dialect):
    call = caller(dialect, desk.agent)
    token = call("start_session", workflow_id=approval_steps(desk))["session_token"]
    call("next_activity", session_token=token, activity_id="main")
    manifest = [{"step_id": step, "output": "Done."} for step in ("before", "gated")]
    told = call("next_activity", session_token=token, activity_id="workflow-end", step_manifest=manifest)

    assert told["status"] == "waiting"
    assert [each["answer_at"] for each in told["waits_for_person"]] == [address()]


def test_navigation_tells_it_beside_the_question(desk):
    publish_folder(desk, asking(authority="human"), "team.plan")
    call = tool_caller(desk.agent)
    state = call("nav_start", workflow_id="team.plan")["state"]
    told = call("nav_action", state=state, action="complete_step", step_id="ask")

    assert [each["answerAt"] for each in told["waitsForPerson"]] == [address()]
