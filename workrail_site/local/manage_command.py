"""`./workrail COMMAND` is `manage.py COMMAND`, with the servers that it needs."""

import os

from workrail_site.local.claim import ClaimHolder, claimed, current_holder
from workrail_site.local.environs import application_environ
from workrail_site.local.foreground import run_in_foreground
from workrail_site.local.keys import ensure_keys
from workrail_site.local.places import Places, prepare_home
from workrail_site.local.servers import Addresses, lasting_storage, named_addresses, running_servers
from workrail_site.local.venvs import Environment

# `verify` reads a file and nothing else, `simulate` keeps everything in memory.
_NO_SERVERS = frozenset({"help", "version", "--version", "verify", "simulate"})
_NOWHERE = Addresses(database_url="postgresql:///workrail?host=/nonexistent", redis_url="unix:///nonexistent")


def run(arguments: list[str], *, places: Places, environment: Environment) -> int:
    """`manage.py COMMAND`, with the servers of a running `up`, the named ones, or its own for as long as it runs."""
    prepare_home(places)
    addresses = addresses_at_hand(arguments, places)
    if addresses is not None:
        return _run_manage(arguments, addresses, places=places, environment=environment)
    with (
        claimed(places.claim, command=arguments[0]),
        running_servers(lasting_storage(places), environ=os.environ) as running,
    ):
        return _run_manage(arguments, running.addresses, places=places, environment=environment)


def addresses_at_hand(arguments: list[str], places: Places) -> Addresses | None:
    named = named_addresses(os.environ)
    if named.database_url and named.redis_url:
        return named
    if arguments[0] in _NO_SERVERS or "--help" in arguments:
        return _NOWHERE
    return _addresses_of_up(current_holder(places.claim), named)


def _addresses_of_up(holder: ClaimHolder | None, named: Addresses) -> Addresses | None:
    if holder is None or not holder.database_url:
        return None
    return Addresses(
        database_url=named.database_url or holder.database_url,
        redis_url=named.redis_url or holder.redis_url,
        web_url=holder.url,
    )


def _run_manage(arguments: list[str], addresses: Addresses, *, places: Places, environment: Environment) -> int:
    environ = application_environ(os.environ, places=places, keys=ensure_keys(places.keys), addresses=addresses)
    environ["WORKRAIL_CALLED_AS"] = "workrail"
    command = [str(environment.python), str(places.checkout / "manage.py"), *arguments]
    return run_in_foreground(command, environ=environ)
