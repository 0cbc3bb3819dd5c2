import os
import tempfile
from pathlib import Path

import pytest

from workrail_site.local import temporary
from workrail_site.local.problems import SetupProblem
from workrail_site.local.temporary import short_folder, working_folder


@pytest.fixture
def base(monkeypatch):
    """A temporary folder of its own, short enough for sockets."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield folder


def test_a_folder_is_private_and_goes_when_it_is_done_with(base):
    with short_folder(None) as folder:
        assert folder.stat().st_mode & 0o077 == 0
        assert (folder / "pg").is_dir()

    assert not folder.exists()


def test_a_temporary_folder_with_a_long_path_is_passed_over(tmp_path, monkeypatch):
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))

    with short_folder(None) as folder:
        assert len(os.fsencode(folder / "pg/.s.PGSQL.5432.lock")) < 100


def test_without_a_short_folder_the_message_names_one(monkeypatch):
    monkeypatch.setattr(temporary, "_LONGEST_BYTES", 10)

    with pytest.raises(SetupProblem) as problem, short_folder(None):
        pass

    assert "no folder is short enough for a unix socket" in problem.value.message
    assert "TMPDIR=/tmp" in problem.value.next_move


@pytest.mark.parametrize("prefix", ["workrail-", ".workrail-backup-"])
def test_a_working_folder_that_a_killed_process_left_goes_with_the_next_beside_it(base, run_python, prefix):
    code = """
import signal, sys
from pathlib import Path
from workrail_site.local.temporary import working_folder
with working_folder(base=Path(sys.argv[1]), prefix=sys.argv[2]) as folder:
    print(folder, flush=True)
    signal.pause()
"""
    process = run_python(code, base, prefix)
    left = Path(process.stdout.readline().strip())
    with working_folder(base=Path(base), prefix=prefix):
        assert left.exists()
    process.kill()
    process.wait()
    with working_folder(base=Path(base), prefix=prefix):
        assert not left.exists()


def test_what_a_killed_process_left_is_removed_by_the_next(base, run_python):
    code = """
import signal, tempfile, sys
from workrail_site.local.temporary import short_folder, working_folder
tempfile.tempdir = sys.argv[1]
with short_folder(None) as folder:
    print(folder, flush=True)
    signal.pause()
"""
    process = run_python(code, base)
    left = Path(process.stdout.readline().strip())
    with short_folder(None):
        assert left.exists()
    process.kill()
    process.wait()

    with short_folder(None):
        assert not left.exists()


def test_folders_that_others_made_under_the_same_name_are_left_alone(base):
    foreign = Path(base, "workrail-of-somebody")
    foreign.mkdir()

    with short_folder(None):
        assert foreign.is_dir()
