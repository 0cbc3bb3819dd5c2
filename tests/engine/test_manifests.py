"""What an agent claims, compared with the workflow: each check warns of what it should and of nothing else."""

import pytest
from hypothesis import given, strategies as st

from sessions_app.engine.manifests import (
    ActivityOutcome,
    ManifestEntry,
    ManifestWarningCode,
    check_activity_manifest,
    check_condition,
    check_step_manifest,
    check_transition,
    check_version,
    validate,
)
from tests.activity_folders import activity, checkpoint, equals, folder, program_of, step, workflow
from tests.flood_play import Work, allowed
from workflows_app.engine.walks import Position

APPROVED = equals("approved", value=True)
EXISTS = {"type": "simple", "variable": "plan.path", "operator": "exists"}
DEEP = {
    "type": "and",
    "conditions": [
        equals("kind", "bug"),
        {"type": "not", "condition": {"type": "or", "conditions": [APPROVED, EXISTS]}},
    ],
}


def one_activity(*steps, **more):
    return program_of(folder(activity("work", steps=list(steps), **more)))


def manifest(*step_ids, output="done"):
    return [ManifestEntry(step_id=step_id, output=output) for step_id in step_ids]


def steps_said(program, *step_ids, **more):
    claims = manifest(*step_ids)
    return check_step_manifest(program=program, activity_id="work", manifest=claims, **more)


def codes(warnings):
    return [warning.code for warning in warnings]


ABCD = one_activity(step("a"), step("b"), step("c"), step("d"))


def test_a_complete_manifest_in_order_is_in_order():
    assert steps_said(ABCD, "a", "b", "c", "d") == ()


def test_no_manifest_for_an_activity_with_steps_is_told():
    warnings = check_step_manifest(program=ABCD, activity_id="work", manifest=None)

    assert codes(warnings) == [ManifestWarningCode.STEP_MANIFEST_ABSENT]
    assert "'work'" in warnings[0].message


def test_no_manifest_is_owed_for_an_activity_without_steps():
    program = program_of(folder(activity("work", checkpoints=[checkpoint("sure")])))

    assert check_step_manifest(program=program, activity_id="work", manifest=None) == ()


def test_an_activity_that_does_not_exist_owes_nothing():
    assert check_step_manifest(program=ABCD, activity_id="gone", manifest=None) == ()


def test_missing_steps_are_named_together():
    (warning,) = steps_said(ABCD, "a", "c")

    assert (warning.code, warning.details["steps"]) == (ManifestWarningCode.STEPS_MISSING, ["b", "d"])


def test_an_omission_does_not_make_the_steps_after_it_out_of_order():
    """In the original one left-out step made each later one a mismatch, because places were compared by number."""
    assert codes(steps_said(ABCD, "b", "c", "d")) == [ManifestWarningCode.STEPS_MISSING]


def test_an_unexpected_step_does_not_make_the_steps_after_it_out_of_order():
    assert codes(steps_said(ABCD, "extra", "a", "b", "c", "d")) == [ManifestWarningCode.STEPS_UNEXPECTED]


def test_only_the_step_that_moved_is_told_to_be_out_of_order():
    (warning,) = steps_said(ABCD, "d", "a", "b", "c")

    assert (warning.code, warning.details["steps"]) == (ManifestWarningCode.STEPS_OUT_OF_ORDER, ["d"])


def test_a_step_done_twice_is_in_order():
    assert steps_said(ABCD, "a", "b", "a", "c", "d") == ()


def test_an_empty_output_is_told():
    claims = [*manifest("a", "b", "c"), ManifestEntry(step_id="d", output="  \n")]

    (warning,) = check_step_manifest(program=ABCD, activity_id="work", manifest=claims)

    assert (warning.code, warning.details["steps"]) == (ManifestWarningCode.STEP_OUTPUT_EMPTY, ["d"])


def test_an_optional_step_is_not_missing():
    program = one_activity(step("a"), step("b", required=False))

    assert steps_said(program, "a") == ()


def test_a_step_that_its_condition_skipped_is_not_missing():
    program = one_activity(step("a"), step("b", condition=APPROVED))

    assert steps_said(program, "a", variables={"approved": False}) == ()


def test_a_conditional_step_is_missing_when_its_condition_holds():
    program = one_activity(step("a"), step("b", condition=APPROVED))

    assert codes(steps_said(program, "a", variables={"approved": True})) == [ManifestWarningCode.STEPS_MISSING]


def test_a_conditional_step_is_not_missing_when_nobody_knows_the_variables():
    program = one_activity(step("a"), step("b", condition=APPROVED))

    assert steps_said(program, "a") == ()


def test_a_step_that_the_server_skipped_is_not_missing():
    assert steps_said(ABCD, "a", "b", "d", skipped=frozenset({"c"})) == ()


LOOPED = one_activity(
    step("a"),
    step("b"),
    loops=[
        {
            "id": "each",
            "name": "Each",
            "type": "forEach",
            "variable": "item",
            "over": "items",
            "steps": [step("inner"), step("inner-two")],
        }
    ],
)


@pytest.mark.parametrize("listed", [("inner", "inner-two"), ("inner-two", "inner", "inner"), ("each",), ()])
def test_steps_of_loops_are_known_and_never_missing(listed):
    """The original called each of them unexpected."""
    assert steps_said(LOOPED, "a", *listed, "b") == ()


# Activities


def chain(*transitions, **more):
    """`one` with these transitions, and the activities that they lead to."""
    first = activity("one", steps=[step("x")], transitions=list(transitions), **more)
    rest = [activity(name, steps=[step(f"in-{name}")]) for name in ("two", "three")]
    return program_of(folder(first, *rest, about=workflow(initialActivity="one")))


TWO_WAYS = chain(
    {"to": "two", "condition": APPROVED}, {"to": "two", "condition": DEEP}, {"to": "three", "isDefault": True}
)


def claim(activity_id="one", outcome="completed", condition=""):
    return ActivityOutcome(activity_id=activity_id, outcome=outcome, transition_condition=condition)


def test_an_activity_manifest_is_advisory():
    assert check_activity_manifest(program=TWO_WAYS, manifest=None) == ()


def test_an_activity_manifest_that_is_right_is_in_order():
    said = [claim(condition="approved == true"), claim("two", condition="default")]

    assert check_activity_manifest(program=TWO_WAYS, manifest=said) == ()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], ManifestWarningCode.ACTIVITY_MANIFEST_EMPTY),
        ([claim("gone")], ManifestWarningCode.ACTIVITY_UNKNOWN),
        ([claim(outcome=" ")], ManifestWarningCode.ACTIVITY_OUTCOME_EMPTY),
        ([claim(condition="approved == 7")], ManifestWarningCode.ACTIVITY_CONDITION_UNKNOWN),
    ],
)
def test_what_is_wrong_with_an_activity_manifest_is_told(said, expected):
    assert codes(check_activity_manifest(program=TWO_WAYS, manifest=said)) == [expected]


# Transitions


def transition(current, target, program=TWO_WAYS):
    return check_transition(program=program, current=current, target=target)


@pytest.mark.parametrize(("current", "target"), [("one", "two"), ("one", "three"), ("", "one")])
def test_a_transition_of_the_workflow_is_direct(current, target):
    assert transition(current, target) == ()


def test_a_transition_that_the_workflow_does_not_have_is_told_with_those_it_has():
    (warning,) = transition("one", "somewhere")

    assert (warning.code, warning.details["leadsTo"]) == (ManifestWarningCode.TRANSITION_NOT_DIRECT, ["two", "three"])


def test_the_first_activity_is_the_one_that_the_workflow_names():
    (warning,) = transition("", "two")

    assert (warning.code, warning.details["expected"]) == (ManifestWarningCode.FIRST_ACTIVITY_OTHER, "one")


def test_where_no_way_is_open_the_end_needs_no_declaring():
    program = chain({"to": "two", "condition": APPROVED})

    def told(variables):
        return check_transition(program=program, current="one", target="end-workflow", variables=variables)

    assert told({}) == ()
    assert codes(told({"approved": True})) == [ManifestWarningCode.TRANSITION_NOT_DIRECT]


def test_an_activity_without_transitions_leads_anywhere():
    assert transition("two", "one") == ()


def test_staying_in_an_activity_is_no_transition():
    assert transition("one", "one") == ()


def test_the_effect_of_an_option_and_the_branch_of_a_decision_lead_on():
    options = [{"id": "back", "label": "Back", "effect": {"transitionTo": "three"}}, {"id": "on", "label": "On"}]
    branches = [
        {"id": "yes", "label": "Yes", "condition": APPROVED, "transitionTo": "two"},
        {"id": "no", "label": "No", "isDefault": True, "transitionTo": "three"},
    ]
    program = chain(
        checkpoints=[checkpoint("sure", options=options)],
        decisions=[{"id": "how", "name": "How", "branches": branches}],
    )

    assert transition("one", "two", program) == ()
    assert transition("one", "three", program) == ()
    assert check_condition(program=program, current="one", target="three", claim="checkpoint:sure:back") == ()
    assert check_condition(program=program, current="one", target="two", claim="approved == true") == ()


@pytest.mark.parametrize("name", ["__terminal__", "workflow-end", "end-workflow"])
def test_the_names_of_the_end_are_one(name):
    program = chain({"to": "workflow-end", "condition": APPROVED}, {"to": "two", "isDefault": True})

    assert transition("one", name, program) == ()
    assert codes(transition("one", name)) == [ManifestWarningCode.TRANSITION_NOT_DIRECT]


# Condition claims


def condition(said, target="two", program=TWO_WAYS, **more):
    return check_condition(program=program, current="one", target=target, claim=said, **more)


@pytest.mark.parametrize(
    "said",
    ["approved == true", 'kind == "bug" AND NOT (approved == true OR plan.path exists)', "  approved  ==  true "],
)
def test_a_claim_is_right_when_any_transition_to_the_target_has_the_condition(said):
    """The original compared with the first transition only, so that a right claim was called wrong."""
    assert condition(said) == ()


def test_a_claim_is_right_as_the_original_writes_it():
    """It writes the value of a test for being there, which has none."""
    assert condition('kind == "bug" AND NOT (approved == true OR plan.path exists undefined)') == ()
    program = chain({"to": "two", "condition": EXISTS})
    assert condition("plan.path exists undefined", program=program) == ()
    assert condition("plan.path exists", program=program) == ()


def test_a_claim_in_other_words_for_the_same_condition_is_right():
    assert condition("approved==true") == ()


@pytest.mark.parametrize("said", ["", "default", " default "])
def test_an_unconditional_transition_is_claimed_as_default_or_not_at_all(said):
    assert condition(said, target="three") == ()
    assert condition(said, program=chain({"to": "two"})) == ()


def test_nothing_claimed_is_nothing_wrong():
    assert condition(None) == ()


@pytest.mark.parametrize(
    ("said", "target"), [("default", "two"), ("approved == false", "two"), ("approved == true", "three")]
)
def test_a_claim_that_no_transition_has_is_told_with_those_there_are(said, target):
    (warning,) = condition(said, target=target)

    assert warning.code is ManifestWarningCode.CONDITION_CLAIM_WRONG
    assert warning.details["claim"] == said
    assert warning.details["accepted"]


def test_a_claim_that_does_not_hold_is_told_where_the_variables_are_known():
    assert codes(condition("approved == true", variables={"approved": False})) == [
        ManifestWarningCode.CONDITION_DOES_NOT_HOLD
    ]
    assert condition("approved == true", variables={"approved": True}) == ()


def test_a_claim_about_a_target_without_a_transition_is_left_to_the_check_of_transitions():
    assert condition("approved == true", target="somewhere") == ()


def test_another_version_is_told_and_the_run_stays_with_its_own():
    (warning,) = check_version(pinned="1.0.0", published="2.0.0")

    assert (warning.code, warning.details) == (
        ManifestWarningCode.VERSION_DRIFT,
        {"pinned": "1.0.0", "published": "2.0.0"},
    )
    assert check_version(pinned="1.0.0", published="1.0.0") == ()
    assert check_version(pinned="", published="1.0.0") == ()


def test_a_warning_is_a_code_a_message_and_data():
    (warning,) = transition("", "two")

    assert warning.as_json() == {
        "code": "first_activity_other",
        "message": warning.message,
        "details": {"expected": "one", "target": "two"},
    }


# All at once


def validated(current, target, *, program=TWO_WAYS, claim=None, manifest=None, outcomes=None, variables=None):
    return validate(
        program=program,
        position=Position(activity=current),
        variables=variables or {},
        activity_id=target,
        claim=claim,
        manifest=manifest,
        outcomes=outcomes,
    )


def test_a_transition_that_is_right_in_all_is_in_order():
    said = validated(
        "one",
        "two",
        claim="approved == true",
        manifest=manifest("x"),
        outcomes=[claim("one", condition="approved == true")],
        variables={"approved": True},
    )

    assert said == ()


def test_before_the_first_activity_no_manifest_is_owed():
    assert validated("", "one") == ()


def test_an_activity_that_is_entered_again_owes_no_manifest_and_one_that_comes_is_checked():
    assert validated("one", "one") == ()
    assert len(validated("one", "one", manifest=manifest("x", output=""))) == 1


def test_every_check_is_told_in_one_list():
    said = validated(
        "one", "somewhere", manifest=manifest("y"), outcomes=[claim("gone", outcome="")], variables={"approved": True}
    )

    assert [one.split(" ")[0] for one in said] == ["'somewhere'", "The", "The", "The", "The"]
    assert len(said) == 5


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "extra", ""]), max_size=8))
def test_any_manifest_is_checked_and_told_briefly(listed):
    warnings = steps_said(ABCD, *listed)

    assert len(warnings) <= 4
    moved = [
        name
        for warning in warnings
        if warning.code is ManifestWarningCode.STEPS_OUT_OF_ORDER
        for name in warning.details["steps"]
    ]
    kept = [name for name in dict.fromkeys(listed) if name in "abcd" and name and name not in moved]
    assert kept == sorted(kept)


@given(st.text(max_size=60))
def test_any_text_is_a_claim_that_is_right_or_wrong(said):
    assert len(condition(said)) <= 1


def test_claims_of_many_ways_cost_in_proportion_to_both():
    ways = [{"to": "work", "condition": equals("go", f"way {number}")} for number in range(300)]
    program = one_activity(step("one"), transitions=ways)
    claims = [
        ActivityOutcome(
            activity_id="work",
            outcome="Done.",
            transition_condition=" AND ".join(f'go == "{number}.{part}"' for part in range(100)),
        )
        for number in range(100)
    ]

    with Work() as work:
        warnings = check_activity_manifest(program=program, manifest=claims)

    assert len(warnings) == len(claims)
    assert work.seconds <= allowed(plain=0, size=sum(len(claim.transition_condition) for claim in claims))
