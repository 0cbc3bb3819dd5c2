"""What a step must pass: contracts, assessments, rules for notes, confirmations; and which of them decides."""

import pytest

from tests.step_documents import compiled, errors_of, items_of, program_of, step, warnings_of, workflow
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.program import AllRules, AnyRule, Contract, NotRule, Rule
from workflows_app.engine.source import Library, Strictness

VERDICT = {"contractRef": "wr.contracts.gate_verdict"}
RESULT = {"type": "regex", "pattern": "^Result: \\S.*path", "flags": "m", "message": "Write a result."}
PLACE = {"type": "contains", "value": "src/main.py:12", "message": "Cite the line."}
SCALE = {
    "id": "ready",
    "purpose": "Is it ready?",
    "dimensions": [
        {"id": "proof", "purpose": "How sure?", "levels": ["none", "some", "full"]},
        {"id": "risk", "purpose": "How bad?", "levels": ["high", "small"], "required": False},
    ],
}
FOLLOW_UP = {"kind": "require_followup", "guidance": "Prove it."}


def first(**fields):
    return items_of(workflow(step("first", **fields), assessments=[SCALE]))["first"]


def rules(criteria):
    return items_of(workflow(step("first", validationCriteria=criteria)))["first"].validation


# Contracts


def test_a_contract_is_embedded_as_it_is_now():
    program = program_of(workflow(step("first", outputContract=VERDICT)))
    (item,) = program.activities[0].body
    assert (item.contract.contract, item.contract.required) == ("wr.contracts.gate_verdict", True)
    assert program.contracts == {"wr.contracts.gate_verdict": BUILT_IN["wr.contracts.gate_verdict"]}


def test_a_contract_may_be_optional():
    assert first(outputContract={**VERDICT, "required": False}).contract.required is False


def test_the_seeds_spelling_of_a_contract_is_read():
    item = first(output={**VERDICT, "hints": "Ten lines."})
    assert (item.contract.contract, item.guidance) == ("wr.contracts.gate_verdict", ("Ten lines.",))


def test_two_spellings_of_one_contract_are_refused():
    document = workflow(step("first", output=VERDICT, outputContract=VERDICT))
    assert errors_of(document) == [("conflicting_keys", "steps[0].output.contractRef")]


def test_an_unknown_contract_gets_the_one_that_was_meant():
    document = workflow(step("first", outputContract={"contractRef": "wr.contracts.gate_verdikt"}))
    (problem,) = compiled(document).errors
    assert (problem.code, problem.path) == ("unknown_contract", "steps[0].outputContract.contractRef")
    assert problem.suggestion == "Did you mean 'wr.contracts.gate_verdict'?"


def test_a_team_has_contracts_of_its_own():
    own = Contract(artifact_kind="team.report", schema={"type": "object"}, example={})
    document = workflow(step("first", outputContract={"contractRef": "team.contracts.report"}))
    program = program_of(document, library=Library(contracts={"team.contracts.report": own}))
    assert program.contracts == {"team.contracts.report": own}


@pytest.mark.parametrize(
    ("fields", "required"),
    [
        ({}, True),
        ({"notesOptional": True}, False),
        ({"notesOptional": False}, True),
        ({"outputContract": VERDICT}, False),
        ({"outputContract": {**VERDICT, "required": False}}, False),
        ({"validationCriteria": [RESULT]}, True),
        ({"assessmentRefs": ["ready"]}, True),
    ],
)
def test_notes_are_required_unless_a_contract_or_the_author_says_otherwise(fields, required):
    assert first(**fields).notes_required is required


# Which gate decides


def test_a_contract_decides_before_assessments_and_those_before_rules():
    by_contract = first(outputContract=VERDICT, assessmentRefs=["ready"], validationCriteria=[RESULT])
    assert (by_contract.assessments, by_contract.validation) == ((), None)
    by_assessment = first(assessmentRefs=["ready"], validationCriteria=[RESULT])
    assert (by_assessment.assessments, by_assessment.validation) == (("ready",), None)


def test_a_gate_that_is_overruled_is_told():
    document = workflow(
        step("first", outputContract=VERDICT, assessmentRefs=["ready"], validationCriteria=[RESULT]),
        assessments=[SCALE],
    )
    assert warnings_of(document) == [
        ("conflicting_keys", "steps[0].assessmentRefs"),
        ("conflicting_keys", "steps[0].validationCriteria"),
    ]


# Assessments


def test_assessments_are_kept_with_their_levels_and_their_contract():
    program = program_of(workflow(step("first", assessmentRefs=["ready"]), assessments=[SCALE]))
    (scale,) = program.assessments
    assert [(d.id, d.levels, d.required) for d in scale.dimensions] == [
        ("proof", ("none", "some", "full"), True),
        ("risk", ("high", "small"), False),
    ]
    assert set(program.contracts) == {"wr.contracts.assessment"}


def test_consequences_are_kept_in_their_order():
    item = first(
        assessmentRefs=["ready"],
        assessmentConsequences=[
            {"when": {"anyEqualsLevel": "none"}, "effect": FOLLOW_UP},
            {"when": {"anyEqualsLevel": "high", "forAssessment": "ready"}, "effect": FOLLOW_UP},
        ],
    )
    assert [(c.level, c.assessment, c.guidance) for c in item.consequences] == [
        ("none", "", "Prove it."),
        ("high", "ready", "Prove it."),
    ]


@pytest.mark.parametrize(
    ("fields", "code", "path"),
    [
        ({"assessmentRefs": ["raedy"]}, "unknown_assessment", "assessmentRefs[0]"),
        (
            {"assessmentConsequences": [{"when": {"anyEqualsLevel": "none"}, "effect": FOLLOW_UP}]},
            "missing_key",
            "assessmentRefs",
        ),
        (
            {
                "assessmentRefs": ["ready"],
                "assessmentConsequences": [{"when": {"anyEqualsLevel": "low"}, "effect": FOLLOW_UP}],
            },
            "bad_value",
            "assessmentConsequences[0].when.anyEqualsLevel",
        ),
        (
            {
                "assessmentRefs": ["ready"],
                "assessmentConsequences": [
                    {"when": {"anyEqualsLevel": "none", "forAssessment": "other"}, "effect": FOLLOW_UP},
                ],
            },
            "unknown_assessment",
            "assessmentConsequences[0].when.forAssessment",
        ),
    ],
)
def test_assessments_that_do_not_fit_together_are_errors(fields, code, path):
    document = workflow(step("first", **fields), step("second", assessmentRefs=["ready"]), assessments=[SCALE])
    assert (code, f"steps[0].{path}") in errors_of(document)


def test_levels_and_dimensions_stand_once():
    levels = {**SCALE, "dimensions": [{"id": "d", "purpose": "p", "levels": ["a", "a"]}]}
    twice = {**SCALE, "dimensions": [SCALE["dimensions"][0], {**SCALE["dimensions"][0], "purpose": "q"}]}
    assert errors_of(workflow(assessments=[levels])) == [("bad_value", "assessments[0].dimensions[0].levels[1]")]
    assert errors_of(workflow(assessments=[twice])) == [("duplicate_id", "assessments[0].dimensions[1].id")]


def test_an_assessment_that_nobody_asks_for_is_warned_of():
    assert warnings_of(workflow(assessments=[SCALE])) == [("ignored_field", "assessments[0]")]


# Rules for notes


def test_a_list_of_rules_means_all_of_them():
    found = rules([RESULT, PLACE])
    assert isinstance(found, AllRules)
    assert [rule.check for rule in found.rules] == ["regex", "contains"]


def test_one_bare_rule_is_read():
    assert isinstance(rules(PLACE), Rule)


def test_rules_are_composed_to_any_depth():
    found = rules({"or": [PLACE, {"and": [RESULT, {"not": PLACE}]}]})
    assert isinstance(found, AnyRule)
    assert isinstance(found.rules[1], AllRules)
    assert isinstance(found.rules[1].rules[1], NotRule)


def test_an_empty_list_asks_for_nothing():
    assert rules([]) is None


def test_a_rule_keeps_what_its_type_looks_at():
    schema = {"type": "object", "required": ["a"]}
    found = rules(
        [
            {"type": "length", "min": 2, "max": 9, "message": "Fit."},
            {"type": "schema", "schema": schema, "message": "JSON.", "condition": {"var": "format", "equals": "json"}},
            RESULT,
        ],
    )
    by_length, by_schema, by_pattern = found.rules
    assert (by_length.min_length, by_length.max_length) == (2, 9)
    assert (by_schema.schema, by_schema.condition.path) == (schema, ("format",))
    assert (by_pattern.pattern, by_pattern.flags) == (RESULT["pattern"], "m")


@pytest.mark.parametrize(
    ("criteria", "code", "path"),
    [
        ("words", "wrong_type", ""),
        ([1], "wrong_type", "[0]"),
        ([{"type": "words", "message": "m"}], "bad_value", "[0].type"),
        ([{"type": "contains", "message": "m"}], "missing_key", "[0]"),
        ([{"type": "regex", "message": "m"}], "missing_key", "[0]"),
        ([{"type": "length", "message": "m"}], "missing_key", "[0]"),
        ([{"type": "schema", "message": "m"}], "missing_key", "[0]"),
        ([{"type": "contains", "value": "x"}], "missing_key", "[0].message"),
        ([{"type": "length", "min": 9, "max": 2, "message": "m"}], "conflicting_keys", "[0]"),
        ([{"type": "length", "min": -1, "message": "m"}], "bad_value", "[0].min"),
        ([{"type": "regex", "pattern": "(", "message": "m"}], "bad_pattern", "[0].pattern"),
        ([{"type": "schema", "schema": {"type": "nothing"}, "message": "m"}], "bad_schema", "[0].schema"),
        ({"and": []}, "too_short", ".and"),
        ({"and": PLACE}, "wrong_type", ".and"),
        ({"and": [PLACE], "or": [PLACE]}, "conflicting_keys", ""),
        ({"not": 1}, "wrong_type", ".not"),
        (
            {"or": [PLACE, {"and": [{"type": "regex", "pattern": "[", "message": "m"}]}]},
            "bad_pattern",
            ".or[1].and[0].pattern",
        ),
        ([{**PLACE, "colour": "red"}], "unknown_key", "[0].colour"),
        ([{**PLACE, "condition": {"foo": 1}}], "unknown_operator", "[0].condition.foo"),
    ],
)
def test_what_is_wrong_with_a_rule_has_its_place(criteria, code, path):
    found = errors_of(workflow(step("first", validationCriteria=criteria)))
    assert (code, f"steps[0].validationCriteria{path}") in found


def test_what_a_rule_does_not_look_at_is_warned_of():
    document = workflow(step("first", validationCriteria=[{**PLACE, "pattern": "x", "min": 3}]))
    assert warnings_of(document) == [
        ("ignored_field", "steps[0].validationCriteria[0].min"),
        ("ignored_field", "steps[0].validationCriteria[0].pattern"),
    ]


def test_rules_that_prove_nothing_are_warned_of():
    weak = [{"type": "regex", "pattern": ".*", "message": "m"}]
    length = [{"type": "length", "min": 50, "message": "m"}]
    repeated = [{"type": "contains", "value": "checklist", "message": "m"}]
    assert warnings_of(workflow(step("first", validationCriteria=weak))) == [
        ("gameable_validation", "steps[0].validationCriteria[0]"),
    ]
    assert warnings_of(workflow(step("first", validationCriteria=length))) == [
        ("gameable_validation", "steps[0].validationCriteria"),
    ]
    assert warnings_of(workflow(step("first", prompt="Fill the checklist.", validationCriteria=repeated))) == [
        ("gameable_validation", "steps[0].validationCriteria[0]"),
    ]


def test_an_alternative_that_cannot_run_leaves_nothing_to_refuse_notes_by():
    broken = {"type": "regex", "pattern": r"(\w+) \1", "message": "Twice."}
    document = workflow(
        step("first", validationCriteria={"or": [PLACE, broken]}),
        step("second", validationCriteria={"and": [PLACE, broken]}),
        step("third", validationCriteria={"not": broken}),
    )
    items = items_of(document, strictness=Strictness.LEGACY)
    assert items["first"].validation is None
    assert [rule.check for rule in items["second"].validation.rules] == ["contains"]
    assert items["third"].validation is None


@pytest.mark.parametrize(("fields", "warned"), [({"hasValidation": True}, True), ({"hasValidation": False}, False)])
def test_a_promise_of_validation_without_rules_is_warned_of(fields, warned):
    expected = [("conflicting_keys", "steps[0].hasValidation")] if warned else []
    assert warnings_of(workflow(step("first", **fields))) == expected


def test_rules_are_checked_even_where_validation_is_switched_off():
    document = workflow(step("first", hasValidation=False, validationCriteria=[RESULT]))
    assert items_of(document)["first"].validation is not None
    assert warnings_of(document) == [("conflicting_keys", "steps[0].hasValidation")]


# Confirmations


@pytest.mark.parametrize(
    ("written", "kind", "path"),
    [
        (True, "always", None),
        ({}, "always", None),
        ({"var": "risk", "equals": "high"}, "conditional", ("risk",)),
        ({"kind": "human_approval"}, "human_approval", None),
        ({"kind": "coordinator_eval", "condition": {"var": "risk"}}, "coordinator_eval", ("risk",)),
    ],
)
def test_a_confirmation_has_four_forms(written, kind, path):
    asked = first(requireConfirmation=written).confirmation
    assert asked.confirms == kind
    assert (asked.condition.path if asked.condition else None) == path


def test_no_confirmation_is_asked_for_where_none_is_wanted():
    assert first().confirmation is None
    assert first(requireConfirmation=False).confirmation is None


@pytest.mark.parametrize(
    ("written", "code", "path"),
    [
        ({"kind": "boss"}, "bad_value", ".kind"),
        ({"kind": 7}, "bad_value", ".kind"),
        ({"kind": "human_approval", "when": {}}, "unknown_key", ""),
        ({"kind": "human_approval", "condition": {"foo": 1}}, "unknown_operator", ".condition.foo"),
        ({"foo": 1}, "unknown_operator", ".foo"),
        ("yes", "wrong_type", ""),
        ([True], "wrong_type", ""),
    ],
)
def test_a_confirmation_that_means_nothing_is_an_error(written, code, path):
    found = errors_of(workflow(step("first", requireConfirmation=written)))
    assert (code, f"steps[0].requireConfirmation{path}") in found


def test_more_rules_than_anyone_writes_are_refused():
    rules_of_one = [{"type": "contains", "value": f"src/a.py:{index}", "message": "m"} for index in range(2001)]
    document = workflow(step("first", validationCriteria=rules_of_one))
    assert errors_of(document) == [("too_large", "steps[0].validationCriteria[2000]")]
