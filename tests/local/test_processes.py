import signal
import threading
import time

import pytest

from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import describe_end, first_ended, ignore_line, start, stop_together

_FOREVER = "import signal; print('ready', flush=True); signal.pause()"
_STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\nwhile True: signal.pause()"
_WITH_GRANDCHILD = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"])
print(child.pid, flush=True)
signal.pause()
"""


@pytest.fixture
def lines():
    return []


@pytest.fixture
def started(lines, python_program, eventually):
    children = []

    def begin(code, **options):
        child = start(python_program(code, **options), sink=lambda name, line: lines.append((name, line)))
        children.append(child)
        return child

    yield begin
    stop_together(children, grace_seconds=0)


def test_every_line_of_a_child_carries_its_name(started, lines):
    child = started("print('one'); print('two')", name="web")
    child.process.wait()
    child.last_lines()

    assert lines == [("web", "one"), ("web", "two")]


def test_a_crash_is_told_with_its_exit_code_and_last_lines(started):
    child = started("import sys; print('before'); sys.exit('the reason')", name="worker")
    child.process.wait()

    assert first_ended([child]) is child
    assert describe_end(child) == "ended with exit code 1"
    assert "the reason" in child.last_lines()


def test_a_killed_child_is_told_by_the_name_of_the_signal(started, lines, eventually):
    child = started(_FOREVER)
    eventually(lambda: lines)
    child.process.kill()
    child.process.wait()

    assert describe_end(child) == "was ended by SIGKILL"


def test_a_running_child_has_not_ended(started):
    assert first_ended([started(_FOREVER)]) is None


def test_a_child_that_ignores_the_request_is_killed_after_the_grace(started, lines, eventually):
    child = started(_STUBBORN)
    eventually(lambda: lines)

    stop_together([child], grace_seconds=0.1)

    assert child.process.returncode == -signal.SIGKILL


def test_a_second_ctrl_c_ends_the_waiting(started, lines, eventually):
    child = started(_STUBBORN)
    eventually(lambda: lines)
    hurry = threading.Event()
    hurry.set()
    began_at = time.monotonic()

    stop_together([child], grace_seconds=60, hurry=hurry)

    assert time.monotonic() - began_at < 30
    assert not child.is_alive


def test_what_a_child_started_does_not_stay_behind(started, lines, eventually, is_running):
    child = started(_WITH_GRANDCHILD)
    eventually(lambda: lines)
    grandchild = int(lines[0][1])

    stop_together([child], grace_seconds=5)

    eventually(lambda: not is_running(grandchild))


def test_a_child_dies_with_the_process_that_started_it(run_python, tmp_path, eventually, is_running):
    code = """
import os, signal, sys
from pathlib import Path
from workrail_site.local.processes import LocalProgram, start, ignore_line
program = LocalProgram(name="child", command=[sys.executable, "-c", "import signal; signal.pause()"],
                       environ=dict(os.environ), folder=Path(sys.argv[1]))
print(start(program, sink=ignore_line).process.pid, flush=True)
signal.pause()
"""
    starter = run_python(code, tmp_path)
    child = int(starter.stdout.readline())

    starter.kill()
    starter.wait()

    eventually(lambda: not is_running(child))


def test_a_shell_that_ignores_ctrl_c_does_not_make_the_child_ignore_it(started, lines, eventually):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = started("import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)")
        eventually(lambda: lines)
    finally:
        signal.signal(signal.SIGINT, before)

    assert child.name == "child"
    assert lines[0][1] == "True"


def test_a_missing_program_is_named(python_program, tmp_path):
    program = python_program("")
    missing = type(program)(name="web", command=["/nonexistent/granian"], environ={}, folder=tmp_path)

    with pytest.raises(SetupProblem) as problem:
        start(missing, sink=ignore_line)

    assert "/nonexistent/granian, which runs the web, is missing" in problem.value.message
