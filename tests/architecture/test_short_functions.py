"""Functions of sessions and dialects stay as short as they were."""

import ast
import statistics
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEDIAN_LINES_BELOW_THE_FIRST = 6
LONGEST_LINES = 56


def functions():
    for room in ("sessions_app", "workrail_site/dialects"):
        for path in sorted((ROOT / room).rglob("*.py")):
            if "migrations" not in path.parts:
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                        yield f"{path.relative_to(ROOT)}: {node.name}", node.end_lineno - node.lineno + 1


def test_the_median_function_and_the_longest_are_no_longer_than_they_were():
    lines = dict(functions())

    assert statistics.median(lines.values()) - 1 <= MEDIAN_LINES_BELOW_THE_FIRST
    assert {name: count for name, count in lines.items() if count > LONGEST_LINES} == {}
