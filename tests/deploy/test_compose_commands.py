"""The command lines that docker-compose.yml names, started as they stand, against real servers."""

import os
import socket
import subprocess
import threading
import time

import pytest

from workrail_site.local.accounts import server_account
from workrail_site.local.binaries import choose_redis, providers
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
            return {"env": image_environ | own | machine | metrics, "cwd": folder}

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

        def is_healthy(self, name):
            kind, *command = services[name]["healthcheck"]["test"]
            command = ["/bin/sh", "-c", *command] if kind == "CMD-SHELL" else command
            answer = subprocess.run(command, **self.options(name), capture_output=True, timeout=60, check=False)
            return answer.returncode == 0

    return Shell()


@pytest.fixture(scope="module")
def migrated(shell, services):
    answer = subprocess.run(
        services["migrate"]["command"], **shell.options("migrate"), capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_migration_runs_once_and_again(migrated, shell, services):
    again = subprocess.run(
        services["migrate"]["command"], **shell.options("migrate"), capture_output=True, text=True, check=False
    )

    assert "Applying teams_app" in migrated
    assert again.returncode == 0, again.stderr
    assert "No migrations to apply" in again.stdout


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_it_starts_becomes_healthy_and_ends_when_asked(name, shell, migrated, services):
    assert not shell.is_healthy(name), "the health check must be able to fail"

    process = shell.start(name)
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not shell.is_healthy(name):
            assert process.poll() is None, process.stdout.read()
            assert time.monotonic() < deadline, f"{name} did not become healthy"
            threading.Event().wait(0.2)
        process.terminate()
        assert process.wait(timeout=_seconds(services[name].get("stop_grace_period", "10s"))) in {0, -15}
    finally:
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
