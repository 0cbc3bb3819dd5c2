"""What the contract of the navigation dialect promises, and the tests that hold it."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKLIST = json.loads((Path(__file__).parent / "navigation_checklist.json").read_text())


@cache
def names_in(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("entry", CHECKLIST, ids=lambda entry: entry["promise"][:60])
def test_every_promise_of_navigation_is_held_by_tests_that_exist(entry):
    assert entry["tests"]
    for named in entry["tests"]:
        path, _, name = named.partition("::")
        assert name in names_in(path), named


def test_no_promise_of_navigation_is_listed_twice():
    promises = [entry["promise"] for entry in CHECKLIST]

    assert len(set(promises)) == len(promises)
