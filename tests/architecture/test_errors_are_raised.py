"""Every code of the table of errors is raised somewhere: a refusal that nobody is ever told is no part of the contract."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")


def trees():
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield ast.parse(path.read_text(encoding="utf-8"))


def code_of(node):
    """The code that a class declares."""
    for line in node.body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "code" for target in targets):
            return getattr(line.value, "value", None)
    return None


def declared():
    """Each class of refusal that has a code, with the code."""
    from workrail_site.errors import ERRORS

    classes = (node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {node.name: code_of(node) for node in classes if code_of(node) in ERRORS}


def made():
    """Names that are called, by themselves or by a method of the class: `NotFoundError(…)`, `StepNotDoneError.of(…)`."""
    for tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            if isinstance(node.func, ast.Name):
                yield node.func.id
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
                yield node.func.value.id


def test_every_code_of_the_table_is_raised_somewhere():
    from workrail_site.errors import ERRORS

    errors, raised = declared(), set(made())

    assert set(errors.values()) == set(ERRORS)
    assert sorted(code for name, code in errors.items() if name not in raised) == []
