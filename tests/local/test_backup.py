"""A backup is restored into a fresh server, which goes on with the tokens of the old one."""

import json
import re
import signal
import tarfile
import tempfile
import urllib.request
from pathlib import Path

import pytest


@pytest.fixture
def homes():
    """Not below pytest's own folder, which the account that root lends to Postgres cannot enter."""
    with tempfile.TemporaryDirectory(prefix="workrail-homes-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture
def serve(run_workrail, free_port, eventually):
    def run(home):
        process, log = run_workrail("up", "--port", str(free_port), "--no-worker", home=home)
        eventually(lambda: "Workrail is running" in log.read_text() or process.poll() is not None, what="the screen")
        return process, log.read_text()

    return run


def done(started):
    process, log = started
    return process.wait(timeout=120), log.read_text()


def left_by_a_killed_backup(beside):
    """The whole database, in a folder that nobody uses any more."""
    left = beside / ".workrail-backup-killed"
    left.mkdir()
    (left / "in-use").touch()
    (left / "database.dump").write_bytes(b"everything")
    return left


def test_a_run_goes_on_by_its_old_token_on_a_restored_server(serve, run_workrail, homes, free_port):
    def post(path, body):
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{free_port}/api/v1/{path}", data=json.dumps(body).encode(), headers=headers
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    process, screen = serve(homes / "old")
    key = re.search(r"Agent key  (wr_key_\w+)", screen)[1]
    value = post("runs", {"workflowId": "wr.bug-investigation", "goal": "Be moved"})
    file = homes / "copy.tar"
    # The keys of seals are the environment's, those of tokens are of the home, and go with it.
    named = dict.fromkeys(("WORKRAIL_SEAL_KEY", "WORKRAIL_SEAL_KEYS_RETIRED"), "A" * 43 + "=")
    left = left_by_a_killed_backup(homes)
    code, said = done(run_workrail("backup", str(file), home=homes / "old", **named))
    assert code == 0, said
    assert not left.exists()
    assert [each.name for each in homes.iterdir() if each.name.startswith(".")] == []
    assert "WORKRAIL_SEAL_KEY, WORKRAIL_SEAL_KEYS_RETIRED) are not in it" in said
    assert file.stat().st_mode & 0o077 == 0
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0

    code, said = done(run_workrail("restore", str(file), home=homes / "new"))
    assert (code, "0 promises broken" in said) == (0, True), said
    process, _ = serve(homes / "new")
    again = post("runs/rehydrate", {"stateToken": value["stateToken"]})
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert again["pending"]["stepId"] == value["pending"]["stepId"]

    code, said = done(run_workrail("restore", str(file), home=homes / "new"))
    assert (code, "--replace" in said) == (1, True)
    assert done(run_workrail("restore", str(file), "--replace", home=homes / "new"))[0] == 0


def test_a_damaged_backup_is_refused_before_anything_is_touched(run_workrail, homes):
    file = homes / "copy.tar"
    file.write_bytes(b"not a backup")
    code, said = done(run_workrail("restore", str(file), home=homes / "new"))
    assert (code, "is not a backup" in said) == (1, True)
    with tarfile.open(file, "w") as archive:
        for name, data in (
            ("workrail-backup.json", b'{"version":1,"sha256":{"database.dump":"00"}}'),
            ("database.dump", b"x"),
        ):
            path = homes / name
            path.write_bytes(data)
            archive.add(path, arcname=name)
    code, said = done(run_workrail("restore", str(file), home=homes / "new"))
    assert (code, "is damaged" in said) == (1, True)
    assert not (homes / "new" / "postgres").exists()
