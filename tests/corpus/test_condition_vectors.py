"""The truth tables of the originals. Each place where this project means to differ is a row below, with its reason."""

import json
from pathlib import Path

import pytest

from workflows_app.engine import conditions
from workflows_app.engine.problems import Severity
from workflows_app.engine.program import ConditionMode

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
TABLES = {
    ConditionMode.LENIENT: CORPUS / "rail" / "vectors" / "conditions.json",
    ConditionMode.STRICT: CORPUS / "lookup" / "vectors" / "conditions-v1.json",
}

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
EVERY_TABLE = pytest.mark.parametrize("mode", sorted(TABLES))

# (mode, index of the condition): the contexts whose result differs, None for all of them, and why.
OTHER_RESULTS = {
    (ConditionMode.LENIENT, 35): (
        [{"x": {"y": 1}}],
        "a dotted name is a path into the context; the original knew top-level keys only",
    ),
    (ConditionMode.LENIENT, 37): (
        None,
        "the row was {var, equals: undefined}, which JSON cannot write: what is left of it is a bare variable",
    ),
    (ConditionMode.STRICT, 22): (None, "`contains` is an operator of the one language; 0.0.4 ignored it"),
    (ConditionMode.STRICT, 23): (None, "`in` is an operator of the one language; 0.0.4 ignored it"),
}

# Accepted by the original's validator and refused by ours: none of them can do what its author meant.
REFUSED_HERE = {
    (ConditionMode.LENIENT, 21): "a pattern that cannot be compiled",
    (ConditionMode.LENIENT, 24): "`in` with something that is no list",
    (ConditionMode.LENIENT, 39): "an empty variable name",
    (ConditionMode.LENIENT, 40): "an operator without a variable",
}

# Refused by the original's validator and accepted by ours.
ACCEPTED_HERE = {
    (ConditionMode.STRICT, 22): "`contains` belongs to the one language",
    (ConditionMode.STRICT, 23): "`in` belongs to the one language",
}


def table(mode):
    return json.loads(TABLES[mode].read_text(encoding="utf-8"))


def read(value, mode):
    return conditions.parse_steps_condition(value, path="c", mode=mode)


def is_accepted(value, mode):
    return not any(problem.severity is Severity.ERROR for problem in read(value, mode)[1])


@EVERY_TABLE
def test_results_agree_but_for_the_listed_differences(mode):
    vectors = table(mode)
    parsed = [read(value, mode)[0] for value in vectors["conditions"]]

    disagreeing = {}
    for index, context, expected in vectors["results"]:
        variables = vectors["contexts"][context]
        if conditions.evaluate(parsed[index], variables=variables, mode=mode) is not expected:
            disagreeing.setdefault((mode, index), []).append(variables)

    listed = {key: contexts for key, (contexts, _) in OTHER_RESULTS.items() if key[0] is mode}
    assert disagreeing.keys() == listed.keys()
    assert all(contexts is None or disagreeing[key] == contexts for key, contexts in listed.items())


@EVERY_TABLE
def test_what_is_accepted_agrees_but_for_the_listed_differences(mode):
    vectors = table(mode)

    accepted = {index for index, value in enumerate(vectors["conditions"]) if is_accepted(value, mode)}
    expected = {index for index, accepts in enumerate(vectors["validateConditionAccepts"]) if accepts}

    assert expected - accepted == {index for key, index in REFUSED_HERE if key is mode}
    assert accepted - expected == {index for key, index in ACCEPTED_HERE if key is mode}


def test_the_operators_that_the_published_schema_forgot_are_accepted():
    published = json.loads((CORPUS / "rail" / "workflow.schema.json").read_text(encoding="utf-8"))
    forgotten = {"startsWith", "endsWith", "matches"}

    assert forgotten.isdisjoint(published["$defs"]["condition"]["properties"])
    assert all(is_accepted({"var": "x", operator: "a"}, ConditionMode.LENIENT) for operator in forgotten)


def step_conditions(value):
    if isinstance(value, dict):
        for key, child in value.items():
            if key in {"runCondition", "condition"} or (key == "when" and isinstance(child, dict) and "var" in child):
                yield child
            else:
                yield from step_conditions(child)
    elif isinstance(value, list):
        for child in value:
            yield from step_conditions(child)


def test_every_condition_of_the_step_workflows_reads_without_a_word():
    files = [*sorted(CORPUS.glob("rail/workflows/**/*.json")), *sorted(CORPUS.glob("lookup/*/*.json"))]
    found = [
        condition
        for path in files
        if path.parent.name != "vectors"
        for condition in step_conditions(json.loads(path.read_text(encoding="utf-8")))
    ]

    assert len(found) > 100
    assert [problem for value in found for problem in read(value, ConditionMode.LENIENT)[1]] == []


def activity_conditions(value):
    if isinstance(value, dict):
        for key, child in value.items():
            if key == "condition" and (isinstance(child, str) or "type" in child):
                yield child
            else:
                yield from activity_conditions(child)
    elif isinstance(value, list):
        for child in value:
            yield from activity_conditions(child)


@pytest.mark.parametrize("family", ["navigation", "orchestrator"])
def test_every_condition_of_the_activity_workflows_reads_without_a_word(family):
    lines = (CORPUS / family / "decoded.jsonl").read_text(encoding="utf-8").splitlines()
    found = [condition for line in lines for condition in activity_conditions(json.loads(line).get("v"))]

    assert len(found) > 10
    problems = [
        problem for value in found for problem in conditions.parse_activity_condition(value, path="condition")[1]
    ]
    assert problems == []
