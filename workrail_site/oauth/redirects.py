"""Where an answer may be sent to: to a site by TLS, to a program on the person's own machine, or to one of a few known editors."""

import re
from urllib.parse import urlsplit

MAX_CHARACTERS = 2048
MOST = 10
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# What RFC 3986 lets stand in an address, without a fragment.
_URI = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]+")
# A host as a person reads it and a browser goes there, with a port. It is shown, and stands in a policy, in which a star or a semicolon means more.
_PLACE = re.compile(r"([\w.-]+|\[::1\])(:\d+)?", re.ASCII)
# Editors that register a scheme of their own with the system. Any other scheme could belong to anybody.
EDITORS = ("cursor", "vscode", "vscode-insiders", "windsurf", "zed")


def is_allowed(uri: str) -> bool:
    if len(uri) > MAX_CHARACTERS or not _URI.fullmatch(uri):
        return False
    try:
        parts = urlsplit(uri)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return False
    if not _PLACE.fullmatch(parts.netloc):
        return False
    match parts.scheme:
        case "https":
            return True
        case "http":
            return host in LOOPBACK
        case scheme:
            return scheme in EDITORS


def is_of_a_site(uri: str) -> bool:
    return urlsplit(uri).scheme == "https"


def place_of(uri: str) -> str:
    """How a person reads it."""
    parts = urlsplit(uri)
    if parts.scheme == "http":
        return "a program on your own machine"
    return parts.netloc if parts.scheme == "https" else f"the program that opens {parts.scheme}: links on your machine"


def source_of(uri: str) -> str:
    """As a Content-Security-Policy names it."""
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in {"http", "https"} else f"{parts.scheme}:"
