"""Gives the tests a real PostgreSQL and a real Redis-protocol server, whoever starts pytest and with how many processes.

It is loaded by `-p` (see pyproject.toml), because Django reads the addresses before any conftest is imported. The names
are settled then; the servers start only when tests that may need them have been found, so the rooms that promise to do
without never wait for them. DATABASE_URL and REDIS_URL, when set, are used as they are.
"""

import contextlib
import os
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from workrail_site.local import pooled
from workrail_site.local.accounts import server_account
from workrail_site.local.keys import new_keys
from workrail_site.local.processes import stop_together
from workrail_site.local.servers import addresses_in, fleeting_storage, named_addresses, started_servers
from workrail_site.local.temporary import short_folder

_PURE_ROOMS = frozenset({"engine"})
_ROOMS_OF_PROCESSES = frozenset({"local", "deploy", "fresh"})
_ROOMS_WITHOUT_SERVERS = _PURE_ROOMS | _ROOMS_OF_PROCESSES | {"architecture"}
_XDIST_WORKER = "PYTEST_XDIST_WORKER"
_REDIS_DATABASES = 16


class Servers:
    """One per pytest run. The processes of xdist inherit the addresses from the one that starts them."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._named_before: dict[str, str] = {}
        self._sockets: Path | None = None
        self._are_started = False

    def name(self) -> None:
        named = named_addresses(os.environ)
        if named.database_url and named.redis_url:
            return
        self._named_before = dict(os.environ)
        self._sockets = self._stack.enter_context(short_folder(server_account()))
        addresses = addresses_in(self._sockets, environ=os.environ)
        os.environ.update(addresses.as_environ())
        if pooled.is_asked_for(os.environ) and not named.database_url:
            os.environ.update(pooled.pooled_environ(addresses.database_url))

    def start(self) -> None:
        if self._sockets is None or self._are_started:
            return
        self._are_started = True
        storage = self._stack.enter_context(fleeting_storage(server_account()))
        self._stack.enter_context(started_servers(storage, sockets=self._sockets, environ=self._named_before))
        if pooled.is_asked_for(self._named_before) and not named_addresses(self._named_before).database_url:
            self._stack.callback(stop_together, [pooled.start_pool(self._sockets / "pg")], grace_seconds=1)

    def stop(self) -> None:
        self._stack.close()


_servers = Servers()


def pytest_addoption() -> None:
    """The earliest call: before pytest-django loads the settings."""
    _name_the_stage()
    _servers.name()
    worker = os.environ.get(_XDIST_WORKER, "")
    if worker:
        os.environ["REDIS_URL"] = _own_redis_database(os.environ["REDIS_URL"], worker)


def _name_the_stage() -> None:
    os.environ.setdefault("WORKRAIL_ENV", "test")
    for name, value in new_keys().as_environ().items():
        os.environ.setdefault(name, value)


def _own_redis_database(url: str, worker: str) -> str:
    """Processes share the server, and each empties its own database only."""
    number = (int(worker.removeprefix("gw")) + 1) % _REDIS_DATABASES
    if url.startswith("unix:"):
        return f"{url.partition('?')[0]}?db={number}"
    return urlunsplit(urlsplit(url)._replace(path=f"/{number}"))


def pytest_configure(config: pytest.Config) -> None:
    config.add_cleanup(_servers.stop)
    if pooled.is_asked_for(os.environ):
        # The pool keeps connections to a database that nobody uses any more, so it cannot be dropped; it goes with its server.
        config.option.reuse_db = config.option.create_db = True
    # Which tests there are, only the other processes will know; in the other rooms some ask for the database.
    if _distributes(config) and not all(_is_in(argument, _PURE_ROOMS) for argument in config.args):
        _servers.start()


def _distributes(config: pytest.Config) -> bool:
    """Whether this process hands the tests to others, which then find the servers running."""
    return bool(config.getoption("numprocesses", None)) or config.getoption("dist", "no") != "no"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Begun last, one of these would be waited for while the other processes of xdist have nothing left.
    items.sort(key=lambda item: not _may_take_long(item))
    if pooled.is_asked_for(os.environ):
        for item in items:
            if item.get_closest_marker("own_connection") is not None:
                item.add_marker(pytest.mark.skip(reason="PgBouncer hands its connection to others"))


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(_may_need_servers(item) for item in session.items):
        _servers.start()


def _may_need_servers(item: pytest.Item) -> bool:
    return item.get_closest_marker("django_db") is not None or not _is_in(str(item.path), _ROOMS_WITHOUT_SERVERS)


def _may_take_long(item: pytest.Item) -> bool:
    return item.get_closest_marker("browser") is not None or _is_in(str(item.path), _ROOMS_OF_PROCESSES)


def _is_in(path: str, rooms: frozenset[str]) -> bool:
    return not rooms.isdisjoint(Path(path.partition("::")[0]).parts)
