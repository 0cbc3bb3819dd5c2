"""Where notices of a team go: which addresses are allowed, and how a notice proves that it comes from here."""

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from teams_app.engine.errors import InvalidInputError

MAX_URL_CHARACTERS = 2048
SECRET_RANDOM_BYTES = 25

_HTTPS_PORT = 443
_MARK = "wr_hook_"
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_MOST_HOST_CHARACTERS = 253
# Of IPv4 what the registries keep for special uses, whether or not this version of Python knows of it, and an address under
# which a cloud serves each of its machines.
_SPECIAL_V4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
)
# Of IPv6 what is routed in the Internet, without special uses and the ranges that lead back into IPv4.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_SPECIAL_V6 = tuple(
    map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3ffe::/16", "3fff::/20"))
)


class NoticeKind(StrEnum):
    RUN_STARTED = "run_started"
    RUN_WAITING = "run_waiting"
    RUN_BLOCKED = "run_blocked"
    RUN_PAUSED = "run_paused"
    RUN_COMPLETED = "run_completed"
    RUN_REJECTED = "run_rejected"
    RUN_CANCELLED = "run_cancelled"
    CHECKPOINT_ASKED = "checkpoint_asked"
    CHECKPOINT_OVERDUE = "checkpoint_overdue"
    CHECKPOINT_ANSWERED = "checkpoint_answered"
    SESSION_EXPIRING = "session_expiring"
    ENDPOINT_SWITCHED_OFF = "endpoint_switched_off"


class TeamWork(StrEnum):
    """What workers do for a team, one at a time. Announcements are of all teams together."""

    NOTICES = "notices"
    MAILS = "mails"
    ANNOUNCEMENTS = "announcements"


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"


# How long after each try that failed the next one comes; after the last there is none.
WAITS = tuple(timedelta(seconds=s) for s in (10, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600))
# An address that has taken nothing for so long is not called any more.
SWITCHED_OFF_AFTER = timedelta(days=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An address as it is called: `path` has the query with it."""

    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """As the header Host names it."""
        return self.host if self.port == _HTTPS_PORT else f"{self.host}:{self.port}"


def read_url(text: str) -> Target:
    """The target behind an https URL. Refused are other schemes, accounts in the URL, and hosts that are numbers."""
    url = text.strip()
    if len(url) > MAX_URL_CHARACTERS or not url.isascii() or not url.isprintable() or " " in url:
        raise _bad("It is too long, or has characters that a URL cannot have.")
    try:
        parts = urlsplit(url)
        port = parts.port or _HTTPS_PORT
    except ValueError as error:
        raise _bad("It is not a URL.") from error
    host = (parts.hostname or "").lower()
    if not url.startswith("https://") or not host:
        raise _bad("It does not begin with https:// in small letters and a host.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise _bad("It names an account or a fragment.")
    if not _HOST.fullmatch(host) or len(host) > _MOST_HOST_CHARACTERS or _is_number(host):
        raise _bad("Its host is not a name.")
    path = parts.path or "/"
    return Target(host=host, port=port, path=f"{path}?{parts.query}" if parts.query else path)


def is_public(address: str) -> bool:
    """Whether an address is one of the Internet, and not of this machine, its network, or a way around into them."""
    found = ip_address(address.partition("%")[0])
    match found:
        case IPv4Address():
            return found.is_global and not any(found in net for net in _SPECIAL_V4)
        case IPv6Address():
            return found in _GLOBAL_UNICAST and found.is_global and not any(found in net for net in _SPECIAL_V6)


def are_public(addresses: Iterable[str]) -> bool:
    """All of them: a name that has a private address beside a public one is refused."""
    found = list(addresses)
    return bool(found) and all(is_public(address) for address in found)


def mint_secret(*, random: bytes) -> str:
    if len(random) != SECRET_RANDOM_BYTES:
        raise ValueError(f"a secret is made of {SECRET_RANDOM_BYTES} random bytes")
    return _MARK + base64.b32encode(random).decode("ascii").lower()


def sign(*, secret: str, timestamp: int, body: bytes) -> str:
    """`v1=` and the HMAC-SHA256, in hex, of the timestamp, a full stop and the body."""
    signed = f"{timestamp}.".encode() + body
    return f"v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def _is_number(host: str) -> bool:
    """The last label of a name is never a number; `127.1` and `2130706433` are spellings of addresses."""
    last = host.rpartition(".")[2]
    return last.isdigit() or last.startswith("0x")


def _bad(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"This is no address for notices. {why}",
        suggestion="Send an https URL with the name of a host, such as https://chat.example.com/hooks/abc.",
        details={"validationErrors": [{"path": "url", "message": why}]},
    )
