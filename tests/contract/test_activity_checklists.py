"""What the contracts of the session and orchestrator dialects promise, and the tests that hold it."""

import ast
import json
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEEDS = {
    "session": ROOT.parent / "shared" / "seeds" / "session-g2.md",
    "orchestrator": ROOT.parent / "shared" / "seeds" / "orchestrator-g3.md",
}
LISTS = {
    dialect: json.loads((Path(__file__).parent / f"{dialect}_checklist.json").read_text(encoding="utf-8"))
    for dialect in SEEDS
}
ENTRIES = [entry for entries in LISTS.values() for entry in entries]
each_dialect = pytest.mark.parametrize("dialect", sorted(SEEDS))


@cache
def names_in(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["id"])
def test_every_promise_of_these_dialects_is_held_by_tests_that_exist(entry):
    assert set(entry) == {"id", "where", "promise", "tests"}
    assert entry["tests"]
    for named in entry["tests"]:
        path, _, name = named.partition("::")
        assert name in names_in(path), named


@each_dialect
def test_no_promise_of_a_dialect_stands_twice(dialect):
    told = [entry["promise"] for entry in LISTS[dialect]]
    ids = [entry["id"] for entry in LISTS[dialect]]

    assert len(set(told)) == len(told)
    assert len(set(ids)) == len(ids)


@each_dialect
def test_every_tool_of_a_dialect_is_spoken_of(dialect):
    declared = json.loads((ROOT / "docs" / "contracts" / f"{dialect}.tools.json").read_bytes())["tools"]
    promises = " ".join(entry["promise"] for entry in LISTS[dialect])
    places = " ".join(entry["where"] for entry in LISTS[dialect])

    assert [tool["name"] for tool in declared if tool["name"] not in promises + places] == []


@each_dialect
def test_promises_of_a_dialect_are_told_in_our_own_words(dialect):
    """Eight words in a row that the contract has as well would be its sentence and not ours."""
    if not SEEDS[dialect].is_file():
        pytest.skip("the contract is not beside the checkout")
    theirs = shingles(SEEDS[dialect].read_text(encoding="utf-8"))

    assert [entry["id"] for entry in LISTS[dialect] if shingles(entry["promise"]) & theirs] == []


def shingles(text, size=8):
    words = "".join(char if char.isalnum() else " " for char in text.lower()).split()
    return {tuple(words[place : place + size]) for place in range(len(words) - size + 1)}
