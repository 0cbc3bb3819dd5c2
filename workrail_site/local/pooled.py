"""PgBouncer in transaction mode before an embedded PostgreSQL, for a run of the tests: `WORKRAIL_TESTS_POOLED=1`."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from workrail_site.local.accounts import give, server_account
from workrail_site.local.postgres_server import APP_ROLE, ROLE, UPKEEP_ROLE
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, LocalProgram, describe_end, ignore_line, start

ASKED_FOR = "WORKRAIL_TESTS_POOLED"
PORT = 6432
_START_SECONDS = 20
_POLL_SECONDS = 0.02
# From here on it keeps account of what a client has prepared.
_PREPARES_SINCE = (1, 21)
_CONFIG = """\
[databases]
* = host={sockets}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {sockets}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
max_client_conn = 400
default_pool_size = 24
ignore_startup_parameters = options
logfile = {folder}/log
pidfile = {folder}/pid
{more}
"""


def is_asked_for(environ: Mapping[str, str]) -> bool:
    return environ.get(ASKED_FOR, "").strip() not in {"", "0"}


def pooled_environ(database_url: str) -> dict[str, str]:
    """The address of the pool instead of that of the server, and what the application has to know of it."""
    prepares = "true" if _keeps_account() else "false"
    return {"DATABASE_URL": f"{database_url}&port={PORT}", "WORKRAIL_PREPARE_STATEMENTS": prepares}


def start_pool(sockets: Path) -> Child:
    """The pool of the server that answers in the folder; it answers there too, at another port."""
    account = server_account()
    folder = sockets / "pool"
    folder.mkdir(mode=0o700)
    (folder / "users").write_text(
        "".join(f'"{name}" ""\n' for name in (ROLE, APP_ROLE, UPKEEP_ROLE, "postgres")), "utf-8"
    )
    more = "max_prepared_statements = 200" if _keeps_account() else ""
    (folder / "config").write_text(_CONFIG.format(sockets=sockets, port=PORT, folder=folder, more=more), "utf-8")
    for path in (folder, *folder.iterdir()):
        give(account, path)
    command = [_program(), str(folder / "config")]
    program = LocalProgram(name="pgbouncer", command=command, environ=os.environ, folder=Path("/"), account=account)
    child = start(program, sink=ignore_line)
    deadline = time.monotonic() + _START_SECONDS
    while not (sockets / f".s.PGSQL.{PORT}").exists():
        if not child.is_alive or time.monotonic() > deadline:
            raise SetupProblem(
                f"PgBouncer did not start, it {describe_end(child)}:\n{child.last_lines()}", next_move="see its lines"
            )
        time.sleep(_POLL_SECONDS)
    return child


def _program() -> str:
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if found is None:
        raise SetupProblem(
            f"{ASKED_FOR} is set, and there is no pgbouncer.", next_move="install it: apt-get install pgbouncer"
        )
    return found


def _keeps_account() -> bool:
    answer = subprocess.run([_program(), "--version"], capture_output=True, text=True, check=False)
    version = re.search(r"(\d+)\.(\d+)", answer.stdout)
    return version is not None and (int(version[1]), int(version[2])) >= _PREPARES_SINCE
