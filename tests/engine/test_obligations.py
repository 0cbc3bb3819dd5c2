"""What a step asks to be handed in, said before it is failed, and what is wrong with what was handed in."""

import pytest

from sessions_app.engine import obligations
from sessions_app.engine.state import CapabilityStatus, Snapshot
from sessions_app.engine.submissions import NOTES_PLACEHOLDER, Submission
from tests.engine_play import built, do, steps_program
from tests.step_documents import loop, step
from workflows_app.engine import contracts, walker
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.program import Capability, CapabilityNeed, ContractUse, Step

VERDICT = "wr.contracts.review_verdict"
LOOP_CONTROL = "wr.contracts.loop_control"
READINESS = {
    "id": "readiness",
    "purpose": "Whether it is ready.",
    "dimensions": [
        {"id": "tests", "purpose": "Tests", "levels": ["low", "high"]},
        {"id": "docs", "purpose": "Docs", "levels": ["low", "high"], "required": False},
    ],
}
SAFETY = {
    "id": "safety",
    "purpose": "Whether it is safe.",
    "dimensions": [{"id": "data", "purpose": "Data", "levels": ["bad", "good"]}],
}
FOLLOWUP = {"when": {"anyEqualsLevel": "low"}, "effect": {"kind": "require_followup", "guidance": "Write tests."}}


def examined(program, *, notes="Done.", artifacts=(), context=None, variables=None, at=None):
    """The findings for the first step of a program, or for the one that `at` walks to."""
    given = variables or {}
    position = at or walker.start(program=program, variables=given).position
    return obligations.examine(
        program=program,
        snapshot=Snapshot(position=position, variables=given),
        submission=Submission(notes=notes, artifacts=tuple(artifacts), context=context),
        variables={**given, **(context or {})},
    )


def details(findings):
    return [reason.detail.value for reason in findings.reasons]


def required(program):
    position = walker.start(program=program, variables={}).position
    return obligations.requirements(program=program, item=walker.item_at(program, position))


def asking_for(contract_id, **fields):
    return steps_program(step("hand-in", outputContract={"contractRef": contract_id, **fields}))


# Notes


def test_a_step_asks_for_notes_unless_its_author_says_otherwise():
    assert required(steps_program(step("plain-step")))[-1].startswith("Notes in output.notesMarkdown")
    assert required(steps_program(step("plain-step", notesOptional=True))) == ()


@pytest.mark.parametrize("notes", ["", "  \n\t", NOTES_PLACEHOLDER])
def test_notes_that_say_nothing_are_missing_notes(notes):
    found = examined(steps_program(step("plain-step")), notes=notes)

    assert details(found) == ["missing_required_notes"]
    assert found.reasons[0].pointer.as_json() == {"kind": "workflow_step", "stepId": "plain-step"}
    # Where they go differs between dialects; the rail says of every block by which tokens it is retried.
    assert found.reasons[0].fix.startswith("Retry with notes:")


def test_a_step_with_a_contract_asks_for_no_notes():
    program = asking_for(VERDICT)

    assert details(examined(program, notes="", artifacts=[BUILT_IN[VERDICT].example])) == []


# Contracts


@pytest.mark.parametrize("contract_id", sorted(BUILT_IN))
def test_every_contract_is_satisfied_by_the_example_that_is_shown(contract_id):
    program = asking_for(contract_id)

    said = required(program)

    assert BUILT_IN[contract_id].artifact_kind in said[0]
    found = examined(program, notes="", artifacts=[BUILT_IN[contract_id].example])
    assert not {"missing_required_output", "invalid_required_output"} & set(details(found))


@pytest.mark.parametrize("contract_id", sorted(BUILT_IN))
def test_every_contract_that_is_missed_says_what_to_hand_in(contract_id):
    found = examined(asking_for(contract_id), notes="")

    assert details(found) == ["missing_required_output"]
    assert found.reasons[0].pointer.as_json() == {"kind": "output_contract", "contractRef": contract_id}
    assert f'"kind":"{BUILT_IN[contract_id].artifact_kind}"' in found.reasons[0].fix
    assert len(found.reasons[0].fix.encode()) <= 1024


@pytest.mark.parametrize("contract_id", sorted(BUILT_IN))
def test_every_contract_refuses_an_artifact_that_says_nothing(contract_id):
    found = examined(asking_for(contract_id), artifacts=[{"kind": BUILT_IN[contract_id].artifact_kind}])

    assert set(details(found)) == {"invalid_required_output"}
    assert found.issues


def test_an_optional_contract_may_be_left_out_but_not_be_broken():
    program = asking_for(VERDICT, required=False)

    assert required(program)[0].startswith("In output.artifacts, if it applies:")
    assert details(examined(program, notes="")) == []
    assert details(examined(program, artifacts=[{"kind": "wr.review_verdict"}])) == ["invalid_required_output"]


def test_one_broken_artifact_among_good_ones_is_told():
    good = BUILT_IN[VERDICT].example

    found = examined(asking_for(VERDICT), artifacts=[good, {**good, "verdict": "maybe"}])

    assert details(found) == ["invalid_required_output"]


def test_artifacts_of_other_kinds_are_nobodys_business():
    assert details(examined(steps_program(step("plain-step")), artifacts=[{"kind": "own.thing", "x": 1}])) == []


def test_the_schema_of_the_program_counts_and_not_the_one_of_today():
    pinned = BUILT_IN[VERDICT]
    wider = type(pinned)(artifact_kind=pinned.artifact_kind, schema={"type": "object"}, example=pinned.example)
    item = Step(id="s", title="S", prompt="P", contract=ContractUse(contract=VERDICT))

    found = examined(built(item, contracts={VERDICT: wider}), artifacts=[{"kind": pinned.artifact_kind}])

    assert details(found) == []


# Decisions on loops


def decided_loop(**source):
    body = [step("decide-it", outputContract={"contractRef": LOOP_CONTROL})]
    settings = {"conditionSource": {"kind": "artifact_contract", "contractRef": LOOP_CONTROL, **source}}
    return steps_program(loop("the-loop", body, **settings))


def decision(**fields):
    return {"kind": "wr.loop_control", "decision": "stop", **fields}


@pytest.mark.parametrize("loop_id", ["the-loop", "by-its-author"])
def test_a_decision_may_name_its_loop(loop_id):
    assert details(examined(decided_loop(loopId="by-its-author"), artifacts=[decision(loopId=loop_id)])) == []
    assert details(examined(decided_loop(), artifacts=[decision()])) == []


def test_a_decision_that_names_another_loop_is_refused_and_told_the_right_one():
    found = examined(decided_loop(), artifacts=[decision(loopId="another")])

    assert details(found) == ["invalid_required_output"]
    assert "'the-loop'" in found.issues[0]


@pytest.mark.parametrize("loop_id", [["the-loop"], {"a": 1}, 5, ""])
def test_a_name_that_is_no_name_is_refused_and_breaks_nothing(loop_id):
    found = examined(decided_loop(), artifacts=[decision(loopId=loop_id)])

    assert details(found) == ["invalid_required_output"]


def test_before_its_loop_a_decision_names_any_loop_of_the_workflow():
    before = step("before-it", outputContract={"contractRef": LOOP_CONTROL})
    program = steps_program(before, loop("the-loop", [step("inside-it")], type="for", count=1))

    assert details(examined(program, artifacts=[decision(loopId="the-loop")])) == []
    assert details(examined(program, artifacts=[decision(loopId="another")])) == ["invalid_required_output"]


# Assessments


def assessing(*refs, consequences=()):
    gates = {"assessmentRefs": list(refs)}
    if consequences:
        gates["assessmentConsequences"] = list(consequences)
    return steps_program(step("assess-it", notesOptional=True, **gates), assessments=[READINESS, SAFETY])


def assessment(assessment_id=None, **dimensions):
    named = {} if assessment_id is None else {"assessmentId": assessment_id}
    return {"kind": "wr.assessment", **named, "dimensions": dimensions}


def test_an_assessment_is_asked_for_with_its_dimensions_and_levels():
    said = required(assessing("readiness"))[0]

    assert said.startswith("In output.artifacts: ")
    assert "assessmentId readiness" in said
    assert "tests (what is judged: Tests): low | high" in said


def test_a_level_is_recorded_with_its_rationale():
    found = examined(assessing("readiness"), artifacts=[assessment(tests={"level": "high", "rationale": "All green."})])

    assert details(found) == []
    assert found.graded[0].levels == {"tests": "high"}
    assert found.graded[0].rationales == {"tests": "All green."}


def test_a_level_in_other_letters_is_taken_and_noted():
    found = examined(assessing("readiness"), artifacts=[assessment(tests=" HIGH ")])

    assert (found.graded[0].levels, found.graded[0].normalized) == ({"tests": "high"}, frozenset({"tests"}))


@pytest.mark.parametrize(
    ("dimensions", "detail"),
    [
        ({}, "missing_required_output"),
        ({"tests": "middling"}, "invalid_required_output"),
        ({"tests": 5}, "invalid_required_output"),
        ({"tests": None}, "invalid_required_output"),
        ({"tests": {"rationale": "no level"}}, "invalid_required_output"),
        ({"tests": "high", "docs": "odd"}, "invalid_required_output"),
    ],
)
def test_a_dimension_that_is_missing_or_at_no_level_is_told(dimensions, detail):
    found = examined(assessing("readiness"), artifacts=[assessment(**dimensions)])

    assert details(found) == [detail]
    assert found.reasons[0].pointer.kind.value == "assessment_dimension"


def test_a_dimension_that_nobody_declared_is_told_and_not_recorded():
    found = examined(assessing("readiness"), artifacts=[assessment(tests="high", beauty="great")])

    assert details(found) == []
    assert "beauty" in found.suggestions[0]
    assert found.graded[0].levels == {"tests": "high"}


@pytest.mark.parametrize("dimensions", [None, [], "high", {"tests": ["high"]}])
def test_dimensions_that_are_no_object_break_nothing(dimensions):
    found = examined(assessing("readiness"), artifacts=[{"kind": "wr.assessment", "dimensions": dimensions}])

    assert found.reasons


def test_an_assessment_that_is_missing_is_told():
    assert details(examined(assessing("readiness"))) == ["missing_required_output"]


def test_several_assessments_are_told_apart_by_their_ids():
    both = [assessment("safety", data="good"), assessment("readiness", tests="high")]

    found = examined(assessing("readiness", "safety"), artifacts=both)

    assert details(found) == []
    assert [graded.assessment for graded in found.graded] == ["readiness", "safety"]


def test_of_several_assessments_one_without_an_id_is_none_of_them():
    found = examined(assessing("readiness", "safety"), artifacts=[assessment(tests="high")])

    assert details(found) == ["missing_required_output", "missing_required_output"]


def test_a_level_that_asks_for_a_follow_up_is_a_reason_with_its_guidance():
    found = examined(assessing("readiness", consequences=[FOLLOWUP]), artifacts=[assessment(tests="low", docs="low")])

    assert details(found) == ["assessment_followup_required"] * 2
    assert found.followup == "Write tests."
    assert [(applied.dimension, applied.level) for applied in found.applied] == [("tests", "low"), ("docs", "low")]


def test_a_level_that_asks_for_nothing_passes():
    assert (
        details(examined(assessing("readiness", consequences=[FOLLOWUP]), artifacts=[assessment(tests="high")])) == []
    )


# Validation of notes


RULES = [
    {"type": "contains", "value": "Risks:", "message": "Name the risks."},
    {"type": "length", "min": 20, "message": "Say more."},
]


def test_the_rules_for_notes_are_said_before_they_are_failed():
    said = required(steps_program(step("plan-it", validationCriteria=RULES)))

    assert any("Name the risks." in text for text in said)
    assert any("Say more." in text for text in said)


def test_notes_that_fail_their_rules_are_told_each_of_them():
    found = examined(steps_program(step("plan-it", validationCriteria=RULES)), notes="Short.")

    assert details(found) == ["invalid_required_output"]
    assert found.issues == ["Name the risks.", "Say more."]


def test_notes_that_meet_their_rules_pass():
    program = steps_program(step("plan-it", validationCriteria=RULES))

    assert details(examined(program, notes="Risks: none that we know of.")) == []


def test_a_contract_decides_alone():
    program = steps_program(
        step(
            "plan-it", validationCriteria=RULES, outputContract={"contractRef": VERDICT}, assessmentRefs=["readiness"]
        ),
        assessments=[READINESS],
    )

    assert details(examined(program, notes="", artifacts=[BUILT_IN[VERDICT].example])) == []


# Examples are copied


@pytest.mark.parametrize(
    "contract_id", sorted(BUILT_IN.keys() - {"wr.contracts.assessment", "wr.contracts.loop_control"})
)
def test_an_example_that_is_copied_word_for_word_stops_no_run(contract_id):
    example = BUILT_IN[contract_id].example

    assert details(examined(steps_program(step("plain-step")), artifacts=[example])) == []
    asking = steps_program(step("plan-it", outputContract={"contractRef": contract_id}))
    assert details(examined(asking, artifacts=[example])) == []


@pytest.mark.parametrize("contract_id", ["wr.contracts.capability_observation", "wr.contracts.gaps"])
def test_what_can_stop_a_run_says_so_where_it_is_asked_for(contract_id):
    assert "stops the run" in contracts.suggest(BUILT_IN[contract_id])


def test_the_copied_example_of_a_probe_never_says_that_a_capability_is_there():
    found = examined(probing(), artifacts=[BUILT_IN["wr.contracts.capability_observation"].example])

    assert details(found) == ["required_capability_unknown"]


# What any step may say beside


def observed(capability="web_browsing", status="available", **fields):
    return {"kind": "wr.capability_observation", "capability": capability, "status": status, **fields}


def test_an_observation_is_learnt_with_how_it_is_known():
    found = examined(
        steps_program(step("plain-step")),
        artifacts=[observed(provenance="attempted_use"), observed("delegation", "unknown")],
    )

    assert {capability.value: seen.provenance.value for capability, seen in found.capabilities.items()} == {
        "web_browsing": "attempted_use",
        "delegation": "manual_claim",
    }


def test_an_observation_that_is_broken_is_told_once():
    found = examined(steps_program(step("plain-step")), artifacts=[observed(status="perhaps")])

    assert details(found) == ["invalid_required_output"]
    assert len(found.issues) == len(set(found.issues))


def test_a_divergence_is_kept():
    said = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Ran the suite once."}

    found = examined(steps_program(step("plain-step")), artifacts=[said])

    assert (details(found), found.divergences) == ([], [said])


def gaps(*said):
    return {"kind": "wr.gaps", "gaps": list(said)}


def test_a_gap_that_only_the_user_can_close_is_a_reason_when_it_is_critical():
    said = {"detail": "needs_user_choice", "summary": "Which layout?", "severity": "critical", "contextKey": "layout"}

    found = examined(steps_program(step("plain-step")), artifacts=[gaps(said)])

    assert details(found) == ["needs_user_choice"]
    assert found.reasons[0].pointer.as_json() == {"kind": "context_key", "key": "layout"}


@pytest.mark.parametrize("severity", ["info", "warning"])
def test_a_gap_that_is_not_critical_is_disclosed(severity):
    said = {"detail": "needs_user_choice", "summary": "Which layout?", "severity": severity}

    found = examined(steps_program(step("plain-step")), artifacts=[gaps(said)])

    assert (details(found), [gap.severity.value for gap in found.gaps]) == ([], [severity])


def test_a_gap_of_another_kind_is_disclosed_even_when_it_is_critical():
    said = {"detail": "missing_required_output", "summary": "No report.", "severity": "critical"}

    found = examined(steps_program(step("plain-step")), artifacts=[gaps(said)])

    assert (details(found), [gap.severity.value for gap in found.gaps]) == ([], ["critical"])


# Capabilities


def probing(need=CapabilityNeed.REQUIRED):
    contract_id = "wr.contracts.capability_observation"
    item = do("probe", contract=ContractUse(contract=contract_id), probes=Capability.WEB_BROWSING)
    return built(item, contracts={contract_id: BUILT_IN[contract_id]}, capabilities={Capability.WEB_BROWSING: need})


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("available", []),
        ("unavailable", ["required_capability_unavailable"]),
        ("unknown", ["required_capability_unknown"]),
    ],
)
def test_a_probe_of_a_required_capability_stops_where_it_is_not_there(status, expected):
    found = examined(probing(), artifacts=[observed(status=status, provenance="probe_step")])

    assert details(found) == expected
    assert found.capabilities[Capability.WEB_BROWSING].status is CapabilityStatus(status)


def test_a_capability_that_is_not_there_is_told_with_what_to_do_about_it():
    found = examined(probing(), artifacts=[observed(status="unavailable", provenance="probe_step")])

    (reason,) = found.reasons
    assert reason.pointer.as_json() == {"kind": "capability", "capability": "web_browsing"}
    assert "web_browsing" in reason.message
    assert "Ask the user for a tool that gives it, or for the material itself" in reason.fix


def test_a_probe_without_an_observation_is_not_done():
    assert details(examined(probing())) == ["missing_required_output"]


def test_a_probe_that_looked_at_another_capability_is_not_done():
    found = examined(probing(), artifacts=[observed("delegation", provenance="probe_step")])

    assert details(found) == ["invalid_required_output"]
    assert found.reasons[0].pointer.as_json() == {"kind": "capability", "capability": "web_browsing"}


def test_a_required_capability_that_fails_later_is_a_reason_there():
    program = built(do("later"), capabilities={Capability.WEB_BROWSING: CapabilityNeed.REQUIRED})

    found = examined(program, artifacts=[observed(status="unavailable")])

    assert details(found) == ["required_capability_unavailable"]


def test_a_preferred_capability_that_is_not_there_stops_nothing():
    assert details(examined(probing(CapabilityNeed.PREFERRED), artifacts=[observed(status="unavailable")])) == []


def test_what_an_assessment_and_each_of_its_dimensions_judge_reaches_the_agent():
    said = " ".join(required(assessing("readiness", "safety")))

    judged = [part for each in (READINESS, SAFETY) for part in (each, *each["dimensions"])]
    assert [part["purpose"] for part in judged if f"judged: {part['purpose'].rstrip('.')})" not in said] == []
