"""How each client is told of a server: what to paste, and where. One source for the documents, the Studio, `up` and `connect`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

KEY_VARIABLE = "WORKRAIL_KEY"
NAME = "workrail"
# These show their model the JSON of a reply and keep the text from it; the text is easier to follow.
_REPLY = {"Workrail-Reply": "text"}


class ClientName(StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VS_CODE = "vscode"
    CODEX = "codex"
    GEMINI = "gemini"
    ANTIGRAVITY = "antigravity"
    WINDSURF = "windsurf"
    DEVIN = "devin"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """`file` is where `text` goes, relative to the home unless it begins with a dot and a project; empty for a command."""

    client: ClientName
    label: str
    place: str
    text: str
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnFile:
    """Of a client that is told of a server by a file of JSON: what stands around the address there."""

    label: str
    file: str
    address: str = "url"
    beside: Mapping[str, str] = field(default_factory=dict)
    servers: str = "mcpServers"


_FILES: Mapping[ClientName, _OwnFile] = {
    ClientName.CURSOR: _OwnFile(label="Cursor", file=".cursor/mcp.json"),
    ClientName.VS_CODE: _OwnFile(label="VS Code", file=".vscode/mcp.json", beside={"type": "http"}, servers="servers"),
    ClientName.GEMINI: _OwnFile(label="Gemini CLI", file=".gemini/settings.json", address="httpUrl"),
    ClientName.ANTIGRAVITY: _OwnFile(label="Antigravity", file=".gemini/config/mcp_config.json", address="serverUrl"),
    ClientName.WINDSURF: _OwnFile(label="Windsurf", file=".codeium/windsurf/mcp_config.json", address="serverUrl"),
    ClientName.DEVIN: _OwnFile(label="Devin CLI", file=".config/devin/config.json", beside={"transport": "http"}),
}


def setup_for(*, client: ClientName, url: str, key: str, starter: str = "./workrail") -> Setup:
    """`key` may be a key, or the name of the environment variable that holds one, as that client writes it."""
    headers = {"Authorization": f"Bearer {key}", **_REPLY}
    match client:
        case ClientName.CLAUDE_CODE:
            flags = " ".join(f'--header "{name}: {value}"' for name, value in headers.items())
            text = f"claude mcp add --transport http {NAME} {url} {flags}"
            return Setup(client=client, label="Claude Code", place="In a terminal", text=text)
        case ClientName.CLAUDE_DESKTOP:
            bridge = {
                "command": starter,
                "args": ["mcp", "--url", url, "--reply", "text"],
                "env": {KEY_VARIABLE: key},
            }
            return _file(client, "Claude Desktop", "claude_desktop_config.json", {"mcpServers": {NAME: bridge}})
        case ClientName.CODEX:
            text = (
                f'[mcp_servers.{NAME}]\nurl = "{url}"\nbearer_token_env_var = "{KEY_VARIABLE}"\n'
                'http_headers = { "Workrail-Reply" = "text" }'
            )
            place = f"In .codex/config.toml of your home, with {KEY_VARIABLE} in the environment"
            return Setup(client=client, label="Codex", place=place, text=text, file=".codex/config.toml")
        case ClientName.OTHER:
            text = _printed({"mcpServers": {NAME: {"type": "http", "url": url, "headers": headers}}})
            return Setup(client=client, label="Other MCP", place="Any client of Streamable HTTP", text=text)
        case _:
            own = _FILES[client]
            server = {own.address: url, **own.beside, "headers": headers}
            return _file(client, own.label, own.file, {own.servers: {NAME: server}})


def merged(existing: Mapping[str, Any], addition: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says already, and our server beside it. Nothing else of the file is touched."""
    result = dict(existing)
    for key, value in addition.items():
        held = result.get(key)
        result[key] = (
            merged(held, value) if isinstance(held, dict) and isinstance(value, dict) and key != NAME else value
        )
    return result


def _file(client: ClientName, label: str, file: str, document: Mapping[str, Any]) -> Setup:
    place = f"In {file}"
    return Setup(client=client, label=label, place=place, text=_printed(document), file=file)


def _printed(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)
