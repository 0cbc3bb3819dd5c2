"""The checks of the house are seen to fail: a fault of each kind is planted, and the tool that must find it runs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command, cwd=ROOT):
    tool = Path(sys.executable).with_name(command[0])
    done = subprocess.run([tool, *command[1:]], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("import os\n", "F401"),
        ("def work(x):\n    return x\n", "ANN001"),
        ("try:\n    work = 1\nexcept Exception:\n    pass\n", "BLE001"),
        ("from datetime import datetime\n\nNOW = datetime.now()\n", "DTZ005"),
        ("work = eval('1')\n", "S307"),
        ("print('here')\n", "T201"),
        ("def work(*, later: bool = False) -> None:\n    # TODO: all of it\n    del later\n", "TD003"),
        ("# work = 1 + 2\n", "ERA001"),
    ],
)
def test_a_planted_fault_of_style_is_found(tmp_path, source, code):
    planted = tmp_path / "planted.py"
    planted.write_text(f'"""Planted."""\n\n{source}')

    status, said = run("ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), str(planted))

    assert status == 1
    assert code in said


def test_a_planted_fault_of_form_is_found(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text("work = {  'a':1 }\n")

    status, said = run(
        "ruff", "format", "--check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), str(planted)
    )

    assert status == 1
    assert "would be reformatted" in said


def test_planted_faults_of_type_are_found(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(
        "from enum import StrEnum\n"
        "from teams_app.models import Team\n"
        "\n"
        "class Kind(StrEnum):\n"
        '    ONE = "one"\n'
        '    TWO = "two"\n'
        "\n"
        "def missing(kind):\n"
        "    return kind\n"
        "\n"
        "def wrong(kind: Kind) -> int:\n"
        "    return kind.value\n"
        "\n"
        "def forgetful(kind: Kind) -> None:\n"
        "    match kind:\n"
        "        case Kind.ONE:\n"
        "            pass\n"
        "\n"
        "def of_the_database(team: Team) -> int:\n"
        "    return team.name\n"
        "\n"
        "ignored = 1  # type: ignore\n",
    )

    status, said = run("mypy", "--config-file", "pyproject.toml", "--no-incremental", str(planted))

    assert status == 1
    for code in ("no-untyped-def", "return-value", "exhaustive-match", "unused-ignore"):
        assert f"[{code}]" in said, said
    assert said.count("[return-value]") == 2


FAILING = {
    "false": "def test_planted():\n    assert 1 == 2\n",
    "warns": "import warnings\ndef test_planted():\n    warnings.warn('old', DeprecationWarning)\n",
    "mended": "import pytest\n@pytest.mark.xfail\ndef test_planted():\n    pass\n",
    "misspelt": "import pytest\n@pytest.mark.misspelt\ndef test_planted():\n    pass\n",
    "leaks": "def test_planted():\n    open(__file__)\n",
    "dials": "import socket\ndef test_planted():\n    socket.create_connection(('192.0.2.1', 80), timeout=1)\n",
}


def test_planted_failures_of_tests_are_found(tmp_path):
    # In a folder of this name the tests of the house do without servers.
    room = tmp_path / "architecture"
    room.mkdir()
    for name, source in FAILING.items():
        (room / f"test_{name}.py").write_text(source)
    options = ("-q", "-p", "no:xdist", "--continue-on-collection-errors", f"--rootdir={ROOT}")

    status, said = run("pytest", *options, "-c", str(ROOT / "pyproject.toml"), str(room))

    assert status != 0
    for name in FAILING:
        assert f"test_{name}.py" in said.partition("short test summary")[2], said
    for word in ("DeprecationWarning", "XPASS(strict)", "'misspelt' not found", "SocketConnectBlockedError"):
        assert word in said, said
    assert "5 failed, 1 error" in said
