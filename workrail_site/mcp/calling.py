"""Who calls, for as long as a request lasts. Authentication sets it before anything of the SDK runs."""

from contextvars import ContextVar
from dataclasses import dataclass

from teams_app.engine.actors import Actor
from teams_app.services.row_scope import enter_scope_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """`text_only` is asked for by clients that would show their model the JSON and keep the text from it."""

    actor: Actor
    text_only: bool = False
    # The caller's name for this one request, where the door has a place for it.
    request_key: str = ""


_caller: ContextVar[Caller] = ContextVar("mcp_caller")


def calls_as(caller: Caller) -> None:
    """For the rest of this request. A message of an MCP session runs in the context of the request that brought it."""
    _caller.set(caller)
    enter_scope_of(caller.actor)


def caller() -> Caller:
    """Raises LookupError when nobody was authenticated, so that a door without a lock serves nothing."""
    return _caller.get()


def acting() -> Actor:
    return caller().actor
