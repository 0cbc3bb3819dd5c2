"""Tokens: a short name of a row, and proof that we minted it. A token is no permission; the actor's team is checked apart.

`st.v1.` names a node. `ack.v1.` and `chk.v1.` name one attempt at a node: node and a nonce. `tr.v1.` names a stretch of a
run. The text after the version is Crockford's base32 (no i, l, o, u) of the payload and ten bytes of HMAC-SHA256 over kind,
version and payload. Reading is tolerant of what chats do to text: quotes, backticks, white space, zero-width characters,
case, and o, i, l for 0 and 1.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar
from uuid import UUID

from teams_app.engine.errors import Retry, WorkrailError, retry_after

MAX_TOKEN_CHARACTERS = 64
NONCE_BYTES = 8
_MAC_BYTES = 10
_NODE_BYTES = 16
# Two moments of five bytes; what they mean is the business of the traces.
_STRETCH_BYTES = 10
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
# As Python reads base 32; a letter that no token has becomes a sign that no number has.
_OF_PYTHON = "0123456789abcdefghijklmnopqrstuv"
_AS_PYTHON = str.maketrans(_ALPHABET + "oilu", _OF_PYTHON + "011!")
_NOISE = re.compile("[\\s\"'`\u00ab\u00bb\u2018\u2019\u201c\u201d\u200b-\u200f\u2060\ufeff]+")
_SHAPE = re.compile(r"(?P<kind>[a-z]+)\.v(?P<version>[0-9]+)\.(?P<body>[0-9a-z]+)")


class TokenKind(StrEnum):
    STATE = "st"
    ACK = "ack"
    BOOKMARK = "chk"
    SESSION = "ses"
    TRACE = "tr"


_PAYLOAD_BYTES = {
    TokenKind.STATE: _NODE_BYTES,
    TokenKind.ACK: _NODE_BYTES + NONCE_BYTES,
    TokenKind.BOOKMARK: _NODE_BYTES + NONCE_BYTES,
    TokenKind.SESSION: _NODE_BYTES + NONCE_BYTES,
    TokenKind.TRACE: _NODE_BYTES + _STRETCH_BYTES,
}
# In plain words: under which name a token travels, the dialects know.
_NAMED = {
    TokenKind.STATE: "state token",
    TokenKind.ACK: "ack token",
    TokenKind.BOOKMARK: "checkpoint token",
    TokenKind.SESSION: "session token",
    TokenKind.TRACE: "trace token",
}


class TokenInvalidFormatError(WorkrailError):
    """The text is not a token of the kind that is asked for."""

    code = "TOKEN_INVALID_FORMAT"


class TokenUnsupportedVersionError(WorkrailError):
    """The token is of a version that this server does not read."""

    code = "TOKEN_UNSUPPORTED_VERSION"


class TokenBadSignatureError(WorkrailError):
    """The token was not minted here, or some character of it was changed."""

    code = "TOKEN_BAD_SIGNATURE"


class TokenScopeMismatchError(WorkrailError):
    """The tokens of one call belong to different snapshots."""

    code = "TOKEN_SCOPE_MISMATCH"


class TokenUnknownNodeError(WorkrailError):
    """No such node for this team."""

    code = "TOKEN_UNKNOWN_NODE"


class TokenSessionLockedError(WorkrailError):
    """Another call writes to the same session."""

    code = "TOKEN_SESSION_LOCKED"
    default_retry: ClassVar[Retry] = retry_after(ms=1000)


class SessionNotHealthyError(WorkrailError):
    """The stored log does not verify; nothing is written to it until it does."""

    code = "SESSION_NOT_HEALTHY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyring:
    """`current` mints; `current` and `previous` verify; `retired` are known and no longer trusted by themselves."""

    current: bytes
    previous: tuple[bytes, ...] = ()
    retired: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    kind: TokenKind
    node_id: UUID
    nonce: bytes = b""
    retired: bool = False


def mint(*, keyring: Keyring, kind: TokenKind, node_id: UUID, nonce: bytes = b"") -> str:
    payload = node_id.bytes + nonce
    if len(payload) != _PAYLOAD_BYTES[kind]:
        raise ValueError(f"A {kind.value} token has {_PAYLOAD_BYTES[kind]} bytes of payload, not {len(payload)}.")
    return f"{kind.value}.v1.{_encode(payload + _mac(keyring.current, kind, payload))}"


def read(*, keyring: Keyring, kind: TokenKind, text: str) -> Token:
    """The token behind the text; raises one of the `TOKEN_*` errors. `retired` tells that only an old key signed it."""
    body = _body(kind, text)
    size = _PAYLOAD_BYTES[kind]
    payload, mac = body[:size], body[size:]
    token = Token(kind=kind, node_id=UUID(bytes=payload[:_NODE_BYTES]), nonce=payload[_NODE_BYTES:])
    if _signed_by((keyring.current, *keyring.previous), kind, payload, mac):
        return token
    if _signed_by(keyring.retired, kind, payload, mac):
        return Token(kind=kind, node_id=token.node_id, nonce=token.nonce, retired=True)
    raise TokenBadSignatureError(
        f"The {_NAMED[kind]} was not minted by this server, or a character of it was changed.",
        suggestion=_again(kind),
        details={"token": kind.value},
    )


def read_any(*, keyring: Keyring, text: str) -> Token | None:
    """A token of whichever kind its text says; None where it is none, or not of ours."""
    begins = _NOISE.sub("", text[:64]).lower()
    kind = next((kind for kind in TokenKind if begins.startswith(f"{kind.value}.v")), None)
    try:
        return None if kind is None else read(keyring=keyring, kind=kind, text=text)
    except WorkrailError:
        return None


def renew(*, keyring: Keyring, kind: TokenKind, text: str) -> str:
    """The same token signed by the current key, when no trusted key signed it. Only for tokens that we recorded."""
    size = _PAYLOAD_BYTES[kind]
    body = _body(kind, text)
    payload, mac = body[:size], body[size:]
    if _signed_by((keyring.current, *keyring.previous), kind, payload, mac):
        return text
    return f"{kind.value}.v1.{_encode(payload + _mac(keyring.current, kind, payload))}"


def signed_alike(*, keyring: Keyring, kind: TokenKind, text: str) -> Keyring:
    """A ring that mints with the trusted key that signed the token, so that what goes with it is the same each time."""
    size = _PAYLOAD_BYTES[kind]
    body = _body(kind, text)
    trusted = (keyring.current, *keyring.previous)
    signer = next((key for key in trusted if _signed_by((key,), kind, body[:size], body[size:])), keyring.current)
    return Keyring(current=signer, previous=trusted, retired=keyring.retired)


def _signed_by(keys: Iterable[bytes], kind: TokenKind, payload: bytes, mac: bytes) -> bool:
    return any(hmac.compare_digest(mac, _mac(key, kind, payload)) for key in keys)


def _body(kind: TokenKind, text: str) -> bytes:
    clean = _NOISE.sub("", text[:512]).lower()
    match = _SHAPE.fullmatch(clean)
    if match is None or match["kind"] != kind.value:
        raise TokenInvalidFormatError(
            f"{_seen(match['kind'] if match else '')} The {_NAMED[kind]} begins with {kind.value}.v1.",
            suggestion=_again(kind),
            details={"token": kind.value},
        )
    if match["version"] != "1":
        raise TokenUnsupportedVersionError(
            f"The {_NAMED[kind]} is of version {match['version'][:6]}; this server reads version 1.",
            suggestion=_again(kind),
            details={"token": kind.value, "supportedVersions": [1]},
        )
    body = _decode(match["body"], _PAYLOAD_BYTES[kind] + _MAC_BYTES)
    if body is None:
        raise TokenInvalidFormatError(
            f"The {_NAMED[kind]} is cut short, too long, or has a character that no token has.",
            suggestion=_again(kind),
            details={"token": kind.value},
        )
    return body


def _seen(kind: str) -> str:
    named = {kind.value: name for kind, name in _NAMED.items()}
    return f"This is the {named[kind]}." if kind in named else "This is no token."


def _again(kind: TokenKind) -> str:
    return f"Pass the {_NAMED[kind]} of the last reply exactly as printed."


def _mac(key: bytes, kind: TokenKind, payload: bytes) -> bytes:
    return hmac.digest(key, f"{kind.value}.v1.".encode("ascii") + payload, hashlib.sha256)[:_MAC_BYTES]


def _encode(data: bytes) -> str:
    """Base32 with the padding bits in front, so that every text has exactly one meaning."""
    value = int.from_bytes(data, "big")
    length = _text_length(len(data))
    pairs = "".join([_PAIRS[value >> shift & 1023] for shift in range(10 * ((length - 1) // 2), -1, -10)])
    return pairs[-length:]


def _decode(text: str, size: int) -> bytes | None:
    """Of digits and small letters, which is all that the shape of a token lets through."""
    if len(text) != _text_length(size):
        return None
    try:
        value = int(text.translate(_AS_PYTHON), 32)
    except ValueError:
        return None
    return None if value >> 8 * size else value.to_bytes(size, "big")


def _text_length(size: int) -> int:
    return -(-8 * size // 5)
