"""Whether the web server will get its address, asked before anything is started."""

import errno
import socket
import time

from workrail_site.local.problems import SetupProblem

_TRIED_AFTER = 20
_POLL_SECONDS = 0.1


def refuse_taken_port(host: str, port: int, *, patience_seconds: float = 0) -> None:
    """`patience_seconds`: after a run that was killed, its web server may need a moment to let go."""
    deadline = time.monotonic() + patience_seconds
    while (problem := _why_not(host, port)) is not None:
        if problem.errno != errno.EADDRINUSE or time.monotonic() > deadline:
            raise _explain(problem, host, port)
        time.sleep(_POLL_SECONDS)


def is_free(host: str, port: int) -> bool:
    return _why_not(host, port) is None


def _why_not(host: str, port: int) -> OSError | None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except OSError as error:
        return error
    return None


def _explain(error: OSError, host: str, port: int) -> SetupProblem:
    match error.errno:
        case errno.EADDRINUSE:
            free = next((each for each in range(port + 1, port + _TRIED_AFTER) if is_free(host, each)), port + 1000)
            return SetupProblem(
                f"port {port} on {host} is taken by another program.",
                next_move=f"./workrail up --port {free} (which is free now)",
            )
        case errno.EACCES:
            return SetupProblem(
                f"this user may not listen on port {port}.", next_move="take one above 1023: ./workrail up --port 8000"
            )
        case _:
            return SetupProblem(
                f"this machine cannot listen on {host}: {error.strerror or error}.",
                next_move="--host 127.0.0.1 for this machine alone, --host 0.0.0.0 for its network",
            )
