"""How a client is told of this server: one snippet for each, ready to paste."""

import json
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

_HERE = "/mcp/rail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    slug: str
    label: str
    place: str
    text: str


def snippets_of(request: HttpRequest, *, key: str) -> tuple[Snippet, ...]:
    base = settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
    header = f"Authorization: Bearer {key}"
    server = {"type": "http", "url": base + _HERE, "headers": {"Authorization": f"Bearer {key}"}}
    return (
        Snippet(
            slug="claude",
            label="Claude Code",
            place="In a terminal",
            text=f'claude mcp add --transport http workrail {base}{_HERE} \\\n  --header "{header}"',
        ),
        Snippet(
            slug="cursor",
            label="Cursor",
            place="In .cursor/mcp.json",
            text=json.dumps({"mcpServers": {"workrail": server}}, indent=2),
        ),
        Snippet(
            slug="mcp",
            label="Other MCP",
            place="Streamable HTTP",
            text=f"{base}{_HERE}\n{header}",
        ),
        Snippet(
            slug="rest",
            label="REST",
            place="In a terminal",
            text=f"curl {base}/api/v1/whoami \\\n  -H '{header}'",
        ),
    )
