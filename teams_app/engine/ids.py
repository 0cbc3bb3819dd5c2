"""Row ids: 16 bytes of UUIDv7, written under a prefix (`sess_…`) as 26 characters of lower-case base32."""

import re
from enum import StrEnum
from uuid import UUID

_TEXT = re.compile(r"[a-z2-7]{26}")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
# 130 bits are 13 pairs of characters; the standard library's base32 takes four times as long.
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_PAIR_VALUES = {pair: value for value, pair in enumerate(_PAIRS)}
_PAIR_STARTS = range(0, 26, 2)
_SHIFTS = range(120, -1, -10)


class Prefix(StrEnum):
    PERSON = "per"
    TEAM = "team"
    MEMBERSHIP = "mem"
    INVITATION = "inv"
    KEY = "key"
    TOKEN = "pat"  # noqa: S105  how an id begins
    AUDIT = "aud"
    WORKFLOW = "wfl"
    REVISION = "rev"
    SESSION = "sess"
    RUN = "run"
    NODE = "node"
    ATTEMPT = "attempt"
    EVENT = "evt"
    CHECKPOINT = "cp"
    TRACE = "tr"
    HANDLE = "hold"
    BUNDLE_JOB = "job"
    ENDPOINT = "hook"
    DELIVERY = "dlv"
    VIEW = "view"


def uuid7(*, unix_ms: int, random: bytes) -> UUID:
    """Version 7 of RFC 9562. The clock and ten random bytes are the caller's."""
    value = (unix_ms & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(random[:10], "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return UUID(int=value)


def to_text(prefix: Prefix, value: UUID) -> str:
    bits = value.int << 2
    return f"{prefix.value}_{''.join([_PAIRS[bits >> shift & 1023] for shift in _SHIFTS])}"


def from_text(prefix: Prefix, text: str) -> UUID | None:
    """The id behind the text, or None when it is not an id of this kind."""
    head, _, tail = text.partition("_")
    if head != prefix.value or not _TEXT.fullmatch(tail):
        return None
    bits = 0
    for at in _PAIR_STARTS:
        bits = bits << 10 | _PAIR_VALUES[tail[at : at + 2]]
    # 26 characters hold two bits more than an id: only one spelling is one.
    return None if bits & 3 else UUID(int=bits >> 2)


def birth_ms(value: UUID) -> int:
    """The millisecond in which a UUIDv7 was made."""
    return value.int >> 80
