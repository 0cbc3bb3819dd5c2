"""How a yielded checkpoint of the orchestrator dialect holds a run, and in which ways it is resolved."""

import pytest

from tests.handover_play import (
    AUTO_MS,
    text_of,
)

pytestmark = pytest.mark.django_db(transaction=True)


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
