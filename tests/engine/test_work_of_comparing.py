"""Whatever two texts are laid beside each other, comparing them takes work in proportion to their length."""

import random
import tracemalloc

import pytest

from sessions_app.engine.comparing import WordComparison, align, path_differences
from tests.flood_play import Work, allowed
from workflows_app.engine import diffs
from workflows_app.engine.diffs import diff_files

COUNT = 1_450


def mixed(names, seed):
    chance = random.Random(seed)
    return [chance.choice(names) for _ in range(COUNT)]


def between(word, own):
    """Each second word is both sides', and what stands between is one side's own."""
    return [f"{own}{at}" if at % 2 else word.format(at) for at in range(COUNT)]


SHAPES = {
    "nothing shared": (["a"] * COUNT, ["b"] * COUNT),
    "one word shared, again and again": (between("x", "a"), between("x", "b")),
    "other words shared, one by one": (between("x{}", "a"), between("x{}", "b")),
    "the other way round": ([str(at) for at in range(COUNT)], [str(at) for at in reversed(range(COUNT))]),
    "two words in any order": (mixed("ab", 1), mixed("ab", 2)),
    "many words in any order": (mixed([str(at) for at in range(200)], 1), mixed([str(at) for at in range(200)], 2)),
    "the same but for the last": (["a"] * COUNT, [*["a"] * (COUNT - 1), "b"]),
    "the same but for the first": (["a"] * COUNT, ["b", *["a"] * COUNT]),
}
PAGES = {
    "words of notes": lambda one, other: _words(" ".join(one), " ".join(other)),
    "words of notes, a line each": lambda one, other: _words("\n".join(one), " ".join(other)),
    "steps": align,
    "lines of files": lambda one, other: diff_files(
        before={f"{at}.md": _lines(one) for at in range(40)}, after={f"{at}.md": _lines(other) for at in range(40)}
    ),
}


def _words(one, other):
    page = WordComparison()
    return [page.difference(one, other) for _ in range(10)]


def _lines(words):
    return "\n".join([*words, *words, *words]).encode()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_costs_no_more_than_its_length_allows(page, shape):
    one, other = SHAPES[shape]

    with Work() as work:
        PAGES[page](one, other)

    assert work.seconds <= allowed(plain=0.05, size=0)


VALUES = {
    "values that were handed in": path_differences,
    "programs": lambda one, other: list(diffs._changes("", one, other)),
}


@pytest.mark.parametrize("values", VALUES)
def test_places_in_what_has_long_names_are_told_for_work_in_proportion(values):
    def differing(name):
        one = {f"k{at}": at for at in range(4_000)}
        return {name: one}, {name: one | {"k0": "other", "k3999": "other"}}

    with Work() as of_short:
        VALUES[values](*differing("K"))

    tracemalloc.start()
    with Work() as work:
        found = VALUES[values](*differing("K" * 50_000))
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(found) == 2
    assert all(0 < len(each.path) <= 1_001 for each in found)
    assert work.seconds <= 20 * of_short.seconds + 0.25
    assert most <= 8_000_000
