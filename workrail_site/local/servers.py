"""PostgreSQL and Redis for one run: the ones that DATABASE_URL and REDIS_URL name, or embedded ones started here."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from workrail_site.local import binaries, postgres_server, redis_server
from workrail_site.local.accounts import Account, can_enter, server_account
from workrail_site.local.places import Places
from workrail_site.local.problems import SetupProblem
from workrail_site.local.processes import Child, LineSink, ignore_line, stop_together
from workrail_site.local.supervision import Start
from workrail_site.local.temporary import short_folder

# A PostgreSQL that is hurried recovers at its next start; nothing that was committed is lost.
_STOP_SECONDS = 2.5
_SHARED_DATA = (Path("/var/lib"), Path("/var/tmp"))
_DATABASE_URL = "DATABASE_URL"
_OWNER_URL = "DATABASE_OWNER_URL"
_MAINTENANCE_URL = "DATABASE_MAINTENANCE_URL"
_REDIS_URL = "REDIS_URL"
_LOCAL_URL = "WORKRAIL_LOCAL_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    database_url: str
    redis_url: str
    # Where a browser on this machine finds the web server of `up`, if there is one.
    web_url: str = ""

    def as_environ(self) -> dict[str, str]:
        told = {_DATABASE_URL: self.database_url, _REDIS_URL: self.redis_url}
        return {**told, _LOCAL_URL: self.web_url} if self.web_url else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    addresses: Addresses
    children: list[Child]
    # How each child is started again, in the order of the children.
    starts: tuple[Start, ...] = ()
    # Sentences about what was found and put right on the way.
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where the embedded servers keep their data, and whether it must survive."""

    postgres: Path
    redis: Path
    # Where programs may be copied to for an account that cannot enter the environment.
    copies: Path
    is_durable: bool


def named_addresses(environ: Mapping[str, str]) -> Addresses:
    """What the environment names; an empty text stands for a server that is to be started here.

    Commands and migrations are the owner's, who is another than the one that serves requests where both are named.
    """
    named = environ.get(_DATABASE_URL, "").strip()
    owner = environ.get(_OWNER_URL, "").strip() if named else ""
    return Addresses(database_url=owner or named, redis_url=environ.get(_REDIS_URL, "").strip())


def url_of_requests(environ: Mapping[str, str], addresses: Addresses) -> str:
    """The database as the web server uses it: by a role that owns nothing."""
    named = environ.get(_DATABASE_URL, "").strip()
    return named or postgres_server.as_role(addresses.database_url, postgres_server.APP_ROLE)


def url_of_upkeep(environ: Mapping[str, str], addresses: Addresses) -> str:
    """The database as the workers use it."""
    if environ.get(_DATABASE_URL, "").strip():
        return environ.get(_MAINTENANCE_URL, "").strip() or addresses.database_url
    return postgres_server.as_role(addresses.database_url, postgres_server.UPKEEP_ROLE)


def lasting_storage(places: Places) -> Storage:
    """In the home; as root, where the account cannot enter the home, in a folder of its own that the home names."""
    folder = _postgres_home(places, server_account())
    return Storage(postgres=folder / "postgres", redis=places.redis_data, copies=folder, is_durable=True)


def _postgres_home(places: Places, account: Account | None) -> Path:
    if places.postgres_pointer.is_file():
        return Path(places.postgres_pointer.read_text("utf-8").strip())
    if account is None or can_enter(account, places.home):
        return places.home
    for base in _SHARED_DATA:
        if os.access(base, os.W_OK) and can_enter(account, base):
            folder = Path(tempfile.mkdtemp(prefix="workrail-", dir=base))
            folder.chmod(0o711)
            (folder / "belongs-to").write_text(f"{places.home}\n", "utf-8")
            places.postgres_pointer.write_text(f"{folder}\n", "utf-8")
            return folder
    raise SetupProblem(
        f"the account {account.name}, under which PostgreSQL runs for root, can reach neither {places.home} nor "
        f"{' nor '.join(map(str, _SHARED_DATA))}.",
        next_move="name a folder that it can: WORKRAIL_HOME=/srv/workrail ./workrail up",
    )


@contextlib.contextmanager
def fleeting_storage(account: Account | None) -> Iterator[Storage]:
    """For tests: a temporary folder, and servers that do not wait for the disk."""
    with short_folder(account) as folder:
        yield Storage(postgres=folder / "pg" / "data", redis=folder / "redis", copies=folder, is_durable=False)


def addresses_in(sockets: Path, *, environ: Mapping[str, str]) -> Addresses:
    """What is named, and for the rest what `started_servers` will answer at."""
    named = named_addresses(environ)
    return Addresses(
        database_url=named.database_url or postgres_server.database_url(sockets / "pg"),
        redis_url=named.redis_url or redis_server.redis_url(sockets),
    )


@contextlib.contextmanager
def running_servers(storage: Storage, *, environ: Mapping[str, str], sink: LineSink = ignore_line) -> Iterator[Running]:
    """Starts what the environment does not name, and ends it afterwards. For the main thread."""
    named = named_addresses(environ)
    if named.database_url and named.redis_url:
        yield Running(addresses=named, children=[])
        return
    with (
        short_folder(server_account()) as sockets,
        started_servers(storage, sockets=sockets, environ=environ, sink=sink) as running,
    ):
        yield running


@contextlib.contextmanager
def started_servers(
    storage: Storage, *, sockets: Path, environ: Mapping[str, str], sink: LineSink = ignore_line
) -> Iterator[Running]:
    named = named_addresses(environ)
    children: list[Child] = []
    starts: list[Start] = []
    remarks: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(stop_together, children, grace_seconds=_STOP_SECONDS)
        if not named.redis_url:
            starts.append(partial(_start_redis, storage, sockets=sockets, environ=environ, sink=sink))
            children.append(starts[-1]())
        if not named.database_url:
            cluster = _cluster(storage, sockets=sockets, environ=environ)
            remarks += _make_ready(cluster)
            child = postgres_server.start_postgres(cluster, environ=environ, sink=sink)
            children.append(child)
            starts.append(partial(_start_postgres_again, cluster, environ=environ, sink=sink))
            postgres_server.wait_for_postgres(cluster, child)
        if not named.redis_url:
            redis_server.wait_for_redis(sockets, children[0])
        addresses = addresses_in(sockets, environ=environ)
        yield Running(addresses=addresses, children=children, starts=tuple(starts), remarks=tuple(remarks))


def _start_postgres_again(cluster: postgres_server.Cluster, *, environ: Mapping[str, str], sink: LineSink) -> Child:
    postgres_server.clear_leftovers(cluster.data)
    return postgres_server.start_postgres(cluster, environ=environ, sink=sink)


def _start_redis(storage: Storage, *, sockets: Path, environ: Mapping[str, str], sink: LineSink) -> Child:
    return redis_server.start_redis(
        binaries.choose_redis(binaries.providers(environ=environ)),
        data=storage.redis,
        sockets=sockets,
        is_durable=storage.is_durable,
        environ=environ,
        sink=sink,
    )


def _cluster(storage: Storage, *, sockets: Path, environ: Mapping[str, str]) -> postgres_server.Cluster:
    postgres_server.refuse_half_initialised(storage.postgres)
    wanted = postgres_server.major_of_data(storage.postgres)
    programs = binaries.choose_postgres(binaries.providers(environ=environ), major=wanted)
    account = server_account()
    return postgres_server.Cluster(
        data=storage.postgres,
        sockets=sockets / "pg",
        programs=binaries.reachable_postgres(programs, account=account, copies=storage.copies),
        account=account,
        is_durable=storage.is_durable,
    )


def _make_ready(cluster: postgres_server.Cluster) -> list[str]:
    remark = postgres_server.clear_leftovers(cluster.data)
    if postgres_server.data_state(cluster.data) is postgres_server.DataState.ABSENT:
        postgres_server.initialise(cluster)
    postgres_server.make_roles(cluster)
    return [remark] if remark else []
