"""Resources, prompts and completion on a server of the SDK, which every dialect offers alike."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import mcp_types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from teams_app.engine.errors import NotFoundError
from workrail_site.dialects.offers import completing, prompts, reading
from workrail_site.json_rpc import RpcCode
from workrail_site.mcp.answers import protocol_error, refusal_of
from workrail_site.mcp.calling import acting
from workrail_site.mcp.cursors import refuse_cursor
from workrail_site.mcp.workers import Workers
from workrail_site.parties import party_of

# As the revisions before 2026-07-28 say it; that one keeps the number for itself.
_NO_RESOURCE = -32002
_Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


def offer(server: Server[Any], *, dialect: str, workers: Workers) -> None:
    offering = _Offering(dialect, workers)
    server.add_request_handler("resources/list", mcp_types.PaginatedRequestParams, offering.resources)
    server.add_request_handler("resources/templates/list", mcp_types.PaginatedRequestParams, offering.templates)
    server.add_request_handler("resources/read", mcp_types.ReadResourceRequestParams, offering.resource)
    server.add_request_handler("prompts/list", mcp_types.PaginatedRequestParams, offering.prompts)
    server.add_request_handler("prompts/get", mcp_types.GetPromptRequestParams, offering.prompt)
    server.add_request_handler("completion/complete", mcp_types.CompleteRequestParams, offering.completion)


class _Offering:
    def __init__(self, dialect: str, workers: Workers) -> None:
        self._dialect = dialect
        self._workers = workers

    async def resources(
        self, _context: _Context, params: mcp_types.PaginatedRequestParams
    ) -> mcp_types.ListResourcesResult:
        listed = await self._run(partial(reading.list_resources, actor=acting(), cursor=params.cursor))
        return mcp_types.ListResourcesResult.model_validate(listed)

    async def templates(
        self, _context: _Context, params: mcp_types.PaginatedRequestParams
    ) -> mcp_types.ListResourceTemplatesResult:
        refuse_cursor(params.cursor)
        return mcp_types.ListResourceTemplatesResult.model_validate({"resourceTemplates": reading.TEMPLATES})

    async def resource(
        self, context: _Context, params: mcp_types.ReadResourceRequestParams
    ) -> mcp_types.ReadResourceResult:
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        missing = RpcCode.INVALID_PARAMS if modern else _NO_RESOURCE
        work = partial(reading.read_resource, actor=acting(), uri=str(params.uri))
        read = await self._run(work, missing=missing, uri=str(params.uri))
        return mcp_types.ReadResourceResult.model_validate(read)

    async def prompts(
        self, _context: _Context, params: mcp_types.PaginatedRequestParams
    ) -> mcp_types.ListPromptsResult:
        listed = await self._run(partial(prompts.list_prompts, actor=acting(), cursor=params.cursor))
        return mcp_types.ListPromptsResult.model_validate(listed)

    async def prompt(self, _context: _Context, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        work = partial(
            prompts.get_prompt,
            actor=acting(),
            dialect=self._dialect,
            name=params.name,
            arguments=params.arguments or {},
        )
        return mcp_types.GetPromptResult.model_validate(await self._run(work))

    async def completion(self, _context: _Context, params: mcp_types.CompleteRequestParams) -> mcp_types.CompleteResult:
        given = params.context.arguments if params.context and params.context.arguments else {}
        work = partial(
            completing.complete,
            actor=acting(),
            ref=params.ref.model_dump(by_alias=True),
            name=params.argument.name,
            value=params.argument.value,
            given=given,
        )
        found = await self._run(work)
        completion = mcp_types.Completion(values=list(found.values), total=found.total, has_more=found.has_more)
        return mcp_types.CompleteResult(completion=completion)

    async def _run(self, work: Callable[[], T], *, missing: int = RpcCode.INVALID_PARAMS, uri: str = "") -> T:
        """In a worker. Refusals are errors of the protocol here: no model reads these answers."""
        try:
            return await self._workers.run(work, party=party_of(acting()))
        except Exception as error:  # noqa: BLE001  the outermost: a defect is logged and told in words that tell nothing
            refusal = refusal_of(error)
        if isinstance(refusal, NotFoundError):
            data = {**refusal.as_json(), **({"uri": reading.shown_address(uri)} if uri else {})}
            raise MCPError(code=missing, message=refusal.message, data=data)
        raise protocol_error(refusal)
