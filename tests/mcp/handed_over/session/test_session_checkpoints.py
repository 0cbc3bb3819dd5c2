"""How pending checkpoints of the session dialect hold a run, and in which ways they are resolved."""

import pytest

from tests import run_cast
from tests.handover_play import (
    AUTO_MS,
    manifest,
)

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_the_current_activity_is_not_entered_again_while_a_question_is_open(call, drafting, clock):
    """The original armed the checkpoints and their clock again."""
    clock.shift(10)
    refusal = call.refused("next_activity", session_token=drafting["session_token"], activity_id="draft")

    assert (refusal["code"], refusal["details"]["pending"]) == ("CHECKPOINT_OPEN", ["sure", "soft", "odd"])
    answer = call("respond_checkpoint", session_token=drafting["session_token"], checkpoint_id="sure", option_id="yes")
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
    assert told["code"] == "CHECKPOINT_NOT_FOUND"
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
    still = call.refused("next_activity", session_token=drafting["session_token"], activity_id="draft")
    assert still["details"]["pending"] == ["sure", "soft", "odd"]


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
    begun = call("next_activity", session_token=token, activity_id="main")
    done = [{"step_id": "ship", "output": "Shipped to staging."}]
    entered = call(
        "next_activity", session_token=begun["session_token"], activity_id="workflow-end", step_manifest=done
    )
    clock.shift(5)

    told = call("get_checkpoint", session_token=entered["session_token"], activity_id="main", checkpoint_id="ship")

    assert (entered["status"], entered["pending_checkpoints"]) == ("waiting", ["ship"])
    assert (told["human"], told["pending"]) == (True, True)
    refusal = refused_response(call, entered["session_token"], "ship", option_id="approve")
    assert refusal["code"] == "HUMAN_REQUIRED"


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_an_answer_that_names_no_checkpoint_answers_none_though_only_one_is_pending(call, drafting, clock, blank):
    clock.shift(10)
    token = drafting["session_token"]
    for name in ("soft", "sure"):
        token = call("respond_checkpoint", session_token=token, checkpoint_id=name, option_id="yes")["session_token"]

    refused = call.refused("respond_checkpoint", session_token=token, checkpoint_id=blank, condition_not_met=True)

    assert (refused["code"], refused["details"]["validationErrors"][0]["path"]) == ("VALIDATION_ERROR", "checkpoint_id")
    left = call("respond_checkpoint", session_token=token, checkpoint_id="odd", condition_not_met=True)
    assert (left["checkpoint_id"], left["remaining_checkpoints"]) == ("odd", [])


@pytest.mark.parametrize("blank", ["", " "])
@pytest.mark.parametrize("with_token", [False, True])
def test_a_session_is_of_no_workflow_that_is_not_named(call, token, blank, with_token):
    given = {"session_token": token} if with_token else {}

    refused = call.refused("start_session", workflow_id=blank, **given)

    assert (refused["code"], refused["details"]["validationErrors"][0]["path"]) == ("VALIDATION_ERROR", "workflow_id")
