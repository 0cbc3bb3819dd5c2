"""`./workrail up`, whole: what a person at a terminal lives through."""

import contextlib
import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from workrail_site.local.claim import read_holder
from workrail_site.local.programs import WEB_FLAGS
from workrail_site.local.up import read_options

_SCREEN = "Workrail is running"


@pytest.fixture
def home():
    """Not below pytest's own folder, which the account that root lends to Postgres cannot enter."""
    with tempfile.TemporaryDirectory(prefix="workrail-home-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder) / "home"


@pytest.fixture
def run_up(run_workrail, home, free_port, eventually):
    """Starts `up` and waits for its screen, or for its end."""

    def run(*arguments):
        process, log = run_workrail("up", "--port", str(free_port), *arguments, home=home)
        eventually(lambda: _SCREEN in log.read_text() or process.poll() is not None, what="the screen")
        return process, log

    return run


def _end(process):
    process.send_signal(signal.SIGINT)
    return process.wait(timeout=60)


def _children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _child_named(pid, text):
    return next(child for child in _children(pid) if text in Path(f"/proc/{child}/cmdline").read_text())


def _fetch(port, path):
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(asked) as answer:
        assert answer.headers["Content-Encoding"] == "gzip", path
        return gzip.decompress(answer.read()).decode(), answer.headers.get("Cache-Control", "")


def _assert_pages_come_compressed_and_their_files_stay_cached(port):
    page, _ = _fetch(port, "/studio/login/")
    files = re.findall(r'(?:src|href)="(/static/[^"#]+\.(?:css|js|svg))', page)

    assert any("studio." in name for name in files)
    for name in files:
        assert re.search(r"\.[0-9a-f]{12}\.", name), name
        assert _fetch(port, name)[1] == "max-age=315360000, public, immutable"


def test_an_installation_from_first_run_to_reset(run_up, run_workrail, home, free_port):
    process, log = run_up("--no-worker")
    first = log.read_text()
    key = re.search(r"Agent key  (wr_key_\w+)", first)[1]
    assert "Password   " in first
    with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/readyz") as answer:
        assert answer.status == 200
    _assert_pages_come_compressed_and_their_files_stay_cached(free_port)

    second, second_log = run_workrail("up", home=home)
    assert second.wait(timeout=60) == 1
    assert f"process {process.pid}, http://127.0.0.1:{free_port}" in second_log.read_text()

    beside, beside_log = run_workrail("migrate", "--check", home=home)
    assert beside.wait(timeout=60) == 0, beside_log.read_text()

    doctor, doctor_log = run_workrail("doctor", home=home)
    assert doctor.wait(timeout=60) == 0, doctor_log.read_text()
    assert "is ready" in doctor_log.read_text()

    assert _end(process) == 0
    assert "the data is kept" in log.read_text()

    alone, alone_log = run_workrail("migrate", "--check", home=home)
    assert alone.wait(timeout=60) == 0, alone_log.read_text()

    refused, refused_log = run_workrail("up", "--reset", home=home)
    assert refused.wait(timeout=60) == 1
    assert "--reset --yes" in refused_log.read_text()

    anew, anew_log = run_up("--reset", "--yes", "--no-worker")
    assert "Agent key  wr_key_" in anew_log.read_text()
    assert key not in anew_log.read_text()
    assert _end(anew) == 0


def test_whatever_dies_is_started_again_and_the_end_comes_soon(run_up, free_port, eventually, is_running):
    process, log = run_up()

    def is_ready():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/readyz") as answer:
                return json.load(answer)["status"] == "ok"
        except OSError:
            return False

    for name, program in (("web", "granian"), ("valkey", "valkey"), ("postgres", "-D"), ("worker", "worker")):
        victim = _child_named(process.pid, program)
        os.kill(victim, signal.SIGKILL)
        eventually(lambda name=name: f"{name} was ended by SIGKILL" in log.read_text(), what=f"a word of {name}")
        eventually(lambda: len(_children(process.pid)) == 5, what="the fifth child")
        eventually(is_ready, what="an answer")
    children = _children(process.pid)
    begun = time.monotonic()
    assert _end(process) == 0
    assert time.monotonic() - begun < 8, "five seconds, and what a busy machine takes"
    assert not any(is_running(child) for child in children)


def test_a_kill_takes_everything_down_and_the_next_run_carries_on(run_up, home, eventually, is_running):
    process, _ = run_up()
    children = _children(process.pid)
    assert len(children) == 5

    process.kill()
    process.wait()

    eventually(lambda: not any(is_running(child) for child in children), what="the end of all children")
    again, log = run_up()
    assert f"the last run (process {process.pid}) was killed; its data is kept" in log.read_text()
    assert "Password" not in log.read_text()
    assert _end(again) == 0
    assert read_holder(home / "claim.json") is None


def test_a_web_server_that_is_told_to_end_while_it_starts_does_not_stay(tmp_path, free_port, eventually, is_running):
    """A starter that is killed tells it so. Whoever would wait for it to stop by itself would wait longer than this test does."""
    flags = [*WEB_FLAGS, "--workers-kill-timeout", "600", "--port", str(free_port), "workrail_site.asgi:application"]
    environ = os.environ | {"WORKRAIL_ENV": "development"}
    command = [sys.executable, "-m", "granian", *flags]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=Path(__file__).parents[2], env=environ, stdout=log, stderr=log, start_new_session=True
        )
    try:
        (worker,) = eventually(lambda: _children(server.pid), what="the worker")
        begun = Path(f"/proc/{worker}/maps")
        eventually(lambda: "msgspec" in begun.read_text(), what="the beginning of what it imports")

        server.terminate()

        eventually(lambda: not is_running(worker), what="the end of the worker")
        server.wait(timeout=60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)


def _left_of(mark):
    """Processes that carry the mark of one start in their environment, or name its home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
            if mark.encode() in told and "\nState:\tZ" not in (folder / "status").read_text():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        except OSError:
            continue
    return found


# Seconds into a first start, initdb among them.
_MOMENTS = (0.6, 2.0)
_MORE_MOMENTS = tuple(pytest.param(n / 4, marks=pytest.mark.slow) for n in range(1, 31))


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
@pytest.mark.parametrize("seconds", [*_MOMENTS, *_MORE_MOMENTS])
def test_nothing_is_left_whenever_a_first_start_ends(run_workrail, home, free_port, eventually, seconds, end):
    mark = f"mark-{home.parent.name}-{seconds}-{end}"
    process, log = run_workrail("up", "--port", str(free_port), home=home, WORKRAIL_TEST_MARK=mark)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=seconds)
    process.send_signal(end)
    begun = time.monotonic()
    process.wait(timeout=60)
    eventually(lambda: not _left_of(mark) and not _left_of(str(home)), what="the end of all that it started")
    assert time.monotonic() - begun < 8, "five seconds, and what a busy machine takes"
    assert "Traceback" not in log.read_text()
    assert end == signal.SIGKILL or process.returncode in {0, 130}


def test_a_taken_port_is_told_before_anything_is_made(run_workrail, home, free_port):
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port))
        other.listen()
        process, log = run_workrail("up", "--port", str(free_port), home=home)
        assert process.wait(timeout=60) == 1

    assert f"port {free_port} on 127.0.0.1 is taken by another program" in log.read_text()
    assert not (home / "postgres").exists()


def test_a_folder_that_cannot_be_written_is_told_with_the_way_out(run_workrail, tmp_path):
    (tmp_path / "file").write_text("")

    process, log = run_workrail("up", home=tmp_path / "file/home")

    assert process.wait(timeout=60) == 1
    assert "cannot be written" in log.read_text()
    assert "WORKRAIL_HOME=" in log.read_text()


@pytest.mark.parametrize("port", ["0", "65536", "eighty"])
def test_what_is_no_port_is_refused(port, capsys):
    with pytest.raises(SystemExit):
        read_options(["--port", port])

    assert "is not a port" in capsys.readouterr().err


def test_an_unknown_option_is_refused(capsys):
    with pytest.raises(SystemExit):
        read_options(["--no-work"])

    assert "--no-work" in capsys.readouterr().err
