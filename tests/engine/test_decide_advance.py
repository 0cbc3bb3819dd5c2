"""Starting, advancing and completing: what is decided and what is written down."""

import pytest

from sessions_app.engine.decisions import Bookmark, Outcome
from sessions_app.engine.log import EdgeCause, EdgeKind, NodeKind
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.state import Preferences
from sessions_app.engine.submissions import Submission
from teams_app.engine.errors import InvalidInputError, PreconditionFailedError
from tests.engine_play import NEVER_STOP, STOP_ON_USER, Play, built, do, played, steps_program
from tests.step_documents import step
from tests.walking import IS_ON, loop
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.program import (
    Action,
    ActionKind,
    Autonomy,
    Capability,
    CapabilityNeed,
    LoopKind,
    Variable,
    VariableType,
)

PROGRAM = built(do("a"), do("b"), do("c"))
OBSERVED = {"kind": "wr.capability_observation", "capability": "delegation", "status": "unavailable"}


# Start


def test_a_start_writes_the_run_its_preferences_its_context_and_its_first_node():
    _, at = played(PROGRAM, context={"ticket": "A-1"})

    assert at.kinds == [
        "run_started",
        "preferences_changed",
        "context_set",
        "decision_trace_appended",
        "node_created",
    ]
    assert (at.outcome, at.pending) == (Outcome.STARTED, "a")
    assert (at.decision.edge_kind, at.decision.status) == (None, RunStatus.IN_PROGRESS)
    assert at.drafts("run_started")[0]["workflowHash"] == at.decision.place.workflow_hash
    assert at.drafts("context_set")[0]["delta"] == {"ticket": "A-1"}
    assert at.snapshot.variables == {"ticket": "A-1"}


def test_a_start_without_a_step_to_do_is_complete():
    _, at = played(built(do("a", run_condition=IS_ON)))

    assert at.snapshot.is_complete
    assert (at.decision.status, at.kinds[-2:]) == (RunStatus.COMPLETE, ["run_completed", "node_created"])


def test_defaults_of_variables_are_there_and_the_context_goes_before_them():
    variables = tuple(
        Variable(name=name, type=VariableType.NUMBER, has_default=True, default=1) for name in ("kept", "given")
    )
    _, at = played(built(do("a"), variables=variables), context={"given": 2})

    assert at.snapshot.variables == {"kept": 1, "given": 2}


def test_a_start_that_cannot_find_its_first_step_leaves_no_trace_and_names_the_key():
    program = built(loop("l", do("a"), kind=LoopKind.FOR_EACH, items=("files",)))

    with pytest.raises(PreconditionFailedError) as refusal:
        played(program)

    assert refusal.value.details["keys"] == ["files"]
    assert "files" in refusal.value.suggestion


def test_a_goal_that_is_too_long_is_refused():
    with pytest.raises(InvalidInputError):
        played(PROGRAM, goal="x" * 2049)


@pytest.mark.parametrize(
    ("given", "source", "delta"),
    [
        (None, "system", [{"key": "autonomy", "value": "guided"}, {"key": "riskPolicy", "value": "conservative"}]),
        (STOP_ON_USER, "agent", [{"key": "autonomy", "value": "full_auto_stop_on_user_deps"}]),
    ],
)
def test_the_first_preferences_say_whose_they_are(given, source, delta):
    _, at = played(PROGRAM, preferences=given)

    (said,) = at.drafts("preferences_changed")
    assert (said["source"], said["delta"]) == (source, delta)


def test_the_baseline_of_the_session_is_what_a_run_begins_with():
    _, at = played(PROGRAM, baseline=Preferences(autonomy=Autonomy.STOP_ON_USER_DEPS))

    assert at.snapshot.preferences.autonomy is Autonomy.STOP_ON_USER_DEPS


# Advance


def test_an_advance_is_written_in_the_order_of_the_log():
    program = steps_program(
        step("assess-it", assessmentRefs=["ready"]),
        step("next-step"),
        assessments=[
            {"id": "ready", "purpose": "P", "dimensions": [{"id": "tests", "purpose": "T", "levels": ["lo", "hi"]}]}
        ],
    )
    play, at = played(program)
    graded = {"kind": "wr.assessment", "dimensions": {"tests": "hi"}}
    diverged = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Once."}

    then = play.advance(at, artifacts=[graded, diverged, OBSERVED], context={"x": 1})

    assert then.kinds == [
        "advance_recorded",
        "context_set",
        "capability_observed",
        "divergence_recorded",
        "assessment_recorded",
        "decision_trace_appended",
        "node_created",
        "edge_created",
        "node_output_appended",
        "node_output_appended",
        "node_output_appended",
        "node_output_appended",
    ]
    assert then.decision.step_context == {
        "assessments": [{"assessmentId": "ready", "levels": {"tests": "hi"}, "summary": ""}]
    }


def test_an_advance_of_a_tip_and_one_of_an_older_node_have_other_causes():
    play, at = played(PROGRAM)

    first, second = play.advance(at), play.advance(at)

    assert (first.decision.edge_kind, first.decision.edge_cause) == (EdgeKind.ACKED_STEP, EdgeCause.TIP_ADVANCE)
    assert second.decision.edge_cause is EdgeCause.NON_TIP_ADVANCE
    entries = second.drafts("decision_trace_appended")[0]["entries"]
    assert entries[0]["kind"] == "detected_non_tip_advance"


def test_the_last_advance_completes_the_run():
    play, at = played(built(do("a")))

    end = play.advance(at)

    assert end.snapshot.is_complete
    assert (end.decision.status, end.pending) == (RunStatus.COMPLETE, "")
    assert "run_completed" in end.kinds


def test_nothing_is_acknowledged_after_the_end():
    play, at = played(built(do("a")))
    end = play.advance(at)

    with pytest.raises(PreconditionFailedError, match="complete"):
        play.advance(end)


def test_context_is_merged_into_the_state_of_the_node():
    play, at = played(PROGRAM, context={"a": 1, "b": 2})

    then = play.advance(at, context={"b": None, "c": 3})

    assert then.snapshot.variables == {"a": 1, "c": 3}
    assert then.drafts("context_set")[0] == {
        "contextId": then.drafts("context_set")[0]["contextId"],
        "source": "agent_delta",
        "delta": {"b": None, "c": 3},
    }


def test_a_fork_sees_nothing_of_its_siblings():
    program = built(do("a"), do("b", run_condition=IS_ON), do("c"))
    play, at = played(program)

    with_it, without_it = play.advance(at, context={"on": True}), play.advance(at)

    assert (with_it.pending, without_it.pending) == ("b", "c")


def test_the_context_of_a_bad_delta_leaves_no_trace():
    play, at = played(PROGRAM)
    before = len(play.bodies)

    with pytest.raises(InvalidInputError):
        play.advance(at, context={"__proto__": 1})

    assert len(play.bodies) == before


@pytest.mark.parametrize("notes", ["a\x00b", "a\ud800b"])
def test_notes_that_cannot_be_stored_leave_no_trace(notes):
    play, at = played(PROGRAM)

    with pytest.raises(InvalidInputError):
        play.advance(at, notes)


def test_a_set_action_of_a_step_puts_its_value_into_the_context():
    action = Action(action=ActionKind.SET, target="on", value=True)
    unmet = Action(action=ActionKind.SET, target="off", value=True, condition=IS_ON)
    play, at = played(built(do("a", actions=(action, unmet)), do("b", run_condition=IS_ON)))

    then = play.advance(at)

    assert (then.pending, then.snapshot.variables) == ("b", {"on": True})


# Outputs


def test_notes_come_first_and_artifacts_by_their_digest():
    play, at = played(PROGRAM)
    artifacts = [{"kind": "own.a", "n": number} for number in range(4)]

    outputs = play.advance(at, artifacts=artifacts).decision.outputs

    assert [out.channel.value for out in outputs] == ["recap", "artifact", "artifact", "artifact", "artifact"]
    assert [out.sha256 for out in outputs[1:]] == sorted(out.sha256 for out in outputs[1:])


def test_an_artifact_stands_whole_in_the_log():
    play, at = played(PROGRAM)

    then = play.advance(at, "", artifacts=[{"kind": "own.a", "n": 1.5}])

    (said,) = then.drafts("node_output_appended")
    assert said["payload"]["content"] == {"kind": "own.a", "n": 1.5}
    assert (said["payload"]["artifactKind"], said["payload"]["byteLength"]) == (
        "own.a",
        len('{"kind":"own.a","n":1.5}'),
    )


def test_long_notes_are_cut_and_it_is_said():
    play, at = played(PROGRAM)

    then = play.advance(at, "é" * 2049)

    assert then.warnings == ["NOTES_TRUNCATED"]
    assert len(then.decision.outputs[0].body.encode()) <= 4096


def test_blank_notes_are_no_output():
    play, at = played(PROGRAM)

    assert play.advance(at, " \n").decision.outputs == ()


def test_the_same_call_decides_the_same_thing():
    plays = [played(PROGRAM) for _ in range(2)]

    first, second = (play.advance(at, artifacts=[{"kind": "own.a"}], context={"x": 1}) for play, at in plays)

    assert first.decision == second.decision
    assert plays[0][0].head == plays[1][0].head


def test_every_key_of_the_log_stands_once_and_is_well_formed():
    program = steps_program(
        step("assess-it", assessmentRefs=["ready", "safe"]),
        assessments=[
            {"id": name, "purpose": "P", "dimensions": [{"id": "d", "purpose": "T", "levels": ["lo", "hi"]}]}
            for name in ("ready", "safe")
        ],
    )
    play, at = played(program, preferences=NEVER_STOP)
    graded = [{"kind": "wr.assessment", "assessmentId": name, "dimensions": {"d": "hi"}} for name in ("ready", "safe")]
    said = [OBSERVED, OBSERVED, {"kind": "wr.loop_control"}, BUILT_IN["wr.contracts.gaps"].example]

    then = play.advance(at, artifacts=[*graded, *said])

    keys = [draft.dedupe for draft in (*at.decision.drafts, *then.decision.drafts)]
    assert len(keys) == len(set(keys))
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789_:>-") and len(key) <= 256 for key in keys)


# What is observed


def test_an_observation_and_a_divergence_are_events_with_their_fields():
    play, at = played(PROGRAM)
    failed = {**OBSERVED, "provenance": "attempted_use", "failureCode": "tool_missing", "detail": "No such tool."}
    diverged = {
        "kind": "wr.workflow_divergence",
        "reason": "safety_stop",
        "summary": "Would have deleted.",
        "relatedStepId": "a",
    }

    then = play.advance(at, artifacts=[failed, diverged])

    (seen,) = then.drafts("capability_observed")
    assert (seen["capability"], seen["status"]) == ("delegation", "unavailable")
    assert seen["provenance"] == {"kind": "attempted_use", "detail": "No such tool.", "failureCode": "tool_missing"}
    (said,) = then.drafts("divergence_recorded")
    assert (said["reason"], said["relatedStepId"]) == ("safety_stop", "a")


def test_what_was_learnt_of_a_capability_stays_with_the_branch():
    play, at = played(PROGRAM)

    learnt = play.advance(play.advance(at, artifacts=[OBSERVED]))
    other = play.advance(at)

    assert learnt.snapshot.capabilities[Capability.DELEGATION].status.value == "unavailable"
    assert other.snapshot.capabilities == {}


def test_a_preferred_capability_that_is_missing_is_disclosed_and_stops_nothing():
    program = built(do("a"), do("b"), capabilities={Capability.DELEGATION: CapabilityNeed.PREFERRED})
    play, at = played(program)

    then = play.advance(at, artifacts=[OBSERVED])

    assert (then.outcome, then.pending) == (Outcome.ADVANCED, "b")
    assert then.gaps == [("warning", "required_capability_unavailable")]
    assert then.warnings == ["CAPABILITY_DEGRADED"]


def test_a_trace_says_why_and_keeps_to_its_budgets():
    skipped = [do(f"skipped-{number}", run_condition=IS_ON) for number in range(60)]
    play, at = played(built(do("a"), *skipped, do("z")))

    then = play.advance(at)

    (trace,) = then.drafts("decision_trace_appended")
    assert len(trace["entries"]) <= 25
    assert trace["entries"][-1] == {
        "kind": "selected_next_step",
        "summary": "Next is z.",
        "refs": {"stepId": "z"},
    }


# Bookmarks


def test_a_bookmark_is_a_node_beside_the_run_that_stays_where_it_is():
    play, at = played(PROGRAM)

    kept = play.bookmark(at)

    assert kept.kinds == ["node_created", "edge_created", "node_output_appended"]
    assert (kept.decision.node_kind, kept.decision.edge_kind) == (NodeKind.BOOKMARK, EdgeKind.BOOKMARK)
    assert kept.decision.edge_cause is EdgeCause.CHECKPOINT_CREATED
    assert kept.snapshot == at.snapshot


def test_an_advance_after_a_bookmark_is_still_one_of_the_tip():
    play, at = played(PROGRAM)
    play.bookmark(at)

    assert play.advance(at).decision.edge_cause is EdgeCause.TIP_ADVANCE


def test_a_bookmark_of_nothing_is_refused():
    play, at = played(PROGRAM)

    with pytest.raises(InvalidInputError, match="nothing to record"):
        play.bookmark(at, "  ")
    assert play.bookmark(at, "", artifacts=[{"kind": "own.a"}]).decision.outputs


def test_a_bookmark_after_the_end_does_not_complete_the_run_again():
    play, at = played(built(do("a")))
    end = play.advance(at)

    assert "run_completed" not in play.bookmark(end).kinds


def test_only_a_start_has_no_state_before_it():
    play = Play(program=PROGRAM)

    with pytest.raises(ValueError, match="start"):
        play._decide(None, Bookmark(submission=Submission(notes="x")), node=None)
