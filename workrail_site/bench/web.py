"""A web server of the measurement's own, as `up` starts it."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from workrail_site.local.programs import WEB_FLAGS

SITE = "workrail_site.asgi:application"
_STARTED_WITHIN_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    pid: int
    port: int


@contextmanager
def web_server(
    environment: dict[str, str], *, workers: int = 1, threads: int = 8, application: str = SITE
) -> Iterator[Server]:
    port = _free_port()
    command = [sys.executable, "-m", "granian", *WEB_FLAGS, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", str(workers), application]
    process = subprocess.Popen(
        command,
        env={**environment, "WORKRAIL_WEB_THREADS": str(threads)},
        cwd=Path(__file__).resolve().parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await_ready(process, port)
        yield Server(pid=process.pid, port=port)
    finally:
        process.terminate()
        process.wait(timeout=30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_ready(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + _STARTED_WITHIN_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError("The web server did not become ready.")
