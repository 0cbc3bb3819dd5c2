"""What the contract of the rail promises, where the original fell into traps, and the tests that hold either."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEED = ROOT.parent / "shared" / "seeds" / "rail-v2.md"
TRAPS_OF_THE_ORIGINAL = 28
MIN_PROMISES = 250

# Headings that only gather what stands under them, or promise nothing.
GATHERING = {
    "Workflow Execution Contract (Token-Based)",
    "End-to-End Flows",
    "Core Concepts",
    "Example patterns (recommended)",
    "Workflow pinning and evolution",
    "Request/Response Shapes",
    "Example: continue_workflow with structured output",
    "Example: changed files table rows (Phase 1)",
    "Example: findings and copy-ready MR comments (Phase 2+)",
    "FAQ",
    "Related",
}


def read(name):
    return json.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


PROMISES = read("rail_checklist.json")
TRAPS = read("rail_traps.json")
BY_ID = {"ids": lambda entry: entry["id"]}


@cache
def names_in(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def assert_held(entry):
    """Either tests, each of which exists, or a reason: never both, never neither."""
    assert ("tests" in entry) is not ("elsewhere" in entry)
    assert entry.get("tests") or entry.get("elsewhere")
    for named in entry.get("tests", ()):
        path, _, name = named.partition("::")
        assert name in names_in(path), named


@pytest.mark.parametrize("entry", PROMISES, **BY_ID)
def test_every_promise_of_the_rail_is_held_by_tests_that_exist_or_says_where_it_belongs(entry):
    assert set(entry) == {"id", "where", "promise", "tests" if "tests" in entry else "elsewhere"}
    assert_held(entry)


@pytest.mark.parametrize("entry", TRAPS, **BY_ID)
def test_every_trap_of_the_original_is_a_test_of_the_right_behaviour_or_says_why_not(entry):
    assert set(entry) == {"id", "trap", "tests" if "tests" in entry else "elsewhere"}
    assert_held(entry)


def test_no_promise_stands_twice_under_one_heading():
    told = [(entry["where"], entry["promise"]) for entry in PROMISES]
    ids = [entry["id"] for entry in PROMISES]

    assert len(told) >= MIN_PROMISES
    assert len(set(told)) == len(told)
    assert len(set(ids)) == len(ids)


def test_all_traps_are_there_in_their_order():
    assert [trap["id"] for trap in TRAPS] == [f"T{number}" for number in range(1, TRAPS_OF_THE_ORIGINAL + 1)]


@pytest.mark.skipif(not SEED.is_file(), reason="the contract is not beside the checkout")
def test_every_heading_of_the_contract_has_its_promises():
    lines = SEED.read_text(encoding="utf-8").splitlines()
    headings = {line.lstrip("#").strip().replace("`", "") for line in lines if line.startswith("#")}

    assert {entry["where"] for entry in PROMISES} == headings - GATHERING


@pytest.mark.skipif(not SEED.is_file(), reason="the contract is not beside the checkout")
def test_promises_are_told_in_our_own_words():
    """Eight words in a row that the contract has as well would be its sentence and not ours."""
    theirs = shingles(SEED.read_text(encoding="utf-8"))

    assert [entry["id"] for entry in PROMISES if shingles(entry["promise"]) & theirs] == []


def shingles(text, size=8):
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return {tuple(words[place : place + size]) for place in range(len(words) - size + 1)}
