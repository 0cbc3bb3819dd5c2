"""What the orchestrator dialect warns of, and what its trace tells."""

import pytest

from tests.activity_folders import toon, workflow
from tests.handover_play import (
    entered,
    manifest,
    plan_files,
    republish,
    text_of,
    warnings_of,
)

pytestmark = pytest.mark.django_db(transaction=True)


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
