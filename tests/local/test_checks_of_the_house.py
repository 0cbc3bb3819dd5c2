import sys

import pytest

from workrail_site.local import checks
from workrail_site.local.checks import CheckStage, planned_checks, read_arguments
from workrail_site.local.venvs import Environment

_TOOLS = ("ruff", "mypy", "lint-imports", "python")


@pytest.fixture
def environment(tmp_path):
    """An environment whose tools note their arguments and end as they are told."""
    made = Environment(folder=tmp_path / "venv", checkout=tmp_path)
    (made.folder / "bin").mkdir(parents=True)
    for tool in _TOOLS:
        _write_tool(made, tool, exit_code=0)
    return made


def _write_tool(environment, name, *, exit_code):
    path = environment.folder / "bin" / name
    path.write_text(f'#!/bin/sh\necho "{name} $*" >> {environment.folder}/log\nexit {exit_code}\n')
    path.chmod(0o755)


def _what_ran(environment):
    return [line.split()[0] for line in (environment.folder / "log").read_text().splitlines()]


@pytest.fixture
def places(places):
    places.checkout.mkdir()
    return places


def test_all_checks_run_and_the_tests_come_last(places, environment, capsys):
    assert checks.run(["test"], places=places, environment=environment) == 0

    assert _what_ran(environment) == ["ruff", "ruff", "mypy", "lint-imports", "python", "python"]
    summary = capsys.readouterr().out
    assert all(name in summary for name in ("lint", "format", "types", "imports", "migrations", "tests"))


def test_a_failed_check_stops_before_the_tests_but_not_before_the_quick_ones(places, environment, capsys):
    _write_tool(environment, "ruff", exit_code=3)

    assert checks.run(["test"], places=places, environment=environment) == 3

    assert _what_ran(environment) == ["ruff", "ruff", "mypy", "lint-imports", "python"]
    assert "failed (3)" in capsys.readouterr().out


def test_processes_of_the_checks_keep_bytecode_where_the_environment_forbids_it(places, environment, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    tool = environment.folder / "bin" / "python"
    tool.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.exit(sys.dont_write_bytecode)'\n")

    assert checks.run(["test", "--only", "tests"], places=places, environment=environment) == 0


def test_one_stage_can_be_asked_for(places, environment):
    assert checks.run(["test", "--only", "imports"], places=places, environment=environment) == 0

    assert _what_ran(environment) == ["lint-imports"]


def test_an_unknown_stage_is_refused(capsys):
    with pytest.raises(SystemExit):
        read_arguments(["--only", "everything"])

    assert "lint, types, imports, migrations, tests" in capsys.readouterr().err.replace("'", "")


def test_arguments_go_to_pytest():
    stages, for_pytest = read_arguments(["tests/engine", "-k", "loop", "--only", "tests"])

    assert stages == {CheckStage.TESTS}
    assert for_pytest == ["tests/engine", "-k", "loop"]


@pytest.mark.parametrize("argument", ["-n0", "-n", "--pdb", "--numprocesses"])
def test_three_processes_are_the_default_that_an_argument_replaces(environment, places, argument):
    (default,) = planned_checks(frozenset({CheckStage.TESTS}), [], environment=environment, places=places)
    (asked,) = planned_checks(frozenset({CheckStage.TESTS}), [argument], environment=environment, places=places)

    assert default.command[-4:-2] == ("-n", "3")
    assert asked.command[-1] == argument
    assert "3" not in asked.command
