"""Each import contract of the house catches what it is there for: a violation is planted in a copy and seen to fail."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("workrail_site", "traces_app", "sessions_app", "workflows_app", "teams_app")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

# For each contract a file, and the import in it that nobody may write.
PLANTS = {
    "apps": ("teams_app/services/planted_up.py", "import workflows_app.engine"),
    "rooms": ("teams_app/models.py", "import teams_app.services.planted"),
    "engine": ("sessions_app/engine/planted_clock.py", "import time"),
    "doors": ("teams_app/api/planted_table.py", "import teams_app.models"),
    "tables-of-teams": ("workflows_app/services/planted_teams.py", "import teams_app.models"),
    "tables-of-workflows": ("sessions_app/services/planted_workflows.py", "import workflows_app.models"),
    "tables-of-sessions": ("workrail_site/planted_sessions.py", "import sessions_app.models"),
    "migrations": ("teams_app/migrations/planted_migration.py", "import teams_app.services.planted"),
    "dialects": ("workrail_site/dialects/planted_door.py", "import teams_app.jobs"),
}

# The engine's contract names many modules; some of them are planted beside the clock.
IMPURE = [
    "django.db",
    "logging",
    "random",
    "secrets",
    "structlog",
    "redis",
    "psycopg",
    "celery",
    "rest_framework",
    "os",
]


@pytest.fixture
def house(tmp_path):
    """A copy of the house in which anything may be planted."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__", "bundled"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "teams_app/services/planted.py").write_text("")
    return tmp_path


def plant(house, place, line):
    path = house / place
    path.write_text(path.read_text() + f"\n{line}\n" if path.exists() else f"{line}\n")


def lint(house, *options):
    """What lint-imports says, and whether it was content."""
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [command, "--no-logo", "--no-cache", *options],
        cwd=house,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r"\s+", " ", done.stdout + done.stderr)


def test_every_contract_has_its_plant():
    assert {contract["id"] for contract in CONTRACTS} == set(PLANTS)


def test_the_house_keeps_its_contracts(house):
    status, said = lint(house)

    assert status == 0, said


def test_each_contract_is_broken_by_its_plant(house):
    for place, line in PLANTS.values():
        plant(house, place, line)
    for module in IMPURE:
        plant(house, f"teams_app/engine/planted_{module.replace('.', '_')}.py", f"import {module}")

    status, said = lint(house)

    assert status == 1
    for contract in CONTRACTS:
        assert f"{contract['name']} BROKEN" in said, contract["id"]
    for place, line in PLANTS.values():
        importer = place.removesuffix(".py").replace("/", ".")
        assert f"{importer} -> {line.removeprefix('import ')} (l." in said
    for module in IMPURE:
        assert f"teams_app.engine.planted_{module.replace('.', '_')} -> {module.split('.')[0]} (l." in said


def test_an_import_by_a_detour_is_found_as_well(house):
    plant(house, "teams_app/engine/planted_detour.py", "import teams_app.engine.planted_clock")
    plant(house, "teams_app/engine/planted_clock.py", "import time")

    status, said = lint(house, "--contract", "engine")

    assert status == 1
    assert "teams_app.engine.planted_clock -> time" in said


@pytest.mark.parametrize("room", ["utils", "helpers", "common", "views"])
def test_a_room_that_is_not_in_the_plan_is_refused(house, room):
    plant(house, f"teams_app/{room}.py", "")

    status, said = lint(house, "--contract", "rooms")

    assert status == 1
    assert room in said
