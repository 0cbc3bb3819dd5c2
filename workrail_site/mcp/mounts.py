"""The ASGI application of everything under /mcp: each dialect at its own address, and the rail at the bare one too."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack

from django.conf import settings

from teams_app.engine.errors import NotFoundError
from traces_app.services.recording import close_recorder
from workrail_site.bodies import Receive, Scope, Send
from workrail_site.mcp.door import AdmittingDoor
from workrail_site.mcp.endpoint import McpEndpoint
from workrail_site.mcp.toolsets import DialectServer, all_servers
from workrail_site.mcp.workers import Workers
from workrail_site.oauth import addresses

_ROOT = "/mcp"
_DEFAULT = "rail"

# What the SDK tells of itself at INFO is one line for each request, with session ids in it; the door writes its own.
logging.getLogger("mcp").setLevel(logging.WARNING)


class Mounts:
    """Lives as long as the process: the lifespan starts the endpoints and ends their streams and threads."""

    def __init__(self, servers: Mapping[str, DialectServer], *, threads: int, max_body_bytes: int) -> None:
        self._workers = Workers(threads=threads)
        self._endpoints = {
            name: McpEndpoint(server, workers=self._workers, max_body_bytes=max_body_bytes)
            for name, server in servers.items()
        }
        self._door = AdmittingDoor(self._serve, workers=self._workers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._door(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"])
        root = addresses.MCP_PATH if addresses.is_under(path) else _ROOT
        name = dialect_at(path)
        endpoint = self._endpoints.get(name)
        if endpoint is None:
            raise NotFoundError(
                "No MCP server has this address.",
                suggestion=f"Use one of: {', '.join(f'{root}/{known}' for known in sorted(self._endpoints))}.",
            )
        scope["workrail.route"] = f"{root}/{name}"
        await endpoint(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            async with AsyncExitStack() as stack:
                for endpoint in self._endpoints.values():
                    await stack.enter_async_context(endpoint.run())
                await send({"type": "lifespan.startup.complete"})
                await receive()
        finally:
            # Connections to the database are closed in a thread: Django refuses it where an event loop runs.
            await asyncio.to_thread(self._close)
        await send({"type": "lifespan.shutdown.complete"})

    def _close(self) -> None:
        self._workers.close()
        # The server's processes may leave without `atexit`.
        close_recorder()


def dialect_at(path: str) -> str:
    """The name behind /mcp/<name>, or behind /oauth/mcp/<name>; the bare address is the rail's."""
    return path.removeprefix(addresses.MCP_PATH).removeprefix(_ROOT).strip("/") or _DEFAULT


application = Mounts(all_servers(), threads=settings.MCP_THREADS, max_body_bytes=settings.MAX_BODY_BYTES)
