"""`docs/problems.md` explains every code that a workflow can be told, and no other."""

import re
from pathlib import Path

import pytest

from workflows_app.engine.problems import ProblemCode

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "problems.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)


def test_every_code_has_one_row():
    assert sorted(row[0] for row in ROWS) == sorted(code.value for code in ProblemCode)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_says_how_bad_it_is_what_it_means_and_what_to_do(row):
    _, severity, meaning, advice = row
    assert severity.startswith(("error", "warning"))
    assert meaning.endswith(".")
    assert advice.endswith(".")


def test_no_line_of_the_tables_is_left_out():
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(lines) == len(ROWS)
