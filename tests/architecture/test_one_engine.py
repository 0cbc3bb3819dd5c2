"""Every move of a run is a command to one function, and no service moves a run by another."""

import ast
from pathlib import Path
from typing import get_args

from sessions_app.engine.decisions import Command

ROOT = Path(__file__).parents[2]
# What decides a move, each behind `decide`.
BEHIND = {
    "sessions_app.engine.advancing": {"acknowledge"},
    "sessions_app.engine.answering": {"answer"},
    "sessions_app.engine.steering": {"steer", "begin"},
    "sessions_app.engine.handover": {"enter_activity", "ask_question"},
    "sessions_app.engine.children": {"suspend", "take_back"},
    "sessions_app.engine.stops": {"stop", "stopped", "go_on"},
    "sessions_app.engine.journal": {"Journal"},
}
OUTSIDE = ("sessions_app/services", "sessions_app/api", "sessions_app/admin", "sessions_app/tasks.py", "workrail_site")


def python_files(*places):
    for place in places:
        path = ROOT / place
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def names_used(tree):
    """Every name of a module behind `decide` that a file takes from it, imported by itself or by way of its module."""
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in BEHIND:
            yield from ((node.module, alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module == "sessions_app.engine":
            modules |= {alias.asname or alias.name: f"sessions_app.engine.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


def test_nothing_outside_the_engine_moves_a_run_but_by_decide():
    around = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path in python_files(*OUTSIDE)
        for module, name in names_used(ast.parse(path.read_text(encoding="utf-8")))
        if name in BEHIND.get(module, ())
    ]

    assert around == []


def test_every_command_is_decided_by_a_case_of_its_own():
    source = ast.parse((ROOT / "sessions_app/engine/decide.py").read_text(encoding="utf-8"))
    cases = {
        node.cls.id for node in ast.walk(source) if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name)
    }

    assert {command.__name__ for command in get_args(Command)} - {"Start"} <= cases


def callers(name, *places):
    """The files that call a function of this name, or import it."""
    for path in python_files(*places):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        called = {
            node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "attr")
        }
        if name in imported or f"hot_write.{name}" in ast.unparse(tree) or (name == "decide" and name in called):
            yield path.relative_to(ROOT).as_posix()


def test_one_runner_asks_the_engine_and_one_writer_appends():
    """Whoever moves a run comes by them, parents and triggers included."""
    services = "sessions_app/services"

    assert [Path(name).name for name in callers("decide", services)] == ["moving.py"]
    assert [Path(name).name for name in callers("append", services)] == ["writing.py"]


def test_no_service_tells_commands_apart():
    commands = {command.__name__ for command in get_args(Command)}
    apart = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files("sessions_app/services")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (
            (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance")
            and commands & {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        )
        or (isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id in commands)
    ]

    assert apart == []
