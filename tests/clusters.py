"""PostgreSQL servers of a test's own, from the embedded binaries: killed, started again, copied to a standby, promoted.

They answer a commit when it is written, as in production, but do not wait for the disk: what is killed is the server and
not the machine below it.
"""

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from workrail_site.local import binaries, postgres_server
from workrail_site.local.accounts import give, run_as, server_account
from workrail_site.local.temporary import short_folder

STANDBY = "standby"
_PATIENCE_SECONDS = 60
_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "logging_collector": "off",
    "log_min_messages": "fatal",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "hot_standby": "on",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "on",
    "primary_slot_name": "",
    "wal_retrieve_retry_interval": "100ms",
    "max_locks_per_transaction": "256",
}


def eventually(question, what):
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not (answer := question()):
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)
    return answer


class Server:
    """One PostgreSQL. `sockets` is its address: a folder."""

    def __init__(self, folder, name, *, programs, account):
        self.data, self.sockets = folder / f"{name}-data", folder / f"{name}-s"
        self.programs, self.account, self.process, self.leader = programs, account, None, None
        self.log = folder / f"{name}.log"
        self.sockets.mkdir(mode=0o700)
        give(account, self.sockets)

    def initialise(self):
        made = postgres_server.Cluster(
            data=self.data, sockets=self.sockets, programs=self.programs, account=self.account, is_durable=False
        )
        postgres_server.initialise(made)

    def copy_of(self, primary):
        """This server becomes a standby of the other one, whatever it was before."""
        assert self.process is None
        self._run("rm", "-rf", str(self.data))
        options = ["--wal-method=stream", "--checkpoint=fast", "--no-sync"]
        where = ["-h", str(primary.sockets), "-U", "postgres", "-D", str(self.data)]
        self._run(self.programs.program("pg_basebackup"), *where, *options)
        self._run("touch", str(self.data / "standby.signal"))
        # Of the server that it was copied from: this one has no standby to wait for.
        self._run("rm", "-f", str(self.data / "postgresql.auto.conf"))
        self.leader = primary

    def _run(self, *command):
        done = run_as(self.account, list(command))
        assert done.returncode == 0, done.stderr

    def start(self, **own):
        settings = {**_SETTINGS, **own, "unix_socket_directories": str(self.sockets)}
        if self.leader is not None:
            address = f"host={self.leader.sockets} user=postgres application_name={STANDBY}"
            settings["primary_conninfo"] = address
        flags = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
        as_account = {"user": self.account.uid, "group": self.account.gid, "extra_groups": []} if self.account else {}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs.program("postgres"), "-D", str(self.data), *flags],
                cwd="/",
                env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **as_account,
            )
        eventually(self._answers, f"PostgreSQL in {self.data} ({self.log.read_text()[-2000:]})")

    def _answers(self):
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def ask(self, statement):
        """As the superuser, on the server itself."""
        where = {"host": str(self.sockets), "user": "postgres", "dbname": "postgres", "autocommit": True}
        with psycopg.connect(**where) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchone()[0] if cursor.description else None

    def kill(self):
        """As if its machine were gone: all of its processes at once, none of them asked."""
        pid = self.process.pid
        # Frozen first, so that it starts no other while we count.
        os.kill(pid, signal.SIGSTOP)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (*map(int, children), pid):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self.process.wait()
        self.process = None
        # They hold its memory until they are gone, and it does not start beside them.
        eventually(lambda: not any(map(_runs, [*children, pid])), "the end of all processes")

    def wait_for_standby(self):
        """From now on a commit is answered when the standby has it, too."""
        self.ask(f"ALTER SYSTEM SET synchronous_standby_names = '{STANDBY}'")
        self.ask("SELECT pg_reload_conf()")
        found = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
        eventually(lambda: self.ask(found) == 1, "the synchronous standby")

    def promote(self):
        assert self.ask("SELECT pg_promote(true, 60)")
        self.leader = None
        eventually(lambda: self.ask("SELECT NOT pg_is_in_recovery()"), "the end of the recovery")

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=_PATIENCE_SECONDS)
            self.process = None

    def url(self, role=postgres_server.ROLE):
        return postgres_server.as_role(postgres_server.database_url(self.sockets), role)


def _runs(pid):
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@contextmanager
def servers(count):
    """Servers with folders and programs, none of them made or started."""
    account = server_account()
    with short_folder(account) as base:
        folder = base / "pg"
        programs = binaries.choose_postgres(binaries.providers(environ=os.environ), major=None)
        programs = binaries.reachable_postgres(programs, account=account, copies=base)
        made = [Server(folder, f"n{number}", programs=programs, account=account) for number in range(count)]
        try:
            yield made
        finally:
            for each in made:
                if each.process is not None:
                    each.kill()


def fill(server):
    """The schema of the tests' own database, as the migrations left it."""
    from django.db import connection

    where = connection.settings_dict
    dump = [server.programs.program("pg_dump"), "--no-owner", "-h", where["HOST"], "-U", where["USER"], where["NAME"]]
    done = run_as(server.account, dump)
    assert done.returncode == 0, done.stderr
    psql = [server.programs.program("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", server.url()]
    filled = run_as(server.account, psql, text=done.stdout)
    assert filled.returncode == 0, filled.stderr


@contextmanager
def used_by_django(server, role=postgres_server.ROLE):
    """What this process does on `default` goes to the server, by the role."""
    from django.db import connection

    from sessions_app.services.store.signing_keys import forget_keys

    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(
        HOST=str(server.sockets), NAME=postgres_server.DATABASE, USER=role, PASSWORD="", PORT=""
    )
    forget_keys()
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)
        forget_keys()
