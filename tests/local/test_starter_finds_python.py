import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workrail_site.local.places import CHECKOUT


@pytest.fixture(scope="module")
def starter():
    loader = importlib.machinery.SourceFileLoader("workrail_starter", str(CHECKOUT / "workrail"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def interpreter(tmp_path):
    """Something on PATH that says it is that Python."""

    def make(name, answer, exit_code=0):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {answer}\nexit {exit_code}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.mark.parametrize(("version", "verdict"), [((3, 10), False), ((3, 11), True), ((3, 14), True), ((3, 15), False)])
def test_python_from_3_11_to_3_14_is_good_enough(starter, version, verdict):
    assert starter.is_good(version) is verdict


def test_an_interpreter_on_path_is_asked_for_its_version(starter, interpreter):
    assert starter.version_of(interpreter("python3.12", "3 12")) == (3, 12)


def test_a_shim_that_refuses_is_no_interpreter(starter, interpreter):
    assert starter.version_of(interpreter("python3.13", "not installed", exit_code=127)) == ()


def test_interpreters_are_looked_for_on_path_and_in_pyenv(starter, interpreter, tmp_path, monkeypatch):
    on_path = interpreter("python3.12", "3 12")
    in_pyenv = tmp_path / "pyenv/versions/3.13.0/bin/python3"
    in_pyenv.parent.mkdir(parents=True)
    in_pyenv.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))

    assert starter.candidates()[:2] == [on_path, in_pyenv]


def _old_interpreters():
    store = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [path for version in ("3.8", "3.9", "3.10") for path in store.glob(f"{version}.*/bin/python3")]


@pytest.mark.parametrize("python", _old_interpreters() or [None], ids=str)
def test_an_old_python_hands_over_to_a_newer_one(python, clean_environ):
    if python is None:
        pytest.skip("no Python older than 3.11 here")

    answer = subprocess.run(
        [python, CHECKOUT / "workrail", "--help"], env=clean_environ, capture_output=True, text=True, check=False
    )

    assert answer.returncode == 0, answer.stderr
    assert "./workrail up" in answer.stdout


def test_without_a_good_python_the_message_names_the_next_move(starter, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("WORKRAIL_STARTER_TRIED", raising=False)

    with pytest.raises(SystemExit) as refusal:
        starter.run_with_a_better_python()

    assert "needs Python 3.11 to 3.14" in str(refusal.value)
    assert "next: install one" in str(refusal.value)
    monkeypatch.delenv("WORKRAIL_STARTER_TRIED")
