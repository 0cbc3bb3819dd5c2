"""The services work behind PgBouncer in transaction mode: their tests pass through it."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

ROOT = Path(__file__).resolve().parents[2]
# What writes, locks, races, reads in one state, copies, and deletes.
THROUGH_IT = [
    "tests/services/test_runs_walking.py",
    "tests/services/test_runs_atomicity.py",
    "tests/services/test_bundles.py",
    "tests/services/test_expiry.py",
    "tests/races/test_session_races.py",
    "tests/races/test_checkpoint_races.py",
]
_PORT = 6432
_CONFIG = """
[databases]
* = host={host}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 8
ignore_startup_parameters = options
logfile = {folder}/log
pidfile = {folder}/pid
"""


@pytest.fixture
def bouncer():
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("there is no pgbouncer (Debian: apt-get install pgbouncer)")
    with tempfile.TemporaryDirectory(prefix="bouncer-") as name:
        folder = Path(name)
        account = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        (folder / "users").write_text('"workrail" ""\n')
        host = connection.settings_dict["HOST"]
        (folder / "config").write_text(_CONFIG.format(host=host, port=_PORT, folder=folder))
        if account:
            for path in (folder, *folder.iterdir()):
                os.chown(path, account.pw_uid, account.pw_gid)
        as_account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        process = subprocess.Popen([program, str(folder / "config")], **as_account)
        until = time.monotonic() + 20
        while not (folder / f".s.PGSQL.{_PORT}").exists():
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < until
        yield folder
        process.terminate()
        process.wait(timeout=20)


def test_the_tests_of_the_services_pass_through_a_pool_of_transactions(bouncer):
    environ = os.environ | {
        "DATABASE_URL": f"postgresql:///bounced?host={bouncer}&port={_PORT}&user=workrail",
        "REDIS_URL": settings.REDIS_URL,
        "WORKRAIL_PREPARE_STATEMENTS": "false",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "--create-db", "--reuse-db", *THROUGH_IT]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
