import pytest
from msgspec.structs import replace

from tests.flood_play import Work, allowed
from workflows_app.engine import canonical
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.contracts import BUILT_IN, MAX_ISSUES, check_artifact, check_instance, check_schema, suggest
from workflows_app.engine.program import Contract

EVERY_CONTRACT = pytest.mark.parametrize("contract_id", sorted(BUILT_IN))


def contract(name):
    return BUILT_IN[f"wr.contracts.{name}"]


def changed(name, **changes):
    example = {**contract(name).example, **changes}
    return {key: value for key, value in example.items() if value is not ...}


def issues(name, **changes):
    return check_artifact(contract(name), changed(name, **changes))


# Every contract


def test_the_contracts_are_the_closed_set():
    names = {contract_id.removeprefix("wr.contracts.") for contract_id in BUILT_IN}

    assert names == {
        "loop_control",
        "assessment",
        "coordinator_signal",
        "review_verdict",
        "discovery_handoff",
        "shaping_handoff",
        "coding_handoff",
        "gate_verdict",
        "differentiation_handoff",
        "capability_observation",
        "workflow_divergence",
        "verification_report",
        "gaps",
    }


@EVERY_CONTRACT
def test_every_contract_can_be_satisfied_by_its_own_example(contract_id):
    known = BUILT_IN[contract_id]

    assert check_schema(known.schema) is None
    assert check_artifact(known, known.example) == ()


@EVERY_CONTRACT
def test_every_key_that_is_required_is_asked_for(contract_id):
    known = BUILT_IN[contract_id]

    for key in set(known.schema["required"]) - {"kind"}:
        without = {name: value for name, value in known.example.items() if name != key}
        assert any(f'"{key}"' in issue for issue in check_artifact(known, without)), key


@EVERY_CONTRACT
def test_an_unknown_key_is_refused(contract_id):
    known = BUILT_IN[contract_id]

    assert any("'surprise'" in issue for issue in check_artifact(known, {**known.example, "surprise": 1}))


@EVERY_CONTRACT
def test_the_kind_is_the_contracts(contract_id):
    known = BUILT_IN[contract_id]

    assert known.artifact_kind == f"wr.{contract_id.removeprefix('wr.contracts.')}"
    assert len(check_artifact(known, {**known.example, "kind": "wr.other"})) == 1


@EVERY_CONTRACT
@pytest.mark.parametrize("artifact", [None, 5, "text", [], [{}], {}, {"kind": None}, {"kind": ["a"] * 9_000}])
def test_what_is_no_artifact_is_an_issue_and_never_an_error(contract_id, artifact):
    assert len(check_artifact(BUILT_IN[contract_id], artifact)) == 1


@EVERY_CONTRACT
def test_a_suggestion_fits_its_budget_with_the_whole_example(contract_id):
    suggestion = suggest(BUILT_IN[contract_id])

    assert len(suggestion.encode()) <= 1024
    assert suggestion.endswith(canonical.canonical_bytes(BUILT_IN[contract_id].example).decode())


def needed(schema, place=""):
    """Every key that has to be there and takes one of some values, wherever it stands."""
    if "enum" in schema:
        yield place, schema["enum"]
    for key in schema.get("required", ()):
        yield from needed(schema.get("properties", {}).get(key, {}), f"{place}.{key}".strip("."))
    if isinstance(schema.get("items"), dict):
        yield from needed(schema["items"], f"{place}[]")


@EVERY_CONTRACT
def test_a_suggestion_says_what_each_key_may_say(contract_id):
    suggestion = suggest(BUILT_IN[contract_id])

    for place, values in needed(BUILT_IN[contract_id].schema):
        assert f"{place}: {' | '.join(values)}" in suggestion


def test_what_keys_may_say_never_takes_the_room_of_the_example():
    choices = {f"key-{number}": {"enum": ["a" * 20, "b" * 20, 3, None]} for number in range(40)}
    schema = {"type": "object", "properties": choices, "required": ["key-1", "key-0", "key-2"]}
    contract = replace(BUILT_IN["wr.contracts.gaps"], schema=schema, example={"kind": "wr.gaps", "long": "x" * 800})

    suggestion = suggest(contract)

    assert len(suggestion.encode()) <= 1024
    assert f"key-1: {'a' * 20} | {'b' * 20} | 3 | null." in suggestion
    assert suggestion.endswith(canonical.canonical_bytes(contract.example).decode())


# Budgets: whatever is handed in, what is said about it fits


@EVERY_CONTRACT
@pytest.mark.parametrize(
    "monster",
    [
        {"é" * 9_000: 1},
        {f"key{number}": number for number in range(2_000)},
        {"summary": "😀" * 9_000, "findings": [{"severity": "é" * 5_000, "summary": ""}] * 500},
        {"dimensions": {"ß" * 900: 5, "b": {"level": "", "x" * 900: 1}}},
        {"verdict": ["x" * 5_000], "version": "1" * 5_000, "checks": [{"😀" * 3_000: []}] * 100},
    ],
)
def test_issues_keep_their_budget_whatever_the_artifact(contract_id, monster):
    known = BUILT_IN[contract_id]

    found = check_artifact(known, {"kind": known.artifact_kind, **monster})

    assert 0 < len(found) <= MAX_ISSUES
    assert all(len(issue.encode()) <= 512 for issue in found)


@pytest.mark.parametrize("value", [{1: 2}, {"a": "\ud800"}, {"a": object()}, {"a": float("nan")}, {"a": 10**400}])
def test_a_value_that_is_no_json_is_an_issue_and_never_an_error(value):
    assert check_instance({"type": "object", "properties": {"a": {"type": "string", "pattern": "^x"}}}, value)


@pytest.mark.parametrize("max_bytes", range(3, 24))
def test_text_is_cut_at_a_character(max_bytes):
    cut = fit_bytes("aé😀bß…ñ漢字xyz", max_bytes=max_bytes)

    assert len(cut.encode()) <= max_bytes
    assert "aé😀bß…ñ漢字xyz".startswith(cut.removesuffix("…"))


def test_text_that_fits_is_left_alone():
    assert fit_bytes("é" * 10, max_bytes=20) == "é" * 10


def test_issues_tell_the_place():
    assert issues("review_verdict", findings=[{"severity": "bad", "summary": "x"}]) == (
        'findings[0].severity: is none of "critical", "major", "minor", "nit".',
    )


# Single contracts


@pytest.mark.parametrize(
    ("changes", "accepted"),
    [
        ({"decision": "stop", "metadata": ...}, True),
        ({"decision": "maybe"}, False),
        ({"loopId": "plan-iteration"}, True),
        ({"loopId": "review.plan-iteration"}, True),
        ({"loopId": "Plan"}, False),
        ({"loopId": "a" * 65}, False),
        ({"metadata": {"reason": "x" * 1024, "confidence": 100}}, True),
        ({"metadata": {"reason": "x" * 1025}}, False),
        ({"metadata": {"confidence": 101}}, False),
        ({"metadata": {"issuesFound": -1}}, False),
        ({"metadata": {"mood": "good"}}, False),
    ],
)
def test_loop_control(changes, accepted):
    assert (issues("loop_control", **changes) == ()) is accepted


@pytest.mark.parametrize(
    ("changes", "accepted"),
    [
        ({"dimensions": {"a": "high"}, "assessmentId": ...}, True),
        ({"dimensions": {}}, False),
        ({"dimensions": {"a": {"level": "low", "rationale": "x" * 512}}}, True),
        ({"dimensions": {"a": {"level": "low", "rationale": "x" * 513}}}, False),
        ({"dimensions": {"a": {"rationale": "x"}}}, False),
        ({"dimensions": {"a": 3}}, False),
        ({"summary": "x" * 1025}, False),
    ],
)
def test_assessment(changes, accepted):
    assert (issues("assessment", **changes) == ()) is accepted


def test_an_assessment_tells_what_is_wrong_with_the_form_that_was_meant():
    assert issues("assessment", dimensions={"a": {"rationale": "x"}}) == (
        'dimensions.a: "level" is a required property.',
    )


@pytest.mark.parametrize(
    ("changes", "accepted"),
    [
        ({"payload": {}}, True),
        ({"payload": {"anything": [1]}}, True),
        ({"payload": []}, False),
        ({"signalKind": "shout"}, False),
        ({"sessionId": "sess_x"}, True),
    ],
)
def test_coordinator_signal(changes, accepted):
    assert (issues("coordinator_signal", **changes) == ()) is accepted


def test_findings_of_a_review_may_say_more():
    finding = {"severity": "nit", "summary": "x", "findingCategory": "style", "file": "a.py", "startLine": 3}

    assert issues("review_verdict", verdict="clean", findings=[]) == ()
    assert issues("review_verdict", findings=[finding]) == ()
    assert issues("review_verdict", findings=[{**finding, "findingCategory": "taste"}])


@pytest.mark.parametrize(
    ("name", "key", "most"),
    [
        ("discovery_handoff", "keyInvariants", 12),
        ("discovery_handoff", "implementationConstraints", 8),
        ("shaping_handoff", "keyConstraints", 8),
        ("shaping_handoff", "rabbitHoles", 6),
        ("shaping_handoff", "outOfScope", 6),
        ("shaping_handoff", "validationChecklist", 10),
        ("coding_handoff", "keyDecisions", 8),
        ("coding_handoff", "knownLimitations", 6),
        ("coding_handoff", "testsAdded", 10),
        ("coding_handoff", "filesChanged", 20),
        ("differentiation_handoff", "validationChecklist", 10),
    ],
)
def test_lists_of_handoffs_are_bounded(name, key, most):
    assert issues(name, **{key: ["x"] * most}) == ()
    assert issues(name, **{key: ["x"] * (most + 1)})


@pytest.mark.parametrize("name", ["discovery_handoff", "shaping_handoff", "coding_handoff", "gate_verdict"])
def test_handoffs_name_their_version(name):
    assert issues(name, version=2)
    assert issues(name, version="1")


def test_a_gate_verdict_gives_reasons():
    assert issues("gate_verdict", rationale="x" * 20) == ()
    assert issues("gate_verdict", rationale="x" * 19)


FAILED = {"status": "unavailable", "provenance": "attempted_use"}


@pytest.mark.parametrize(
    ("changes", "accepted"),
    [
        ({"provenance": ..., "status": "available"}, True),
        ({"status": "unavailable"}, True),
        ({**FAILED, "failureCode": "tool_missing"}, True),
        (FAILED, False),
        ({**FAILED, "failureCode": "tool_missing", "provenance": "probe_step"}, False),
        ({"capability": "flying"}, False),
        ({"detail": "x" * 513}, False),
    ],
)
def test_capability_observation(changes, accepted):
    assert (issues("capability_observation", **changes) == ()) is accepted


def test_a_divergence_has_a_reason_of_the_closed_set():
    assert issues("workflow_divergence", reason="policy_constraint", relatedStepId="a.b") == ()
    assert issues("workflow_divergence", reason="i_felt_like_it")


def test_a_verification_report_shows_evidence():
    assert issues("verification_report", checks=[])
    assert issues("verification_report", checks=[{"name": "Tests", "result": "passed"}])


def test_gaps_are_of_the_closed_set():
    assert issues("gaps", gaps=[{"detail": "needs_user_approval", "summary": "Deploy?"}]) == ()
    assert issues("gaps", gaps=[{"detail": "needs_coffee", "summary": "Now."}])
    assert issues("gaps", gaps=[])


# Schemas that authors write


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "required": ["endpoint"], "properties": {"endpoint": {"type": "string"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array"},
        {"$defs": {"a": {"type": "string"}}, "items": {"$ref": "#/$defs/a"}},
        {"$defs": {"a/b": {"type": "string"}}, "items": {"$ref": "#/$defs/a~1b"}},
        {"properties": {"$ref": {"type": "string"}}},
        {"enum": [{"$ref": "data"}]},
    ],
)
def test_a_schema_that_can_be_used(schema):
    assert check_schema(schema) is None


def doubling(steps):
    rows = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}, {"$ref": f"#/$defs/a{n + 1}"}]} for n in range(steps)}
    return {"$defs": {**rows, f"a{steps}": {}}, "$ref": "#/$defs/a0"}


def nested(levels):
    schema = {}
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (5, "object"),
        ({"type": "strng"}, "type"),
        ({"properties": {"a": {"minLength": "1"}}}, "properties.a.minLength"),
        ({"pattern": "(?=a)"}, "pattern"),
        ({"pattern": "(a{900}){900}"}, "pattern"),
        ({"$ref": "https://example.com/schema"}, "not in this document"),
        ({"$ref": "file:///etc/passwd"}, "not in this document"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"allOf": [{}], "$ref": "#/allOf/" + "9" * 5_000}, "'#/allOf/9999"),
        ({"allOf": [{}], "$ref": "#/allOf/²"}, "leads nowhere"),
        ({"$ref": "#"}, "refers to itself"),
        ({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}, "refers to itself"),
        ({"$dynamicRef": "#a"}, "$dynamicRef"),
        ({"properties": {"a": {"$id": "https://example.com/"}}}, "$id"),
        ({"$schema": "https://example.com/own"}, "meta-schema"),
        (doubling(15), "2000 parts"),
        (doubling(40), "nest too deep"),
        (nested(60), "deeper"),
        ({"const": "x" * 70_000}, "bytes"),
        ({"const": float("nan")}, "not plain JSON"),
        ({"const": {1: 2}}, "cannot be read"),
    ],
)
def test_a_schema_that_cannot_be_used_says_why(schema, said):
    assert said in check_schema(schema)


def test_a_schema_that_was_never_checked_does_no_harm_either():
    unchecked = Contract(artifact_kind="x", schema=doubling(40), example={})

    assert check_artifact(unchecked, {"kind": "x"}) == ("The schema of the contract cannot be used.",)


def test_a_pattern_in_a_schema_cannot_hang():
    schema = {"type": "string", "pattern": "^(a+)+$"}

    assert check_schema(schema) is None
    assert check_instance(schema, "a" * 50_000 + "!")


def test_a_big_value_gets_its_first_complaint_only():
    schema = {"items": {"anyOf": [{"const": number} for number in range(100)]}}

    assert check_instance(schema, list(range(200, 5_000))) == ("[0]: has none of the forms that it may have.",)


HEAVY = "([ab]{0,30}a[ab]{0,30}){30}c"
WITH_PATTERNS = {
    "a text": ({"type": "string", "pattern": HEAVY}, "ab" * 30_000),
    "names": ({"patternProperties": {HEAVY: {}}}, {"ab" * 5_000 + str(number): 1 for number in range(6)}),
    "many texts": ({"items": {"pattern": HEAVY}}, ["ab" * 500] * 60),
    "one pattern again and again": (
        {"$defs": {"p": {"pattern": "(?:[ab]?){400}c"}}, "allOf": [{"$ref": "#/$defs/p"}] * 100},
        "ab" * 30_000,
    ),
}


@pytest.mark.parametrize("case", WITH_PATTERNS)
def test_patterns_of_a_schema_cost_in_proportion_to_the_value(case):
    schema, value = WITH_PATTERNS[case]
    assert check_schema(schema) is None

    with Work() as work:
        (issue,) = check_instance(schema, value)

    assert "characters at most" in issue
    assert work.seconds <= allowed(plain=0, size=60_000)


def test_a_value_that_is_short_enough_for_its_patterns_is_looked_at():
    assert check_instance({"type": "string", "pattern": HEAVY}, "ab" * 500 + "c") == ()


def test_a_contract_of_ours_takes_the_longest_artifact_that_there_is():
    for known in BUILT_IN.values():
        issue = check_artifact(known, {**known.example, "more": "x" * 65_000})
        assert not any("characters at most" in each for each in issue)
