"""One address for clients of every kind: those that begin with `initialize`, and those of the revision that knows none."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from workrail_site.bodies import Receive, Scope, Send
from workrail_site.errors import MethodNotAllowedError
from workrail_site.mcp.batches import answer_batch, is_batch
from workrail_site.mcp.declared import remembering
from workrail_site.mcp.envelopes import LONG_BYTES, read_ahead, read_message, without_arguments
from workrail_site.mcp.exchange import answer_request, answer_tool_call, read_tool_call, said_version
from workrail_site.mcp.media import check_media
from workrail_site.mcp.toolsets import DialectServer
from workrail_site.mcp.workers import Workers
from workrail_site.parties import party_of

_GREETING = "initialize"
_FAREWELL = "DELETE"
_METHODS = ("POST", _FAREWELL)


class McpEndpoint:
    """No MCP session is ever held. It would hold nothing that a call needs: who calls is in the key, where the work stands
    is in the tokens. So there is none to run out, to be lost with a process, or to be used up by somebody else.

    A client that opens addresses for its user is given an id that says so. One that brings the id of another server is
    served as if it had brought none.
    """

    def __init__(self, dialect: DialectServer, *, workers: Workers, max_body_bytes: int) -> None:
        self._workers = workers
        self._server = dialect.for_sdk(workers=workers)
        self._call_tool = dialect.directly(workers=workers)
        self._stateless = StreamableHTTPSessionManager(
            app=self._server, json_response=True, stateless=True, max_request_body_size=max_body_bytes
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with self._stateless.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in _METHODS:
            raise _not_allowed(scope["method"])
        if scope["method"] == _FAREWELL:
            await _say_goodbye(send)
            return
        if len(scope["workrail.body"]) > LONG_BYTES:
            await self._workers.run(partial(read_ahead, scope), party=party_of(scope["workrail.actor"]))
        call = read_tool_call(scope)
        if call is not None:
            await answer_tool_call(server=self._server, call_tool=self._call_tool, call=call, send=send)
            return
        check_media(scope)
        if is_batch(scope):
            await answer_batch(server=self._server, scope=scope, send=send)
            return
        message = await read_message(scope, send)
        if message is None:
            return
        version = said_version(scope)
        if version in HANDSHAKE_PROTOCOL_VERSIONS and "id" in message and message["method"] != _GREETING:
            await answer_request(server=self._server, message=message, version=version, send=send)
        else:
            await self._stateless.handle_request(scope, without_arguments(scope, receive), remembering(scope, send))


async def _say_goodbye(send: Send) -> None:
    """A client ends the session that it believes to have. There is nothing to forget, and nothing to complain of."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def _not_allowed(method: str) -> MethodNotAllowedError:
    """Of GET the protocol says so: a server that has nothing to say unasked offers no stream. An open stream would also
    keep a server that is told to stop from stopping, and a connection for every client that is idle.
    """
    return MethodNotAllowedError(
        f"{method[:20]} is not served here: every answer comes with its call.",
        suggestion=f"Use {' or '.join(_METHODS)}.",
        details={"allow": list(_METHODS)},
    )
