"""What a client's model reads of the tools before it has done anything: not more than it was."""

import json
from pathlib import Path

import pytest

CONTRACTS = Path(__file__).parents[2] / "docs" / "contracts"
# Bytes of compact JSON. A model's tokenizer makes one token of about four and a half of them.
MOST_BYTES = {"rail": 11_800, "navigation": 11_200, "session": 9_200, "orchestrator": 11_800, "lookup": 7_000}


@pytest.mark.parametrize("dialect", sorted(MOST_BYTES))
def test_the_list_of_tools_is_not_heavier_than_it_was(dialect):
    tools = json.loads((CONTRACTS / f"{dialect}.tools.json").read_bytes())["tools"]

    assert len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode()) <= MOST_BYTES[dialect]
