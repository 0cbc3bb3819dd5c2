"""What is kept of a request that its caller has named: an id, what it asked for, and what it was answered, sealed with the name.

An answer may hold what is shown once. The name is kept nowhere, so who reads the table reads no answer.
"""

import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from teams_app.engine.errors import InvalidInputError

REQUEST_KEY = "Idempotency-Key"
MAX_KEY_CHARACTERS = 200
ASKED_BYTES = 32
NONCE_BYTES = 12
_UUID_BYTES = 16


def read_name(text: str) -> str:
    if len(text) > MAX_KEY_CHARACTERS or "\x00" in text:
        raise InvalidInputError(
            f"The header {REQUEST_KEY} has more than {MAX_KEY_CHARACTERS} characters, or a U+0000.",
            suggestion="Send a UUID that you make for this one request.",
        )
    return text


def request_id_of(*, team_id: UUID, actor_id: str, name: str) -> UUID:
    """The same name of another caller is another request."""
    parts = (b"request", team_id.bytes, actor_id.encode(), name.encode("utf-8", "surrogatepass"))
    return UUID(bytes=hashlib.sha256(b"\x00".join(parts)).digest()[:_UUID_BYTES])


def asked_digest(*, place: str, body: Any) -> bytes:
    return hashlib.sha256(msgspec.json.encode([place, body], order="sorted")).digest()


def seal_answer(answer: bytes, *, key: bytes, name: str, nonce: bytes) -> bytes:
    return nonce + _cipher(key, name).encrypt(nonce, answer, None)


def open_answer(sealed: bytes, *, keys: Sequence[bytes], name: str) -> bytes | None:
    """None when none of the keys is that with which it was sealed."""
    for key in keys:
        try:
            return _cipher(key, name).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
        except InvalidTag:
            continue
    return None


def _cipher(key: bytes, name: str) -> AESGCM:
    person = b"named request"
    return AESGCM(
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, person=person, digest_size=32).digest()
    )
