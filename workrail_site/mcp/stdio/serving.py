"""A dialect of this installation, for a client that speaks by lines. Importing this loads Django's half of the house."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from contextvars import copy_context
from functools import partial
from typing import Any

import structlog
from django.utils import timezone
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request

from teams_app.engine.actors import Actor, Door
from teams_app.engine.errors import UnauthenticatedError, WorkrailError
from teams_app.engine.ids import uuid7
from traces_app.services.recording import close_recorder
from workrail_site import admission
from workrail_site.dialects.lookup.faults import fault_of
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.answers import ToolReply, protocol_error, refusal_of, result_of
from workrail_site.mcp.calling import Caller, caller, calls_as
from workrail_site.mcp.exchange import Context
from workrail_site.mcp.faults import told_of
from workrail_site.mcp.messages import Request, RpcError
from workrail_site.mcp.revisions import SEED
from workrail_site.mcp.stdio.greeting import LOOKUP
from workrail_site.mcp.stdio.lines import FatalError
from workrail_site.mcp.toolsets import DialectServer, all_servers, no_such_method, reply_or_fault
from workrail_site.mcp.workers import Workers

# Beside its tools, what the other dialects offer too.
_OFFERED = frozenset({"resources/list", "resources/templates/list", "resources/read", "prompts/list", "prompts/get"})
# There is nobody else whose turn it could be.
_ONE = "the client"
_SEED_ORDER = ("workflow_list", "workflow_get", "workflow_next", "workflow_validate")
_SEED_MEMBERS = ("name", "description", "inputSchema", "outputSchema", "examples")


_Answers = Callable[[Request, str | None, Mapping[str, Any]], Coroutine[Any, Any, Any]]


class ServedDialect:
    """One thread works, one message at a time; each is admitted anew, so that a key which was revoked ends here too."""

    def __init__(self, dialect: str, *, key: str, text_only: bool) -> None:
        self._key = key
        self._text_only = text_only
        self._workers = Workers(threads=1)
        self._runner = asyncio.Runner()
        server = all_servers()[dialect]
        self._answer: _Answers = (
            _LookupAnswers(server, self._workers) if dialect == LOOKUP else _SdkAnswers(server, self._workers)
        )
        self._is_lookup = dialect == LOOKUP

    def answer(self, request: Request, *, version: str | None, client: Mapping[str, Any]) -> Any:
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=_new_request_id())
        calls_as(Caller(actor=self._admitted(), text_only=self._text_only))
        return self._runner.run(self._answer(request, version, client), context=copy_context())

    def close(self) -> None:
        self._workers.close()
        self._runner.close()
        close_recorder()

    def _admitted(self) -> Actor:
        if not self._key:
            refusal: WorkrailError = UnauthenticatedError(
                "This process has no agent key.", suggestion="Set WORKRAIL_KEY to a key (wr_key_…) of your team."
            )
            raise FatalError(_as_rpc(refusal, is_lookup=self._is_lookup))
        try:
            return self._runner.run(self._workers.run(partial(_admit, self._key), party=_ONE), context=copy_context())
        except Exception as error:  # noqa: BLE001  the outermost: a defect is logged and told in words that tell nothing
            refusal = refusal_of(error)
        raise _as_rpc(refusal, is_lookup=self._is_lookup)


def _admit(key: str) -> Actor:
    return admission.admit_key(text=key, door=Door.MCP, now=timezone.now())


def _new_request_id() -> str:
    return str(uuid7(unix_ms=int(timezone.now().timestamp() * 1000), random=os.urandom(10)))


def _as_rpc(refusal: WorkrailError, *, is_lookup: bool) -> RpcError:
    if is_lookup:
        fault = fault_of(refusal, {})
        return RpcError(fault.code, dict(fault.data), message=fault.message)
    error = protocol_error(refusal)
    return RpcError(error.code, error.data, message=error.message)


class _LookupAnswers:
    """The contract's own words: four tools as methods too, and its errors with their numbers."""

    def __init__(self, server: DialectServer, workers: Workers) -> None:
        self._workers = workers
        self._others = _SdkAnswers(server, workers)
        self._tools = {tool.name: tool for tool in server.tools()}

    async def __call__(self, request: Request, _version: str | None, _client: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in request.params.items() if name != "_meta"}
        match request.method:
            case "tools/list" if given.get("cursor"):
                raise RpcError(RpcCode.INVALID_PARAMS, {"details": "this list has one page and gave no cursor"})
            case "tools/list":
                return {"tools": self._declared()}
            case name if name in _OFFERED:
                return await self._others(request, SEED, {})
            case "tools/call":
                return await self._call(given)
            case name if name in self._tools:
                return (await self._reply(name, given)).value
            case name:
                raise rpc_error_of(no_such_method(name))

    async def _call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = given.get("name"), given.get("arguments") or {}
        if not isinstance(name, str):
            raise RpcError(RpcCode.INVALID_PARAMS, {"details": "name is required"})
        if not isinstance(arguments, dict):
            raise RpcError(RpcCode.INVALID_PARAMS, {"details": "arguments must be an object"})
        if name not in self._tools:
            raise rpc_error_of(no_such_method(name))
        reply = await self._reply(name, arguments)
        result = result_of(reply, text_only=caller().text_only)
        return {key: result[key] for key in ("content", "structuredContent") if key in result}

    async def _reply(self, name: str, given: Mapping[str, Any]) -> ToolReply:
        try:
            return await self._workers.run(partial(reply_or_fault, self._tools[name], fault_of, given), party=_ONE)
        except Exception as error:  # noqa: BLE001  faults among them
            raise rpc_error_of(error) from None

    def _declared(self) -> list[dict[str, Any]]:
        names = [*_SEED_ORDER, *(name for name in self._tools if name not in _SEED_ORDER)]
        said = [self._tools[name].declaration() for name in names]
        return [{member: tool[member] for member in _SEED_MEMBERS if member in tool} for tool in said]


class _SdkAnswers:
    """What the SDK answers, message by message. Its own loop leaves lines that are no messages without a word."""

    def __init__(self, server: DialectServer, workers: Workers) -> None:
        self._sdk: Server[Any] = server.for_sdk(workers=workers)

    async def __call__(self, request: Request, version: str | None, client: Mapping[str, Any]) -> Any:
        connection = _connection(request, version, client)
        context = Context(request_id="" if request.id is None else request.id)
        try:
            return await serve_one(
                self._sdk, context, request.method, request.params, connection=connection, lifespan_state={}
            )
        except RpcError:
            raise
        except Exception as error:  # noqa: BLE001  as the SDK tells them, of whatever kind
            raise rpc_error_of(error) from None


def rpc_error_of(error: Exception) -> RpcError:
    data = told_of(error)
    return RpcError(data.code, data.data, message=data.message)


def _connection(request: Request, version: str | None, client: Mapping[str, Any]) -> Connection:
    if version is not None:
        return Connection.from_envelope(version, client.get("clientInfo"), client.get("capabilities"))
    route = classify_inbound_request({"method": request.method, "params": dict(request.params)})
    if isinstance(route, InboundLadderRejection):
        raise RpcError(route.code, route.data, message=route.message)
    return Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
