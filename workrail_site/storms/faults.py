"""What happens to an installation in a storm: each kind is one function of the site, and ends by itself."""

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg

from workrail_site.storms.site import StormSite, faketime

_WHILE_SECONDS = (0.2, 2.0)
# More than the web server's statements may wait.
_LOCK_SECONDS = 7.0
# Within what the clocks of machines may differ by: docs/reliability.md.
_CLOCKS = (3_000, -3_000, 90, -90, 0)
_TABLES = "sessions_app_worksession, sessions_app_run, sessions_app_node"

Do = Callable[[StormSite, random.Random], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """`share` is how often it is drawn; `do` says in a few words what it did."""

    name: str
    share: int
    do: Do


def _while(chance: random.Random) -> None:
    time.sleep(chance.uniform(*_WHILE_SECONDS))


def _killed(name: str) -> Do:
    def do(site: StormSite, _chance: random.Random) -> str:
        site.kill(name)
        return f"kill -9 of {name} and what it had started"

    return do


def _frozen(name: str) -> Do:
    def do(site: StormSite, chance: random.Random) -> str:
        site.freeze(name)
        try:
            _while(chance)
        finally:
            site.thaw(name)
        return f"{name} was stopped for a while"

    return do


def _backend(site: StormSite, chance: random.Random) -> str:
    site.kill_one_backend(chance.randrange(1_000))
    return "kill -9 of one process of PostgreSQL, which ends all of its connections"


def _dropped(site: StormSite, _chance: random.Random) -> str:
    with _superuser(site) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename LIKE 'workrail_%'"
        )
    return "every connection to PostgreSQL was dropped"


def _exhausted(site: StormSite, chance: random.Random) -> str:
    """As many connections as there are, and nothing is left for anybody whose connection ends."""
    with contextlib.ExitStack() as stack:
        taken = 0
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                stack.enter_context(psycopg.connect(site.owner_url, autocommit=True, connect_timeout=5))
                taken += 1
        with contextlib.suppress(psycopg.Error):
            _dropped(site, chance)
        _while(chance)
    return f"{taken} connections were taken, and those of the server dropped"


def _locked(site: StormSite, _chance: random.Random) -> str:
    """Statements of requests wait until they time out."""
    with _superuser(site) as connection, connection.transaction():
        connection.execute(f"LOCK TABLE {_TABLES} IN EXCLUSIVE MODE")
        time.sleep(_LOCK_SECONDS)
    return "tables were locked until statements timed out"


def _full(site: StormSite, chance: random.Random) -> str:
    site.fill_disk()
    try:
        _while(chance)
    finally:
        site.free_disk()
    return "the disk was full for a while"


def _clock(site: StormSite, chance: random.Random) -> str:
    seconds = chance.choice(_CLOCKS)
    site.shift_clock(seconds)
    return f"kill -9 of web, and it is there again with a clock that is {seconds:+d} s off"


@contextlib.contextmanager
def _superuser(site: StormSite) -> Iterator[psycopg.Connection]:
    address = site.owner_url.replace("user=workrail", "user=postgres")
    with psycopg.connect(address, autocommit=True, connect_timeout=5) as connection:
        yield connection


_KINDS = (
    FaultKind(name="web", share=20, do=_killed("web")),
    FaultKind(name="worker", share=8, do=_killed("worker")),
    FaultKind(name="beat", share=4, do=_killed("beat")),
    FaultKind(name="PostgreSQL", share=18, do=_killed("postgres")),
    FaultKind(name="one process of PostgreSQL", share=16, do=_backend),
    FaultKind(name="Valkey", share=8, do=_killed("valkey")),
    FaultKind(name="connections", share=14, do=_dropped),
    FaultKind(name="exhausted pool", share=4, do=_exhausted),
    FaultKind(name="statement timeouts", share=2, do=_locked),
    FaultKind(name="full disk", share=4, do=_full),
    FaultKind(name="clock", share=5, do=_clock),
    FaultKind(name="stopped web", share=6, do=_frozen("web")),
    FaultKind(name="stopped PostgreSQL", share=6, do=_frozen("postgres")),
    FaultKind(name="stopped Valkey", share=3, do=_frozen("valkey")),
    FaultKind(name="stopped worker", share=3, do=_frozen("worker")),
)


def kinds_of(site: StormSite) -> list[FaultKind]:
    """Those that can be had here; why others cannot is told by `site.skipped`."""
    if faketime() is None:
        site.skipped["clock"] = "there is no libfaketime"
    return [kind for kind in _KINDS if kind.name not in site.skipped]


def drawn(kinds: list[FaultKind], chance: random.Random, *, number: int) -> FaultKind:
    """Each kind once at first, then by its share."""
    if number < len(kinds):
        return kinds[number]
    return chance.choices(kinds, weights=[kind.share for kind in kinds])[0]
