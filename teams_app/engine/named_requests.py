"""What is kept of a request that its caller has named: an id, and what it asked for."""

import hashlib
import re
from typing import Any
from uuid import UUID

import msgspec

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.redaction import refuse_own_keys

REQUEST_KEY = "Idempotency-Key"
# The same in the metadata of a call by MCP, whose protocol has no place for it.
CALL_KEY = "workrail/idempotencyKey"
MAX_KEY_CHARACTERS = 200
ASKED_BYTES = 32
_UUID_BYTES = 16
# U+0000 and half a surrogate pair: no text that can be kept.
_UNKEPT = re.compile("[\x00\ud800-\udfff]")


def read_name(said: object) -> str:
    """Empty for a request without a name."""
    if not isinstance(said, str) or len(said) > MAX_KEY_CHARACTERS or _UNKEPT.search(said):
        raise InvalidInputError(
            f"The {REQUEST_KEY} is no text, has more than {MAX_KEY_CHARACTERS} characters, or holds what is no character.",
            suggestion="Send a UUID that you make for this one request.",
        )
    if said:
        refuse_own_keys({REQUEST_KEY: said})
    return said


def request_id_of(*, team_id: UUID, actor_id: str, name: str) -> UUID:
    """The same name of another caller is another request."""
    parts = (b"request", team_id.bytes, actor_id.encode(), name.encode("utf-8", "surrogatepass"))
    return UUID(bytes=hashlib.sha256(b"\x00".join(parts)).digest()[:_UUID_BYTES])


def asked_digest(*, place: str, body: Any) -> bytes:
    return hashlib.sha256(msgspec.json.encode([place, body], order="sorted")).digest()
