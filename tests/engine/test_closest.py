"""The name that was meant, and that asking for it is cheap however many and long the names are."""

import pytest

from teams_app.engine.closest import LONGEST_WORD, MOST_CANDIDATES, closest


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("state_token", "stateToken"),
        ("STATETOKEN", "stateToken"),
        ("ackTocken", "ackToken"),
        ("elephant", None),
        ("", None),
        ("stateToken" * LONGEST_WORD, None),
    ],
)
def test_another_way_to_write_a_name_finds_it(written, meant):
    assert closest(written, ["stateToken", "ackToken", "output"]) == meant


def test_names_in_other_scripts_are_told_apart():
    assert closest("größe", ["farbe", "grösse"]) == "grösse"
    assert closest("価格", ["数量", "価格表"]) == "価格表"


def test_only_so_many_candidates_and_letters_are_looked_at():
    looked_at = iter([f"name-{number}" for number in range(10 * MOST_CANDIDATES)])

    assert closest("naem-7", looked_at) == "name-7"
    assert next(looked_at) == f"name-{MOST_CANDIDATES}"
    assert closest("x", ["x" * (LONGEST_WORD + 1)]) is None
