"""Seals: what is written is signed with a key that the database does not hold, so that whoever can write there cannot write history.

A seal names its key, so keys can change; what an older one has sealed is checked for as long as that key is kept.
"""

import binascii
import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache

import orjson

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAC_BYTES = 18
_KEY_NAME_CHARACTERS = 8
_FOR_ADDRESSES = bytes.maketrans(b"+/", b"-_")

Part = str | int | None
# The first one seals; all of them check.
SealKeys = Sequence[bytes]


class Domain(StrEnum):
    """What a seal is of: a seal of one thing is none of another."""

    HEAD = "head"
    TRANSITION = "transition"
    LEDGER = "ledger"
    LEDGER_HEAD = "ledger_head"
    AUDIT = "audit"
    AUDIT_HEAD = "audit_head"


class SealState(StrEnum):
    HOLDS = "holds"
    MISSING = "missing"
    BROKEN = "broken"
    UNKNOWN_KEY = "unknown_key"


@cache
def key_name(key: bytes) -> str:
    return hashlib.sha256(b"workrail seal key name " + key).hexdigest()[:_KEY_NAME_CHARACTERS]


def seal(keys: SealKeys, domain: Domain, *parts: Part) -> str:
    return f"{key_name(keys[0])}.{_mac(keys[0], domain, parts)}"


def check(keys: SealKeys, text: str, domain: Domain, *parts: Part) -> SealState:
    if not text:
        return SealState.MISSING
    name, _, mac = text.partition(".")
    for key in keys:
        if key_name(key) == name:
            holds = hmac.compare_digest(_mac(key, domain, parts), mac)
            return SealState.HOLDS if holds else SealState.BROKEN
    return SealState.UNKNOWN_KEY


def digest(*parts: Part) -> str:
    """Short, and the same for the same parts: what a seal names of a row that lies elsewhere."""
    return _text(hashlib.sha256(orjson.dumps(parts)).digest())


def _mac(key: bytes, domain: Domain, parts: Sequence[Part]) -> str:
    return _text(hmac.digest(key, orjson.dumps([domain, *parts]), "sha256"))


def _text(value: bytes) -> str:
    """Base64 for addresses; its own function in the library takes twice as long."""
    return binascii.b2a_base64(value[:_MAC_BYTES], newline=False).translate(_FOR_ADDRESSES).decode("ascii")


def to_us(moment: datetime) -> int:
    """Microseconds, as Postgres keeps them; exact, which a float is not."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
