"""The environment variables of what the starter runs. What its own environment names always wins."""

import sys
from collections.abc import Mapping
from pathlib import Path

from workrail_site.local.keys import LocalKeys
from workrail_site.local.places import Places
from workrail_site.local.servers import Addresses

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
_EVERY_INTERFACE = frozenset({"0.0.0.0", "::", ""})


def application_environ(
    environ: Mapping[str, str], *, places: Places, keys: LocalKeys, addresses: Addresses
) -> dict[str, str]:
    defaults = {"WORKRAIL_ENV": "development", "DJANGO_SETTINGS_MODULE": "workrail_site.settings", **keys.as_environ()}
    forced = {
        **addresses.as_environ(),
        "WORKRAIL_HOME": str(places.home),
        "PATH": _path_with_tools(environ),
        # A crash report must not stay in a buffer.
        "PYTHONUNBUFFERED": "1",
    }
    return with_defaults(environ, defaults) | forced


def with_defaults(environ: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """An empty variable counts as one that is not there, as in the settings."""
    given = {name: value for name, value in environ.items() if value.strip()}
    return {**defaults, **given}


def allowed_hosts(environ: Mapping[str, str], *, host: str) -> str:
    """The names that the site answers to, when its environment does not say: this machine, and the address asked for."""
    named = environ.get("WORKRAIL_ALLOWED_HOSTS", "").strip()
    asked_for = () if host in _EVERY_INTERFACE else (bracketed(host),)
    return named or ",".join(dict.fromkeys((*_LOCAL_HOSTS, *asked_for)))


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def reachable_host(host: str) -> str:
    """The address to give to a browser on this machine."""
    return "127.0.0.1" if host in _EVERY_INTERFACE else host


def _path_with_tools(environ: Mapping[str, str]) -> str:
    tools = str(Path(sys.prefix) / "bin")
    return f"{tools}:{environ['PATH']}" if environ.get("PATH") else tools
