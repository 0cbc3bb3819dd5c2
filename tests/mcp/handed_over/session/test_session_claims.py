"""What the session dialect warns of, and what its trace tells."""

import pytest

from tests.activity_folders import toon, workflow
from tests.handover_play import (
    entered,
    manifest,
    plan_files,
    republish,
    warnings_of,
)

pytestmark = pytest.mark.django_db(transaction=True)


# Validation


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


def test_the_first_call_returns_a_trace_token_too(drafting):
    assert drafting["trace_token"].startswith("tr.v1.")
