"""django-mcp-server, of which the declarations are used: classes that are toolsets, whose methods are tools.

What travels is served by the SDK itself. The library was written for version 1 of the SDK, so names that it knows are given
back to version 2 here, before it is imported: import from here what is used of it. It is no Django application of ours: that
would load it, and the SDK, into every worker, and it has neither tables nor pages that we use.
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

from mcp_server.djangomcp import MCPToolset, ToolsetMeta  # noqa: E402  it asks for the name above

__all__ = ("MCPToolset", "ToolsetMeta")
