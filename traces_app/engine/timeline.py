"""What a run did over time, from its calls alone: a lane for each run, stretches of one activity, gaps, and what went wrong."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from uuid import UUID

from traces_app.engine.calls import TraceCall, TraceOutcome

# Longer without a call, and somebody was thinking, waiting for an answer, or away.
GAP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Calls one after the other while the run stood in one activity, or at one step where there are no activities."""

    label: str
    started_at: datetime
    ended_at: datetime
    busy_us: int
    calls: int
    warnings: int
    refusals: int
    failures: int

    @property
    def duration(self) -> timedelta:
        return self.ended_at - self.started_at


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineGap:
    started_at: datetime
    ended_at: datetime

    @property
    def duration(self) -> timedelta:
        return self.ended_at - self.started_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The calls of one run; `run_id` is None for calls of a session that belong to no run."""

    run_id: UUID | None
    workflow_id: str
    spans: Sequence[Span]
    gaps: Sequence[TimelineGap]
    calls: int
    warnings: int
    refusals: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Lanes in the order of their first calls. `is_cut` tells that there were earlier calls, which are not in it; they came
    before `first_call`.
    """

    lanes: Sequence[Lane] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    calls: int = 0
    is_cut: bool = False
    first_call: UUID | None = None


def timeline_of(*, calls: Iterable[TraceCall], is_cut: bool = False) -> Timeline:
    ordered = sorted(calls, key=_place)
    if not ordered:
        return Timeline(is_cut=is_cut)
    lanes: dict[UUID | None, list[TraceCall]] = {}
    for call in ordered:
        lanes.setdefault(call.run_id, []).append(call)
    return Timeline(
        lanes=tuple(_lane(run_id, of_run) for run_id, of_run in lanes.items()),
        started_at=min(call.started_at for call in ordered),
        ended_at=max(call.ended_at for call in ordered),
        calls=len(ordered),
        is_cut=is_cut,
        first_call=min(call.id for call in ordered),
    )


def label_of(call: TraceCall) -> str:
    return call.activity or call.step_key.rpartition("::")[2]


def _place(call: TraceCall) -> tuple[datetime, UUID]:
    return call.started_at, call.id


def _lane(run_id: UUID | None, calls: Sequence[TraceCall]) -> Lane:
    return Lane(
        run_id=run_id,
        workflow_id=next((call.workflow_id for call in calls if call.workflow_id), ""),
        spans=tuple(_span(label, list(of_label)) for label, of_label in groupby(calls, key=label_of)),
        gaps=tuple(_gaps(calls)),
        calls=len(calls),
        warnings=_warnings(calls),
        refusals=_count(calls, TraceOutcome.REFUSED),
        failures=_count(calls, TraceOutcome.FAILED),
    )


def _span(label: str, calls: Sequence[TraceCall]) -> Span:
    return Span(
        label=label,
        started_at=calls[0].started_at,
        ended_at=max(call.ended_at for call in calls),
        busy_us=sum(call.duration_us for call in calls),
        calls=len(calls),
        warnings=_warnings(calls),
        refusals=_count(calls, TraceOutcome.REFUSED),
        failures=_count(calls, TraceOutcome.FAILED),
    )


def _gaps(calls: Sequence[TraceCall]) -> Iterator[TimelineGap]:
    """Measured from the end of the last call that was under way: calls of one run may overlap."""
    ended_at = calls[0].ended_at
    for before, call in pairwise(calls):
        ended_at = max(ended_at, before.ended_at)
        if call.started_at - ended_at >= GAP:
            yield TimelineGap(started_at=ended_at, ended_at=call.started_at)


def _warnings(calls: Sequence[TraceCall]) -> int:
    return sum(len(call.warnings) for call in calls)


def _count(calls: Sequence[TraceCall], outcome: TraceOutcome) -> int:
    return sum(call.outcome is outcome for call in calls)
