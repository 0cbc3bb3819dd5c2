"""Who answers a client that speaks by lines to this process: a dialect, with a key from the environment."""

import traceback
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.messages import Request, RpcError
from workrail_site.mcp.revisions import BATCHES, VERSION_KEY
from workrail_site.mcp.stdio.greeting import LOOKUP, discover, greet
from workrail_site.mcp.stdio.lines import FatalError, FinishedError


class Served(Protocol):
    """A dialect with all that it needs, loaded when it is first asked for."""

    def answer(self, request: Request, *, version: str | None, client: Mapping[str, Any]) -> Any: ...


class DialectTalk:
    """`load` brings the dialect; a version of None is a request that says its own."""

    def __init__(self, dialect: str, *, load: Callable[[], Served]) -> None:
        self._dialect = dialect
        self._load = load
        self._served: Served | None = None
        self._version = ""
        self._client: Mapping[str, Any] = {}

    def takes_batches(self) -> bool:
        return self._version == BATCHES

    def notice(self, request: Request) -> None:
        """Nothing that a client tells is waited for: what it asks is answered in order."""

    def answer(self, request: Request) -> Any:
        match request.method:
            case "initialize":
                answer = greet(self._dialect, request.params)
                self._version, self._client = answer["protocolVersion"], request.params
                return answer
            case "ping":
                return {}
            case "shutdown":
                raise FinishedError
            case "server/discover" if self._says_version(request) and (
                found := discover(self._dialect, request.params)
            ):
                return found
            case _:
                return self._answer_by_dialect(request)

    def _answer_by_dialect(self, request: Request) -> Any:
        version = None if self._says_version(request) else self._version
        if version == "":
            raise RpcError(RpcCode.INVALID_REQUEST, {"details": "initialize comes first"})
        if self._served is None:
            self._served = self._loaded()
        return self._served.answer(request, version=version, client=self._client)

    def _loaded(self) -> Served:
        try:
            return self._load()
        except Exception as error:
            traceback.print_exc()
            details = "The server could not be started; its standard error says why."
            raise FatalError(RpcError(RpcCode.INTERNAL, {"details": details})) from error

    def _says_version(self, request: Request) -> bool:
        """A revision without sessions; the contract of lookup knows none."""
        meta = request.params.get("_meta") if isinstance(request.params, dict) else None
        return self._dialect != LOOKUP and isinstance(meta, dict) and VERSION_KEY in meta
