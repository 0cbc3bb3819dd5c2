"""What a test takes from the product exists: in the code that it hands to another process as text, which no import reads,
and as an attribute of a module, which no type check of tests reads.
"""

import ast
import importlib
from pathlib import Path
from types import ModuleType

CHECKOUT = Path(__file__).parents[2]
OURS = ("workrail_site", "teams_app", "workflows_app", "sessions_app", "traces_app", "tests")
FILES = [*(CHECKOUT / "tests").rglob("*.py"), *(CHECKOUT / "workrail_site").rglob("*.py")]


def imports(tree):
    """Each name that is taken from a module of ours: the module, the name, and what it is called here."""
    for line in ast.walk(tree):
        if isinstance(line, ast.ImportFrom) and line.module and line.module.split(".")[0] in OURS:
            yield from ((line.module, each.name, each.asname or each.name) for each in line.names)


def programs_in(tree):
    """The texts of a file that are programs themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import " in node.value:
            try:
                yield ast.parse(node.value)
            except (SyntaxError, ValueError):
                continue


def taken(module, name):
    """What an import of it gives; None when there is nothing."""
    found = getattr(importlib.import_module(module), name, None)
    if found is not None:
        return found
    try:
        return importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return None


def rebound(tree):
    """Names that mean something else somewhere in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def wrong_attributes(tree):
    modules = {called: taken(module, name) for module, name, called in imports(tree)}
    others = set(rebound(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in others:
            module = modules.get(node.value.id)
            if isinstance(module, ModuleType) and not hasattr(module, node.attr):
                yield f"{module.__name__}.{node.attr}"


def test_code_that_is_handed_to_other_processes_imports_what_exists():
    missing = [
        f"{path.name}: {module}.{name}"
        for path in FILES
        for program in programs_in(ast.parse(path.read_text()))
        for module, name, _ in imports(program)
        if taken(module, name) is None
    ]

    assert missing == []


def test_an_attribute_that_a_test_reads_of_a_module_is_there():
    assert [f"{path.name}: {wrong}" for path in FILES for wrong in wrong_attributes(ast.parse(path.read_text()))] == []
