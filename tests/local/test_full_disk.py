"""A disk without room is one sentence and the next move, before the first start, while it is made, and while it serves."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from workrail_site.local import disk
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import ignore_line, start
from workrail_site.local.supervision import Supervisor

_MEBIBYTE = 1024 * 1024


@pytest.fixture
def small_disk():
    """`small_disk(80)`: a folder on a disk of so many MiB."""
    mounted = []

    def mount(mebibytes):
        folder = Path(tempfile.mkdtemp(prefix="workrail-disk-"))
        command = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=755", "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
            folder.rmdir()
            pytest.skip("a small disk can be mounted by root only")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()


def fill(folder):
    with (folder / "filler").open("wb") as file:
        while (free := shutil.disk_usage(folder).free) > 0:
            file.write(b"\0" * min(free, _MEBIBYTE))
            file.flush()


def assert_one_sentence(text, folder):
    said = [line for line in text.splitlines() if not line.startswith(("postgres", "valkey", "web", "worker", "beat"))]
    assert f"workrail: the disk of {folder}" in said[-2]
    assert " is full: " in said[-2]
    assert said[-1].startswith("  next: ")
    assert "Traceback" not in "\n".join(said)


def test_up_refuses_a_disk_on_which_no_cluster_fits_before_it_makes_one(run_workrail, small_disk):
    folder = small_disk(60)

    process, log = run_workrail("up", home=folder / "home")

    assert process.wait(timeout=60) == 1
    assert_one_sentence(log.read_text(), folder / "home")
    assert not list(folder.glob("home/postgres*"))


def test_calls_are_told_while_a_disk_is_full_and_are_good_again_when_it_is_not(
    run_workrail, small_disk, free_port, eventually
):
    folder = small_disk(190)
    process, log = run_workrail("up", "--port", str(free_port), "--no-worker", home=folder / "home")
    eventually(lambda: "Workrail is running" in log.read_text() or process.poll() is not None, what="the screen")
    key = re.search(r"Agent key  (wr_key_\w+)", log.read_text())[1]

    def begin():
        body = json.dumps({"workflowId": "wr.bug-investigation", "goal": "Fill the disk. " * 100}).encode()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        url = f"http://127.0.0.1:{free_port}/api/v1/runs"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data=body, headers=headers)) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)["detail"]

    fill(folder)
    told = next((answer for answer in (begin() for _ in range(2000)) if answer[0] != 201), None)
    assert told == (503, "The server has no room left on its disk; nothing was recorded.")
    assert "Traceback" not in log.read_text()

    (folder / "filler").unlink()
    assert begin() == (201, "")


def test_what_dies_of_a_full_disk_is_not_started_again(python_program, eventually):
    code = "import sys; print('PANIC:  could not write to file: No space left on device'); sys.exit(1)"
    children = [start(python_program(code), sink=ignore_line)]
    supervisor = Supervisor()
    supervisor.add(children, 0, lambda: pytest.fail("started again"), now_s=0.0)
    eventually(lambda: not children[0].is_alive, what="its end")

    with pytest.raises(SetupProblem) as problem:
        supervisor.look(now_s=1.0)

    assert disk.is_about(problem.value)


def test_whoever_meets_it_says_it_in_the_same_words(tmp_path):
    for error in (
        OSError(28, "No space left on device"),
        SetupProblem("initdb: could not extend file: wrote only 4096 of 8192 bytes", next_move="look"),
    ):
        assert disk.is_about(error)
    assert not disk.is_about(SetupProblem("the port is taken", next_move="another"))
    with pytest.raises(SetupProblem, match="is full") as refused:
        disk.refuse_full(tmp_path / "not" / "there", needed_bytes=2**80)
    assert str(tmp_path) in refused.value.message
