"""What `up` runs beside the servers: the command lines of the web server, the worker and beat."""

import signal
from collections.abc import Mapping

from workrail_site.local.environs import with_defaults
from workrail_site.local.places import Places
from workrail_site.local.processes import LocalProgram

# Connections that say nothing are closed after half a minute, which only the reader of HTTP/1 does: the one that waits to hear which
# version it is, and HTTP/2, hold them for ever. Each holds a place, and when there is none left nobody gets in, so there are more
# places than streams. What one may send before it is read is a bound on the memory of all of them.
WEB_FLAGS = (
    *("--interface", "asgi", "--no-ws", "--http", "1", "--backpressure", "4096", "--http1-buffer-size", "131072"),
    # Whoever takes nothing of what they asked for keeps no process from ending.
    *("--workers-kill-timeout", "25", "--log-level", "warning"),
)
# Celery would repeat the checks that ran with the migrations. Fewer malloc arenas: less memory for the same work.
_THRIFT = {"SKIP_CHECKS": "1", "MALLOC_ARENA_MAX": "2"}
# Celery says in every log that root runs it; whoever starts `up` as root, in a container mostly, knows.
_CALM = {"PYTHONWARNINGS": "ignore:You're running the worker with superuser"}


def web_program(python: str, *, host: str, port: int, environ: Mapping[str, str], places: Places) -> LocalProgram:
    where = ["--host", host, "--port", str(port), "--workers", "1"]
    command = [python, "-m", "granian", *WEB_FLAGS, *where, "workrail_site.asgi:application"]
    return _program("web", command, environ, places)


def worker_program(python: str, *, environ: Mapping[str, str], places: Places) -> LocalProgram:
    flags = "--pool threads --concurrency 2 --loglevel INFO --without-gossip --without-mingle --without-heartbeat"
    command = [*_celery(python), "worker", *flags.split()]
    return _program("worker", command, with_defaults(environ, _CALM), places, death_signal=signal.SIGKILL)


def beat_program(python: str, *, environ: Mapping[str, str], places: Places) -> LocalProgram:
    flags = ["--loglevel", "WARNING", "--pidfile=", "--schedule", str(places.beat_schedule)]
    return _program("beat", [*_celery(python), "beat", *flags], environ, places, death_signal=signal.SIGKILL)


def _celery(python: str) -> list[str]:
    return [python, "-m", "celery", "--quiet", "-A", "workrail_site.celery"]


def _program(
    name: str,
    command: list[str],
    environ: Mapping[str, str],
    places: Places,
    *,
    death_signal: signal.Signals | None = None,
) -> LocalProgram:
    """Whoever is asked to end while its broker goes as well, as when the starter is killed, waits long for the broker."""
    return LocalProgram(
        name=name,
        command=command,
        environ=with_defaults(environ, _THRIFT),
        folder=places.checkout,
        death_signal=death_signal,
    )
