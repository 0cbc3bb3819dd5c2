"""Which team a request is of, before anybody has proved it: what its key or its session was the last time.

It decides whose turn it is, and nothing else. A credential that is not known counts for the address that it comes from.
"""

import hashlib
from collections import OrderedDict
from ipaddress import IPv6Address, IPv6Network, ip_address

from django.conf import settings

from teams_app.engine.actors import Actor
from workrail_site.bodies import Scope
from workrail_site.lanes import passing

_MOST_KNOWN = 10_000


class Parties:
    def __init__(self) -> None:
        self._teams: OrderedDict[bytes, str] = OrderedDict()

    def of(self, scope: Scope) -> str:
        credential = credential_of(scope)
        return self._teams.get(credential, "") or passing(f"address {place_of(address_of(scope))}")

    def learn(self, scope: Scope, actor: object) -> None:
        """`actor` is who was admitted, if anybody was."""
        if not isinstance(actor, Actor):
            return
        self._teams[credential_of(scope)] = party_of(actor)
        if len(self._teams) > _MOST_KNOWN:
            self._teams.popitem(last=False)


def party_of(actor: Actor) -> str:
    return f"team {actor.team_id}"


def address_of(scope: Scope) -> str:
    """The last address that was forwarded is the one that our proxy saw; those before it are the client's to invent. Some proxies
    add it to the line that came, others in a line of their own.
    """
    lines = [value for name, value in scope["headers"] if name == b"x-forwarded-for"] if settings.BEHIND_PROXY else []
    forwarded = lines[-1].decode("latin-1") if lines else ""
    client = scope.get("client") or ("", 0)
    return forwarded.rpartition(",")[2].strip() or str(client[0])


def place_of(address: str) -> str:
    """What counts as one: of IPv6 the network of 64 bits, since whoever has one address of it has them all. Some proxies name a port."""
    bare = address.removeprefix("[").partition("]")[0] if address.startswith("[") else address
    if "." in bare and bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ip_address(bare.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return str(found.ipv4_mapped or IPv6Network((found, 64), strict=False))
    return str(found)


def credential_of(scope: Scope) -> bytes:
    """A digest of what proves who asks, whether or not it does."""
    said = _header(scope, b"authorization") or session_of(scope)
    return hashlib.blake2b(said.encode(), digest_size=16).digest()


def session_of(scope: Scope) -> str:
    """What the cookie of a sign-in holds: of several the last one, as Django reads them."""
    said = ";".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie")
    pairs = (pair.partition("=") for pair in reversed(said.split(";")))
    return next((value.strip() for name, _, value in pairs if name.strip() == settings.SESSION_COOKIE_NAME), "")


def _header(scope: Scope, wanted: bytes) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == wanted), "")
