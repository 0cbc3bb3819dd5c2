"""No regular expression of ours takes time with the square of a text: whoever writes the text would hold up everyone."""

import ast
import importlib
import pkgutil
import re
import time
from pathlib import Path
from random import Random

import pytest

from tests.flood_play import Work
from tests.pumped_texts import pumped_texts

APPS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")
# What only whoever runs the server reads with.
NOT_SERVED = (
    ".migrations",
    ".management",
    ".bench",
    ".storms",
    ".demo",
    ".simulation",
    ".local",
    ".settings",
    ".asgi",
    ".wsgi",
)
SHORT, TIMES = 1_000, 16
# A text that is longer so many times over takes as much longer, and not the square of it; what takes no time is not judged.
MOST_TIMES = 5 * TIMES
WORTH_A_LOOK_SECONDS = 0.0002
TRIES = 8
# Python tidies up after all tests when it likes, at the cost of whoever is measured then; what is slow is slow each time.
LOOKS = 3


def modules():
    for app in APPS:
        for found in pkgutil.walk_packages(importlib.import_module(app).__path__, f"{app}."):
            if not any(part in found.name for part in NOT_SERVED):
                yield importlib.import_module(found.name)


def patterns_in(value):
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from patterns_in(each)
    elif not isinstance(value, type) and isinstance(getattr(value, "pattern", None), re.Pattern):
        yield value.pattern


def asked_of(module):
    """By the name of a pattern what it is asked."""
    asked = {}
    for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            asked.setdefault(node.value.id, set()).add(node.attr)
        # The reader of documents takes what a text has to be as a whole.
        if isinstance(node, ast.keyword) and node.arg == "pattern" and isinstance(node.value, ast.Name):
            asked.setdefault(node.value.id, set()).add("fullmatch")
    return asked


def found_patterns():
    """Each with the ways in which it is asked. Whoever matches begins at one place alone; what is not known searches."""
    found = {}
    for module in modules():
        asked = asked_of(module)
        for name, value in vars(module).items():
            for place, pattern in enumerate(patterns_in(value)):
                ways = asked.get(name, set()) & {"match", "fullmatch"}
                is_searched = not ways or asked[name] & {"search", "sub", "findall", "finditer", "split"}
                found[f"{module.__name__}.{name} {place}"] = pattern, ways | ({"search"} if is_searched else set())
    return found


def ask(pattern, way, text):
    if way == "search":
        for _found in pattern.finditer(text):
            pass
    else:
        getattr(pattern, way)(text)


def seconds(pattern, way, text):
    with Work() as work:
        ask(pattern, way, text)
    return work.seconds


def is_worth_a_look(pattern, way, text):
    """The clock on the wall is read for less than the processor's, and never shows less."""
    begun = time.perf_counter()
    ask(pattern, way, text)
    return time.perf_counter() - begun > WORTH_A_LOOK_SECONDS


def slow_texts(pattern, ways):
    for text in pumped_texts(pattern, random=Random(7), tries=TRIES):
        short = text.of_size(SHORT)
        for way in ways:
            if not is_worth_a_look(pattern, way, short):
                continue
            taken = seconds(pattern, way, short)
            if taken > WORTH_A_LOOK_SECONDS and is_slow(pattern, way, text.of_size(TIMES * SHORT), taken):
                return [(way, short[:40])]
    return []


def is_slow(pattern, way, long, taken):
    return all(seconds(pattern, way, long) > MOST_TIMES * taken for _look in range(LOOKS))


def test_every_pattern_takes_time_in_proportion_to_the_text():
    found = found_patterns()

    slow = {name: texts for name, (pattern, ways) in found.items() if (texts := slow_texts(pattern, ways))}

    assert len(found) > 100
    assert slow == {}


@pytest.mark.parametrize("slow", [r"a+b", r"\bsk-(?=[a-z_-]*[0-9])x", r"#[ ]+(.*?)[ ]*$"])
def test_a_pattern_that_walks_again_and_again_is_found(slow):
    assert slow_texts(re.compile(slow), {"search"})
