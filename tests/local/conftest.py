"""Real processes on temporary folders: what starts Workrail is tested by starting it."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from workrail_site.local.places import CHECKOUT, Places
from workrail_site.local.processes import LocalProgram

PATIENCE_SECONDS = 60


@pytest.fixture(scope="session", autouse=True)
def _interrupts_are_heard():
    """Where the tests run in the background of a shell, interrupts are ignored by them and by all that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def places(tmp_path):
    return Places(checkout=tmp_path / "checkout", home=tmp_path / "home")


@pytest.fixture
def clean_environ():
    """This process' environment without the servers of the test run and without pytest's traces."""
    foreign = ("DATABASE_URL", "REDIS_URL", "WORKRAIL_", "PYTEST_", "DJANGO_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def eventually():
    """Waits for something that another process does; fails when it does not come."""

    def wait(question, *, seconds=PATIENCE_SECONDS, what="it"):
        deadline = time.monotonic() + seconds
        while not (answer := question()):
            assert time.monotonic() < deadline, f"{what} did not come"
            threading.Event().wait(0.02)
        return answer

    return wait


@pytest.fixture
def is_running():
    def ask(pid):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()

    return ask


@pytest.fixture
def python_program(tmp_path, clean_environ):
    """A program that runs the given Python code."""

    def make(code, *, name="child", **options):
        command = [sys.executable, "-c", code]
        return LocalProgram(name=name, command=command, environ=clean_environ, folder=tmp_path, **options)

    return make


@pytest.fixture
def run_python(clean_environ):
    """Starts Python code in a process of its own, and ends it with the test."""
    started = []

    def run(code, *arguments, **environ):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            env=clean_environ | environ | {"PYTHONPATH": str(CHECKOUT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def run_workrail(clean_environ, tmp_path):
    """Starts `./workrail`; what it prints goes to a file that can be read while it runs."""
    started = []

    def run(*arguments, home, **environ):
        log = tmp_path / f"workrail-{len(started)}.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, str(CHECKOUT / "workrail"), *arguments],
                cwd=tmp_path,
                env=clean_environ | {"WORKRAIL_HOME": str(home)} | environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        started.append(process)
        return process, log

    yield run
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(timeout=PATIENCE_SECONDS)


@pytest.fixture
def run_pytest(tmp_path, clean_environ):
    """Runs pytest with the plugin of the house on tests of its own."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = own_connection\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "workrail_site.local.pytest_plugin", "-p", "no:django"]

    def run(room, code, *arguments, **environ):
        path = tmp_path / "tests" / room / "test_it.py"
        path.parent.mkdir(parents=True)
        path.write_text(code)
        variables = clean_environ | {"PYTHONPATH": str(CHECKOUT)} | environ
        return subprocess.run(
            [*command, *arguments, str(path)], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
        )

    return run
