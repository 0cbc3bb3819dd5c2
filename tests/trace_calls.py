"""The props of the tests of traces: calls as a door hands them over."""

import time

from sessions_app.engine.runs import Dialect
from traces_app.services.writing import MadeCall, write_calls


def made(actor, tool="continue_workflow", *, arguments=None, reply=None, error_code="", ended_ns=None, **fields):
    return MadeCall(
        actor=actor,
        dialect=fields.pop("dialect", Dialect.RAIL),
        tool=tool,
        arguments=arguments or {},
        reply=reply,
        error_code=error_code,
        ended_ns=time.time_ns() if ended_ns is None else ended_ns,
        duration_ns=fields.pop("duration_ns", 1_500_000),
        **fields,
    )


def write(*calls):
    write_calls(calls=calls)


def at_ms(moment, offset_ms=0):
    """A moment as the end of a call."""
    return (int(moment.timestamp() * 1000) + offset_ms) * 1_000_000


def rows():
    from traces_app.models import TraceEvent

    return list(TraceEvent.objects.order_by("id"))
