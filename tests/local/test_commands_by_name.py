"""`./workrail COMMAND`: what is said of a command that is used wrongly names what its user has typed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workrail_site.local import manage_command
from workrail_site.local.places import CHECKOUT, Places
from workrail_site.local.venvs import Environment


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["member"], "Did you mean members?\nType 'workrail help'"), (["members"], "usage: workrail members")],
)
def test_a_wrong_command_is_told_by_the_name_that_was_typed(monkeypatch, tmp_path, capfd, arguments, said):
    monkeypatch.setenv("DATABASE_URL", "postgresql:///none?host=/nonexistent")
    monkeypatch.setenv("REDIS_URL", "unix:///nonexistent")
    environment = Environment(folder=Path(sys.prefix), checkout=CHECKOUT)

    code = manage_command.run(arguments, places=Places(home=tmp_path, checkout=CHECKOUT), environment=environment)

    told = capfd.readouterr().err
    assert code
    assert said in told
    assert "manage.py" not in told


@pytest.mark.parametrize(
    "arguments", [["workflows", "schema", "activity"], ["workflows", "validate", "nowhere"], ["--version"]]
)
def test_who_reads_a_part_of_what_a_command_says_is_shown_no_traceback(arguments):
    """As `head` does, and a pager that is left."""
    reading, writing = os.pipe()
    os.close(reading)
    environ = {"PATH": "", "DATABASE_URL": "postgresql:///x?host=/nonexistent", "REDIS_URL": "unix:///nonexistent"}

    command = [sys.executable, str(CHECKOUT / "manage.py"), *arguments]
    with os.fdopen(writing) as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, env=environ, check=False)

    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
