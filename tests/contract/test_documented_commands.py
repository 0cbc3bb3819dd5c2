"""Every command that the documents, the pages and the product's own words show exists, under the name that they give it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
ROOMS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site", "templates")
SPOKEN = [path for room in ROOMS for ending in ("py", "html") for path in sorted((ROOT / room).rglob(f"*.{ending}"))]
SHOWN = re.compile(r"(?:\./workrail|manage\.py) +(?P<name>[a-z][a-z_-]*)(?: +(?P<sub>[a-z][a-z_-]*)\b)?")
# What follows the program where a sentence speaks of it, and Django's own word.
NO_COMMANDS = {"as", "does", "command", "help"}


def shown():
    found = {
        (match["name"], match["sub"])
        for path in (*DOCUMENTS, *SPOKEN)
        for match in SHOWN.finditer(path.read_text(encoding="utf-8"))
        if match["name"] not in NO_COMMANDS
    }
    return sorted(found, key=str)


def test_the_documents_show_commands():
    assert len({name for name, _ in shown()}) > 5


@pytest.mark.parametrize(("name", "sub"), shown())
def test_a_command_that_is_shown_exists(name, sub):
    from django.core.management import get_commands, load_command_class

    from workrail_site.local.starter import _COMMANDS

    if name in _COMMANDS:
        return
    apps = get_commands()
    assert name in apps
    if sub is not None and isinstance(apps[name], str) and apps[name].endswith("_app"):
        parser = load_command_class(apps[name], name).create_parser("manage.py", name)
        choices = [action.choices for action in parser._actions if action.choices and not action.option_strings]
        assert not choices or sub in choices[0]
