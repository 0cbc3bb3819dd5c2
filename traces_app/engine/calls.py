"""A tool call as the trace keeps it, and how it is told in the words of the activity dialects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from sessions_app.engine.runs import Dialect
from teams_app.engine.ids import Prefix, to_text

# Reading the trace is not part of the work that the trace tells of.
# Defects and outages of ours; whatever else is refused, the caller can mend.
_FAILURES = frozenset({"INTERNAL_ERROR", "SERVICE_UNAVAILABLE"})


class TraceOutcome(StrEnum):
    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"


def outcome_of(*, error_code: str) -> TraceOutcome:
    """`error_code` is empty for a call that was answered."""
    if not error_code:
        return TraceOutcome.OK
    return TraceOutcome.FAILED if error_code in _FAILURES else TraceOutcome.REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCall:
    """`activity` and `step_key` are where the run stood before the call. The id tells when the call ended."""

    id: UUID
    session_id: UUID | None
    run_id: UUID | None
    workflow_id: str
    dialect: Dialect
    tool: str
    actor_id: str
    actor_name: str
    agent_id: str
    activity: str
    step_key: str
    started_at: datetime
    duration_us: int
    outcome: TraceOutcome
    error_code: str = ""
    warnings: Sequence[Mapping[str, Any]] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    request_id: str = ""

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(microseconds=self.duration_us)


def as_span(call: TraceCall) -> dict[str, Any]:
    """One event of a trace as it is told. `err` and `vw` are there only when there is something to say."""
    span: dict[str, Any] = {
        "traceId": "" if call.session_id is None else to_text(Prefix.SESSION, call.session_id),
        "spanId": to_text(Prefix.TRACE, call.id),
        "name": call.tool,
        "ts": int(call.started_at.timestamp()),
        "ms": round(call.duration_us / 1000, 3),
        "s": "ok" if call.outcome is TraceOutcome.OK else "error",
        "wf": call.workflow_id,
        "act": call.activity,
        "aid": call.agent_id,
    }
    if call.error_code:
        span["err"] = call.error_code
    if call.warnings:
        span["vw"] = [str(warning.get("message", "")) for warning in call.warnings]
    return span
