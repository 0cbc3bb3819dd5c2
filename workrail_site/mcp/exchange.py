"""One tool call of a revision that has sessions, by a client that holds none: asked and answered in one step.

The SDK's own way makes a transport with streams and tasks for each such request, which takes twice the time of all else at
this door. What is called here is the same of it: its reading of the request, its middlewares, its errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import orjson
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from workrail_site.bodies import Scope
from workrail_site.mcp.declared import SESSION_HEADER, declared_by
from workrail_site.wsgi_in_asgi import Send

_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)
_JSON = "application/json"
_HEADERS = [(b"content-type", _JSON.encode())]


@dataclass(slots=True, kw_only=True)
class Context:
    """What a handler may do besides answering: nothing. There is no way back to the client but the answer."""

    request_id: str | int
    transport: TransportContext = _TRANSPORT
    message_metadata: MessageMetadata = None
    can_send_request: bool = False
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,  # noqa: ARG002  the SDK's signature
        opts: CallOptions | None = None,  # noqa: ARG002  the SDK's signature
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Nobody would hear it."""

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Nobody asked to hear of it: a call without a session has no token for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str | int
    version: str
    params: dict[str, Any]
    capabilities: Mapping[str, Any] | None = None


def read_tool_call(scope: Scope) -> ToolCall | None:
    """None for everything but a plain call of a tool: the SDK says what is wrong with it, or answers it in its own way."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    version = headers.get(b"mcp-protocol-version", DEFAULT_NEGOTIATED_VERSION)
    if version not in HANDSHAKE_PROTOCOL_VERSIONS or not _speaks_json(headers):
        return None
    try:
        message = orjson.loads(scope["workrail.body"])
    except orjson.JSONDecodeError:
        return None
    match message:
        case {"jsonrpc": "2.0", "method": "tools/call", "id": str() | int() as id_, "params": dict() as params} if (
            not isinstance(id_, bool)
        ):
            return ToolCall(id=id_, version=version, params=params, capabilities=_declared(headers))
        case _:
            return None


async def answer_tool_call(*, server: Server[Any], call: ToolCall, send: Send) -> None:
    message = await answer_one(
        server=server,
        request_id=call.id,
        method="tools/call",
        params=call.params,
        version=call.version,
        capabilities=call.capabilities,
    )
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": orjson.dumps(message)})


async def answer_one(
    *,
    server: Server[Any],
    request_id: str | int,
    method: str,
    params: dict[str, Any],
    version: str,
    capabilities: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The answer to one request of a revision that has sessions."""
    connection = Connection.from_envelope(version, None, capabilities)
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
    context = Context(request_id=request_id)
    try:
        message["result"] = await serve_one(server, context, method, params, connection=connection, lifespan_state={})
    except Exception as error:  # noqa: BLE001  as the SDK tells them, of whatever kind
        message["error"] = modern_error_data(error).model_dump(mode="json", by_alias=True, exclude_unset=True)
    return message


def _declared(headers: Mapping[bytes, str]) -> Mapping[str, Any] | None:
    return declared_by(headers.get(SESSION_HEADER, ""))


def _speaks_json(headers: Mapping[bytes, str]) -> bool:
    accepted = {_media_type(part) for part in headers.get(b"accept", "").split(",")}
    return not accepted.isdisjoint({_JSON, "*/*"}) and _media_type(headers.get(b"content-type", "")) == _JSON


def _media_type(text: str) -> str:
    return text.partition(";")[0].strip().lower()
