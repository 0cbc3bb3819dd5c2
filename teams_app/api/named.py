"""Requests with an Idempotency-Key: begun once, whoever asks how often."""

from collections.abc import Callable
from datetime import datetime

from teams_app.engine.actors import Actor
from teams_app.engine.named_requests import asked_digest
from teams_app.services import named_requests


def begin_once(
    *, actor: Actor, name: str, place: str, body: object, now: datetime, begin: Callable[[], bytes]
) -> bytes:
    """The answer of `begin`, or what it answered to the same request before."""
    asked = asked_digest(place=place, body=body)
    known = named_requests.take_name(actor=actor, name=name, asked=asked, now=now)
    if known is not None:
        return known
    try:
        answer = begin()
    except Exception as error:
        named_requests.give_name_back(actor=actor, name=name, error=error)
        raise
    named_requests.keep_answer(actor=actor, name=name, answer=answer)
    return answer
