import json
import sys

import pytest

from workrail_site.local import venvs
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
