"""The reader of the standard library breaks over values that nest a thousand levels deep: whoever reads with it says what then."""

import ast
from pathlib import Path

APPS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")
# What only whoever runs the server reads, of their own.
NOT_SERVED = {"migrations", "bench", "storms", "demo", "simulation", "local"}
# What we have written ourselves, and what the environment says.
OWN = {"workrail_site/live.py", "teams_app/engine/sign_on.py", "workrail_site/management/commands/bench.py"}
READERS = {"load", "loads", "raw_decode"}


def modules():
    root = Path(__file__).parents[2]
    for app in APPS:
        for path in (root / app).rglob("*.py"):
            place = path.relative_to(root)
            if not NOT_SERVED & set(place.parts) and str(place) not in OWN:
                yield place, ast.parse(path.read_text("utf-8"))


def is_read(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in READERS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in {"json", "decoder"}
    )


def expected(tree):
    """Lines within a `try` that names what is raised over such values."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Try) and any("RecursionError" in ast.dump(handler) for handler in each.handlers):
            for inner in each.body:
                yield from range(inner.lineno, inner.end_lineno + 1)


def unexpected():
    for place, tree in modules():
        lines = set(expected(tree))
        yield from (f"{place}:{node.lineno}" for node in ast.walk(tree) if is_read(node) and node.lineno not in lines)


def test_whoever_reads_json_expects_values_that_nest_too_deep():
    # The members of an object are read by a generator, and whoever asks it expects them; an id was read before.
    known = {"workflows_app/engine/packing.py"}

    assert [place for place in unexpected() if place.partition(":")[0] not in known] == []
