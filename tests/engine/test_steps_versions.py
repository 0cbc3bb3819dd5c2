"""Which schema a step workflow is read by, and what follows from it."""

import pytest

from tests.step_documents import compiled, errors_of, loop, program_of, step, warnings_of, workflow
from workflows_app.engine.program import ConditionMode
from workflows_app.engine.source import StepsSchema


def first(**fields):
    """Nothing in it needs more than the first release had."""
    return workflow(step("first"), **{"id": "plain-flow", **fields})


def version_of(document, **keywords):
    program = program_of(document, **keywords)
    return program.schema_version, program.conditions


def test_a_document_that_needs_nothing_newer_is_read_as_the_first_release_wrote_it():
    assert version_of(first()) == ("0.0.1", ConditionMode.STRICT)


def test_a_namespace_makes_it_0_3_0():
    assert version_of(first(id="team.plain-flow")) == ("0.3.0", ConditionMode.LENIENT)


@pytest.mark.parametrize(
    "fields",
    [
        {"modelTier": "mid"},
        {"validatedAgainstSpecVersion": 3},
        {"recommendedPreferences": {}},
        {"id": "under_score"},
        {"steps": [step("first", agentRole="You are careful.")]},
        {"steps": [step("first", hasValidation=False)]},
        {"steps": [step("first", promptBlocks={"goal": "Do."})]},
        {"steps": [step("first", requireConfirmation={"var": "risk"})]},
        {"steps": [step("first", prompt="x" * 2049)]},
        {"steps": [loop("again", [step("inner")])]},
        {"steps": [step("first", runCondition={"var": "x", "in": ["a"]})]},
        {"steps": [step("first", runCondition={"not": {"or": [{"var": "x", "contains": "a"}]}})]},
        {
            "steps": [
                step(
                    "first",
                    validationCriteria=[
                        {"type": "length", "max": 9, "message": "m", "condition": {"var": "x", "matches": "a"}},
                    ],
                ),
            ],
        },
    ],
)
def test_one_thing_of_0_3_0_makes_it_0_3_0(fields):
    assert version_of(first(**fields)) == ("0.3.0", ConditionMode.LENIENT)


@pytest.mark.parametrize(
    "said", ["https://example.org/workflow/v0.3.0", "../schemas/workflow.schema.v0.3.0.json", "0.3.0"]
)
def test_the_documents_own_word_decides(said):
    assert version_of(first(**{"$schema": said})) == ("0.3.0", ConditionMode.LENIENT)


def test_the_documents_word_goes_before_the_sources():
    document = first(**{"$schema": "…/v0.0.1"})
    assert version_of(document, schema=StepsSchema.V0_3_0)[0] == "0.0.1"


def test_the_sources_word_goes_before_what_the_document_uses():
    assert version_of(first(), schema=StepsSchema.V0_3_0) == ("0.3.0", ConditionMode.LENIENT)


def test_an_unknown_schema_version_is_an_error():
    assert errors_of(first(**{"$schema": "…/v9.9.9"})) == [("bad_value", "$schema")]


def test_a_schema_without_a_version_is_told_to_mean_nothing():
    document = workflow(**{"$schema": "./workflow.schema.json"})
    assert warnings_of(document) == [("ignored_field", "$schema")]


def test_newer_keys_are_refused_in_a_document_that_says_it_is_0_0_1():
    compilation = compiled(first(**{"$schema": "v0.0.1", "features": []}))
    (problem,) = compilation.errors
    assert (problem.code, problem.path) == ("unknown_key", "features")
    assert "0.3.0" in problem.suggestion


def test_the_first_schema_has_its_own_limits():
    document = first(steps=[step("first", prompt="x" * 2049)])
    assert errors_of(document, schema=StepsSchema.V0_0_1) == [("too_long", "steps[0].prompt")]
    assert errors_of(first(id="under_score"), schema=StepsSchema.V0_0_1) == [("bad_id", "id")]
    document = first(steps=[{"id": "first", "title": "First"}])
    assert errors_of(document, schema=StepsSchema.V0_0_1) == [("missing_key", "steps[0].prompt")]


def test_what_later_releases_accepted_under_the_first_number_is_accepted():
    document = first(
        steps=[
            step(
                "first",
                agentRole="You are careful.",
                outputContract={"contractRef": "wr.contracts.gate_verdict"},
                requireConfirmation={"var": "risk", "equals": "high"},
            ),
        ],
        recommendedPreferences={"recommendedAutonomy": "guided"},
    )
    assert version_of(document, schema=StepsSchema.V0_0_1) == ("0.0.1", ConditionMode.STRICT)


def test_a_pattern_that_cannot_run_is_left_out_of_old_documents_and_refused_in_new_ones():
    rule = {"type": "regex", "pattern": r"(\w+) \1", "message": "Say it twice."}
    old = first(steps=[step("first", validationCriteria=[rule])])
    assert program_of(old).activities[0].body[0].validation is None
    assert ("bad_pattern", "steps[0].validationCriteria[0].pattern") in warnings_of(old)
    new = workflow(step("first", validationCriteria=[rule]))
    assert errors_of(new) == [("bad_pattern", "steps[0].validationCriteria[0].pattern")]
