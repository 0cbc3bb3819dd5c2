"""A PostgreSQL of our own: its cluster, its start, and what can be wrong with either."""

import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from workrail_site.local.accounts import Account, give, nameless_prefix, run_as
from workrail_site.local.binaries import PostgresPrograms
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, LineSink, LocalProgram, describe_end, guarded, start

DATABASE = "workrail"
ROLE = "workrail"
_SUPERUSER = "postgres"
APP_ROLE = "workrail_app"
UPKEEP_ROLE = "workrail_upkeep"
# The owner migrates and may make other databases (the tests do), but is no superuser: as in a deployment. The two other
# roles own nothing; `grant_roles` says what they may do.
_ROLES = f"""\
DO $$ BEGIN CREATE ROLE {APP_ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;

DO $$ BEGIN CREATE ROLE {UPKEEP_ROLE} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;

GRANT {APP_ROLE}, {UPKEEP_ROLE} TO {ROLE};

"""
_FIRST_STATEMENTS = f"""\
CREATE ROLE {ROLE} LOGIN CREATEDB;

CREATE DATABASE {DATABASE} OWNER {ROLE};

{_ROLES}"""
_START_SECONDS = 60
_LEFTOVER_SECONDS = 15
_POLL_SECONDS = 0.01
_BUILTIN_LOCALE_SINCE = 17

# Settings travel on the command line: they are the code's, not those of whichever version made the cluster.
_ALWAYS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "",
    # What the server does and what stops it. What the application does wrong, the application reports.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "max_connections": "80",
    "shared_buffers": "64MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "jit": "off",
}
_DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
# What the server tidied up meanwhile would be counted as read by the call that a test measures.
_FLEETING = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}


class DataState(StrEnum):
    ABSENT = "absent"
    READY = "ready"
    HALF_INITIALISED = "half-initialised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    data: Path
    sockets: Path
    programs: PostgresPrograms
    account: Account | None
    is_durable: bool

    @property
    def url(self) -> str:
        return database_url(self.sockets)


def database_url(sockets: Path) -> str:
    return f"postgresql:///{DATABASE}?host={quote(str(sockets))}&user={ROLE}"


def as_role(url: str, role: str) -> str:
    """The address of an embedded server for another role."""
    return f"{url.removesuffix(f'&user={ROLE}')}&user={role}"


def data_state(data: Path) -> DataState:
    if not data.exists() or not any(data.iterdir()):
        return DataState.ABSENT
    complete = all((data / part).is_file() for part in ("PG_VERSION", "global/pg_control", "postgresql.conf"))
    return DataState.READY if complete else DataState.HALF_INITIALISED


def major_of_data(data: Path) -> int | None:
    version = data / "PG_VERSION"
    return int(version.read_text("utf-8").split(".")[0]) if data_state(data) is DataState.READY else None


def refuse_half_initialised(data: Path) -> None:
    if data_state(data) is DataState.HALF_INITIALISED:
        raise SetupProblem(
            f"{data} is not a whole PostgreSQL cluster: it was interrupted or changed by hand.",
            next_move="./workrail up --reset begins anew; or put the missing files back from a copy",
        )


def initialise(cluster: Cluster) -> None:
    """Makes the cluster beside its place and moves it there when it is whole, so that a crash leaves none or all."""
    unfinished = cluster.data.with_name(f"{cluster.data.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    give(cluster.account, unfinished)
    _make(cluster, _initdb_command(cluster, unfinished))
    _make(cluster, _single_user_command(cluster, unfinished), text=_FIRST_STATEMENTS)
    if cluster.data.exists():
        cluster.data.rmdir()
    unfinished.rename(cluster.data)
    _roles_mark(cluster).touch()


def make_roles(cluster: Cluster) -> None:
    """In a cluster that an earlier version made. Safe to run twice."""
    if _roles_mark(cluster).exists():
        return
    _make(cluster, _single_user_command(cluster, cluster.data), text=_ROLES)
    _roles_mark(cluster).touch()


def _roles_mark(cluster: Cluster) -> Path:
    return cluster.data.with_name(f"{cluster.data.name}.has-roles")


def _make(cluster: Cluster, command: list[str], *, text: str = "") -> None:
    program, *arguments = [*nameless_prefix(), *command]
    # The guard changes the account; a cluster that is half made when the starter is killed is made anew.
    start_it = guarded(program, died_with=signal.SIGKILL, account=cluster.account)
    answer = run_as(None, [*start_it, *arguments], text=text)
    if answer.returncode != 0:
        raise SetupProblem(
            f"PostgreSQL could not make its data folder {cluster.data}:\n{_indent(answer.stderr or answer.stdout)}",
            next_move="see the lines above; ./workrail doctor checks the disk and the folder",
        )


def _single_user_command(cluster: Cluster, target: Path) -> list[str]:
    """Without a server: the role and the database are there before the cluster is in its place."""
    durability = _DURABLE if cluster.is_durable else _FLEETING
    # -j: statements end with a semicolon and an empty line, and a failure ends the program.
    flags = ["--single", "-j", "-D", str(target), *_as_flags(durability | {"exit_on_error": "on"})]
    return [cluster.programs.program("postgres"), *flags, "postgres"]


def _initdb_command(cluster: Cluster, target: Path) -> list[str]:
    builtin = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-locale"]
    locale = builtin if cluster.programs.major >= _BUILTIN_LOCALE_SINCE else ["--locale=C.UTF-8"]
    durability = [] if cluster.is_durable else ["--no-sync"]
    return [
        cluster.programs.program("initdb"),
        f"--pgdata={target}",
        f"--username={_SUPERUSER}",
        "--encoding=UTF8",
        # The socket is in a folder that only the account may enter; there is no other way in.
        "--auth-local=trust",
        "--auth-host=reject",
        *locale,
        *durability,
    ]


def start_postgres(cluster: Cluster, *, environ: Mapping[str, str], sink: LineSink) -> Child:
    settings = _ALWAYS | (_DURABLE if cluster.is_durable else _FLEETING)
    settings |= {"unix_socket_directories": str(cluster.sockets)}
    program = LocalProgram(
        name="postgres",
        command=[cluster.programs.program("postgres"), "-D", str(cluster.data), *_as_flags(settings)],
        environ={name: value for name, value in environ.items() if not name.startswith("PG")},
        folder=Path("/"),
        stop_signal=signal.SIGINT,
        account=cluster.account,
    )
    return start(program, sink=sink)


def _as_flags(settings: Mapping[str, str]) -> list[str]:
    return [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]


def wait_for_postgres(cluster: Cluster, child: Child) -> None:
    """Reads the state that the server itself writes, and so leaves no refused connections in its log."""
    deadline = time.monotonic() + _START_SECONDS
    while not _says_ready(cluster.data, child.process.pid):
        if not child.is_alive:
            raise SetupProblem(
                f"PostgreSQL did not start, it {describe_end(child)}:\n{child.last_lines()}",
                next_move="see the lines above; ./workrail doctor checks the disk and the folder",
            )
        if time.monotonic() > deadline:
            raise SetupProblem(
                f"PostgreSQL was not ready after {_START_SECONDS} seconds:\n{child.last_lines()}",
                next_move="if it is recovering a large log, run the command again",
            )
        time.sleep(_POLL_SECONDS)


def _says_ready(data: Path, pid: int) -> bool:
    lines = _pid_file_lines(data)
    return len(lines) > 7 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def _pid_file_lines(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text("utf-8").splitlines()
    except OSError:
        return []


def clear_leftovers(data: Path) -> str | None:
    """What the last run left: waits for its server to end, and removes a pid file that nobody stands behind.

    Returns a sentence about what was removed.
    """
    lines = _pid_file_lines(data)
    if not lines or not lines[0].strip().isdigit():
        return None
    pid = int(lines[0])
    deadline = time.monotonic() + _LEFTOVER_SECONDS
    while _serves(pid, data):
        if time.monotonic() > deadline:
            raise SetupProblem(
                f"a PostgreSQL (process {pid}) that this command did not start is using {data}.",
                next_move=f"end it with: kill -INT {pid}",
            )
        time.sleep(_POLL_SECONDS)
    if not (data / "postmaster.pid").exists():
        return None
    (data / "postmaster.pid").unlink()
    return f"removed a stale pid file: PostgreSQL (process {pid}) is no longer there."


def _serves(pid: int, data: Path) -> bool:
    """Whether the process is a PostgreSQL on this data: process ids are given again, to anybody."""
    command = _command_of(pid)
    return "postgres" in command and str(data) in command


def _command_of(pid: int) -> str:
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    return subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-10:])
