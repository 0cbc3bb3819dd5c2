"""What a client hears first by lines, with a handshake or without one, before anything of Django or of the SDK is loaded."""

from collections.abc import Mapping
from typing import Any

from workrail_site.dialects.introductions import INTRODUCTIONS, VERSION
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.messages import RpcError
from workrail_site.mcp.revisions import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LATEST_WITH_HANDSHAKE,
    SEED,
    SERVER_KEY,
    VERSION_KEY,
    WITH_HANDSHAKE,
    WITHOUT_SESSIONS,
)

LOOKUP = "lookup"
_LOOKUP_INFO = {
    "name": "workflowlookup",
    "version": "1.0.0",
    "description": "Workflow Orchestration System MCP Server",
}
# What each dialect's server is able to, as it says itself when it is loaded.
CAPABILITIES: Mapping[str, Any] = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}


def greet(dialect: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to `initialize`. Raises RpcError when the client says no version, or one that the dialect does not speak."""
    requested = _requested(params)
    if dialect == LOOKUP:
        return _greet_lookup(requested)
    version = requested if requested in WITH_HANDSHAKE else LATEST_WITH_HANDSHAKE
    return {"protocolVersion": version, "serverInfo": _server_info(dialect), **_told(dialect)}


def discover(dialect: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer to `server/discover`; None for what is not exactly in order, which the SDK judges."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or len(params) > 1 or CAPABILITIES_KEY not in meta:
        return None
    if meta.get(VERSION_KEY) not in WITHOUT_SESSIONS or not meta.keys() <= {VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY}:
        return None
    return {
        "resultType": "complete",
        "supportedVersions": list(WITHOUT_SESSIONS),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_KEY: _server_info(dialect)},
        **_told(dialect),
    }


def _told(dialect: str) -> dict[str, Any]:
    return {"capabilities": dict(CAPABILITIES), "instructions": INTRODUCTIONS[dialect].instructions}


def _server_info(dialect: str) -> dict[str, str]:
    return {"name": f"workrail-{dialect}", "title": INTRODUCTIONS[dialect].title, "version": VERSION}


def _requested(params: Mapping[str, Any]) -> str:
    for name, kind in (("protocolVersion", str), ("capabilities", dict)):
        if name not in params:
            raise RpcError(RpcCode.INVALID_PARAMS, {"details": f"{name} is required"})
        if not isinstance(params[name], kind):
            what = "a string" if kind is str else "an object"
            raise RpcError(RpcCode.INVALID_PARAMS, {"details": f"{name} must be {what}"})
    return str(params["protocolVersion"])


def _greet_lookup(requested: str) -> dict[str, Any]:
    if requested != SEED:
        data = {"supportedVersions": [SEED], "requestedVersion": requested}
        raise RpcError(RpcCode.SERVER, data, message="Unsupported protocol version")
    return {
        "protocolVersion": SEED,
        "capabilities": {
            "tools": {"listChanged": False, "notifyProgress": False},
            "resources": {"listChanged": False},
        },
        "serverInfo": dict(_LOOKUP_INFO),
    }
