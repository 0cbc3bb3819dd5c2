"""The locks hold what pyproject.toml asks for, pinned and hashed, and say nothing of where it comes from."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CORE = PROJECT["project"]["dependencies"]
LOCAL = PROJECT["project"]["optional-dependencies"]["local"]
DEV = PROJECT["dependency-groups"]["dev"]


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def lock(name: str) -> str:
    return (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")


def pinned(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", lock(name), flags=re.MULTILINE))


@pytest.mark.parametrize(("name", "asked"), [("core", CORE), ("local", CORE + LOCAL), ("dev", CORE + LOCAL + DEV)])
def test_a_lock_has_every_requirement(name, asked):
    assert {name_of(requirement) for requirement in asked} <= set(pinned(name))


@pytest.mark.parametrize("name", ["local", "dev"])
def test_the_larger_locks_agree_with_the_core(name):
    core = pinned("core")

    assert {package: pinned(name).get(package) for package in core} == core


@pytest.mark.parametrize("name", ["core", "local", "dev"])
def test_every_package_has_hashes_and_none_an_address(name):
    entries = re.split(r"\n(?=[a-z0-9-]+==)", lock(name))

    assert all("--hash=sha256:" in entry for entry in entries)
    assert "://" not in lock(name)
    assert "--index-url" not in lock(name)
