"""Toolsets of django-mcp-server, served by the SDK: a class is a toolset, and each of its public methods is a tool.

The class attribute `mcp_server` of a toolset names one of the servers here. A method's annotations are the tool's input
schema and its docstring what the model reads of it; it answers a `ToolReply` or raises a refusal of the house.
"""

import pkgutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import Any

import mcp_types
import orjson
from mcp.server import Server, ServerRequestContext
from mcp.server.mcpserver.tools import Tool as SdkTool, ToolManager
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from teams_app.engine.closest import closest
from teams_app.engine.errors import NotFoundError, WorkrailError
from teams_app.engine.named_requests import CALL_KEY
from teams_app.engine.redaction import read_kept, shown_without_keys
from workrail_site import dialects
from workrail_site.dialects.introductions import VERSION, Introduction
from workrail_site.dialects.suggestions import in_words_of
from workrail_site.json_rpc import RPC_WORDS, RpcCode
from workrail_site.mcp.answers import ToolReply, protocol_error, refusal_of, refused, result_bytes, result_of
from workrail_site.mcp.arguments import read_arguments, under_own_names
from workrail_site.mcp.calling import TracedCall, acting, caller, given_to, name_call
from workrail_site.mcp.cursors import refuse_cursor
from workrail_site.mcp.eliciting import Asking, Conversation, may_ask
from workrail_site.mcp.exchange import CallTool
from workrail_site.mcp.faults import Faults
from workrail_site.mcp.library import ToolsetMeta
from workrail_site.mcp.named_calls import reply_once
from workrail_site.mcp.offering import offer
from workrail_site.mcp.schemas import advertised, input_schema
from workrail_site.mcp.workers import Workers
from workrail_site.parties import party_of

_HINTS = "_tool_hints"
_METHOD_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What clients ask before they let a model call: whether anything changes, and whether calling twice does more."""

    title: str
    read_only: bool = False
    idempotent: bool = False
    # Whether the tool itself knows a call by its name, for as long as there is what it began.
    knows_names: bool = False
    # Whether the contract prints the bounds of arguments, and what else it declares of the tool.
    bounds: bool = False
    declares: Mapping[str, Any] = field(default_factory=dict)

    @property
    def begins(self) -> bool:
        """Whether calling twice begins something twice, unless both calls have one name."""
        return not self.read_only and not self.idempotent

    def as_json(self) -> dict[str, Any]:
        """What is not as a client takes it to be when nothing is said."""
        if self.read_only:
            return {"readOnlyHint": True}
        return {"destructiveHint": False, **({"idempotentHint": True} if self.idempotent else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    dialect: str
    name: str
    description: str
    hints: Hints
    schema: Mapping[str, Any]
    arguments: type[BaseModel]
    method: Callable[..., ToolReply]
    # Other names that an argument is known by; they are read, and not advertised.
    renamed: Mapping[str, str] = field(default_factory=dict)

    def call(self, given: Mapping[str, Any], *, written: bool = False) -> dict[str, Any]:
        """In a worker's thread. Every refusal and every defect becomes a result or a protocol error."""
        try:
            return result_of(self.reply(given), text_only=caller().text_only, written=written)
        except Exception as error:  # noqa: BLE001  the outermost: a defect is logged and answered in words that tell nothing
            return refused(refusal_of(error))

    def reply(self, given: Mapping[str, Any]) -> ToolReply:
        """The reply itself. Raises a refusal, and nothing else: a defect is logged, and told in words that tell nothing."""
        traced = TracedCall(dialect=self.dialect, tool=self.name, given=given)
        try:
            kept = read_kept(under_own_names(given, self.renamed))
            arguments = read_arguments(tool=self.name, model=self.arguments, schema=self.schema, given=kept.value)
            reply = self._replied(arguments, given).telling(hidden=kept.hidden)
        except Exception as error:  # noqa: BLE001  the outermost of a tool
            refusal = in_words_of(self.dialect, refusal_of(error))
            traced.ended(reply=None, error_code=refusal.code)
            raise refusal from None
        traced.ended(reply=reply.value)
        return reply

    def _replied(self, arguments: Mapping[str, Any], given: Mapping[str, Any]) -> ToolReply:
        begin = partial(self.method, **arguments)
        if not self.hints.begins or self.hints.knows_names:
            return begin()
        return reply_once(place=f"{self.dialect} {self.name}", given=given, begin=begin)

    def declaration(self) -> dict[str, Any]:
        """As `tools/list` prints it, in as few words as do. A tool has an output schema only where its contract asks for it:
        some clients hold even a refusal against one.
        """
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": dict(self.schema) if self.hints.bounds else advertised(self.schema),
            "annotations": self.hints.as_json(),
            **self.hints.declares,
        }


class DialectServer:
    """The tools of one dialect."""

    def __init__(
        self, introduction: Introduction, *, faults: Faults | None = None, asking: Asking | None = None
    ) -> None:
        """With `faults` the dialect has errors of JSON-RPC of its own, and its tools are methods as well. With `asking` its
        questions are put to the user by clients that can.
        """
        self.asking = asking
        self.name = introduction.name
        self.faults = faults
        self._introduction = introduction
        self._tools: dict[str, Tool] = {}

    def register_mcptoolset(self, toolset: Any) -> None:
        """As the library calls it. Of its own tools only the declarations are used: it would run each in the one thread
        that asgiref keeps for everything.
        """
        for declared in toolset._add_tools_to(_Declarations()):  # noqa: SLF001  what the library's own server does here
            method = getattr(toolset, declared.name)
            self._tools[declared.name] = Tool(
                dialect=self.name,
                name=declared.name,
                description=_unwrapped(declared.description),
                hints=getattr(method, _HINTS),
                schema=input_schema(declared.fn_metadata.arg_model),
                arguments=declared.fn_metadata.arg_model,
                method=method,
                renamed=getattr(toolset, "renamed", {}).get(declared.name, {}),
            )

    def tools(self) -> tuple[Tool, ...]:
        return tuple(self._tools[name] for name in sorted(self._tools))

    def for_sdk(self, *, workers: Workers) -> Server[Any]:
        named = {CALL_KEY: [tool.name for tool in self.tools() if tool.hints.begins]}
        declarations = _declared([tool.declaration() for tool in self.tools()], named)
        # A client that holds a result against its schema would miss the JSON that a caller has asked to be left out.
        without_schemas = _declared([_without_output_schema(tool.declaration()) for tool in self.tools()], named)

        async def list_tools(
            _context: ServerRequestContext[Any, Any], params: mcp_types.PaginatedRequestParams | None
        ) -> mcp_types.ListToolsResult:
            refuse_cursor(None if params is None else params.cursor)
            return without_schemas if caller().text_only else declarations

        async def call_tool(context: ServerRequestContext[Any, Any], params: mcp_types.CallToolRequestParams) -> Any:
            tool = self._tools.get(params.name)
            if tool is None:
                raise self._no_such_tool(params.name)
            name_call(params.meta)
            modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
            if self.asking is not None and tool.hints.idempotent and may_ask(context):
                conversation = Conversation(asking=self.asking, context=context, workers=workers)
                return await conversation.answer(tool.reply, params, given_to(params))
            work = partial(self.answer, tool, given_to(params), as_faults=not modern)
            return await workers.answer(work, party=party_of(acting()))

        server: Server[Any] = Server(
            f"workrail-{self.name}",
            title=self._introduction.title,
            version=VERSION,
            instructions=self._introduction.instructions,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            get_tool_input_schema=self._schema_of,
        )
        offer(server, dialect=self.name, workers=workers)
        if self.faults is not None:
            server.middleware.append(_naming_unknown_methods)
            for tool in self.tools():
                server.add_request_handler(tool.name, mcp_types.RequestParams, _as_method(tool, self.faults, workers))
        return server

    def directly(self, *, workers: Workers) -> CallTool | None:
        """Calls of tools without the SDK, for clients that bring no capabilities: those whose revision has a handshake."""

        async def call_tool(name: str, given: Mapping[str, Any], meta: Mapping[str, Any] | None) -> bytes:
            tool = self._tools.get(name)
            if tool is None:
                raise self._no_such_tool(name)
            name_call(meta)
            return await workers.answer(partial(self._answer_as_bytes, tool, given), party=party_of(acting()))

        return call_tool

    def _answer_as_bytes(self, tool: Tool, given: Mapping[str, Any]) -> bytes:
        return result_bytes(self.answer(tool, given, as_faults=True, written=True))

    def answer(self, tool: Tool, given: Mapping[str, Any], *, as_faults: bool, written: bool = False) -> dict[str, Any]:
        """The result of a call. Where the dialect has errors of its own, and the revision has room for them, a refusal is one."""
        if self.faults is None or not as_faults:
            return tool.call(given, written=written)
        return result_of(reply_or_fault(tool, self.faults, given), text_only=caller().text_only, written=written)

    def _schema_of(self, name: str) -> Mapping[str, Any] | None:
        tool = self._tools.get(name)
        return None if tool is None else tool.schema

    def _no_such_tool(self, name: str) -> MCPError:
        near = closest(name, self._tools)
        error = NotFoundError(
            f"This server has no tool {shown_without_keys(name, most=80)!r}.{f' Did you mean {near!r}?' if near else ''}",
            suggestion=f"The {self.name} dialect has: {', '.join(sorted(self._tools))}.",
        )
        return protocol_error(error, code=RpcCode.INVALID_PARAMS)


class _Declarations(ToolManager):
    """Collects what the library declares, without output schemas."""

    def add_tool(self, fn: Callable[..., Any], *args: Any, **options: Any) -> SdkTool:
        return super().add_tool(fn, *args, **{**options, "structured_output": False})


def _declared(tools: Sequence[dict[str, Any]], named: Mapping[str, Any]) -> mcp_types.ListToolsResult:
    """MCP has no place for examples but the metadata, nor for the tools whose calls may be named."""
    moved = [
        {**{key: value for key, value in tool.items() if key != "examples"}, "_meta": {"examples": tool["examples"]}}
        if "examples" in tool
        else tool
        for tool in tools
    ]
    return mcp_types.ListToolsResult.model_validate({"tools": moved, "_meta": named})


def _without_output_schema(declaration: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in declaration.items() if key != "outputSchema"}


def reply_or_fault(tool: Tool, faults: Faults, given: Mapping[str, Any]) -> ToolReply:
    try:
        return tool.reply(given)
    except WorkrailError as refusal:
        fault = faults(refusal, given)
        raise MCPError(code=fault.code, message=fault.message, data=dict(fault.data)) from None


def _as_method(
    tool: Tool, faults: Faults, workers: Workers
) -> Callable[[ServerRequestContext[Any, Any], mcp_types.RequestParams], Awaitable[dict[str, Any]]]:
    """The tool as a method by its own name, whose result is the bare value."""

    async def handle(context: ServerRequestContext[Any, Any], _params: mcp_types.RequestParams) -> dict[str, Any]:
        given = {name: value for name, value in (context.params or {}).items() if name != "_meta"}
        reply = await workers.answer(partial(reply_or_fault, tool, faults, given), party=party_of(acting()))
        return reply.value

    return handle


async def _naming_unknown_methods(ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
    """As the contract of such a dialect tells it. The SDK's own data of this error are the bare name."""
    try:
        return await call_next(ctx)
    except MCPError as error:
        if error.error.code != RpcCode.METHOD_NOT_FOUND:
            raise
        raise no_such_method(ctx.method) from None


def no_such_method(name: str) -> MCPError:
    shown = shown_without_keys(name, most=_METHOD_CHARACTERS)
    code = RpcCode.METHOD_NOT_FOUND
    return MCPError(code=code, message=RPC_WORDS[code], data={"method": shown})


def hinted(hints: Hints) -> Callable[[Callable[..., ToolReply]], Callable[..., ToolReply]]:
    """Every tool says its hints."""

    def decorate(method: Callable[..., ToolReply]) -> Callable[..., ToolReply]:
        setattr(method, _HINTS, hints)
        return method

    return decorate


@cache
def all_servers() -> Mapping[str, DialectServer]:
    """Every dialect by its name, with its tools. Nothing is imported for it before somebody asks: most processes serve
    no MCP.
    """
    for module in pkgutil.walk_packages(dialects.__path__, f"{dialects.__name__}."):
        import_module(module.name)
    servers: dict[str, DialectServer] = {}
    for _name, toolset in ToolsetMeta.iter_all():
        if isinstance(toolset.mcp_server, DialectServer):
            toolset.mcp_server.register_mcptoolset(toolset())
            servers[toolset.mcp_server.name] = toolset.mcp_server
    return servers


def tools_document(*, dialect: str) -> bytes:
    """The tools of a dialect as a file: what `tools/list` answers, in the order of names."""
    declared = [tool.declaration() for tool in all_servers()[dialect].tools()]
    return orjson.dumps({"tools": declared}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _unwrapped(docstring: str) -> str:
    """Paragraphs as single lines: line ends of the source are none of the model's business."""
    paragraphs = docstring.strip().split("\n\n")
    return "\n\n".join(" ".join(line.strip() for line in paragraph.splitlines()) for paragraph in paragraphs)
