"""Seals: what is written is signed with a key that the database does not hold, so that whoever can write there cannot write history.

A seal names its key, so keys can change; what an older one has sealed is checked for as long as that key is kept.
"""

import binascii
import hashlib
import hmac
from collections.abc import Iterator, Sequence
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


def seal_end(keys: SealKeys, domain: Domain, *parts: Part, doubts: str = "") -> str:
    """Where a chain ends now. Whoever goes on from an end gives what `doubts_of` tells of it: it hangs on the seal, so that one which is
    made anew makes nothing true that was not.
    """
    return seal(keys, domain, *parts, *_hung(doubts)) + doubts


def check_end(keys: SealKeys, text: str, domain: Domain, *parts: Part) -> SealState:
    """Of the end, or of the first that hangs on it and does not hold."""
    return next(
        (state for state in _states(keys, text, domain, parts) if state is not SealState.HOLDS), SealState.HOLDS
    )


def doubts_of(keys: SealKeys, text: str, domain: Domain, *parts: Part) -> str:
    """Empty for an end that holds. A seal of a key that is missing here may hold once that key is there."""
    states = list(_states(keys, text, domain, parts))
    if all(state is SealState.HOLDS for state in states):
        return ""
    own, space, hanging = text.partition(" ")
    if states[0] is SealState.HOLDS:
        return space + hanging
    doubt = binascii.b2a_base64(orjson.dumps([own, *parts]), newline=False).decode("ascii")
    return f"{space}{hanging} {doubt}"


def _states(keys: SealKeys, text: str, domain: Domain, parts: Sequence[Part]) -> Iterator[SealState]:
    """That of the end, and where its seal holds those of what hangs on it: each was made with those before it."""
    own, space, hanging = text.partition(" ")
    state = check(keys, own, domain, *parts, *_hung(space + hanging))
    yield state
    if state is not SealState.HOLDS or not space:
        return
    before = ""
    for doubt in hanging.split(" "):
        yield _state_of_doubt(keys, doubt, domain, before)
        before += f" {doubt}"


def _state_of_doubt(keys: SealKeys, doubt: str, domain: Domain, before: str) -> SealState:
    """What stood where there should be an end may be anything."""
    try:
        own, *parts = orjson.loads(binascii.a2b_base64(doubt))
        return check(keys, own, domain, *parts, *_hung(before))
    except (AttributeError, TypeError, ValueError):
        return SealState.BROKEN


def _hung(doubts: str) -> tuple[str, ...]:
    return (doubts,) if doubts else ()


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
