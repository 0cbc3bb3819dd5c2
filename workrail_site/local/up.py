"""`./workrail up`: servers, migrations, web, worker and beat, until Ctrl-C. What dies is started again."""

import argparse
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from workrail_site.local import disk, screen
from workrail_site.local.claim import Claim, ClaimHolder, claimed
from workrail_site.local.environs import allowed_hosts, application_environ, bracketed, reachable_host
from workrail_site.local.interrupts import Interrupts, interrupts
from workrail_site.local.keys import ensure_keys
from workrail_site.local.log_stream import LogStream
from workrail_site.local.marks import COLLECTED, MIGRATED
from workrail_site.local.named_servers import refuse_unreachable
from workrail_site.local.outcome import CommandOutcome
from workrail_site.local.places import Places, prepare_home
from workrail_site.local.ports import refuse_taken_port
from workrail_site.local.preparation import preparing
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, LocalProgram, describe_end, first_ended, start, stop_together
from workrail_site.local.programs import beat_program, web_program, worker_program
from workrail_site.local.readiness import Readiness, ask_readiness, public_name
from workrail_site.local.reset import delete_data
from workrail_site.local.servers import (
    Running,
    Storage,
    lasting_storage,
    named_addresses,
    running_servers,
    url_of_requests,
    url_of_upkeep,
)
from workrail_site.local.supervision import Supervisor
from workrail_site.local.venvs import Environment, say

_PORT = 8000
_LAST_PORT = 65535
_READY_SECONDS = 60
# What a worker has under way is handed out again: its tasks are safe to run twice.
_GRACE_SECONDS = 2
_POLL_SECONDS = 0.05
_WATCH_SECONDS = 0.2
_PATIENCE_AFTER_KILL_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    host: str
    port: int
    has_worker: bool
    reset: bool
    yes: bool

    @property
    def url(self) -> str:
        return f"http://{bracketed(reachable_host(self.host))}:{self.port}"

    @property
    def url_for_everybody(self) -> str:
        """Empty where the server is reached from elsewhere, by a name that nobody has told it."""
        return self.url if self.host == reachable_host(self.host) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Up:
    """What one run of the command works with."""

    options: Options
    places: Places
    python: str
    stream: LogStream
    signals: Interrupts


def read_options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="./workrail up", allow_abbrev=False, description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (default: this machine only)")
    parser.add_argument("--port", type=_port, default=_PORT, help=f"default: {_PORT}")
    parser.add_argument("--no-worker", action="store_true", help="without the Celery worker and beat")
    parser.add_argument("--reset", action="store_true", help="delete the embedded data first; asks")
    parser.add_argument("--yes", action="store_true", help="with --reset: do not ask")
    found = parser.parse_args(arguments)
    return Options(host=found.host, port=found.port, has_worker=not found.no_worker, reset=found.reset, yes=found.yes)


def _port(text: str) -> int:
    if text.isdigit() and 0 < int(text) <= _LAST_PORT:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is not a port; take one between 1 and {_LAST_PORT}")


def run(arguments: Sequence[str], *, places: Places, environment: Environment) -> int:
    """Returns 0 after Ctrl-C. A failure of a child ends the others and is a SetupProblem."""
    options = read_options(arguments[1:])
    python = str(environment.python)
    stream = LogStream()
    with interrupts() as signals:
        try:
            _serve(_Up(options=options, places=places, python=python, stream=stream, signals=signals))
        except KeyboardInterrupt:
            say("stopped; the data is kept")
        except (SetupProblem, OSError) as error:
            if stream.heard_of_full_disk or disk.is_about(error):
                raise disk.full_disk(places.home) from error
            raise
    return 0


def _serve(up: _Up) -> None:
    prepare_home(up.places)
    with claimed(up.places.claim, command="up") as claim:
        _clear_the_way(up, claim.killed)
        storage = lasting_storage(up.places)
        _refuse_full_disk(storage)
        _announce_servers(storage)
        with (
            running_servers(storage, environ=os.environ, sink=up.stream) as running,
            _ended_together(up.signals) as children,
        ):
            _write_holder(claim, running, up.options)
            for remark in running.remarks:
                say(remark)
            programs = _start_application(up, storage, running, children)
            _watch(up, running, children, programs)


def _clear_the_way(up: _Up, killed: ClaimHolder | None) -> None:
    if killed is not None:
        say(f"the last run (process {killed.pid}) was killed; its data is kept, carrying on from there")
    if up.options.reset:
        delete_data(up.places, is_sure=up.options.yes)
    refuse_unreachable(named_addresses(os.environ))
    patience = _PATIENCE_AFTER_KILL_SECONDS if killed else 0
    refuse_taken_port(up.options.host, up.options.port, patience_seconds=patience)


def _refuse_full_disk(storage: Storage) -> None:
    if not named_addresses(os.environ).database_url:
        needed = disk.RUNNING_BYTES if storage.postgres.exists() else disk.NEW_CLUSTER_BYTES
        disk.refuse_full(storage.postgres, needed_bytes=needed)


def _announce_servers(storage: Storage) -> None:
    named = named_addresses(os.environ)
    if not named.database_url and not storage.postgres.exists():
        say(f"making a PostgreSQL cluster in {storage.postgres}")
    for name, value in (("DATABASE_URL", named.database_url), ("REDIS_URL", named.redis_url)):
        if value:
            say(f"using the server that {name} names")


def _write_holder(claim: Claim, running: Running, options: Options) -> None:
    addresses = running.addresses
    claim.write(
        ClaimHolder(
            pid=os.getpid(),
            command="up",
            url=options.url,
            database_url=addresses.database_url,
            redis_url=addresses.redis_url,
        ),
    )


def _start_application(up: _Up, storage: Storage, running: Running, children: list[Child]) -> list[LocalProgram]:
    """Fills `children` as they start, so that whatever was started ends, wherever this stops."""
    environ = _environ(up, running)
    web, *others = _programs(up, environ, running)
    with preparing(up.python, environ=environ, places=up.places, sink=up.stream) as preparation:
        # With nothing new to migrate and to collect, the web server may load while the preparation does.
        if _is_prepared(up, storage):
            children.append(start(web, sink=up.stream))
        outcome = preparation.wait()
    with _shown_in_any_case(outcome, url=up.options.url) as shown:
        if not children:
            children.append(start(web, sink=up.stream))
        if storage.postgres.exists():
            MIGRATED.write(storage.postgres, checkout=up.places.checkout)
        _wait_until_ready(up.options, environ, [*children, *running.children])
        # After the web server, so that they do not slow down what people wait for.
        children.extend(start(program, sink=up.stream) for program in others)
        shown()
    return [web, *others]


def _is_prepared(up: _Up, storage: Storage) -> bool:
    checkout = up.places.checkout
    return MIGRATED.is_in(storage.postgres, checkout=checkout) and COLLECTED.is_in(
        up.places.static_files, checkout=checkout
    )


def _environ(up: _Up, running: Running) -> dict[str, str]:
    keys = ensure_keys(up.places.keys)
    environ = application_environ(os.environ, places=up.places, keys=keys, addresses=running.addresses)
    return environ | {
        "WORKRAIL_ALLOWED_HOSTS": allowed_hosts(os.environ, host=up.options.host),
        "WORKRAIL_LOCAL_URL": up.options.url_for_everybody,
        "WORKRAIL_STATIC_DIR": str(up.places.static_files),
    }


def _programs(up: _Up, environ: Mapping[str, str], running: Running) -> list[LocalProgram]:
    """Each with the role of the database that it needs: none of them is the owner."""
    for_requests = {**environ, "DATABASE_URL": url_of_requests(os.environ, running.addresses)}
    web = web_program(up.python, host=up.options.host, port=up.options.port, environ=for_requests, places=up.places)
    if not up.options.has_worker:
        return [web]
    for_upkeep = {**environ, "DATABASE_URL": url_of_upkeep(os.environ, running.addresses)}
    worker = worker_program(up.python, environ=for_upkeep, places=up.places)
    return [web, worker, beat_program(up.python, environ=for_upkeep, places=up.places)]


@contextlib.contextmanager
def _ended_together(signals: Interrupts) -> Iterator[list[Child]]:
    children: list[Child] = []
    try:
        yield children
    finally:
        say("stopping (Ctrl-C again hurries)")
        stop_together(children, grace_seconds=_GRACE_SECONDS, hurry=signals.hurry)


@contextlib.contextmanager
def _shown_in_any_case(outcome: CommandOutcome, *, url: str) -> Iterator[Callable[[], None]]:
    """What a first run made is shown once; a failure before the screen must not swallow it."""
    shown = threading.Event()

    def show() -> None:
        text = screen.first_screen(outcome, url=url) if outcome.created else screen.later_screen(outcome, url=url)
        print(text, flush=True)
        shown.set()

    try:
        yield show
    finally:
        if outcome.created and not shown.is_set():
            print(screen.secrets_only(outcome), flush=True)


def _wait_until_ready(options: Options, environ: Mapping[str, str], children: Sequence[Child]) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    name = public_name(environ)
    answer = Readiness(is_ready=False, text="no answer yet")
    while not answer.is_ready:
        _refuse_ended(children)
        if time.monotonic() > deadline:
            raise SetupProblem(
                f"{options.url}/readyz was not ready after {_READY_SECONDS} seconds: {answer.text}",
                next_move="./workrail doctor checks the servers and the migrations",
            )
        time.sleep(_POLL_SECONDS)
        answer = ask_readiness(reachable_host(options.host), options.port, name=name)


def _watch(up: _Up, running: Running, children: list[Child], programs: Sequence[LocalProgram]) -> None:
    """Until Ctrl-C, which arrives as an exception. What dies is started again."""
    supervisor, now_s = Supervisor(), time.monotonic()
    for place, program in enumerate(programs):
        supervisor.add(children, place, partial(start, program, sink=up.stream), now_s=now_s)
    for place, again in enumerate(running.starts):
        supervisor.add(running.children, place, again, now_s=now_s)
    while True:
        supervisor.look(now_s=time.monotonic())
        time.sleep(_WATCH_SECONDS)


def _refuse_ended(children: Sequence[Child]) -> None:
    ended = first_ended(children)
    if ended is not None:
        raise SetupProblem(
            f"{ended.name} {describe_end(ended)}, so everything was stopped. Its last lines:\n{ended.last_lines()}",
            next_move="see the lines above; ./workrail doctor checks the set-up, ./workrail up starts again",
        )
