"""A class name means one thing in the whole product."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")
# Django asks for these names.
GIVEN = {"Meta", "Command", "Migration"}


def classes():
    found = defaultdict(list)
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and node.name not in GIVEN:
                    found[node.name].append(path.relative_to(ROOT))
    return found


def is_row_of_a_value(places):
    """A table of an app keeps the value of the same name that its engine decides: one thing, in two forms."""
    rooms = [(place.parts[0], place.parts[1].removesuffix(".py")) for place in places]
    return len(rooms) == 2 and {room for _app, room in rooms} == {"engine", "models"} and rooms[0][0] == rooms[1][0]


def test_no_two_classes_have_one_name():
    twice = {
        name: [str(place) for place in places]
        for name, places in classes().items()
        if len(places) > 1 and not is_row_of_a_value(places)
    }

    assert twice == {}


def test_the_glossary_has_at_most_sixty_words_and_none_twice():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [line for line in page.partition("## Words")[2].splitlines() if line.startswith("| ")][1:]
    words = [word.strip() for row in rows for word in row.split("|")[1].split(",")]

    assert len(words) <= 60
    assert len(set(words)) == len(words)
