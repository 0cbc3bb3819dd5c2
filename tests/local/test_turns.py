"""Tests of one run take turns: those that measure run while no other touches the database."""

import threading
from types import SimpleNamespace

import pytest

from tests.turns import turn_of


def item(*marks, fixtures=("db",)):
    named = {mark: object() for mark in marks}
    return SimpleNamespace(fixturenames=fixtures, get_closest_marker=named.get)


PLAIN, MEASURES, WITHOUT_DATABASE = item(), item("measures", "django_db"), item(fixtures=())


def has_its_turn(wanted, folder):
    """Whether it gets it while the caller has one; if not, the thread takes it when that is over."""
    got = threading.Event()

    def take():
        with turn_of(wanted, folder):
            got.set()

    threading.Thread(target=take, daemon=True).start()
    return got.wait(0.3)


@pytest.mark.parametrize(
    ("running", "wanted", "gets_it"),
    [
        (PLAIN, PLAIN, True),
        (PLAIN, MEASURES, False),
        (MEASURES, PLAIN, False),
        (MEASURES, MEASURES, False),
        (MEASURES, WITHOUT_DATABASE, True),
        (WITHOUT_DATABASE, MEASURES, True),
    ],
)
def test_whoever_measures_is_alone_with_the_database(tmp_path, running, wanted, gets_it):
    with turn_of(running, tmp_path):
        assert has_its_turn(wanted, tmp_path) is gets_it


def test_whoever_waits_to_measure_comes_before_those_that_come_later(tmp_path):
    with turn_of(PLAIN, tmp_path):
        assert not has_its_turn(MEASURES, tmp_path)
        assert not has_its_turn(PLAIN, tmp_path)
