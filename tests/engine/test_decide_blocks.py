"""Blocked attempts, retries, modes that stop and one that never does, gates and approvals."""

import pytest
from hypothesis import given, settings, strategies as st

from sessions_app.engine.decisions import Outcome, PreferenceChange
from sessions_app.engine.log import NodeKind
from sessions_app.engine.prompts import pending_of
from sessions_app.engine.refusals import MAX_CONSECUTIVE_BLOCKS
from sessions_app.engine.runs import RunStatus
from sessions_app.engine.state import is_same_work
from teams_app.engine.errors import PreconditionFailedError
from tests.engine_play import (
    AGGRESSIVE,
    BALANCED,
    NEVER_STOP,
    STOP_ON_USER,
    WAIVED,
    activities,
    asking,
    built,
    do,
    played,
    steps_program,
)
from tests.step_documents import loop as authored_loop, step
from tests.walking import GO_ON, IS_ON, STOP, activity, loop, to
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.program import (
    Autonomy,
    Capability,
    CapabilityNeed,
    Confirmation,
    ConfirmationKind,
    ContractUse,
    Effect,
    LoopKind,
    Option,
    RiskPolicy,
    Step,
)

VERDICT = "wr.contracts.review_verdict"
NOTED = steps_program(step("first-step"), step("second-step"))
HANDED_IN = steps_program(step("hand-in", outputContract={"contractRef": VERDICT}), step("second-step"))
GOOD = BUILT_IN[VERDICT].example
BAD = {**GOOD, "verdict": "maybe"}
STOPPING = pytest.mark.parametrize("mode", [None, STOP_ON_USER])


# Block and retry


@STOPPING
def test_a_block_is_a_node_with_the_same_work_pending(mode):
    play, at = played(NOTED, preferences=mode)

    stuck = play.advance(at, "")

    assert (stuck.outcome, stuck.decision.node_kind) == (Outcome.BLOCKED, NodeKind.BLOCKED_ATTEMPT)
    assert (stuck.pending, stuck.blockers) == ("first-step", ["MISSING_REQUIRED_NOTES"])
    assert stuck.decision.status is RunStatus.BLOCKED
    (recorded,) = stuck.drafts("advance_recorded")
    assert recorded["outcome"]["kind"] == "blocked"
    assert recorded["outcome"]["blockers"][0]["code"] == "MISSING_REQUIRED_NOTES"


def test_an_approval_that_only_an_agent_says_is_needed_is_waited_for_by_nobody():
    """It is a block like any other: no question is asked, and the next try goes on."""
    play, at = played(NOTED)
    said = {"detail": "needs_user_approval", "severity": "critical", "summary": "The owner has to agree."}

    stuck = play.advance(at, artifacts=[{"kind": "wr.gaps", "gaps": [said]}])

    assert stuck.blockers == ["USER_ONLY_DEPENDENCY"]
    assert (stuck.snapshot.work, stuck.snapshot.questions, stuck.snapshot.consecutive_blocks) == (None, (), 1)
    assert play.advance(stuck).outcome is Outcome.ADVANCED


def test_a_hint_is_shown_and_blocks_nothing():
    hinted = steps_program(step("first-step", output={"hints": ["At most ten lines."]}), step("second-step"))
    play, at = played(hinted)

    then = play.advance(at, "One more line.\n" * 50)

    assert pending_of(program=hinted, snapshot=at.snapshot).guidance == ("At most ten lines.",)
    assert (then.outcome, then.pending) == (Outcome.ADVANCED, "second-step")


def test_a_step_from_a_routine_is_blocked_like_any_other():
    """Its id has a dot, which no pattern of ours forbids."""
    play, at = played(built(Step(id="caller.inside", title="Inside", prompt="Do it.")))

    stuck = play.advance(at, "")

    assert stuck.snapshot.blocked.blockers[0].pointer.as_json() == {"kind": "workflow_step", "stepId": "caller.inside"}
    assert play.advance(stuck).snapshot.is_complete


def test_a_retry_goes_on_from_the_block():
    play, at = played(NOTED)

    then = play.advance(play.advance(at, ""), "Done.")

    assert (then.outcome, then.pending) == (Outcome.ADVANCED, "second-step")
    assert (then.snapshot.blocked, then.snapshot.consecutive_blocks) == (None, 0)


def test_what_a_retry_hands_in_supersedes_what_was_blocked():
    play, at = played(HANDED_IN)
    stuck = play.advance(at, "First try.", artifacts=[BAD, {"kind": "own.a"}])
    before = {out.artifact_kind: out.output_id for out in stuck.decision.outputs}

    then = play.advance(stuck, "Second try.", artifacts=[GOOD])

    after = {out.artifact_kind: out.supersedes for out in then.decision.outputs}
    assert after == {"": before[""], "wr.review_verdict": before["wr.review_verdict"]}


def test_what_a_second_block_did_not_replace_is_replaced_by_the_retry_after_it():
    play, at = played(HANDED_IN)
    first = play.advance(at, "First try.", artifacts=[BAD])
    second = play.advance(first, "", artifacts=[BAD])

    then = play.advance(second, "Third try.", artifacts=[GOOD])

    notes, artifact = then.decision.outputs
    assert notes.supersedes == first.decision.outputs[0].output_id
    assert artifact.supersedes == second.decision.outputs[0].output_id


def test_a_block_keeps_the_context_and_what_was_learnt():
    play, at = played(NOTED)
    seen = {"kind": "wr.capability_observation", "capability": "delegation", "status": "available"}

    stuck = play.advance(at, "", context={"x": 1}, artifacts=[seen])

    assert stuck.snapshot.variables == {"x": 1}
    assert Capability.DELEGATION in stuck.snapshot.capabilities


def test_a_failed_check_is_recorded_and_so_is_the_retry_that_passes_it():
    play, at = played(HANDED_IN)
    stuck = play.advance(at, artifacts=[BAD])

    then = play.advance(stuck, artifacts=[GOOD])

    (failed,), (passed,) = stuck.drafts("validation_performed"), then.drafts("validation_performed")
    assert (failed["contractRef"], failed["result"]["valid"]) == (VERDICT, False)
    assert failed["result"]["issues"]
    assert (passed["result"]["valid"], passed["result"]["issues"]) == (True, [])


def test_a_walk_that_cannot_go_on_blocks_and_says_which_key_would_help():
    play, at = played(built(do("a"), loop("l", do("b"), kind=LoopKind.FOR_EACH, items=("files",))))

    stuck = play.advance(at)
    then = play.advance(stuck, context={"files": [1]})

    assert stuck.blockers == ["MISSING_CONTEXT_KEY"]
    assert stuck.snapshot.blocked.blockers[0].pointer.as_json() == {"kind": "context_key", "key": "files"}
    assert then.pending == "l@0::b"


COUNTED = built(do("a"), loop("l", do("b"), kind=LoopKind.FOR, count=("times",), max_iterations=4), do("end"))


@pytest.mark.parametrize("times", [2.5, -1, "2", True, None, [2]])
def test_a_count_that_is_no_whole_number_blocks_until_it_is_one(times):
    play, at = played(COUNTED)

    stuck = play.advance(at, context={"times": times})
    then = play.advance(stuck, context={"times": 2})

    assert stuck.blockers == ["MISSING_CONTEXT_KEY"]
    assert "so that times is a whole number of at least 0" in stuck.fixes[0]
    assert then.pending == "l@0::b"


@pytest.mark.parametrize("times", [2.5, -1])
def test_a_count_that_is_no_whole_number_is_a_gap_where_nothing_stops(times):
    play, at = played(COUNTED, preferences=NEVER_STOP)

    then = play.advance(at, context={"times": times})

    assert (then.pending, len(then.drafts("gap_recorded"))) == ("end", 1)


def decided_loop():
    body = [step("decide-it", outputContract={"contractRef": "wr.contracts.loop_control"})]
    source = {"kind": "artifact_contract", "contractRef": "wr.contracts.loop_control"}
    return steps_program(authored_loop("the-loop", body, conditionSource=source, maxIterations=1), step("the-end"))


def test_a_loop_at_its_limit_blocks_loudly_and_is_ended_by_deciding_so():
    play, at = played(decided_loop())

    stuck = play.advance(at, artifacts=[GO_ON])
    then = play.advance(stuck, artifacts=[STOP])

    assert stuck.blockers == ["INVARIANT_VIOLATION"]
    assert "decision is stop" in stuck.fixes[0]
    assert then.pending == "the-end"


def test_a_loop_at_its_limit_is_a_critical_gap_where_nothing_stops():
    play, at = played(decided_loop(), preferences=NEVER_STOP)

    then = play.advance(at, artifacts=[GO_ON])

    assert (then.pending, then.gaps) == ("the-end", [("critical", "evaluation_error")])


# The circuit breaker


def stuck_so_often(play, at, times):
    for _ in range(times):
        at = play.advance(at, "")
    return at


def test_after_ten_blocks_in_a_row_no_further_attempt_is_taken():
    play, at = played(NOTED)
    stuck = stuck_so_often(play, at, MAX_CONSECUTIVE_BLOCKS)

    with pytest.raises(PreconditionFailedError) as refusal:
        play.advance(stuck, "Done.")

    assert refusal.value.details["reason"] == "CIRCUIT_OPEN"
    assert refusal.value.details["blockers"][0]["code"] == "MISSING_REQUIRED_NOTES"


def test_a_retry_before_the_tenth_still_passes():
    play, at = played(NOTED)

    assert play.advance(stuck_so_often(play, at, MAX_CONSECUTIVE_BLOCKS - 1), "Done.").outcome is Outcome.ADVANCED


@pytest.mark.parametrize("change", [STOP_ON_USER, NEVER_STOP])
def test_a_person_who_changes_the_mode_closes_the_circuit(change):
    play, at = played(NOTED)
    changed = play.change(stuck_so_often(play, at, MAX_CONSECUTIVE_BLOCKS), change)

    assert play.advance(changed, "Done.").outcome is Outcome.ADVANCED


def test_a_run_that_never_stops_is_not_stopped_by_the_circuit_either():
    play, at = played(NOTED)
    stuck = stuck_so_often(play, at, MAX_CONSECUTIVE_BLOCKS)

    assert play.advance(stuck, "", preferences=NEVER_STOP).outcome is Outcome.ADVANCED


# Never stop


@pytest.mark.parametrize(
    ("program", "handed_in", "detail"),
    [
        (NOTED, {"notes": ""}, "missing_required_notes"),
        (HANDED_IN, {}, "missing_required_output"),
        (HANDED_IN, {"artifacts": [BAD]}, "invalid_required_output"),
        (HANDED_IN, {"artifacts": [GOOD, {"kind": "wr.gaps"}]}, "invalid_required_output"),
    ],
)
def test_what_would_block_is_a_critical_gap_and_the_run_goes_on(program, handed_in, detail):
    play, at = played(program, preferences=NEVER_STOP)

    then = play.advance(at, **handed_in)

    assert (then.outcome, then.pending) == (Outcome.ADVANCED, "second-step")
    assert then.gaps == [("critical", detail)]
    assert then.warnings == ["GAP_RECORDED"]
    assert then.drafts("gap_recorded")[0]["resolution"] == {"kind": "unresolved"}


def test_a_run_with_a_critical_gap_ends_as_one():
    play, at = played(NOTED, preferences=NEVER_STOP)

    end = play.advance(play.advance(at, ""), "Done.")

    assert end.decision.status is RunStatus.COMPLETE_WITH_GAPS


ARTIFACTS = st.lists(
    st.sampled_from(
        [
            GOOD,
            BAD,
            STOP,
            GO_ON,
            {"kind": "wr.loop_control", "decision": 5, "loopId": []},
            {"kind": "wr.gaps", "gaps": [{"detail": "needs_user_choice", "summary": "?", "severity": "critical"}]},
            {"kind": "wr.capability_observation", "capability": "web_browsing", "status": "unavailable"},
            {"kind": "wr.assessment", "dimensions": {"d": "odd"}},
            {"kind": "wr.checkpoint_answer", "optionId": "none"},
        ]
    ),
    max_size=3,
)


def hard_program():
    gate, checkpoint = asking("plan", Option(id="yes", label="Yes"), human=True)
    contract = ContractUse(contract=VERDICT)
    return activities(
        activity(
            "one",
            do("a", contract=contract),
            gate,
            loop("l", do("b"), kind=LoopKind.WHILE, decision_contract="wr.contracts.loop_control", max_iterations=2),
            loop("m", do("c"), kind=LoopKind.FOR_EACH, items=("files",)),
            do("d", confirmation=Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL)),
            checkpoints=(checkpoint,),
            transitions=(to("two", condition=IS_ON),),
        ),
        activity("two", do("e", probes=Capability.WEB_BROWSING, contract=contract)),
        contracts={VERDICT: BUILT_IN[VERDICT]},
        capabilities={Capability.WEB_BROWSING: CapabilityNeed.REQUIRED},
    )


@settings(max_examples=60, deadline=None)
@given(handed_in=st.lists(st.tuples(st.sampled_from(["", "Done."]), ARTIFACTS), min_size=12, max_size=12))
def test_whatever_is_handed_in_a_run_that_never_stops_reaches_its_end(handed_in):
    play, at = played(hard_program(), preferences=WAIVED)

    for notes, artifacts in handed_in:
        if at.snapshot.is_complete:
            break
        at = play.advance(at, notes, artifacts=artifacts)
        assert at.outcome is Outcome.ADVANCED

    assert at.snapshot.is_complete


# Preferences


def test_preferences_that_change_with_an_advance_hold_for_that_advance():
    play, at = played(NOTED)

    then = play.advance(at, "", preferences=NEVER_STOP)

    assert then.outcome is Outcome.ADVANCED
    assert then.snapshot.preferences.autonomy is Autonomy.NEVER_STOP
    (said,) = then.drafts("preferences_changed")
    assert (said["source"], said["delta"]) == ("agent", [{"key": "autonomy", "value": "full_auto_never_stop"}])


def test_preferences_are_those_of_the_branch():
    play, at = played(NOTED)
    play.advance(at, preferences=NEVER_STOP)

    assert play.advance(at, "").outcome is Outcome.BLOCKED


def test_preferences_that_stay_as_they_are_are_no_event():
    play, at = played(NOTED, preferences=STOP_ON_USER)

    assert play.advance(at, preferences=STOP_ON_USER).drafts("preferences_changed") == []


def test_a_change_between_steps_leaves_the_work_as_it_is():
    play, at = played(NOTED)

    changed = play.change(at, NEVER_STOP)

    assert changed.outcome is Outcome.PREFERENCES_CHANGED
    assert changed.kinds == ["preferences_changed", "node_created", "edge_created"]
    assert is_same_work(at.snapshot, changed.snapshot)
    assert play.advance(changed, "").outcome is Outcome.ADVANCED


def test_a_change_at_a_block_leaves_the_block():
    play, at = played(NOTED)
    stuck = play.advance(at, "")

    changed = play.change(stuck, AGGRESSIVE)

    assert (changed.decision.node_kind, changed.blockers) == (NodeKind.BLOCKED_ATTEMPT, ["MISSING_REQUIRED_NOTES"])
    assert is_same_work(stuck.snapshot, changed.snapshot)


def test_an_advance_is_no_change_of_the_mode_only():
    play, at = played(NOTED)
    stuck = play.advance(at, "")

    assert not is_same_work(at.snapshot, stuck.snapshot)
    assert not is_same_work(stuck.snapshot, play.advance(stuck, "").snapshot)
    assert not is_same_work(at.snapshot, play.advance(at, preferences=NEVER_STOP).snapshot)


def test_a_retry_between_two_modes_is_no_change_of_the_mode_only():
    """Blocked again in the same words, and the mode changed then: something has happened below the first block."""
    play, at = played(NOTED)
    stuck = play.advance(at, "")

    changed = play.change(play.advance(stuck, ""), STOP_ON_USER)

    assert changed.snapshot.blocked == stuck.snapshot.blocked
    assert not is_same_work(stuck.snapshot, changed.snapshot)


@pytest.mark.parametrize(
    ("recommended", "chosen", "warned"),
    [
        ({}, {"autonomy": Autonomy.NEVER_STOP, "risk_policy": RiskPolicy.AGGRESSIVE}, 0),
        ({"recommended_autonomy": Autonomy.STOP_ON_USER_DEPS}, {"autonomy": Autonomy.STOP_ON_USER_DEPS}, 0),
        ({"recommended_autonomy": Autonomy.STOP_ON_USER_DEPS}, {"autonomy": Autonomy.NEVER_STOP}, 1),
        ({"recommended_risk_policy": RiskPolicy.CONSERVATIVE}, {"risk_policy": RiskPolicy.BALANCED}, 1),
        (
            {"recommended_autonomy": Autonomy.GUIDED, "recommended_risk_policy": RiskPolicy.BALANCED},
            {"autonomy": Autonomy.NEVER_STOP, "risk_policy": RiskPolicy.AGGRESSIVE},
            2,
        ),
    ],
)
def test_a_mode_above_what_the_workflow_recommends_is_taken_with_a_warning(recommended, chosen, warned):
    play, at = played(built(do("a"), do("b"), **recommended), preferences=PreferenceChange(**chosen))
    _, plain = played(built(do("a"), do("b"), **recommended))

    assert at.outcome is Outcome.STARTED
    assert at.warnings == ["MODE_ABOVE_RECOMMENDED"] * warned
    assert plain.warnings == []
    assert len(play.change(at, PreferenceChange(**chosen)).warnings) == warned


# Capabilities


def probing():
    contract_id = "wr.contracts.capability_observation"
    probe = do("probe", contract=ContractUse(contract=contract_id), probes=Capability.WEB_BROWSING)
    return built(
        probe,
        do("work"),
        contracts={contract_id: BUILT_IN[contract_id]},
        capabilities={Capability.WEB_BROWSING: CapabilityNeed.REQUIRED},
    )


def observed(status):
    return [
        {
            "kind": "wr.capability_observation",
            "capability": "web_browsing",
            "status": status,
            "provenance": "probe_step",
        }
    ]


@pytest.mark.parametrize(
    ("mode", "status", "blockers", "gaps"),
    [
        (None, "unavailable", ["REQUIRED_CAPABILITY_UNAVAILABLE"], []),
        (STOP_ON_USER, "unavailable", ["REQUIRED_CAPABILITY_UNAVAILABLE"], []),
        (None, "unknown", ["REQUIRED_CAPABILITY_UNKNOWN"], []),
        (BALANCED, "unknown", [], [("warning", "required_capability_unknown")]),
        (BALANCED, "unavailable", ["REQUIRED_CAPABILITY_UNAVAILABLE"], []),
        (AGGRESSIVE, "unavailable", [], [("warning", "required_capability_unavailable")]),
        (NEVER_STOP, "unavailable", [], [("critical", "required_capability_unavailable")]),
        (None, "available", [], []),
    ],
)
def test_a_required_capability_in_each_mode(mode, status, blockers, gaps):
    play, at = played(probing(), preferences=mode)

    then = play.advance(at, artifacts=observed(status))

    assert (then.blockers, then.gaps) == (blockers, gaps)


def test_a_probe_that_succeeds_after_all_lets_the_run_go_on():
    play, at = played(probing())

    then = play.advance(play.advance(at, artifacts=observed("unavailable")), artifacts=observed("available"))

    assert then.pending == "work"


# Checkpoints and approvals


YES = Option(id="yes", label="Yes", effect=Effect(set_variable={"on": True}))
NO = Option(id="no", label="No", effect=Effect(transition_to="two"))


def gated(**fields):
    gate, checkpoint = asking("plan", YES, NO, **fields)
    return activities(
        activity("one", gate, do("a", run_condition=IS_ON), checkpoints=(checkpoint,)), activity("two", do("b"))
    )


def answering(option_id):
    return [{"kind": "wr.checkpoint_answer", "checkpointId": "plan", "optionId": option_id}]


@pytest.mark.parametrize(("option", "pending"), [("yes", "one@0::a"), ("no", "two@0::b")])
def test_the_effect_of_the_chosen_option_is_applied(option, pending):
    play, at = played(gated())

    then = play.advance(at, artifacts=answering(option))

    assert then.pending == pending
    assert then.drafts("checkpoint_answered")[0]["optionId"] == option
    assert then.drafts("checkpoint_answered")[0]["authority"] == "relayed"


@pytest.mark.parametrize("artifacts", [[], answering("maybe"), answering(["yes"])])
def test_without_an_answer_that_is_one_the_run_waits_and_nothing_is_recorded_as_answered(artifacts):
    play, at = played(gated(default_option="yes"))

    stuck = play.advance(at, artifacts=artifacts)

    assert stuck.blockers == ["USER_ONLY_DEPENDENCY"]
    assert "checkpoint_answered" not in stuck.kinds
    assert "on" not in stuck.snapshot.variables


def test_where_nothing_stops_a_default_is_taken_and_said_to_be_one():
    play, at = played(gated(default_option="yes"), preferences=NEVER_STOP)

    then = play.advance(at)

    assert (then.pending, then.gaps) == ("one@0::a", [("critical", "needs_user_choice")])
    assert then.drafts("checkpoint_answered")[0]["authority"] == "default"


def test_an_agent_cannot_answer_what_only_a_person_may():
    play, at = played(gated(human=True))

    stuck = play.advance(at, artifacts=answering("yes"))

    assert stuck.blockers == ["USER_ONLY_DEPENDENCY"]


def test_a_person_answers_it():
    play, at = played(gated(human=True))

    then = play.advance(at, artifacts=answering("yes"), by_person=True)

    assert then.pending == "one@0::a"
    assert then.drafts("checkpoint_answered")[0]["authority"] == "human"


def test_where_a_person_waives_it_a_question_for_people_stays_unanswered():
    play, at = played(gated(human=True, default_option="yes"), preferences=WAIVED)

    then = play.advance(at, artifacts=answering("yes"))

    assert then.gaps == [("critical", "needs_user_approval")]
    assert "checkpoint_answered" not in then.kinds
    assert "on" not in then.snapshot.variables


APPROVED = Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL)


def test_a_step_for_approval_is_not_passed_by_an_agent():
    play, at = played(built(do("a", confirmation=APPROVED), do("b")))

    stuck = play.advance(at)

    assert stuck.blockers == ["USER_ONLY_DEPENDENCY"]
    assert stuck.snapshot.blocked.retryable


def test_a_person_approves_it_and_the_log_says_so():
    play, at = played(built(do("a", confirmation=APPROVED), do("b")))
    stuck = play.advance(at)

    for here in (at, stuck):
        then = play.advance(here, by_person=True)
        assert then.pending == "b"
        assert then.drafts("checkpoint_answered")[0]["authority"] == "human"


def test_an_approval_is_asked_of_the_context_that_the_step_began_with():
    conditional = Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL, condition=IS_ON)
    play, at = played(built(do("a", confirmation=conditional), do("b")), context={"on": True})

    stuck = play.advance(at, context={"on": False})
    again = play.advance(stuck)

    assert (stuck.blockers, again.blockers) == (["USER_ONLY_DEPENDENCY"], ["USER_ONLY_DEPENDENCY"])


def test_an_approval_whose_condition_does_not_hold_is_not_asked():
    conditional = Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL, condition=IS_ON)
    play, at = played(built(do("a", confirmation=conditional), do("b")))

    assert play.advance(at).pending == "b"


def test_a_loop_for_approval_is_not_entered_past_by_an_agent():
    play, at = played(built(loop("l", do("a"), count=2, confirmation=APPROVED)))

    stuck = play.advance(at)
    then = play.advance(play.advance(at, by_person=True))

    assert stuck.blockers == ["USER_ONLY_DEPENDENCY"]
    assert then.snapshot.is_complete


def test_a_confirmation_by_the_user_is_the_agents_to_get():
    play, at = played(built(do("a", confirmation=Confirmation(confirms=ConfirmationKind.ALWAYS)), do("b")))

    assert play.advance(at).pending == "b"


@pytest.mark.parametrize("item", ["step", "checkpoint"])
def test_never_stop_that_an_agent_chose_waits_for_people_all_the_same(item):
    program = gated(human=True) if item == "checkpoint" else built(do("a", confirmation=APPROVED), do("b"))
    play, at = played(program, preferences=NEVER_STOP)

    then = play.advance(at, artifacts=answering("yes"))

    assert (then.outcome, then.gaps) == (Outcome.BLOCKED, [])
    assert then.blockers == ["USER_ONLY_DEPENDENCY"]


def test_where_a_person_waives_it_a_missing_approval_is_a_critical_gap_that_names_them():
    play, at = played(built(do("a", confirmation=APPROVED), do("b")), preferences=WAIVED)

    then = play.advance(at)

    assert (then.pending, then.gaps) == ("b", [("critical", "needs_user_approval")])
    assert "person_alice" in then.decision.gaps[0].gap.summary
    assert "checkpoint_answered" not in then.kinds
