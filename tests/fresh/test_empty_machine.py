"""The two commands, on a machine that has never seen them."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.fresh

_INSTALLATION_SECONDS = 900
_FIRST_START_SECONDS = 60
_SECOND_START_SECONDS = 8
_IDLE_MEBIBYTES = 700


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def _running(process):
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def _wait(question, process, log, *, seconds):
    deadline = time.monotonic() + seconds
    while not question():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        threading.Event().wait(0.02)
    return time.monotonic()


def _is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def _tree(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _tree(int(child)))]


def _memory_mebibytes(pid):
    """What the processes take together, pages that they share counted once."""
    rollups = [Path(f"/proc/{each}/smaps_rollup").read_text() for each in _tree(pid)]
    return sum(int(re.search(r"^Pss: +(\d+)", text, re.MULTILINE)[1]) for text in rollups) / 1024


def _programs(pid):
    return {str(Path(f"/proc/{each}/exe").readlink()) for each in _tree(pid)}


def _end(process):
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=60)


def test_up_makes_everything_and_starts_again_in_seconds(machine, port, tmp_path, record_property):
    log = tmp_path / "first.log"
    with _running(machine.start("up", "--port", str(port), log=log)) as process:
        _wait(lambda: "making a PostgreSQL cluster" in log.read_text(), process, log, seconds=_INSTALLATION_SECONDS)
        installed_at = time.monotonic()
        ready_at = _wait(lambda: _is_ready(port), process, log, seconds=_FIRST_START_SECONDS)
        _wait(lambda: "Workrail is running" in log.read_text(), process, log, seconds=_FIRST_START_SECONDS)
        screen = log.read_text()
        assert re.search(r"Agent key  wr_key_\w{20,}", screen)
        assert re.search(r"Password   \S{10,}", screen)
        assert f"claude mcp add --transport http workrail http://127.0.0.1:{port}/mcp/rail" in screen
        assert not [program for program in _programs(process.pid) if program.startswith("/usr/lib/postgresql")]
        _wait(lambda: "ready." in log.read_text(), process, log, seconds=_FIRST_START_SECONDS)
        memory = _memory_mebibytes(process.pid)
        assert memory < _IDLE_MEBIBYTES
        assert _end(process) == 0, log.read_text()

    again = tmp_path / "second.log"
    began_at = time.monotonic()
    with _running(machine.start("up", "--port", str(port), log=again)) as process:
        second_seconds = _wait(lambda: _is_ready(port), process, again, seconds=_FIRST_START_SECONDS) - began_at
        assert second_seconds < _SECOND_START_SECONDS
        assert "Password" not in again.read_text()
        assert _end(process) == 0, again.read_text()

    changed = subprocess.run(
        ["git", "-c", f"safe.directory={machine.checkout}", "status", "--porcelain"],
        cwd=machine.checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    assert changed.stdout == ""
    print(
        f"\n{machine.person.name}: first start {ready_at - installed_at:.1f} s after the installation, "
        f"second {second_seconds:.1f} s, idle {memory:.0f} MiB",
    )


def test_the_checks_run_and_get_their_servers(machine, tmp_path):
    log = tmp_path / "test.log"
    quick = ["tests/local/test_database_of_the_tests.py", "tests/local/test_keys_of_an_installation.py"]

    with _running(machine.start("test", "--only", "lint", "--only", "tests", *quick, log=log)) as process:
        assert process.wait(timeout=_INSTALLATION_SECONDS) == 0, log.read_text()

    summary = log.read_text()
    assert re.search(r"lint +ok", summary)
    assert re.search(r"tests +ok", summary)
    assert re.search(r"6 passed", summary)


def test_a_user_without_a_name_starts_from_a_checkout_that_it_cannot_write(machine, nameless, port, tmp_path):
    if machine.person.name == "root" or nameless is None:
        pytest.skip("asked once, for the ordinary user's checkout, where user ids can be changed and mapped")
    prepared = tmp_path / "prepared.log"
    with _running(machine.start("version", log=prepared)) as process:
        assert process.wait(timeout=_INSTALLATION_SECONDS) == 0, prepared.read_text()
    home = machine.folder / "home-of-the-nameless"
    home.mkdir()
    os.chown(home, nameless.uid, nameless.uid)

    log = tmp_path / "nameless.log"
    started = machine.start("up", "--port", str(port), log=log, person=nameless, WORKRAIL_HOME=str(home / "workrail"))
    with _running(started) as process:
        _wait(lambda: "Workrail is running" in log.read_text(), process, log, seconds=_FIRST_START_SECONDS)
        assert _is_ready(port)
        assert _end(process) == 0, log.read_text()

    assert (home / "workrail/postgres/PG_VERSION").stat().st_uid == nameless.uid
