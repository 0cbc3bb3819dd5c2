"""Capabilities: what is required is probed first, what is asked for is probed where it stands."""

import pytest

from tests.step_documents import call, compiled, errors_of, items_of, program_of, routine, step, workflow
from workflows_app.engine.program import Capability, CapabilityNeed
from workflows_app.engine.source import Library

OBSERVATION = "wr.contracts.capability_observation"
PROBE = "wr.templates.capability_probe"


def probe(step_id, capability="web_browsing", **fields):
    return step(step_id, templateCall={"templateId": PROBE, "args": {"capability": capability}}, **fields)


def body_of(document, **keywords):
    return program_of(document, **keywords).activities[0].body


def test_a_required_capability_is_probed_before_all_else():
    document = workflow(step("first"), capabilities={"web_browsing": "required", "delegation": "required"})
    body = body_of(document)
    assert [item.id for item in body] == ["wr-probe.delegation", "wr-probe.web_browsing", "first"]
    assert [item.probes for item in body] == [Capability.DELEGATION, Capability.WEB_BROWSING, None]
    assert (body[0].contract.contract, body[0].contract.required, body[0].notes_required) == (OBSERVATION, True, False)


def test_the_program_tells_what_was_put_in_and_why():
    program = program_of(workflow(capabilities={"web_browsing": "required"}))
    (origin,) = program.provenance
    assert (origin.at, origin.kind, origin.source) == ("wr-probe.web_browsing", "probe", PROBE)
    assert set(program.contracts) == {OBSERVATION}
    assert program.capabilities == {Capability.WEB_BROWSING: CapabilityNeed.REQUIRED}


@pytest.mark.parametrize("need", ["preferred", "disabled"])
def test_what_is_not_required_is_not_probed(need):
    assert [item.id for item in body_of(workflow(step("first"), capabilities={"delegation": need}))] == ["first"]


def test_an_author_may_probe_first_himself():
    document = workflow(probe("look"), step("first"), capabilities={"web_browsing": "required"})
    assert [item.id for item in body_of(document)] == ["look", "first"]


@pytest.mark.parametrize(
    "steps",
    [
        [step("first"), probe("look")],
        [probe("look", runCondition={"var": "online"}), step("first")],
        [probe("look", "delegation"), step("first")],
    ],
)
def test_a_probe_that_comes_late_or_not_always_is_not_enough(steps):
    document = workflow(*steps, capabilities={"web_browsing": "required"})
    assert body_of(document)[0].id == "wr-probe.web_browsing"


def test_a_probe_by_name_implies_its_contract_and_keeps_what_the_author_says():
    document = workflow(probe("look", guidance=["Be quick."], runCondition={"var": "online"}, requireConfirmation=True))
    item = items_of(document)["look"]
    assert (item.contract.contract, item.probes) == (OBSERVATION, Capability.WEB_BROWSING)
    assert "fetch one short public page" in item.prompt
    assert (item.guidance, item.run_condition.path, item.confirmation.confirms) == (
        ("Be quick.",),
        ("online",),
        "always",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "path"),
    [
        ({}, "missing_argument", "capability"),
        ({"capability": "telepathy"}, "bad_value", "capability"),
        ({"capability": ["delegation"]}, "bad_value", "capability"),
        ({"capability": "delegation", "x": 1}, "unknown_argument", "x"),
    ],
)
def test_a_probe_knows_two_capabilities(arguments, code, path):
    document = workflow(step("look", templateCall={"templateId": PROBE, "args": arguments}))
    assert errors_of(document) == [(code, f"steps[0].templateCall.args.{path}")]


def test_a_probe_has_no_second_gate():
    document = workflow(probe("look", outputContract={"contractRef": "wr.contracts.gaps"}))
    assert errors_of(document) == [("conflicting_keys", "steps[0].templateCall")]


def test_an_unknown_capability_gets_the_one_that_was_meant():
    (problem,) = compiled(workflow(capabilities={"web_browsin": "required"})).errors
    assert (problem.code, problem.path) == ("unknown_key", "capabilities.web_browsin")
    assert problem.suggestion == "Did you mean 'web_browsing'?"


def test_an_unknown_need_is_an_error():
    assert errors_of(workflow(capabilities={"delegation": "maybe"})) == [("bad_value", "capabilities.delegation")]


# What routines need


def made(need):
    return Library(routines={"sample": routine(step("one"), capabilities={"delegation": need})})


def test_what_a_routine_requires_the_workflow_requires():
    assert [item.id for item in body_of(workflow(call("look")), library=made("required"))] == [
        "wr-probe.delegation",
        "look.one",
    ]


def test_the_workflows_word_stands_before_that_of_a_routine():
    document = workflow(call("look"), capabilities={"delegation": "preferred"})
    assert program_of(document, library=made("disabled")).capabilities == {
        Capability.DELEGATION: CapabilityNeed.PREFERRED
    }
    assert program_of(document, library=made("required")).capabilities == {
        Capability.DELEGATION: CapabilityNeed.PREFERRED
    }
    assert program_of(workflow(call("look")), library=made("disabled")).capabilities == {}


def test_a_routine_cannot_require_what_the_workflow_disables():
    document = workflow(call("look"), capabilities={"delegation": "disabled"})
    assert errors_of(document, library=made("required")) == [("conflicting_keys", "steps[0].templateCall")]


def test_the_id_of_a_probe_is_not_taken_twice():
    library = Library(routines={"sample": routine(step("delegation"))})
    document = workflow(call("wr-probe"), capabilities={"delegation": "required"})
    assert errors_of(document, library=library) == [("duplicate_id", "capabilities.delegation.id")]
