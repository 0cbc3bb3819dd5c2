"""`./workrail mcp`: greets its client at once, and starts or finds the servers when they are first needed."""

import os
from contextlib import ExitStack

from workrail_site.local.claim import claimed
from workrail_site.local.environs import application_environ
from workrail_site.local.keys import ensure_keys
from workrail_site.local.manage_command import addresses_at_hand
from workrail_site.local.places import Places, prepare_home
from workrail_site.local.servers import Addresses, lasting_storage, running_servers
from workrail_site.local.venvs import Environment
from workrail_site.mcp.stdio.command import KEY_VARIABLE, read_options, serve_dialect


def run(arguments: list[str], *, places: Places, environment: Environment) -> int:  # noqa: ARG001  as every command is called
    options = read_options(arguments[1:])
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if options.url:
        from workrail_site.mcp.stdio.bridge import pass_on  # noqa: PLC0415  only here is anything of the network needed

        return pass_on(url=options.url, reply=options.reply, key=key)
    with ExitStack() as servers:

        def prepare() -> None:
            addresses = addresses_at_hand(arguments, places) or _own(servers, places)
            _set_up(addresses, places)

        return serve_dialect(dialect=options.dialect, reply=options.reply, key=key, prepare=prepare)


def _own(servers: ExitStack, places: Places) -> Addresses:
    prepare_home(places)
    servers.enter_context(claimed(places.claim, command="mcp"))
    return servers.enter_context(running_servers(lasting_storage(places), environ=os.environ)).addresses


def _set_up(addresses: Addresses, places: Places) -> None:
    os.environ.update(
        application_environ(os.environ, places=places, keys=ensure_keys(places.keys), addresses=addresses)
    )
    import django  # noqa: PLC0415  its weight comes after the greeting

    django.setup()
