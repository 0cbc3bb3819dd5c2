"""Names of version 1 of the MCP SDK, given back to version 2 for django-mcp-server, which was written for the first.

Only its declarations are used here: classes that are toolsets, whose methods are tools. What travels is served by the SDK
itself. Whoever imports `mcp_server` imports this before; the order of INSTALLED_APPS sees to it.
"""

from typing import Any

import mcp.server
from mcp.server import MCPServer


class FastMCP(MCPServer[Any]):
    """The old class: its name, the order of its arguments, and the two attributes that were read from outside."""

    _event_store = None

    def __init__(self, name: str | None = None, instructions: str | None = None, **settings: Any) -> None:
        super().__init__(name, instructions=instructions, **settings)

    @property
    def _mcp_server(self) -> Any:
        return self._lowlevel_server


mcp.server.FastMCP = FastMCP  # type: ignore[attr-defined]  # the attribute that version 2 no longer has
