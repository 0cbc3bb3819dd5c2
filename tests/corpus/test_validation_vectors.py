"""Validation results of 0.0.4, whose engine refused every pattern with an inline flag.

Deliberate difference: `(?i)` at the start of a pattern means what its author meant, so the rules are checked and not thrown
at. Python's own engine, which knows these patterns, says what they ought to find.
"""

import json
import re
from pathlib import Path

import pytest

from workflows_app.engine.program import AllRules, ConditionMode, Rule, RuleKind
from workflows_app.engine.validation import check_notes, requirements

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"
LOOKUP = CORPUS / "lookup"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")


def vectors():
    return json.loads((LOOKUP / "vectors" / "validation-v1.json").read_text(encoding="utf-8"))


def criteria(file, step_id):
    document = json.loads((LOOKUP / file).read_text(encoding="utf-8"))
    return next(step["validationCriteria"] for step in document["steps"] if step["id"] == step_id)


def rules_of(written):
    return AllRules(
        rules=tuple(
            Rule(
                check=RuleKind(rule["type"]),
                message=rule["message"],
                value=rule.get("value", ""),
                pattern=rule.get("pattern", ""),
                flags=rule.get("flags", ""),
                min_length=rule.get("min"),
                max_length=rule.get("max"),
            )
            for rule in written
        ),
    )


def expected(written, notes):
    """The messages that a reader with Python's engine would give."""
    for rule in written:
        if rule["type"] == "regex" and not re.search(rule["pattern"], notes):
            yield rule["message"]
        if rule["type"] == "length" and not rule.get("min", 0) <= len(notes) <= rule.get("max", len(notes)):
            yield rule["message"]


def test_every_vector_is_one_that_the_original_could_not_check():
    assert all(row["result"]["threw"] == "ValidationError" and "(?i)" in row["result"]["message"] for row in vectors())


def test_here_the_same_notes_are_checked():
    rows = vectors()
    assert {rule["type"] for row in rows for rule in criteria(row["file"], row["stepId"])} == {"regex", "length"}

    for row in rows:
        written = criteria(row["file"], row["stepId"])
        said = check_notes(rules_of(written), notes=row["output"], variables={}, mode=ConditionMode.STRICT)
        assert said == tuple(expected(written, row["output"]))


def test_notes_that_do_what_is_asked_pass():
    written = criteria("workflows/adaptive-ticket-creation.json", "phase-a1-simple-ticket-gen")
    notes = """
## title: Retry budgets
## DESCRIPTION: jobs are retried for ever; each needs a budget, and a job over it is parked for a human.
## Acceptance criteria:
- [ ] A job over its budget is parked and listed.
- [ ] A parked job can be released by an operator, which is logged.
Out of scope: priorities between queues, a screen for budgets, and any change to how workers claim jobs.
"""

    assert check_notes(rules_of(written), notes=notes, variables={}, mode=ConditionMode.STRICT) == ()


def test_what_will_be_checked_is_told_beforehand():
    written = criteria("workflows/adaptive-ticket-creation.json", "phase-a1-simple-ticket-gen")

    assert [text.split(" (The notes")[0] for text in requirements(rules_of(written))] == [
        rule["message"] for rule in written[:5]
    ]
