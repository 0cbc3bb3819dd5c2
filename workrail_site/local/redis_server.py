"""A Redis-protocol server of our own (Valkey from the wheel, or what the system has), on a unix socket."""

import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, LineSink, LocalProgram, describe_end, start

_START_SECONDS = 30
_POLL_SECONDS = 0.01
_SOCKET = "valkey.sock"


def redis_url(sockets: Path) -> str:
    return f"unix://{quote(str(sockets / _SOCKET))}?db=0"


def start_redis(
    program: Path, *, data: Path, sockets: Path, is_durable: bool, environ: Mapping[str, str], sink: LineSink
) -> Child:
    data.mkdir(mode=0o700, exist_ok=True)
    settings = {
        "port": "0",
        "unixsocket": str(sockets / _SOCKET),
        "unixsocketperm": "700",
        "dir": str(data),
        "daemonize": "no",
        # Tasks that were asked for survive a crash: at most the last second of them is lost.
        "appendonly": "yes" if is_durable else "no",
        "appendfsync": "everysec",
        "save": "",
        # A broker that forgets keys under pressure loses tasks; it must say that it is full.
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
    }
    flags = [text for name, value in settings.items() for text in (f"--{name}", value)]
    command = [str(program), *flags]
    return start(
        LocalProgram(name="valkey", command=command, environ=environ, folder=data, stop_signal=signal.SIGTERM),
        sink=sink,
    )


def wait_for_redis(sockets: Path, child: Child) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _answers(sockets / _SOCKET):
        if not child.is_alive or time.monotonic() > deadline:
            raise SetupProblem(
                f"the Redis-protocol server did not start, it {describe_end(child)}:\n{child.last_lines()}",
                next_move="see the lines above; ./workrail doctor checks the disk and the folder",
            )
        time.sleep(_POLL_SECONDS)


def _answers(path: Path) -> bool:
    """PONG, and not the error that it gives while it is still reading its log."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False
