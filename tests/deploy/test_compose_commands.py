"""The command lines that docker-compose.yml names, started as they stand, against real servers."""

import os
import signal
import socket
import subprocess
import threading
import time
from urllib.parse import urlsplit

import psycopg
import pytest

from tests import clusters
from workrail_site.local.accounts import server_account
from workrail_site.local.binaries import choose_redis, providers
from workrail_site.local.postgres_server import as_role
from workrail_site.local.servers import fleeting_storage, running_servers

_PATIENCE_SECONDS = 90


@pytest.fixture(scope="module")
def machine(image_environ):
    """What the network of compose and the engine would provide: the servers, a free port and a host name."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with fleeting_storage(server_account()) as storage, running_servers(storage, environ=image_environ) as running:
        place = {"HOSTNAME": socket.gethostname(), "GRANIAN_HOST": "127.0.0.1", "GRANIAN_PORT": port}
        yield running.addresses.as_environ() | place


@pytest.fixture(scope="module")
def shell(services, image, image_environ, machine, tmp_path_factory):
    """What `docker compose` would run a command in: the service's environment and folder."""
    scratch = tmp_path_factory.mktemp("tmp")

    class Shell:
        def options(self, name):
            own = services[name]["environment"]
            metrics = {"PROMETHEUS_MULTIPROC_DIR": str(scratch)} if "PROMETHEUS_MULTIPROC_DIR" in own else {}
            folder = scratch if "working_dir" in services[name] else image
            env = image_environ | own | machine | metrics
            # The embedded server asks for no password; the role is the one that compose names.
            role = urlsplit(own["DATABASE_URL"]).username
            env["DATABASE_URL"] = as_role(machine["DATABASE_URL"], role)
            return {"env": env, "cwd": folder}

        def start(self, name):
            return subprocess.Popen(
                services[name]["command"],
                **self.options(name),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                text=True,
            )

        def healthy(self, names):
            """Those whose health check succeeds; all are asked at once."""
            checks = {name: subprocess.Popen(_check(services[name]), **self.options(name), **_SILENT) for name in names}
            return {name for name, check in checks.items() if check.wait(timeout=_PATIENCE_SECONDS) == 0}

    return Shell()


_SILENT = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def _check(service):
    kind, *command = service["healthcheck"]["test"]
    return ["/bin/sh", "-c", *command] if kind == "CMD-SHELL" else command


def test_the_deployment_migrates_becomes_healthy_and_ends_when_asked(shell, services):
    """One test for all of it, because a deployment is made once and what is in it works together."""
    names = {"web", "worker", "beat"}
    assert shell.healthy(names) == set(), "a health check must be able to fail"

    migration = subprocess.run(
        services["migrate"]["command"], **shell.options("migrate"), capture_output=True, text=True, check=False
    )
    assert migration.returncode == 0, migration.stderr
    assert "Applying teams_app" in migration.stdout

    processes = {name: shell.start(name) for name in names}
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        waiting = set(names)
        while waiting:
            waiting -= shell.healthy(waiting)
            ended = {name: process for name, process in processes.items() if process.poll() is not None}
            assert not ended, "".join(process.stdout.read() for process in ended.values())
            assert time.monotonic() < deadline, f"not healthy: {waiting}"
        for process in processes.values():
            process.terminate()
        for name, process in processes.items():
            grace = _seconds(services[name].get("stop_grace_period", "10s"))
            # Beat and others may leave the signal to do its default work; both ends are clean.
            assert process.wait(timeout=grace) in {0, -signal.SIGTERM}, name
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
            process.stdout.close()


def _seconds(text):
    return int(text.removesuffix("s"))


def test_production_refuses_to_start_without_its_secret_key(shell, services):
    options = shell.options("migrate")
    options["env"] = options["env"] | {"WORKRAIL_SECRET_KEY": "short"}

    answer = subprocess.run(services["migrate"]["command"], **options, capture_output=True, text=True, check=False)

    assert answer.returncode != 0
    assert "WORKRAIL_SECRET_KEY is missing or weak" in answer.stderr


def test_the_redis_server_takes_its_arguments_and_its_password(services, tmp_path, image_environ):
    program = choose_redis(providers(environ=image_environ))
    command = [
        str(program),
        *services["redis"]["command"][1:],
        "--port",
        "0",
        "--unixsocket",
        "s",
        "--dir",
        str(tmp_path),
    ]
    password = services["redis"]["environment"]["REDISCLI_AUTH"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not (tmp_path / "s").exists():
            assert time.monotonic() < deadline
            threading.Event().wait(0.02)
        assert _ask(tmp_path / "s", b"PING\r\n").startswith(b"-NOAUTH")
        assert _ask(tmp_path / "s", f"AUTH {password}\r\n".encode()).startswith(b"+OK")
        assert b"noeviction" in _ask(tmp_path / "s", f"AUTH {password}\r\nCONFIG GET maxmemory-policy\r\n".encode())
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0


MARK = "wr_hook_marked"
REFUSED = [
    f"INSERT INTO kept VALUES ('{MARK}')",
    f"SELECT '{MARK}'::int",
    f"SELECT pg_sleep(60) WHERE '{MARK}' <> ''",
    f"SELECT '{MARK}' FROM nowhere",
]


def test_the_database_server_writes_no_values_of_refused_statements_into_its_log(services):
    """Django puts values into the text of statements: the cookies of browsers, digests of passwords, secrets of notices."""
    program, *arguments = services["postgres"].get("command", ["postgres"])
    flags, settings = set(arguments[::2]), dict(text.split("=") for text in arguments[1::2])
    assert (program, flags - {"-c"}) == ("postgres", set())
    with clusters.servers(1) as (server,):
        server.initialise()
        server.start(**{"log_min_messages": "warning"} | settings)
        server.ask(f"CREATE TABLE kept (secret text PRIMARY KEY); INSERT INTO kept VALUES ('{MARK}')")
        for statement in REFUSED:
            with pytest.raises(psycopg.Error):
                server.ask(f"SET statement_timeout = 50; {statement}")
        server.stop()

        said = server.log.read_text()

    assert "ready to accept connections" in said
    assert MARK not in said


def _ask(path, question):
    # The path of a socket is short, that of a test's folder is not.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"/proc/self/fd/{folder}/{path.name}")
            connection.sendall(question + b"QUIT\r\n")
            return b"".join(iter(lambda: connection.recv(4096), b""))
    finally:
        os.close(folder)
