"""What a client's model reads of the tools before it has done anything: not more than it was."""

import json
from pathlib import Path

import pytest

CONTRACTS = Path(__file__).parents[2] / "docs" / "contracts"
# Bytes of compact JSON, of which four are counted as a token: two thousand tokens at most for any dialect.
MOST_BYTES = {"rail": 8_000, "navigation": 8_000, "session": 8_000, "orchestrator": 8_000, "lookup": 6_500}


@pytest.mark.parametrize("dialect", sorted(MOST_BYTES))
def test_the_list_of_tools_is_not_heavier_than_it_was(dialect):
    tools = json.loads((CONTRACTS / f"{dialect}.tools.json").read_bytes())["tools"]

    assert len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode()) <= MOST_BYTES[dialect]
