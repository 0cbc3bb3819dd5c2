"""How a client is told of this server: one snippet for each, ready to paste."""

from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from teams_app.engine.client_kit import ClientName, setup_for

_HERE = "/mcp/rail"
# Where the key goes, as long as there is none.
NO_KEY = "wr_key_…"
# In the order in which they are shown; Claude Desktop needs a checkout, which the Studio knows nothing of.
_SHOWN = tuple(client for client in ClientName if client is not ClientName.CLAUDE_DESKTOP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    slug: str
    label: str
    place: str
    text: str


def snippets_of(request: HttpRequest, *, key: str) -> tuple[Snippet, ...]:
    base = settings.PUBLIC_URL or f"{request.scheme}://{request.get_host()}"
    header = f"Authorization: Bearer {key}"
    setups = [setup_for(client=client, url=base + _HERE, key=key) for client in _SHOWN]
    return (
        *(Snippet(slug=each.client.value, label=each.label, place=each.place, text=each.text) for each in setups),
        Snippet(
            slug="rest",
            label="REST",
            place="In a terminal",
            text=f"curl {base}/api/v1/whoami \\\n  -H '{header}'",
        ),
    )
