import signal

import pytest

from workrail_site.local.claim import ClaimHolder, claimed, current_holder
from workrail_site.local.problems import SetupProblem

_HOLD = """
import sys
from pathlib import Path
from workrail_site.local.claim import ClaimHolder, claimed
with claimed(Path(sys.argv[1]), command="up") as claim:
    claim.write(ClaimHolder(pid=4711, command="up", url="http://127.0.0.1:8000", database_url="postgresql:///x"))
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "claim.json"


@pytest.fixture
def other_up(run_python, path):
    process = run_python("import os\nos.dup2(os.pipe()[0], 0)\n" + _HOLD, path)
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_up_is_told_where_the_first_one_is(path, other_up):
    with pytest.raises(SetupProblem) as problem, claimed(path, command="up"):
        pass

    assert "already running on this data: process 4711, http://127.0.0.1:8000" in problem.value.message
    assert "kill -INT 4711" in problem.value.next_move


def test_a_command_beside_up_learns_its_servers(path, other_up):
    assert current_holder(path).database_url == "postgresql:///x"


def test_a_killed_holder_gives_the_data_back_and_is_remembered(path, other_up):
    other_up.send_signal(signal.SIGKILL)
    other_up.wait()

    assert current_holder(path) is None
    with claimed(path, command="up") as claim:
        assert claim.killed.pid == 4711


def test_a_clean_end_leaves_nothing_to_clean_up_after(path):
    with claimed(path, command="up"):
        pass

    with claimed(path, command="up") as claim:
        assert claim.killed is None


def test_an_end_by_ctrl_c_is_a_clean_end(path):
    with pytest.raises(KeyboardInterrupt), claimed(path, command="up"):
        raise KeyboardInterrupt

    with claimed(path, command="up") as claim:
        assert claim.killed is None


def test_a_command_that_uses_the_data_is_named_to_the_next(path):
    with claimed(path, command="migrate"), pytest.raises(SetupProblem) as problem, claimed(path, command="up"):
        pass

    assert "`./workrail migrate`" in problem.value.message


def test_addresses_with_passwords_are_for_their_owner_only(path):
    with claimed(path, command="up") as claim:
        claim.write(ClaimHolder(pid=1, command="up", database_url="postgresql://user:password@host/db"))

        assert path.stat().st_mode & 0o077 == 0


def test_an_unreadable_claim_does_not_stop_the_next(path):
    path.write_text("{not json")

    with claimed(path, command="up") as claim:
        assert claim.killed is None
