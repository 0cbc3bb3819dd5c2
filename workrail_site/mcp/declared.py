"""What a client of the last revision with a greeting declared in it, held in the id that it sends back with every request.

The server remembers nothing: the id is the client's own word about itself, permits nothing, and is as good after a restart.
"""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import orjson

from workrail_site.bodies import Message, Scope, Send
from workrail_site.mcp.revisions import LATEST_WITH_HANDSHAKE

SESSION_HEADER = b"mcp-session-id"
_OK = 200
_PREFIX = "asks-by-address."
_CAPABILITIES: Mapping[str, Any] = {"elicitation": {"form": {}, "url": {}}}


def declared_by(session_id: str) -> Mapping[str, Any] | None:
    """The capabilities; None where the id tells none, as that of another server does."""
    return _CAPABILITIES if session_id.startswith(_PREFIX) else None


def remembering(scope: Scope, send: Send) -> Send:
    """`send`, which gives an id to a client that greets and says that it opens addresses for its user."""
    if not _opens_addresses(scope["workrail.body"]):
        return send
    header = (SESSION_HEADER, f"{_PREFIX}{uuid4()}".encode("ascii"))

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == _OK:
            message = {**message, "headers": [*message.get("headers", ()), header]}
        await send(message)

    return sending


def _opens_addresses(body: bytes) -> bool:
    if b'"initialize"' not in body:
        return False
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    match message:
        case {
            "method": "initialize",
            "params": {
                "protocolVersion": version,
                "capabilities": {"elicitation": {"url": dict()}},
            },
        }:
            return bool(version == LATEST_WITH_HANDSHAKE)
        case _:
            return False
