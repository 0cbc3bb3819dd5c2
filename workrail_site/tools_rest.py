"""Every tool of every dialect by REST: the same arguments, the same answer, and refusals in the form of REST.

The tools are loaded when the first of them is called: what serves no MCP never needs them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from rest_framework.views import APIView

from teams_app.api.endpoints import Call, Shape, operation
from teams_app.engine.closest import closest
from teams_app.engine.errors import NotFoundError
from teams_app.engine.named_requests import REQUEST_KEY, read_name
from workrail_site.dialects.introductions import INTRODUCTIONS

if TYPE_CHECKING:
    from workrail_site.mcp.toolsets import Tool


class ToolAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool as `tools/list` tells it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any]


class ToolsAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    dialect: str
    title: str
    instructions: str
    tools: list[ToolAnswer]


class SchemaForm(StrEnum):
    """As they are, for OpenAI's strict mode, or for Gemini."""

    PLAIN = "plain"
    OPENAI = "openai"
    GEMINI = "gemini"


class ToolsQuery(Shape, frozen=True):
    schemas: SchemaForm = SchemaForm.PLAIN


class ToolsView(APIView):
    @operation(summary="The tools of a dialect, with the schemas of their arguments")
    def get(self, *, call: Call, dialect: str, query: ToolsQuery) -> ToolsAnswer:  # noqa: ARG002  who asks has been admitted
        tools = _tools_of(dialect)
        introduction = INTRODUCTIONS[dialect]
        return ToolsAnswer(
            dialect=dialect,
            title=introduction.title,
            instructions=introduction.instructions,
            tools=[_told(tool, query.schemas) for _name, tool in sorted(tools.items())],
        )


class ToolView(APIView):
    @operation(
        summary="Call a tool: the body holds its arguments, the answer is its structured content",
        headers=(REQUEST_KEY,),
        answer=dict[str, Any],
    )
    def post(self, *, call: Call, dialect: str, tool: str, body: dict[str, Any]) -> msgspec.Raw:
        from workrail_site.mcp.calling import Caller, calls_as  # noqa: PLC0415  see above

        found, name = _tool(dialect, tool), read_name(self.request.headers.get(REQUEST_KEY, ""))
        calls_as(Caller(actor=call.actor, request_key=name))
        return msgspec.Raw(msgspec.json.encode(found.reply(body).value))


def _told(tool: "Tool", form: SchemaForm) -> ToolAnswer:
    from workrail_site.mcp.strict import Form, in_form  # noqa: PLC0415  see above

    said = tool.declaration()
    return ToolAnswer(
        name=tool.name,
        title=tool.hints.title,
        description=said["description"],
        input_schema=in_form(said["inputSchema"], Form(form.value)),
        annotations=said["annotations"],
    )


def _tool(dialect: str, name: str) -> "Tool":
    tools = _tools_of(dialect)
    if name not in tools:
        near = closest(name, tools)
        raise NotFoundError(
            f"The dialect {dialect} has no tool {name[:80]!r}.{f' Did you mean {near!r}?' if near else ''}",
            suggestion=f"It has: {', '.join(sorted(tools))}.",
        )
    return tools[name]


def _tools_of(dialect: str) -> Mapping[str, "Tool"]:
    if dialect not in INTRODUCTIONS:
        raise NotFoundError(
            f"There is no dialect {dialect[:80]!r}.", suggestion=f"There are: {', '.join(sorted(INTRODUCTIONS))}."
        )
    from workrail_site.mcp.toolsets import all_servers  # noqa: PLC0415  see above

    return {tool.name: tool for tool in all_servers()[dialect].tools()}
