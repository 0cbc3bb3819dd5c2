"""What the contract of the lookup dialect promises, and the tests that hold it."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECKLIST = json.loads((Path(__file__).parent / "lookup_checklist.json").read_text())


@cache
def names_in(path):
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("entry", CHECKLIST, ids=lambda entry: entry["promise"][:60])
def test_every_promise_of_lookup_is_held_by_tests_that_exist(entry):
    assert entry["tests"]
    for named in entry["tests"]:
        path, _, name = named.partition("::")
        assert name in names_in(path), named


def test_no_promise_of_lookup_is_listed_twice():
    promises = [entry["promise"] for entry in CHECKLIST]

    assert len(set(promises)) == len(promises)


def test_the_file_of_the_dialect_is_what_its_code_declares():
    from workrail_site.mcp.toolsets import tools_document

    committed = (ROOT / "docs" / "contracts" / "lookup.tools.json").read_bytes()
    assert json.loads(tools_document(dialect="lookup")) == json.loads(committed), "run: ./workrail export_contracts"
