"""Who calls, for as long as a request lasts, and the trace that the call leaves when it has ended. Authentication sets the caller before
anything of the SDK runs; the trace takes a few microseconds and never breaks a call.
"""

import time
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from mcp_types import CallToolRequestParams

from sessions_app.engine.runs import Dialect
from teams_app.engine.actors import Actor
from teams_app.engine.named_requests import CALL_KEY, read_name
from teams_app.services.row_scope import enter_scope_of
from traces_app.services.recording import record_call
from traces_app.services.writing import Noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`text_only` is asked for by clients that would show their model the JSON and keep the text from it."""

    actor: Actor
    text_only: bool = False
    # The caller's name for this one request, as it came.
    request_key: object = ""


_caller: ContextVar[Caller] = ContextVar("mcp_caller")
_aside: ContextVar[Mapping[str, Any] | None] = ContextVar("mcp_arguments_aside", default=None)


def calls_as(caller: Caller) -> None:
    """For the rest of this request. A message of an MCP session runs in the context of the request that brought it."""
    _caller.set(caller)
    _aside.set(None)
    enter_scope_of(caller.actor)


def name_call(meta: object) -> None:
    """What a client calls this one call of a tool, in its metadata. Of several messages in one request each has its own."""
    said = meta.get(CALL_KEY) if isinstance(meta, Mapping) else None
    known = _caller.get()
    if known.request_key or said is not None:
        _caller.set(replace(known, request_key="" if said is None else said))


def call_name() -> str:
    """Empty where the call has no name. Raises InvalidInputError for what is none."""
    return read_name(_caller.get().request_key)


def caller() -> Caller:
    """Raises LookupError when nobody was authenticated, so that a door without a lock serves nothing."""
    return _caller.get()


def acting() -> Actor:
    return caller().actor


def set_aside(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a call of a tool for the SDK, which reads on the event loop, piece by piece. It does nothing with the
    arguments but to hand them on, so it is given none: `given_to` has them.
    """
    arguments = params.get("arguments")
    _aside.set(arguments if isinstance(arguments, dict) else None)
    return {**params, "arguments": {}} if isinstance(arguments, dict) else dict(params)


def given_to(params: CallToolRequestParams) -> Mapping[str, Any]:
    """The arguments of the call at hand."""
    return params.arguments or _aside.get() or {}


_DIALECTS = {dialect.value: dialect for dialect in Dialect}
_under_way: ContextVar["TracedCall"] = ContextVar("mcp_traced_call")


class TracedCall:
    """Begins with its making. Calls of a server that is no dialect of ours, and calls of nobody, leave no trace."""

    __slots__ = ("_began_ns", "_dialect", "_given", "_tool", "noted")

    def __init__(self, *, dialect: str, tool: str, given: Mapping[str, Any]) -> None:
        self._dialect = _DIALECTS.get(dialect)
        self._tool = tool
        self._given = given
        self.noted: Noted | None = None
        _under_way.set(self)
        self._began_ns = time.perf_counter_ns()

    def ended(self, *, reply: Mapping[str, Any] | None, error_code: str = "") -> None:
        duration_ns = time.perf_counter_ns() - self._began_ns
        try:
            actor = caller().actor
        except LookupError:
            return
        if self._dialect is None:
            return
        record_call(
            actor=actor,
            dialect=self._dialect,
            tool=self._tool,
            arguments=self._given,
            reply=reply,
            error_code=error_code,
            ended_ns=time.time_ns(),
            duration_ns=duration_ns,
            noted=self.noted,
        )


def note_call(noted: Noted) -> None:
    """For a dialect whose tokens or replies do not tell where a call belongs, or what it warns of: of the call under way."""
    call = _under_way.get(None)
    if call is not None:
        call.noted = noted
