"""One request of a revision that has sessions, by a client that holds none: asked and answered in one step.

The SDK's own way makes a transport with streams and tasks for each such request, and reads and writes each message by three
models: together twice the time of all else at this door. A call of a tool that holds nothing but its name and its arguments
is handed to the tool as it is. Whatever else it holds is read by the SDK, with its own middlewares and errors.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import orjson
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.message import MessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from workrail_site.bodies import Scope, Send
from workrail_site.mcp.calling import set_aside
from workrail_site.mcp.declared import SESSION_HEADER, declared_by
from workrail_site.mcp.envelopes import is_of_another_revision, message_in
from workrail_site.mcp.faults import told_of
from workrail_site.mcp.media import JSON, media_type, takes_json
from workrail_site.mcp.messages import is_id
from workrail_site.mcp.revisions import VERSION_HEADER

# The JSON of the result of a tool, by its name, its arguments and the metadata. Raises what a call of the SDK's raises.
CallTool = Callable[[str, Mapping[str, Any], Mapping[str, Any] | None], Awaitable[bytes]]

_TRANSPORT = TransportContext(kind="streamable-http", can_send_request=False)
_HEADERS = [(b"content-type", JSON)]
_TERMS = frozenset({VERSION_HEADER, SESSION_HEADER, b"accept", b"content-type"})
_UNSAID = DEFAULT_NEGOTIATED_VERSION.encode()
_CALL = "tools/call"
_PLAIN = frozenset({"name", "arguments", "_meta"})
_PROGRESS = "progressToken"
# What MCP keeps for itself of the metadata of a request.
_RESERVED = "io.modelcontextprotocol/"


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
    """`is_plain`: nothing but a name, arguments, and notes of the client's own, of a client that puts no questions."""

    id: str | int
    version: str
    params: dict[str, Any]
    capabilities: Mapping[str, Any] | None = None

    @property
    def is_plain(self) -> bool:
        params = self.params
        return (
            self.capabilities is None
            and _PLAIN.issuperset(params)
            and isinstance(params.get("name"), str)
            and isinstance(params.get("arguments", {}), dict)
            and _is_plain_meta(params.get("_meta", {}))
        )


def said_version(scope: Scope) -> str:
    return next((value for name, value in scope["headers"] if name == VERSION_HEADER), _UNSAID).decode("latin-1")


def read_tool_call(scope: Scope) -> ToolCall | None:
    """None for everything but a plain call of a tool: the SDK says what is wrong with it, or answers it in its own way."""
    said = {name: value for name, value in scope["headers"] if name in _TERMS}
    version = said.get(VERSION_HEADER, _UNSAID).decode("latin-1")
    if version not in HANDSHAKE_PROTOCOL_VERSIONS or not _speaks_json(said):
        return None
    try:
        message = message_in(scope)
    except ValueError:
        return None
    match message:
        case {"jsonrpc": "2.0", "method": "tools/call", "id": id_, "params": dict() as params} if is_id(id_):
            if is_of_another_revision(message, version if VERSION_HEADER in said else ""):
                return None
            return ToolCall(id=id_, version=version, params=params, capabilities=_declared(said))
        case _:
            return None


async def answer_tool_call(*, server: Server[Any], call_tool: CallTool | None, call: ToolCall, send: Send) -> None:
    if call_tool is not None and call.is_plain:
        message = await _plainly(call_tool, call)
    else:
        message = await answer_one(
            server=server,
            request_id=call.id,
            method=_CALL,
            params=call.params,
            version=call.version,
            capabilities=call.capabilities,
        )
    await _send_told(message, send)


async def answer_request(*, server: Server[Any], message: Mapping[str, Any], version: str, send: Send) -> None:
    """Any other request of a revision that has sessions."""
    told = await answer_one(
        server=server,
        request_id=message["id"],
        method=message["method"],
        params=dict(message.get("params") or {}),
        version=version,
    )
    await _send_told(told, send)


async def _send_told(told: Mapping[str, Any], send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": orjson.dumps(told)})


async def _plainly(call_tool: CallTool, call: ToolCall) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": call.id}
    params = call.params
    try:
        said = await call_tool(params["name"], params.get("arguments", {}), params.get("_meta"))
        message["result"] = orjson.Fragment(said)
    except Exception as error:  # noqa: BLE001  as the SDK tells them, of whatever kind
        message["error"] = _told(error)
    return message


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
    params = set_aside(params) if method == _CALL else params
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
    context = Context(request_id=request_id)
    try:
        message["result"] = await serve_one(server, context, method, params, connection=connection, lifespan_state={})
    except Exception as error:  # noqa: BLE001  as the SDK tells them, of whatever kind
        message["error"] = _told(error)
    return message


def _declared(said: Mapping[bytes, bytes]) -> Mapping[str, Any] | None:
    return declared_by(said.get(SESSION_HEADER, b"").decode("latin-1"))


def _told(error: Exception) -> dict[str, Any]:
    return told_of(error).model_dump(mode="json", by_alias=True, exclude_unset=True)


def _is_plain_meta(meta: object) -> bool:
    """Clients note what they like here. Names that MCP keeps for itself are read by the SDK, and so is what it would refuse."""
    if not isinstance(meta, dict) or any(name.startswith(_RESERVED) for name in meta):
        return False
    token = meta.get(_PROGRESS, "")
    return isinstance(token, str | int) and not isinstance(token, bool)


def _speaks_json(said: Mapping[bytes, bytes]) -> bool:
    return takes_json(said.get(b"accept", b"")) and media_type(said.get(b"content-type", b"")) == JSON
