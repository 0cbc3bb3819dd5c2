"""Where clients sign on: the addresses of the server that hands out tokens, and of each MCP server that takes them.

It imports nothing of OAuth, so that the door of MCP can name an address without the weight of it.
"""

from django.conf import settings

from workrail_site.dialects.introductions import INTRODUCTIONS

MCP_PATH = "/oauth/mcp"
ISSUER_PATH = "/oauth"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
DEFAULT_DIALECT = "rail"


def base_of(*, scheme: str, host: str) -> str:
    """The address of this server: the one that it was told, or else the one that was asked for, which was checked before."""
    return settings.OAUTH_URL or f"{scheme}://{host}"


def is_under(path: str) -> bool:
    return path == MCP_PATH or path.startswith(f"{MCP_PATH}/")


def resource_of(*, base: str, dialect: str) -> str:
    return f"{base}{MCP_PATH}/{dialect}"


def resource_at(*, base: str, path: str) -> str:
    """What the tokens of an address are made for; the bare address is the rail's."""
    return resource_of(base=base, dialect=path.removeprefix(MCP_PATH).strip("/") or DEFAULT_DIALECT)


def is_resource(*, base: str, resource: str) -> bool:
    return any(resource == resource_of(base=base, dialect=dialect) for dialect in INTRODUCTIONS)


def metadata_of(*, base: str, path: str) -> str:
    """Where a client that was refused reads how it signs on."""
    dialect = path.removeprefix(MCP_PATH).strip("/") or DEFAULT_DIALECT
    return f"{base}{RESOURCE_METADATA}{MCP_PATH}/{dialect}"


def issuer_of(*, base: str) -> str:
    return f"{base}{ISSUER_PATH}"
