"""Anchors: where every log, ledger and audit log ended at one moment, signed, to be kept where the database's owner cannot reach.

An anchor is lines: what it is, one for each end, and a signature over the bytes of all before it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sessions_app.engine.log import Head
from sessions_app.engine.signatures import is_signed_by, public_text, sign

KIND = "workrail-anchor"
VERSION = 1
_MOST_LINE_BYTES = 4096


class Anchored(StrEnum):
    SESSION = "session"
    LEDGER = "ledger"
    AUDIT = "audit"


class AnchorUnreadableError(Exception):
    """The file is no anchor, or not the one that was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """`owner` is a session, or the team of a ledger or audit log."""

    what: Anchored
    owner: UUID
    head: Head


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorSeal:
    """What an address outside is told of an anchor, and what the file ends with."""

    at_ms: int
    ends: int
    sha256: str
    signer: str
    signature: str

    def as_json(self) -> dict[str, Any]:
        told = {"kind": KIND, "v": VERSION, "atMs": self.at_ms, "ends": self.ends, "sha256": self.sha256}
        return {**told, "signer": self.signer, "signature": self.signature}


class AnchorWriter:
    """Gives the lines one after the other; the last one is the seal."""

    def __init__(self, *, key: Ed25519PrivateKey, at_ms: int) -> None:
        self._key = key
        self._at_ms = at_ms
        self._hash = hashlib.sha256()
        self._ends = 0
        self.seal: AnchorSeal | None = None

    def lines(self, ends: Iterable[End]) -> Iterator[bytes]:
        yield self._line({"kind": KIND, "v": VERSION, "atMs": self._at_ms, "signer": public_text(self._key)})
        for end in ends:
            self._ends += 1
            yield self._line([end.what.value, end.owner.hex, end.head.next_index, end.head.digest])
        digest = self._hash.hexdigest()
        self.seal = AnchorSeal(
            at_ms=self._at_ms,
            ends=self._ends,
            sha256=digest,
            signer=public_text(self._key),
            signature=sign(key=self._key, message=_message(self._at_ms, self._ends, digest)),
        )
        yield orjson.dumps(self.seal.as_json()) + b"\n"

    def _line(self, value: Any) -> bytes:
        line = orjson.dumps(value) + b"\n"
        self._hash.update(line)
        return line


def check_anchor(lines: Iterable[bytes], *, signers: Iterable[str]) -> AnchorSeal:
    """Raises AnchorUnreadableError unless one of the signers signed exactly these lines."""
    digest, count = hashlib.sha256(), 0
    waiting: bytes | None = None
    for line in lines:
        if len(line) > _MOST_LINE_BYTES:
            raise AnchorUnreadableError("A line is longer than any of an anchor.")
        if waiting is not None:
            digest.update(waiting)
            count += 1
        waiting = line
    seal = _read_seal(waiting)
    if seal.signer not in set(signers):
        raise AnchorUnreadableError(f"It is signed by {seal.signer}, which is no key of this installation.")
    told = (digest.hexdigest(), count - 1)
    message = _message(seal.at_ms, seal.ends, seal.sha256)
    if told != (seal.sha256, seal.ends) or not is_signed_by(
        public=seal.signer, signature=seal.signature, message=message
    ):
        raise AnchorUnreadableError("It is not what was signed: a line was changed, added or removed.")
    return seal


def read_end(line: bytes) -> End | None:
    """None for the first line and the last, which are objects."""
    value = orjson.loads(line)
    if not isinstance(value, list):
        return None
    what, owner, next_index, digest = value
    return End(what=Anchored(what), owner=UUID(hex=owner), head=Head(next_index=next_index, digest=digest))


def _read_seal(line: bytes | None) -> AnchorSeal:
    try:
        value = orjson.loads(line or b"")
        if value["kind"] != KIND or value["v"] != VERSION:
            raise AnchorUnreadableError("It is no anchor of a form that is known here.")
        return AnchorSeal(
            at_ms=int(value["atMs"]),
            ends=int(value["ends"]),
            sha256=str(value["sha256"]),
            signer=str(value["signer"]),
            signature=str(value["signature"]),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise AnchorUnreadableError(
            "It does not end with the seal of an anchor: it is none, or was cut off."
        ) from error


def _message(at_ms: int, ends: int, sha256: str) -> bytes:
    return orjson.dumps([KIND, VERSION, at_ms, ends, sha256])
