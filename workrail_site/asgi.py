"""One address: MCP on its own ASGI application, everything else on Django's WSGI handler in threads.

Django's own ASGI handler costs a synchronous view half a millisecond before it does anything; docs/decisions says more.
"""

import os
import resource
import socket
import stat
import sys
from contextlib import nullcontext, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workrail_site.settings")

from django.conf import settings

from teams_app import jobs
from workrail_site import booting, celery, early, heap, patience  # noqa: F401  booting acts when it is imported
from workrail_site.bodies import HeardOut, Message, Receive, Scope, Send, has_body
from workrail_site.header_budget import find_excess
from workrail_site.oauth import addresses
from workrail_site.parties import Parties
from workrail_site.wsgi import application as django_application
from workrail_site.wsgi_in_asgi import TAKEN_WITHIN_SECONDS, AsgiApplication, WsgiApplication, WsgiInAsgi

_MCP_MODULE = "workrail_site.mcp.mounts"
_MCP_PATH = "/mcp"
# These two read tables, so they are imported when Django is ready.
_REST_MODULE = "workrail_site.rest_direct"
_LIVE_MODULE = "workrail_site.live"
_LIVE_PATH = "/studio/live/"
_REST_PATH, _STREAM = "/api/v1/", "/stream"
# Who watches over this process must not have to wait for those whom it serves.
_APART = frozenset({"/readyz", "/metrics"})
# Of the largest body that is read: who sends more of one that is refused meets a closed connection.
_MOST_LET_PASS = 2

# A connection is a file, and by itself a process may have fewer of those than the server below has places for connections.
_MOST_FILES = 16_384


def _allow_files() -> None:
    own, allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if allowed == resource.RLIM_INFINITY else min(_MOST_FILES, allowed)
    if own != resource.RLIM_INFINITY and own < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, allowed))


@cache
def _hang_up_on_whoever_takes_nothing() -> None:
    """The server below hands an answer to the system and waits for ever: what is not taken would hold its connection and stay in
    memory. A connection has the limit of the socket that it was accepted from, which is open when the first request is there.
    """
    folder = Path("/proc/self/fd")
    if not folder.is_dir() or not hasattr(socket, "TCP_USER_TIMEOUT"):
        return
    for number in [int(each.name) for each in folder.iterdir()]:
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                _limit_where_accepted(number)


def _limit_where_accepted(number: int) -> None:
    with socket.socket(fileno=os.dup(number)) as found:
        if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(TAKEN_WITHIN_SECONDS * 1000))


# A thread that computes hands on the interpreter so soon that those who only pass through are not held up by it.
_HAND_ON_AFTER_SECONDS = 0.001
sys.setswitchinterval(_HAND_ON_AFTER_SECONDS)
_allow_files()
patience.limit_statements(statement_ms=settings.STATEMENT_TIMEOUT_MS)
patience.limit_publishing(app=celery.app)


class Shell:
    """Chooses by path. The lifespan belongs to MCP when it is there: Django has none."""

    def __init__(
        self, *, django: AsgiApplication, mcp: AsgiApplication | None, live: AsgiApplication | None = None
    ) -> None:
        self._django = django
        self._mcp = mcp
        self._live = live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            _hang_up_on_whoever_takes_nothing()
        if scope["type"] == "http" and has_body(scope):
            heard = HeardOut(scope, receive, send, most_bytes=_MOST_LET_PASS * settings.MAX_UPLOAD_BYTES)
            receive, send = heard.receive, heard.send
        application = self._application_for(scope)
        messages = _at_once(scope) if application is not self._mcp else ()
        for message in messages:
            await send(message)
        if not messages:
            with jobs.asking_beside() if scope["type"] == "lifespan" else nullcontext():
                await application(scope, receive, send)

    def _application_for(self, scope: Scope) -> AsgiApplication:
        if self._mcp is not None and _is_for_mcp(scope):
            return self._mcp
        if self._live is not None and scope["type"] == "http" and _is_stream(str(scope["path"])):
            return self._live
        return self._django


def _at_once(scope: Scope) -> tuple[Message, ...]:
    """What is answered on the event loop. The door of MCP refuses by itself, in the form of its protocol."""
    if scope["type"] != "http":
        return ()
    excess = find_excess(scope)
    if excess is not None:
        return early.refusal(scope, excess)
    return early.alive(scope) if early.asks_whether_alive(scope) else ()


def _is_stream(path: str) -> bool:
    return path.startswith(_LIVE_PATH) or (path.startswith(_REST_PATH) and path.rstrip("/").endswith(_STREAM))


def _is_for_mcp(scope: Scope) -> bool:
    if scope["type"] == "lifespan":
        return True
    path = str(scope["path"])
    return path == _MCP_PATH or path.startswith(_MCP_PATH + "/") or (settings.OAUTH and addresses.is_under(path))


def _mcp_application() -> AsgiApplication | None:
    if find_spec(_MCP_MODULE) is None:
        return None
    return cast("AsgiApplication", import_module(_MCP_MODULE).application)


_django = WsgiInAsgi(
    cast("WsgiApplication", import_module(_REST_MODULE).RestDirect(django_application)),
    threads=settings.WEB_THREADS,
    max_body_bytes=settings.MAX_UPLOAD_BYTES,
    parties=Parties(),
    apart=_APART,
    stopper=patience.query_stopper,
)
application = Shell(
    django=_django,
    mcp=_mcp_application(),
    live=cast("AsgiApplication", import_module(_LIVE_MODULE).Live(django=_django)),
)
heap.spare_what_was_imported()
