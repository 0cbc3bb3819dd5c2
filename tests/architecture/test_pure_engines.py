"""What the import contracts cannot see: an engine that asks the clock, chance, a file or the world by a permitted module."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APPS = ("teams_app", "workflows_app", "sessions_app", "traces_app")

# The computing libraries, and of the standard library what only computes.
MAY_BE_IMPORTED = {
    "cryptography.exceptions", "cryptography.hazmat.primitives.asymmetric.ed25519",
    "cryptography.hazmat.primitives.serialization",
    "base64", "binascii", "bisect", "collections", "collections.abc", "copy", "dataclasses", "datetime", "decimal",
    "difflib", "enum", "fractions", "functools", "hashlib", "heapq", "hmac", "html", "io", "ipaddress", "itertools", "json",
    "jsonschema_rs", "markdown_it", "math", "msgspec", "msgspec.json", "msgspec.structs", "nh3", "operator", "orjson",
    "pathlib", "re", "re2", "rfc8785", "stat", "string", "struct", "tarfile", "textwrap", "toon_format", "types", "typing", "unicodedata",
    "urllib.parse", "uuid", "yaml", "zipfile", "zlib",
}  # fmt: skip

# Calls that reach out of the values that were given.
NOT_PURE = {
    "datetime.now", "datetime.today", "datetime.utcnow", "date.today", "uuid.uuid1", "uuid.uuid4", "uuid1", "uuid4",
    "open", "print", "input", "exec", "eval", "compile", "__import__", "Path", "pathlib.Path", "Path.home", "Path.cwd",
    "tarfile.open_path", "breakpoint",
}  # fmt: skip


def engines():
    return [path for app in APPS for path in (ROOT / app / "engine").rglob("*.py")]


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def called(tree):
    return {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


def faults(source):
    tree = ast.parse(source)
    foreign = {name for name in imported(tree) if name.partition(".")[0] not in APPS} - MAY_BE_IMPORTED
    return sorted(foreign | (called(tree) & NOT_PURE))


def test_engines_compute_and_nothing_else():
    found = {str(path.relative_to(ROOT)): faults(path.read_text()) for path in engines()}

    assert len(found) > 50
    assert {path: what for path, what in found.items() if what} == {}


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("import requests", "requests"),
        ("from django.db import models", "django.db"),
        ("from datetime import datetime\nx = datetime.now()", "datetime.now"),
        ("import uuid\nx = uuid.uuid4()", "uuid.uuid4"),
        ("from pathlib import Path\nx = Path('/')", "Path"),
        ("x = open('/etc/passwd')", "open"),
        ("import urllib.request", "urllib.request"),
        ("eval('1')", "eval"),
    ],
)
def test_a_planted_fault_is_found(source, fault):
    assert faults(source) == [fault]


def test_every_package_of_the_house_begins_with_an_empty_file():
    rooms = (*APPS, "workrail_site")
    filled = [
        str(path.relative_to(ROOT))
        for room in rooms
        for path in (ROOT / room).rglob("__init__.py")
        if path.stat().st_size
    ]

    assert filled == []
