"""Blocks, retries, gaps, contracts, assessments and rules of notes, through the real tables."""

import json

import pytest

from teams_app.engine.errors import PreconditionFailedError
from tests import run_cast
from tests.engine_play import AGGRESSIVE, NEVER_STOP
from tests.run_cast import (
    NOW,
    advance,
    advanced,
    assert_healthy,
    begin,
    blocker_codes,
    bookmark,
    events,
    notes_free,
    run_id,
    warning_codes,
    words_of,
)
from tests.step_documents import loop, step
from workflows_app.engine.contracts import BUILT_IN

pytestmark = pytest.mark.django_db

VERDICT = "wr.contracts.review_verdict"
GOOD = BUILT_IN[VERDICT].example


@pytest.fixture
def desk():
    return run_cast.make_desk()


def asking(contract_id=VERDICT, **fields):
    return step("hand-in", outputContract={"contractRef": contract_id, **fields})


def outputs_of(value):
    from sessions_app.models import Output

    return list(Output.objects.filter(run_id=run_id(value)).order_by("event_index", "id"))


def gaps_of(value):
    from sessions_app.models import Gap

    return list(Gap.objects.filter(run_id=run_id(value)).order_by("event_index"))


# Block and retry


def test_a_block_tells_what_is_missing_and_hands_out_the_tokens_of_the_retry(desk):
    value = begin(desk, step("first-step"), step("next-step"))

    reply = advance(desk.agent, value, "")

    stuck = reply.value
    assert (stuck["kind"], stuck["retryable"], blocker_codes(stuck)) == ("blocked", True, ["MISSING_REQUIRED_NOTES"])
    assert stuck["retryBy"].startswith("The tokens of nextCall")
    assert stuck["pending"]["stepId"] == "first-step"
    assert stuck["nextCall"]["params"]["ackToken"] == stuck["ackToken"] != value["ackToken"]
    assert stuck["ackToken"] in words_of(reply).splitlines()
    assert_healthy(stuck)


def test_a_retry_passes_and_supersedes_what_was_handed_in_before(desk):
    value = begin(desk, asking(), step("next-step"))
    stuck = advanced(desk.agent, value, "First.", artifacts=[{**GOOD, "verdict": "?"}])

    then = advanced(desk.agent, stuck, "Second.", artifacts=[GOOD])

    first_notes, first_verdict, second_notes, second_verdict = outputs_of(then)
    assert (then["kind"], then["pending"]["stepId"]) == ("ok", "next-step")
    assert second_notes.supersedes_id == first_notes.id
    assert second_verdict.supersedes_id == first_verdict.id
    assert_healthy(then)


def test_the_tokens_of_the_blocked_attempt_only_repeat_the_block(desk):
    value = begin(desk, step("first-step"))
    stuck = advance(desk.agent, value, "")

    assert advance(desk.agent, value, "Notes.").data == stuck.data
    assert advanced(desk.agent, stuck.value, "Notes.")["isComplete"]


def test_one_block_can_be_retried_in_several_ways(desk):
    value = begin(desk, step("first-step"), notes_free("next-step"))
    stuck = advanced(desk.agent, value, "")

    again = advanced(desk.agent, stuck, "")
    then = advanced(desk.agent, again, "Notes.")

    assert (again["kind"], then["kind"]) == ("blocked", "ok")
    assert_healthy(then)


def test_the_status_of_the_run_follows(desk):
    from sessions_app.models import Run

    value = begin(desk, step("first-step"), notes_free("next-step"))
    stuck = advanced(desk.agent, value, "")
    assert Run.objects.get(pk=run_id(value)).status == "blocked"

    advanced(desk.agent, stuck, "Notes.")
    assert Run.objects.get(pk=run_id(value)).status == "in_progress"


def test_ten_blocks_in_a_row_open_the_circuit(desk):
    value = begin(desk, step("first-step"))
    for _ in range(10):
        value = advanced(desk.agent, value, "")
    before = len(events(value))

    with pytest.raises(PreconditionFailedError) as refusal:
        advance(desk.agent, value, "Notes.")

    assert refusal.value.details["reason"] == "CIRCUIT_OPEN"
    assert len(events(value)) == before


def test_a_bookmark_at_a_block_keeps_the_block(desk):
    value = begin(desk, step("first-step"))
    stuck = advanced(desk.agent, value, "")

    kept = bookmark(desk.agent, stuck).value

    assert blocker_codes(kept) == ["MISSING_REQUIRED_NOTES"]
    assert advanced(desk.agent, kept, "Notes.")["isComplete"]
    assert_healthy(kept)


# Contracts


@pytest.mark.parametrize("contract_id", sorted(set(BUILT_IN) - {"wr.contracts.gaps"}))
def test_every_contract_can_be_missed_broken_and_satisfied(desk, contract_id):
    kind, example = BUILT_IN[contract_id].artifact_kind, BUILT_IN[contract_id].example
    value = begin(desk, asking(contract_id), notes_free("next-step"))

    missed = advanced(desk.agent, value, "")
    broken = advanced(desk.agent, missed, "", artifacts=[{"kind": kind}])
    then = advanced(desk.agent, broken, "", artifacts=[example])

    assert blocker_codes(missed) == ["MISSING_REQUIRED_OUTPUT"]
    assert blocker_codes(broken) == ["INVALID_REQUIRED_OUTPUT"]
    assert kind in missed["blockers"][0]["suggestedFix"]
    assert all(len(blocker["suggestedFix"].encode()) <= 1024 for blocker in broken["blockers"])
    assert then["pending"]["stepId"] == "next-step"


def test_a_contract_that_a_team_registered_is_enforced_and_pinned(desk):
    strict = {
        "type": "object",
        "properties": {"kind": {"const": "acme.ticket"}, "key": {"type": "string", "minLength": 3}},
        "required": ["kind", "key"],
    }
    register(desk, strict)
    value = begin(desk, asking("acme.contracts.ticket"), notes_free("next-step"))
    assert "acme.ticket" in value["pending"]["outputRequirements"][0]

    stuck = advanced(desk.agent, value, "", artifacts=[{"kind": "acme.ticket", "key": "A"}])
    register(desk, {"type": "object"})
    still = advanced(desk.agent, stuck, "", artifacts=[{"kind": "acme.ticket", "key": "A"}])

    assert (blocker_codes(stuck), blocker_codes(still)) == (["INVALID_REQUIRED_OUTPUT"],) * 2
    assert advanced(desk.agent, still, "", artifacts=[TICKET])["pending"]["stepId"] == "next-step"


TICKET = {"kind": "acme.ticket", "key": "A-1"}


def register(desk, schema):
    from workflows_app.services.extensions import register_contract

    register_contract(
        actor=desk.person,
        contract_id="acme.contracts.ticket",
        artifact_kind="acme.ticket",
        schema=schema,
        example=TICKET,
        summary="A ticket.",
        now=NOW,
    )


def test_a_decision_on_another_loop_is_refused(desk):
    contract_id = "wr.contracts.loop_control"
    source = {"kind": "artifact_contract", "contractRef": contract_id}
    body = [step("decide-it", outputContract={"contractRef": contract_id})]
    value = begin(desk, loop("the-loop", body, conditionSource=source), notes_free("next-step"))
    stop = {"kind": "wr.loop_control", "decision": "stop"}

    stuck = advanced(desk.agent, value, "", artifacts=[{**stop, "loopId": "another"}])
    then = advanced(desk.agent, stuck, "", artifacts=[{**stop, "loopId": "the-loop"}])

    assert "'the-loop'" in stuck["validation"]["issues"][0]
    assert then["pending"]["stepId"] == "next-step"


def test_an_artifact_of_the_largest_size_is_kept_whole(desk):
    value = begin(desk, notes_free("first-step"), notes_free("next-step"))
    large = {"kind": "own.large", "text": "é" * 32_000, "number": 1e21, "nested": [[[]]]}

    then = advanced(desk.agent, value, artifacts=[large])

    assert json.loads(outputs_of(then)[1].body) == large
    assert_healthy(then)


# Assessments and rules


def readiness(name="readiness"):
    return {
        "id": name,
        "purpose": "Whether it is ready.",
        "dimensions": [{"id": "tests", "purpose": "Tests", "levels": ["low", "high"]}],
    }


def assessed(name, level):
    return {"kind": "wr.assessment", "assessmentId": name, "dimensions": {"tests": level}}


def test_several_assessments_of_one_step_are_recorded_each(desk):
    value = begin(
        desk,
        step("assess-it", assessmentRefs=["readiness", "safety"]),
        notes_free("next-step"),
        assessments=[readiness(), readiness("safety")],
    )

    then = advanced(desk.agent, value, artifacts=[assessed("safety", "high"), assessed("readiness", "LOW")])

    recorded = [event["data"] for event in events(then, "assessment_recorded")]
    assert [data["assessmentId"] for data in recorded] == ["readiness", "safety"]
    assert recorded[0]["dimensions"][0]["normalization"] == "normalized"
    assert [said["assessmentId"] for said in then["stepContext"]["assessments"]] == ["readiness", "safety"]
    assert_healthy(then)


def test_a_level_that_asks_for_a_follow_up_blocks_until_it_is_better(desk):
    followup = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Write tests."}}
    value = begin(
        desk,
        step("assess-it", assessmentRefs=["readiness"], assessmentConsequences=[followup]),
        notes_free("next-step"),
        assessments=[readiness()],
    )

    stuck = advanced(desk.agent, value, artifacts=[assessed("readiness", "low")])
    then = advanced(desk.agent, stuck, artifacts=[assessed("readiness", "high")])

    assert blocker_codes(stuck) == ["ASSESSMENT_FOLLOWUP_REQUIRED"]
    assert stuck["assessmentFollowup"] == {"guidance": "Write tests."}
    assert len(events(stuck, "assessment_consequence_applied")) == 1
    assert then["pending"]["stepId"] == "next-step"


def test_rules_of_notes_are_shown_checked_and_recorded(desk):
    rules = [{"type": "contains", "value": "Risks:", "message": "Name the risks."}]
    value = begin(desk, step("plan-it", validationCriteria=rules), notes_free("next-step"))
    assert any("Name the risks." in text for text in value["pending"]["outputRequirements"])

    stuck = advanced(desk.agent, value, "A plan.")
    then = advanced(desk.agent, stuck, "A plan. Risks: none.")

    assert stuck["validation"]["issues"] == ["Name the risks."]
    assert [event["data"]["result"]["valid"] for event in events(then, "validation_performed")] == [False, True]


# Never stop


def test_what_would_block_is_a_gap_and_the_run_ends_with_it(desk):
    value = begin(desk, step("first-step"), asking(), preferences=NEVER_STOP)

    then = advanced(desk.agent, value, "")
    end = advanced(desk.agent, then, "")

    assert [gap.detail for gap in gaps_of(end)] == ["missing_required_notes", "missing_required_output"]
    assert {gap.severity for gap in gaps_of(end)} == {"critical"}
    assert warning_codes(end) == ["GAP_RECORDED"]
    assert end["isComplete"]
    assert _status(end) == "complete_with_gaps"
    assert_healthy(end)


def _status(value):
    from sessions_app.models import Run

    return Run.objects.get(pk=run_id(value)).status


def test_what_an_agent_cannot_get_from_its_user_blocks_or_is_disclosed(desk):
    asked = {"kind": "wr.gaps", "gaps": [{"detail": "needs_user_choice", "severity": "critical", "summary": "Which?"}]}
    run_cast.published(desk, notes_free("first-step"), notes_free("next-step"))

    stuck = advanced(desk.agent, run_cast.start(desk).value, artifacts=[asked])
    passed = advanced(desk.agent, run_cast.start(desk, preferences=NEVER_STOP).value, artifacts=[asked])

    assert blocker_codes(stuck) == ["USER_ONLY_DEPENDENCY"]
    assert [gap.category for gap in gaps_of(passed)] == ["user_only_dependency"]


# Capabilities


def seen(status, capability="web_browsing"):
    said = {"kind": "wr.capability_observation", "capability": capability, "status": status}
    return [{**said, "provenance": "probe_step"}]


def browsing(desk, need, **fields):
    return begin(desk, notes_free("first-step"), notes_free("next-step"), capabilities={"web_browsing": need}, **fields)


def test_a_required_capability_is_probed_before_anything_else(desk):
    value = browsing(desk, "required")
    assert value["pending"]["stepId"] != "first-step"

    missed = advanced(desk.agent, value)
    absent = advanced(desk.agent, missed, artifacts=seen("unavailable"))
    other = advanced(desk.agent, absent, artifacts=seen("available", "delegation"))
    then = advanced(desk.agent, other, artifacts=seen("available"))

    assert blocker_codes(missed) == ["MISSING_REQUIRED_OUTPUT"]
    assert blocker_codes(absent) == ["REQUIRED_CAPABILITY_UNAVAILABLE"]
    assert blocker_codes(other) == ["INVALID_REQUIRED_OUTPUT"]
    assert then["pending"]["stepId"] == "first-step"
    assert len(events(then, "capability_observed")) == 3
    assert_healthy(then)


def test_a_bolder_risk_policy_goes_on_without_it(desk):
    value = browsing(desk, "required", preferences=AGGRESSIVE)

    then = advanced(desk.agent, value, artifacts=seen("unavailable"))

    assert then["pending"]["stepId"] == "first-step"
    assert warning_codes(then) == ["CAPABILITY_DEGRADED"]


def test_a_preferred_capability_is_not_probed_and_its_absence_is_told(desk):
    value = browsing(desk, "preferred")
    assert value["pending"]["stepId"] == "first-step"

    then = advanced(desk.agent, value, artifacts=seen("unavailable"))

    assert warning_codes(then) == ["CAPABILITY_DEGRADED"]
    assert [gap.severity for gap in gaps_of(then)] == ["warning"]


def test_a_divergence_is_an_event_of_its_node(desk):
    said = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Ran the suite once."}
    value = begin(desk, notes_free("first-step"), notes_free("next-step"))

    then = advanced(desk.agent, value, artifacts=[said])

    (event,) = events(then, "divergence_recorded")
    assert event["data"]["reason"] == "efficiency_skip"
    assert event["scope"]["nodeId"] == events(then, "node_created")[0]["scope"]["nodeId"]


# Approval


def test_an_agents_key_does_not_approve_for_a_person(desk):
    value = begin(
        desk, notes_free("release-it", requireConfirmation={"kind": "human_approval"}), notes_free("next-step")
    )
    assert (value["nextIntent"], value["pending"]["confirmedBy"]) == ("await_user_confirmation", "human")

    stuck = advanced(desk.agent, value)
    then = advanced(desk.person, stuck)

    assert blocker_codes(stuck) == ["USER_ONLY_DEPENDENCY"]
    assert then["pending"]["stepId"] == "next-step"
    assert events(then, "checkpoint_answered")[0]["data"]["authority"] == "human"
    assert_healthy(then)


# What the log cannot hold


@pytest.mark.parametrize("notes", ["a\x00b", "a\ud800b"])
def test_notes_that_no_table_holds_are_refused_and_the_step_can_still_be_done(desk, notes):
    from teams_app.engine.errors import InvalidInputError

    value = begin(desk, step("first-step"))

    for use in (advance, bookmark):
        with pytest.raises(InvalidInputError):
            use(desk.agent, value, notes)

    assert advanced(desk.agent, value)["isComplete"]


@pytest.mark.parametrize("char", ["é", "漢", "😀", "a"])
def test_notes_of_any_script_that_are_too_long_are_cut_and_the_session_stays_healthy(desk, char):
    value = begin(desk, step("first-step"), step("next-step"))

    then = advanced(desk.agent, value, char * 4097)

    assert warning_codes(then) == ["NOTES_TRUNCATED"]
    assert len(outputs_of(then)[0].body.encode()) <= 4096
    assert_healthy(advanced(desk.agent, then))
