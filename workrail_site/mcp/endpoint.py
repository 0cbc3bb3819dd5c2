"""One address for clients of every kind: with a session, without one, and of the revision that knows none."""

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from workrail_site.bodies import Message, Receive, Scope
from workrail_site.errors import MethodNotAllowedError
from workrail_site.mcp.exchange import answer_tool_call, read_tool_call
from workrail_site.wsgi_in_asgi import Send

_METHODS = ("POST", "DELETE")
_SESSION_HEADER = b"mcp-session-id"
_MAX_SESSIONS = 1_000
_IDLE_SECONDS = 15 * 60
_MOST_REMEMBERED = 50_000


class Endpoint:
    """An MCP session holds nothing that a call needs: who calls is in the key, where the work stands is in the tokens.

    So a session is a courtesy to clients that begin with `initialize`. A call that brings a session of another process,
    or of this one before it was started anew, is served all the same, without a session.
    """

    def __init__(self, server: Server[Any], *, max_body_bytes: int) -> None:
        self._sessionful = StreamableHTTPSessionManager(
            app=server,
            json_response=True,
            session_idle_timeout=_IDLE_SECONDS,
            max_sessions=_MAX_SESSIONS,
            max_request_body_size=max_body_bytes,
        )
        self._stateless = StreamableHTTPSessionManager(
            app=server, json_response=True, stateless=True, max_request_body_size=max_body_bytes
        )
        self._server = server
        self._begun_here: OrderedDict[bytes, None] = OrderedDict()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._sessionful.run())
            await stack.enter_async_context(self._stateless.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in _METHODS:
            raise _not_allowed(scope["method"])
        if self._does_without_session(scope):
            await self._serve_alone(scope, receive, send)
            return
        # The SDK serves a session to the one who began it, and tells anybody else that there is none.
        token = AccessToken(token="", client_id=scope["workrail.actor"].id, scopes=[])
        scope["user"] = AuthenticatedUser(token)
        await self._sessionful.handle_request(scope, receive, self._remembering(send))

    async def _serve_alone(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = read_tool_call(scope)
        if call is None:
            await self._stateless.handle_request(scope, receive, send)
        else:
            await answer_tool_call(server=self._server, call=call, send=send)

    def _does_without_session(self, scope: Scope) -> bool:
        """A farewell is a session's own; a call needs none, unless it begins one."""
        if scope["method"] != "POST":
            return False
        session = next((value for name, value in scope["headers"] if name == _SESSION_HEADER), None)
        if session is not None:
            return session not in self._begun_here
        return not begins_session(scope["workrail.body"])

    def _remembering(self, send: Send) -> Send:
        async def remember(message: Message) -> None:
            if message["type"] == "http.response.start":
                for name, value in message.get("headers", ()):
                    if name == _SESSION_HEADER:
                        self._remember(value)
            await send(message)

        return remember

    def _remember(self, session: bytes) -> None:
        self._begun_here[session] = None
        if len(self._begun_here) > _MOST_REMEMBERED:
            self._begun_here.popitem(last=False)


def _not_allowed(method: str) -> MethodNotAllowedError:
    """Of GET the protocol says so: a server that has nothing to say unasked offers no stream. An open stream would also
    keep a server that is told to stop from stopping, and a connection for every client that is idle.
    """
    return MethodNotAllowedError(
        f"{method[:20]} is not served here: every answer comes with its call.",
        suggestion=f"Use {' or '.join(_METHODS)}.",
        details={"allow": list(_METHODS)},
    )


def begins_session(body: bytes) -> bool:
    if b'"initialize"' not in body:
        return False
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(message, dict) and message.get("method") == "initialize"
