"""The services work behind PgBouncer in transaction mode: their tests pass through it. All of them do with
`WORKRAIL_TESTS_POOLED=1 ./workrail test tests/services`; these are the ones that write, lock, race, copy and delete.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workrail_site.local import pooled

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
THROUGH_IT = [
    "tests/services/test_runs_walking.py",
    "tests/services/test_runs_atomicity.py",
    "tests/services/test_bundles.py",
    "tests/services/test_expiry.py",
    "tests/races/test_session_races.py",
    "tests/races/test_checkpoint_races.py",
]
# It has servers of its own.
_FOREIGN = ("DATABASE_URL", "REDIS_URL", "PYTEST_", "WORKRAIL_")


def test_the_tests_of_the_services_pass_through_a_pool_of_transactions():
    if shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        pytest.skip("there is no pgbouncer (Debian: apt-get install pgbouncer)")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    command = [sys.executable, "-m", "pytest", "-q", "-n0", *THROUGH_IT]
    done = subprocess.run(
        command, cwd=ROOT, env=environ | {pooled.ASKED_FOR: "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
