"""One table from reasons to blockers and gaps, and what each mode makes of them."""

import itertools

import pytest

from sessions_app.engine.reasons import (
    TABLE,
    Detail,
    GapCategory,
    GapSeverity,
    Reason,
    blockers_of,
    step_pointer,
    weigh,
)
from sessions_app.engine.state import BlockerCode, Pointer, PointerKind, Preferences
from workflows_app.engine.contract_catalog import GAP_DETAILS
from workflows_app.engine.program import Autonomy, RiskPolicy

STOPPING = [Autonomy.GUIDED, Autonomy.STOP_ON_USER_DEPS]
EVERY_DETAIL = pytest.mark.parametrize("detail", list(Detail))
UNKNOWN, UNAVAILABLE = Detail.REQUIRED_CAPABILITY_UNKNOWN, Detail.REQUIRED_CAPABILITY_UNAVAILABLE


def reason(detail=Detail.MISSING_REQUIRED_NOTES, *, name="a", message="Something is missing.", **fields):
    return Reason(detail=detail, pointer=Pointer(kind=PointerKind.WORKFLOW_STEP, name=name), message=message, **fields)


def weighed(*reasons, autonomy=Autonomy.GUIDED, policy=RiskPolicy.CONSERVATIVE):
    return weigh(reasons=reasons, preferences=Preferences(autonomy=autonomy, risk_policy=policy))


def test_the_table_knows_every_reason():
    assert set(TABLE) == set(Detail)


def test_an_agent_may_report_only_reasons_of_the_table():
    assert set(GAP_DETAILS) <= {detail.value for detail in Detail}


@EVERY_DETAIL
def test_the_same_reason_blocks_in_one_mode_and_is_a_critical_gap_in_the_other(detail):
    for autonomy in STOPPING:
        stopped = weighed(reason(detail), autonomy=autonomy)
        assert [blocker.code for blocker in stopped.blockers] == [TABLE[detail].code]
    went_on = weighed(reason(detail), autonomy=Autonomy.NEVER_STOP)

    assert went_on.blockers == ()
    assert [(gap.severity, gap.category, gap.detail) for gap in went_on.gaps] == [
        (GapSeverity.CRITICAL, TABLE[detail].category, detail),
    ]


@pytest.mark.parametrize("policy", list(RiskPolicy))
@EVERY_DETAIL
def test_a_run_that_never_stops_is_never_blocked(policy, detail):
    assert weighed(reason(detail), autonomy=Autonomy.NEVER_STOP, policy=policy).blockers == ()


@pytest.mark.parametrize(
    ("policy", "softened"),
    [
        (RiskPolicy.CONSERVATIVE, set()),
        (RiskPolicy.BALANCED, {UNKNOWN}),
        (RiskPolicy.AGGRESSIVE, {UNKNOWN, UNAVAILABLE}),
    ],
)
def test_a_risk_policy_softens_missing_capabilities_and_nothing_else(policy, softened):
    passed = {detail for detail in Detail if not weighed(reason(detail), policy=policy).blockers}

    assert passed == softened


def test_what_is_softened_is_disclosed_as_a_warning():
    found = weighed(reason(UNKNOWN), reason(), policy=RiskPolicy.BALANCED)

    assert [blocker.code for blocker in found.blockers] == [BlockerCode.MISSING_REQUIRED_NOTES]
    assert [(gap.severity, gap.category) for gap in found.gaps] == [
        (GapSeverity.WARNING, GapCategory.CAPABILITY_MISSING),
    ]


def test_without_a_reason_nothing_stops():
    assert weighed() == weighed(autonomy=Autonomy.NEVER_STOP)
    assert weighed().blockers == ()


def test_one_reason_that_no_retry_mends_makes_the_block_final():
    assert weighed(reason()).retryable
    assert not weighed(reason(), reason(Detail.STORAGE_CORRUPTION_DETECTED)).retryable


def test_blockers_are_ordered_by_code_then_by_pointer_whatever_the_order_of_reasons():
    given = [
        reason(Detail.NEEDS_USER_CHOICE, name="b"),
        reason(Detail.NEEDS_USER_CHOICE, name="a"),
        reason(Detail.INVALID_REQUIRED_OUTPUT, name="z"),
        Reason(
            detail=Detail.INVALID_REQUIRED_OUTPUT,
            pointer=Pointer(kind=PointerKind.OUTPUT_CONTRACT, name="z"),
            message="Not so.",
        ),
    ]

    for order in itertools.permutations(given):
        found = blockers_of(order)
        assert [(b.code.value, b.pointer.kind.value, b.pointer.name) for b in found] == [
            ("INVALID_REQUIRED_OUTPUT", "output_contract", "z"),
            ("INVALID_REQUIRED_OUTPUT", "workflow_step", "z"),
            ("USER_ONLY_DEPENDENCY", "workflow_step", "a"),
            ("USER_ONLY_DEPENDENCY", "workflow_step", "b"),
        ]


def test_the_same_blocker_stands_once():
    assert len(blockers_of([reason(), reason()])) == 1


def test_there_are_at_most_ten_blockers():
    assert len(blockers_of([reason(name=f"step-{number:02}") for number in range(25)])) == 10


def test_what_waits_for_a_person_is_told_however_many_others_there_are():
    others = [reason(Detail.NEEDS_USER_CHOICE, name=f"step-{number:02}") for number in range(25)]
    peoples = Reason(
        detail=Detail.NEEDS_USER_APPROVAL, pointer=step_pointer("z"), message="A person approves.", needs_person=True
    )

    found = [blocker.pointer.name for blocker in blockers_of([*others, peoples])]

    assert found == [*(f"step-{number:02}" for number in range(9)), "z"]


@pytest.mark.parametrize("char", ["a", "é", "漢", "😀"])
def test_texts_are_cut_to_their_budgets_of_bytes_and_never_refused(char):
    found = blockers_of([reason(message=char * 2000, fix=char * 2000)])[0]

    assert 500 <= len(found.message.encode()) <= 512
    assert 1000 <= len(found.suggested_fix.encode()) <= 1024
    assert "\ufffd" not in found.message + found.suggested_fix


def test_a_blocker_says_code_pointer_and_message_and_a_fix_where_there_is_one():
    bare = blockers_of([reason()])[0].as_json()
    helped = blockers_of([reason(fix="Write notes.")])[0].as_json()

    assert bare == {
        "code": "MISSING_REQUIRED_NOTES",
        "pointer": {"kind": "workflow_step", "stepId": "a"},
        "message": "Something is missing.",
    }
    assert helped == {**bare, "suggestedFix": "Write notes."}


@pytest.mark.parametrize(
    ("pointer", "said"),
    [
        (Pointer(kind=PointerKind.CONTEXT_KEY, name="k"), {"kind": "context_key", "key": "k"}),
        (Pointer(kind=PointerKind.CONTEXT_BUDGET), {"kind": "context_budget"}),
        (Pointer(kind=PointerKind.OUTPUT_CONTRACT, name="c"), {"kind": "output_contract", "contractRef": "c"}),
        (
            Pointer(kind=PointerKind.CAPABILITY, name="web_browsing"),
            {"kind": "capability", "capability": "web_browsing"},
        ),
        (Pointer(kind=PointerKind.WORKFLOW_STEP, name="a.b"), {"kind": "workflow_step", "stepId": "a.b"}),
        (
            Pointer(kind=PointerKind.ASSESSMENT_DIMENSION, name="a", part="d"),
            {"kind": "assessment_dimension", "assessmentId": "a", "dimensionId": "d"},
        ),
    ],
)
def test_each_kind_of_pointer_has_its_own_fields(pointer, said):
    assert pointer.as_json() == said


def test_codes_and_pointers_of_the_contract_are_in_the_closed_sets():
    assert {
        "USER_ONLY_DEPENDENCY",
        "MISSING_REQUIRED_OUTPUT",
        "INVALID_REQUIRED_OUTPUT",
        "REQUIRED_CAPABILITY_UNKNOWN",
        "REQUIRED_CAPABILITY_UNAVAILABLE",
        "INVARIANT_VIOLATION",
        "STORAGE_CORRUPTION_DETECTED",
    } <= {row.code.value for row in TABLE.values()}
    assert {kind.value for kind in PointerKind} == {
        "context_key",
        "context_budget",
        "output_contract",
        "capability",
        "workflow_step",
        "assessment_dimension",
    }


def test_what_only_a_user_can_give_is_a_closed_set():
    user_only = {detail.value for detail, row in TABLE.items() if row.category is GapCategory.USER_ONLY_DEPENDENCY}

    assert user_only == {
        "needs_user_secret_or_token",
        "needs_user_account_access",
        "needs_user_artifact",
        "needs_user_choice",
        "needs_user_approval",
        "needs_user_environment_action",
    }


def test_a_gap_says_whether_it_stands_or_what_it_closes():
    gap = weighed(reason(), autonomy=Autonomy.NEVER_STOP).gaps[0]

    assert gap.as_data() == {
        "severity": "critical",
        "reason": {"category": "contract_violation", "detail": "missing_required_notes"},
        "summary": "Something is missing.",
        "resolution": {"kind": "unresolved"},
        "pointer": {"kind": "workflow_step", "stepId": "a"},
    }
