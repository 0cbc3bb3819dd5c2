import importlib.util
import json
import sys

import pytest

from workrail_site.local import venvs
from workrail_site.local.problems import SetupProblem
from workrail_site.local.venvs import Environment, Lock, find_environment, is_satisfied


@pytest.fixture
def checkout(places):
    (places.checkout / "locks").mkdir(parents=True)
    for lock in Lock:
        lock.path(places.checkout).write_text(f"{lock}==1\n")
    return places.checkout


@pytest.fixture
def installed(checkout):
    """An environment in which a lock was installed."""

    def make(lock, folder=None):
        environment = Environment(folder=folder or checkout / ".venv", checkout=checkout)
        (environment.folder / "bin").mkdir(parents=True)
        environment.python.symlink_to(sys.executable)
        (environment.folder / "pyvenv.cfg").write_text("version = 3.11.2\n")
        digest = venvs._digest(environment, lock)
        environment.stamp_path.write_text(json.dumps({"lock": lock, "digest": digest}))
        return environment

    return make


def test_an_installed_lock_is_not_installed_again(installed):
    assert is_satisfied(installed(Lock.LOCAL), Lock.LOCAL)


def test_a_changed_lock_is_installed_again(installed, checkout):
    environment = installed(Lock.LOCAL)
    Lock.LOCAL.path(checkout).write_text("local==2\n")

    assert not is_satisfied(environment, Lock.LOCAL)


def test_the_environment_of_the_tests_also_serves_up(installed):
    assert is_satisfied(installed(Lock.DEV), Lock.LOCAL)


def test_the_environment_of_up_does_not_serve_the_tests(installed):
    assert not is_satisfied(installed(Lock.LOCAL), Lock.DEV)


def test_an_interrupted_installation_is_not_taken_for_a_whole_one(installed):
    environment = installed(Lock.DEV)
    environment.stamp_path.unlink()

    assert not is_satisfied(environment, Lock.CORE)


def test_an_environment_whose_python_is_gone_is_made_again(installed):
    environment = installed(Lock.DEV)
    environment.python.unlink()
    environment.python.symlink_to("/nonexistent/python3")

    assert not is_satisfied(environment, Lock.CORE)


def test_another_python_in_the_environment_is_another_installation(installed):
    environment = installed(Lock.LOCAL)
    (environment.folder / "pyvenv.cfg").write_text("version = 3.12.1\n")

    assert not is_satisfied(environment, Lock.LOCAL)


def test_the_environment_is_in_the_checkout(places, checkout):
    assert find_environment(places, Lock.LOCAL).folder == checkout / ".venv"


def test_where_the_checkout_cannot_be_written_the_environment_is_in_the_home(places, checkout):
    (checkout / ".venv").write_text("a file where the folder would have to be")

    assert find_environment(places, Lock.LOCAL).folder == places.home / "venv"


def test_an_environment_that_will_do_is_used_even_if_it_cannot_be_written(places, installed):
    environment = installed(Lock.LOCAL)

    assert find_environment(places, Lock.LOCAL) == environment


def test_only_the_tests_need_what_is_for_development():
    assert venvs.lock_for("test") is Lock.DEV
    assert venvs.lock_for("up") is Lock.LOCAL


def test_without_pip_and_ensurepip_the_message_names_what_to_install(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "_base_executable", "/bin/false")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    with pytest.raises(SetupProblem) as problem:
        venvs._make_folder(Environment(folder=checkout / ".venv", checkout=checkout))

    assert "neither pip (22.3 or newer) nor ensurepip" in problem.value.message
    assert "apt-get install python3-pip" in problem.value.next_move


def test_uv_installs_when_it_is_there(installed, checkout, tmp_path, monkeypatch):
    uv = tmp_path / "tools/uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", str(uv.parent))

    command, *others = venvs.install_commands(installed(Lock.LOCAL), Lock.LOCAL)

    assert len(others) <= 1
    assert command[:3] == [str(uv), "pip", "install"]
    assert command[-4:-2] == ["--only-binary", ":all:"]
    assert "--require-hashes" in command


def _installer(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return [str(path)]


def test_a_failed_installation_is_told_in_the_installers_words(tmp_path):
    failing = _installer(tmp_path / "pip", "echo no route to the index; exit 2")

    with pytest.raises(SetupProblem) as problem:
        venvs._run_installers([failing], total=1)

    assert "no route to the index" in problem.value.message
    assert "PIP_INDEX_URL" in problem.value.next_move


def test_where_uv_fails_pip_is_tried(tmp_path, capsys):
    failing = _installer(tmp_path / "uv", "echo unknown issuer; exit 2")
    working = _installer(tmp_path / "pip", f"touch {tmp_path}/installed")

    venvs._run_installers([failing, working], total=1)

    assert (tmp_path / "installed").exists()
    assert "uv did not manage it (unknown issuer); trying pip" in capsys.readouterr().err


@pytest.mark.parametrize("libc", [("glibc", "2.17"), ("", "")])
def test_where_the_servers_have_no_wheels_the_application_is_installed_alone(monkeypatch, libc):
    monkeypatch.setattr(venvs.platform, "libc_ver", lambda: libc)
    monkeypatch.setattr(sys, "platform", "linux")

    assert venvs.lock_for("up") is Lock.CORE
    with pytest.raises(SetupProblem) as problem:
        venvs.refuse_foreign_platform(Lock.DEV)
    assert "glibc 2.28 or newer" in problem.value.next_move
