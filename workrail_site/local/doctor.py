"""`./workrail doctor`: looks at a set-up from the outside in, and says for each thing that is wrong what to do."""

import argparse
import contextlib
import os
import platform
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psycopg
import redis

from workrail_site.local import postgres_server
from workrail_site.local.claim import ClaimHolder, claimed, current_holder, read_holder
from workrail_site.local.environs import application_environ
from workrail_site.local.keys import LocalKeys, new_keys, read_keys
from workrail_site.local.places import Places, is_writable
from workrail_site.local.ports import is_free
from workrail_site.local.problems import SetupProblem
from workrail_site.local.readiness import ask_readiness
from workrail_site.local.servers import Addresses, Storage, lasting_storage, named_addresses, running_servers
from workrail_site.local.venvs import Environment, read_stamp

_ENOUGH_DISK_BYTES = 1024**3
_SECRET_CHARACTERS = 50
_SECRET_VARIETY = 10
_PORT = 8000
_TIMEOUT_SECONDS = 5


class DoctorVerdict(StrEnum):
    OK = "ok"
    NOTE = "note"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFinding:
    subject: str
    verdict: DoctorVerdict
    text: str
    next_move: str = ""

    def as_text(self) -> str:
        line = f"  {self.subject:<12} {self.verdict:<7} {self.text}"
        return f"{line}\n{'':<23}next: {self.next_move}" if self.next_move else line


def ok(subject: str, text: str) -> DoctorFinding:
    return DoctorFinding(subject=subject, verdict=DoctorVerdict.OK, text=text)


def note(subject: str, text: str, *, next_move: str = "") -> DoctorFinding:
    return DoctorFinding(subject=subject, verdict=DoctorVerdict.NOTE, text=text, next_move=next_move)


def broken(subject: str, text: str, *, next_move: str) -> DoctorFinding:
    return DoctorFinding(subject=subject, verdict=DoctorVerdict.BROKEN, text=text, next_move=next_move)


def from_problem(subject: str, problem: SetupProblem) -> DoctorFinding:
    return broken(subject, problem.message, next_move=problem.next_move)


def run(arguments: Sequence[str], *, places: Places, environment: Environment) -> int:
    """Prints the findings. 1 when one of them is broken."""
    parser = argparse.ArgumentParser(prog="./workrail doctor", allow_abbrev=False, description=__doc__)
    parser.add_argument("--port", type=int, default=_PORT, help="the port that `up` is to have")
    options = parser.parse_args(arguments[1:])
    verdicts = set()
    for finding in findings(places=places, environment=environment, port=options.port, environ=os.environ):
        print(finding.as_text(), flush=True)
        verdicts.add(finding.verdict)
    return 1 if DoctorVerdict.BROKEN in verdicts else 0


def findings(
    *, places: Places, environment: Environment, port: int, environ: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    holder = current_holder(places.claim)
    yield look_at_environment(environment)
    yield look_at_home(places.home)
    yield look_at_disk(places.home)
    yield look_at_keys(places, environ)
    yield look_at_run(places, holder)
    yield look_at_port(holder, port)
    yield from _look_at_servers(places, environment, holder, environ)


def look_at_environment(environment: Environment) -> DoctorFinding:
    stamp = read_stamp(environment)
    lock = f", locks/{stamp.lock}.txt" if stamp else ""
    return ok("environment", f"Python {platform.python_version()} in {environment.folder}{lock}")


def look_at_home(home: Path) -> DoctorFinding:
    if not is_writable(home):
        return broken("home", f"{home} cannot be written", next_move="WORKRAIL_HOME=~/workrail ./workrail up")
    return ok("home", str(home)) if home.exists() else note("home", f"{home} is made by the first ./workrail up")


def look_at_disk(home: Path, *, needed_bytes: int = _ENOUGH_DISK_BYTES) -> DoctorFinding:
    nearest = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    text = f"{free / 1024**3:.1f} GiB free"
    if free < needed_bytes:
        return broken("disk", text, next_move=f"free some space below {nearest}; 1 GiB is little enough")
    return ok("disk", text)


def look_at_keys(places: Places, environ: Mapping[str, str]) -> DoctorFinding:
    named = environ.get("WORKRAIL_SECRET_KEY", "").strip()
    if named:
        return _judge_secret(named, "WORKRAIL_SECRET_KEY")
    if not places.keys.exists():
        return note("keys", "made by the first ./workrail up")
    if stat.S_IMODE(places.keys.stat().st_mode) & 0o077:
        return broken("keys", f"others may read {places.keys}", next_move=f"chmod 600 {places.keys}")
    try:
        return _judge_secret(read_keys(places.keys).secret_key, str(places.keys))
    except SetupProblem as problem:
        return from_problem("keys", problem)


def _judge_secret(secret: str, source: str) -> DoctorFinding:
    if len(secret) >= _SECRET_CHARACTERS and len(set(secret)) >= _SECRET_VARIETY:
        return ok("keys", source)
    make = "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"
    return broken("keys", f"the secret key of {source} is weak", next_move=f"make one with: {make}")


def look_at_run(places: Places, holder: ClaimHolder | None) -> DoctorFinding:
    left = read_holder(places.claim) if holder is None else None
    if holder is not None:
        return ok("run", f"./workrail {holder.command} is running (process {holder.pid}) {holder.url}".rstrip())
    if left is not None:
        return note("run", f"process {left.pid} was killed; its data is kept", next_move="./workrail up carries on")
    return ok("run", "nothing is running")


def look_at_port(holder: ClaimHolder | None, port: int) -> DoctorFinding:
    if holder is not None and holder.url:
        host, own_port = holder.url.removeprefix("http://").rsplit(":", 1)
        answer = ask_readiness(host.strip("[]"), int(own_port))
        if answer.is_ready:
            return ok("web", f"{holder.url} is ready")
        return broken("web", f"{holder.url}/readyz: {answer.text}", next_move="see the log of ./workrail up")
    if is_free("127.0.0.1", port):
        return ok("port", f"{port} is free")
    return broken("port", f"{port} is taken by another program", next_move="./workrail up --port with another number")


def _look_at_servers(
    places: Places, environment: Environment, holder: ClaimHolder | None, environ: Mapping[str, str]
) -> Iterator[DoctorFinding]:
    try:
        with _addresses(places, holder, environ) as addresses:
            if addresses is None:
                yield note("servers", "made by the first ./workrail up")
                return
            reached = [look_at_postgres(addresses.database_url), look_at_redis(addresses.redis_url)]
            yield from reached
            if all(each.verdict is DoctorVerdict.OK for each in reached):
                yield _look_at_migrations(addresses, places, environment, environ)
    except SetupProblem as problem:
        yield from_problem("servers", problem)


@contextlib.contextmanager
def _addresses(places: Places, holder: ClaimHolder | None, environ: Mapping[str, str]) -> Iterator[Addresses | None]:
    """Those of a running `up`, the named ones, or embedded ones started for the occasion; None before a first run."""
    named = named_addresses(environ)
    if named.database_url and named.redis_url:
        yield named
    elif holder is not None:
        yield Addresses(
            database_url=named.database_url or holder.database_url, redis_url=named.redis_url or holder.redis_url
        )
    elif not places.home.exists() or not _has_data(lasting_storage(places)):
        yield None
    else:
        with (
            claimed(places.claim, command="doctor"),
            running_servers(lasting_storage(places), environ=environ) as running,
        ):
            yield running.addresses


def _has_data(storage: Storage) -> bool:
    postgres_server.refuse_half_initialised(storage.postgres)
    return storage.postgres.exists()


def look_at_postgres(url: str) -> DoctorFinding:
    try:
        with psycopg.connect(url, connect_timeout=_TIMEOUT_SECONDS) as connection:
            version = connection.info.server_version // 10000
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0]
        return broken("postgres", reason, next_move="correct DATABASE_URL, or unset it for an embedded server")
    return ok("postgres", f"PostgreSQL {version} answers")


def look_at_redis(url: str) -> DoctorFinding:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=_TIMEOUT_SECONDS) as client:
            client.ping()
    except (redis.RedisError, OSError, ValueError) as error:
        return broken("redis", str(error), next_move="correct REDIS_URL, or unset it for an embedded server")
    return ok("redis", "answers")


def _look_at_migrations(
    addresses: Addresses, places: Places, environment: Environment, environ: Mapping[str, str]
) -> DoctorFinding:
    variables = application_environ(environ, places=places, keys=_keys(places), addresses=addresses)
    command = [str(environment.python), str(places.checkout / "manage.py"), "migrate", "--check"]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return ok("migrations", "all applied")
    if "Traceback" in answer.stderr or "Error" in answer.stderr:
        reason = answer.stderr.strip().splitlines()[-1]
        return broken(
            "migrations", f"manage.py does not start: {reason}", next_move="correct the setting that it names"
        )
    return broken("migrations", "some are not applied", next_move="./workrail up applies them (or ./workrail migrate)")


def _keys(places: Places) -> LocalKeys:
    return read_keys(places.keys) if places.keys.exists() else new_keys()
