"""The script that asks the clients which are installed whether they know the server."""

import json
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "clients" / "check_clients.sh"


@pytest.fixture
def home(tmp_path):
    """A home with one client, which lists what stands in the file `listed`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "listed").write_text("")
    client = programs / "claude"
    client.write_text(f'#!/bin/sh\n[ "$1 $2" = "mcp list" ] && cat {tmp_path}/listed\n')
    client.chmod(0o755)
    return tmp_path


def checked(home):
    environ = {"HOME": str(home), "PATH": f"{home}/bin:{os.defpath}:/usr/bin:/bin"}
    return subprocess.run(["sh", str(SCRIPT)], cwd=home, env=environ, capture_output=True, text=True, check=False)


def test_a_client_that_lists_the_server_is_well(home):
    (home / "listed").write_text("other: x - ok\nworkrail: https://rails.example.com/mcp/rail (HTTP) - Connected\n")

    done = checked(home)

    assert done.returncode == 0
    assert "Claude Code: workrail: https://rails.example.com/mcp/rail (HTTP) - Connected" in done.stdout
    assert "Codex: not installed" in done.stdout


def test_a_list_that_is_written_as_errors_counts(home):
    """Gemini CLI writes it there."""
    client = home / "bin" / "gemini"
    client.write_text(
        '#!/bin/sh\necho "The folder /srv/workrail: trusted" >&2\necho "workrail: there (http) - Connected" >&2\n'
    )
    client.chmod(0o755)
    (home / "listed").write_text("workrail: there - Connected\n")

    done = checked(home)

    assert (done.returncode, "Gemini CLI: workrail: there (http) - Connected" in done.stdout) == (0, True)


@pytest.mark.parametrize("state", ["Disabled", "Disconnected", "✗ Failed to connect", "! Needs authentication"])
def test_a_client_that_lists_it_and_does_not_reach_it_fails_the_check(home, state):
    (home / "listed").write_text(f"workrail: https://rails.example.com/mcp/rail (HTTP) - {state}\n")

    done = checked(home)

    assert done.returncode == 1
    assert f"- {state}" in done.stdout


def test_a_client_that_does_not_list_it_fails_the_check(home):
    done = checked(home)

    assert done.returncode == 1
    assert "Claude Code: does not list workrail" in done.stdout


def test_files_of_clients_are_looked_into(home):
    (home / "listed").write_text("workrail: there\n")
    folder = home / ".cursor"
    folder.mkdir()
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"other": {}}}))

    without = checked(home)
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"workrail": {}}}))

    assert (without.returncode, checked(home).returncode) == (1, 0)
