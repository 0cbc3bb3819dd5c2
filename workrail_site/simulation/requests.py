"""Calls of a simulation, as their callers repeat them: word for word."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from sessions_app.services.moves.moving import Entropy
from sessions_app.services.moves.speech import Reply
from teams_app.engine.actors import Actor


class DiedError(BaseException):
    """The process of the call is gone, with all that it knew. No service may catch it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAnswer:
    """`data` is what a repetition has to be answered, `value` what the caller reads."""

    data: bytes
    value: Mapping[str, Any]


def of_reply(reply: Reply) -> CallAnswer:
    return CallAnswer(data=reply.data, value=reply.value)


Call = Callable[[Actor, datetime, Entropy], CallAnswer]


class SimulatedCaller(Protocol):
    """Somebody who calls, and knows what was answered."""

    name: str
    actor: Actor

    def next_request(self) -> "SimulatedRequest | None": ...

    def take(self, request: "SimulatedRequest", answer: CallAnswer) -> None: ...


@dataclass(slots=True, kw_only=True, eq=False)
class SimulatedRequest:
    """`is_named` says that a repetition is the same attempt, `mark` what only this request says.

    `recorded` is the reply that was stored for it, `transitions` how many it has written in all its deliveries.
    """

    number: int
    caller: SimulatedCaller
    name: str
    call: Call
    actor: Actor
    is_named: bool = True
    mark: str = ""
    recorded: bytes | None = None
    transitions: int = 0
    deliveries: int = 0
    is_answered: bool = False
    made: list[UUID] = field(default_factory=list)

    def told(self) -> str:
        return f"{self.caller.name} {self.name} #{self.number}"
