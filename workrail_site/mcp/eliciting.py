"""Questions that a client puts to its user itself: those of the user's own as a form, those of a signed-in person as an address.

On 2026-07-28 the call is answered with what is asked, and comes again with the answer. On 2025-11-25 an address is an error that
names it. Everybody else is told the question in the text of the reply, as ever.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, TypeVar

import anyio
import mcp_types
from django.conf import settings
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from sessions_app.engine.steering_refusals import OptionNotFoundError
from teams_app.engine.errors import RetryKind, WorkrailError
from workrail_site.mcp.answers import ToolReply, refusal_of, refused, result_of
from workrail_site.mcp.calling import acting, caller
from workrail_site.mcp.elicited_question import ElicitedQuestion
from workrail_site.mcp.revisions import LATEST_WITH_HANDSHAKE
from workrail_site.mcp.waiting import AnswerWait
from workrail_site.mcp.workers import Workers
from workrail_site.parties import party_of

_ANSWER = "answer"
_LONGEST_WAIT_MS = 5_000
_Context = ServerRequestContext[Any, Any]
T = TypeVar("T")


class Asking(Protocol):
    """What a dialect knows of its questions, and does with their answers. `given` are the arguments of the call."""

    def question_in(self, reply: ToolReply, given: Mapping[str, Any]) -> tuple[ToolReply, ElicitedQuestion | None]:
        """The reply, or what has come of it since it was recorded, with the question that it puts."""
        ...

    def answered(
        self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion, option_id: str
    ) -> ToolReply: ...

    def told_again(self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion) -> ToolReply: ...


def may_ask(context: _Context) -> bool:
    """Whether the client has said that it puts questions to its user, in a revision with a way to ask it."""
    capability = _capability(context)
    if capability is None:
        return False
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return True
    return context.protocol_version == LATEST_WITH_HANDSHAKE and capability.url is not None


def _capability(context: _Context) -> mcp_types.ElicitationCapability | None:
    said = context.session.client_capabilities
    return None if said is None else said.elicitation


class Conversation:
    """One call, with the question that its reply may hold."""

    def __init__(self, *, asking: Asking, context: _Context, workers: Workers) -> None:
        self._asking = asking
        self._context = context
        self._workers = workers

    async def answer(
        self,
        call: Callable[[Mapping[str, Any]], ToolReply],
        params: mcp_types.CallToolRequestParams,
        given: Mapping[str, Any],
    ) -> Any:
        try:
            reply = await self._run(partial(call, given))
            reply, question = await self._run(partial(self._asking.question_in, reply, given))
            if question is None:
                return self._told(reply)
            said = (params.input_responses or {}).get(question.key)
            if said is None and not params.input_responses:
                return await self._put(question, reply, given)
            return self._told(await self._after(reply, given, question, said))
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001  the outermost: a defect is logged and answered in words that tell nothing
            return refused(refusal_of(error))

    async def _put(self, question: ElicitedQuestion, reply: ToolReply, given: Mapping[str, Any]) -> Any:
        """To the user, unless a person has answered already."""
        told = await self._since(reply, given, question)
        return (self._asked(question) if told is reply else None) or self._told(told)

    def _asked(self, question: ElicitedQuestion) -> mcp_types.InputRequiredResult | None:
        """What the client is to ask; None when it has no way of that kind."""
        capability = _capability(self._context)
        if capability is None:
            return None
        if self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            if question.url and capability.url is not None:
                raise _elsewhere(question)
            return None
        if question.url and capability.url is None:
            return None
        if not question.url and capability.form is None and capability.url is not None:
            return None
        request = mcp_types.ElicitRequest(params=_by_address(question) if question.url else _by_form(question))
        return mcp_types.InputRequiredResult(input_requests={question.key: request})

    async def _after(
        self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion, said: Any
    ) -> ToolReply:
        """A user who declines leaves the question to the conversation, where it stands in the text."""
        if not isinstance(said, mcp_types.ElicitResult) or said.action != "accept":
            return await self._since(reply, given, question)
        if question.url:
            return await self._answered_by_person(reply, given, question)
        answer = partial(self._asking.answered, reply, given, question, _option_in(question, said.content or {}))
        try:
            return await self._run(answer)
        except WorkrailError as refusal:
            await _wait_as_asked(refusal)
        return await self._run(answer)

    async def _since(self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion) -> ToolReply:
        """The reply, or what has come of the question by now."""
        return await self._run(partial(self._asking.told_again, reply, given, question))

    async def _answered_by_person(
        self, reply: ToolReply, given: Mapping[str, Any], question: ElicitedQuestion
    ) -> ToolReply:
        """Whoever opened the address may be about to answer: they are waited for, and not for long."""
        look = partial(self._asking.told_again, reply, given, question)
        waiting = AnswerWait(question.session_id, workers=self._workers, seconds=settings.ANSWER_WAIT_SECONDS)
        async with waiting:
            told = await self._run(look)
            while told is reply and await waiting.has_changed():
                told = await self._run(look)
        return told

    async def _run(self, work: Callable[[], T]) -> T:
        return await self._workers.answer(work, party=party_of(acting()))

    def _told(self, reply: ToolReply) -> dict[str, Any]:
        return result_of(reply, text_only=caller().text_only)


def _option_in(question: ElicitedQuestion, content: Mapping[str, Any]) -> str:
    """What the form was filled in with. Anything else is refused before it uses up a token."""
    known = [option_id for option_id, _label in question.options]
    said = content.get(_ANSWER)
    if not isinstance(said, str) or said not in known:
        raise OptionNotFoundError(
            f"The form names no option of {question.name}; it has {', '.join(known)}.",
            suggestion="Make the same call again, so that your user is asked once more.",
        )
    return said


async def _wait_as_asked(refusal: WorkrailError) -> None:
    """An answer that came too early to have been read is given again when it may be. Any other refusal stands."""
    left_ms = refusal.retry.after_ms
    if refusal.retry.kind is not RetryKind.AFTER_MS or left_ms is None or left_ms > _LONGEST_WAIT_MS:
        raise refusal
    await anyio.sleep(left_ms / 1000)


def _by_form(question: ElicitedQuestion) -> mcp_types.ElicitRequestFormParams:
    choices = [{"const": option_id, "title": label} for option_id, label in question.options]
    answer = {"type": "string", "title": question.title, "oneOf": choices}
    schema = {"type": "object", "properties": {_ANSWER: answer}, "required": [_ANSWER]}
    return mcp_types.ElicitRequestFormParams(message=question.message, requested_schema=schema)


def _by_address(question: ElicitedQuestion) -> mcp_types.ElicitRequestURLParams:
    return mcp_types.ElicitRequestURLParams(message=_who(question), url=question.url)


def _elsewhere(question: ElicitedQuestion) -> MCPError:
    asked = {"mode": "url", "elicitationId": question.key, "url": question.url, "message": _who(question)}
    message = f"{_who(question)} Answer it at {question.url}, then repeat the same call."
    return MCPError(code=mcp_types.URL_ELICITATION_REQUIRED, message=message, data={"elicitations": [asked]})


def _who(question: ElicitedQuestion) -> str:
    return f"A signed-in person answers this: {question.message}"
