"""`./workrail up`: servers, migrations, web, worker and beat, until Ctrl-C or until one of them fails."""

import argparse
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workrail_site.local import screen
from workrail_site.local.claim import Claim, Holder, claimed
from workrail_site.local.environs import allowed_hosts, application_environ, bracketed, reachable_host
from workrail_site.local.interrupts import Interrupts, interrupts
from workrail_site.local.keys import ensure_keys
from workrail_site.local.log_stream import LogStream
from workrail_site.local.outcome import Outcome, read_outcome
from workrail_site.local.places import Places, prepare_home
from workrail_site.local.ports import refuse_taken_port
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import (
    Child,
    LineSink,
    Program,
    describe_end,
    first_ended,
    start,
    stop_together,
)
from workrail_site.local.programs import beat_program, web_program, worker_program
from workrail_site.local.readiness import Readiness, ask_readiness, public_name
from workrail_site.local.reset import delete_data
from workrail_site.local.servers import (
    Running,
    Storage,
    lasting_storage,
    named_addresses,
    running_servers,
)
from workrail_site.local.venvs import Environment, say

_PORT = 8000
_LAST_PORT = 65535
_READY_SECONDS = 60
_GRACE_SECONDS = 25
_POLL_SECONDS = 0.05
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
    stream = LogStream()
    with interrupts() as signals:
        try:
            _serve(options, places=places, environment=environment, stream=stream, signals=signals)
        except KeyboardInterrupt:
            say("stopped; the data is kept")
    return 0


def _serve(
    options: Options, *, places: Places, environment: Environment, stream: LogStream, signals: Interrupts
) -> None:
    prepare_home(places)
    with claimed(places.claim, command="up") as claim, contextlib.ExitStack() as stack:
        _clean_up_after(claim.killed)
        if options.reset:
            delete_data(places, is_sure=options.yes)
        patience = _PATIENCE_AFTER_KILL_SECONDS if claim.killed else 0
        refuse_taken_port(options.host, options.port, patience_seconds=patience)
        keys = ensure_keys(places.keys)
        storage = lasting_storage(places)
        _announce_servers(storage)
        running = stack.enter_context(running_servers(storage, environ=os.environ, sink=stream))
        _write_holder(claim, running, options)
        for remark in running.remarks:
            say(remark)
        environ = application_environ(os.environ, places=places, keys=keys, addresses=running.addresses)
        environ |= {"WORKRAIL_ALLOWED_HOSTS": allowed_hosts(os.environ, host=options.host)}
        outcome = _prepare(environment, places, environ, stream)
        with _shown_in_any_case(outcome, url=options.url) as shown:
            web, *others = _programs(options, places=places, environment=environment, environ=environ)
            children = stack.enter_context(_ended_together(signals))
            children.append(start(web, sink=stream))
            _wait_until_ready(options, environ, [*children, *running.children])
            # After the web server, so that they do not slow down what people wait for.
            children.extend(start(program, sink=stream) for program in others)
            shown()
        _watch([*children, *running.children])


def _clean_up_after(killed: Holder | None) -> None:
    if killed is not None:
        say(f"the last run (process {killed.pid}) was killed; its data is kept, carrying on from there")


def _announce_servers(storage: Storage) -> None:
    named = named_addresses(os.environ)
    if not named.database_url and not storage.postgres.exists():
        say(f"making a PostgreSQL cluster in {storage.postgres}")
    if named.database_url or named.redis_url:
        names = [
            name for name, value in (("DATABASE_URL", named.database_url), ("REDIS_URL", named.redis_url)) if value
        ]
        say(f"using the servers that {' and '.join(names)} name{'s' if len(names) == 1 else ''}")


def _write_holder(claim: Claim, running: Running, options: Options) -> None:
    claim.write(
        Holder(
            pid=os.getpid(),
            command="up",
            url=options.url,
            database_url=running.addresses.database_url,
            redis_url=running.addresses.redis_url,
        ),
    )


class _Preparation:
    """Listens to the preparation: keeps the outcome off the stream, and shows of the rest what changes something."""

    def __init__(self, sink: LineSink) -> None:
        self._sink = sink
        self.outcome: Outcome | None = None

    def __call__(self, name: str, line: str) -> None:
        found = read_outcome(line)
        if found is not None:
            self.outcome = found
        elif line.startswith("  Applying"):
            self._sink(name=name, line=line.strip())


def _prepare(environment: Environment, places: Places, environ: Mapping[str, str], stream: LogStream) -> Outcome:
    listener = _Preparation(stream)
    command = [str(environment.python), "-m", "workrail_site.local.prepare"]
    program = Program(name="prepare", command=command, environ=environ, folder=places.checkout)
    child = start(program, sink=listener)
    try:
        child.process.wait()
        lines = child.last_lines()
    finally:
        stop_together([child], grace_seconds=_GRACE_SECONDS)
    if listener.outcome is None:
        raise SetupProblem(
            f"the database could not be prepared; the last lines were:\n{lines}",
            next_move="./workrail doctor checks the servers and the migrations",
        )
    return listener.outcome


def _programs(
    options: Options, *, places: Places, environment: Environment, environ: Mapping[str, str]
) -> list[Program]:
    python = str(environment.python)
    web = web_program(python, host=options.host, port=options.port, environ=environ, places=places)
    if not options.has_worker:
        return [web]
    return [
        web,
        worker_program(python, environ=environ, places=places),
        beat_program(python, environ=environ, places=places),
    ]


@contextlib.contextmanager
def _ended_together(signals: Interrupts) -> Iterator[list[Child]]:
    children: list[Child] = []
    try:
        yield children
    finally:
        say("stopping (Ctrl-C again hurries)")
        stop_together(children, grace_seconds=_GRACE_SECONDS, hurry=signals.hurry)


@contextlib.contextmanager
def _shown_in_any_case(outcome: Outcome, *, url: str) -> Iterator[Callable[[], None]]:
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
        threading.Event().wait(_POLL_SECONDS)
        answer = ask_readiness(reachable_host(options.host), options.port, name=name)


def _watch(children: Sequence[Child]) -> None:
    """Until Ctrl-C, which arrives as an exception, or until a child ends, which none does by itself."""
    while True:
        _refuse_ended(children)
        threading.Event().wait(0.2)


def _refuse_ended(children: Sequence[Child]) -> None:
    ended = first_ended(children)
    if ended is not None:
        raise SetupProblem(
            f"{ended.name} {describe_end(ended)}, so everything was stopped. Its last lines:\n{ended.last_lines()}",
            next_move="see the lines above; ./workrail doctor checks the set-up, ./workrail up starts again",
        )
