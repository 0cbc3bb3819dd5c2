"""What the endpoints of the trace answer."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec

from sessions_app.engine.runs import Dialect
from teams_app.api.endpoints import Shape
from teams_app.engine.ids import Prefix, to_text
from traces_app.engine.calls import TraceCall, TraceOutcome
from traces_app.engine.timeline import Lane, Span, Timeline, TimelineGap

Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class TimelineQuery(Shape, frozen=True):
    """`before` is what the timeline of the later calls gave; `limit` is how many calls it is made of."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 500
    before: Annotated[str, msgspec.Meta(max_length=64)] | None = None


class TraceCallAnswer(Shape, frozen=True):
    """`activity` and `step` are where the run stood before the call; `arguments` are without secrets and cut short."""

    id: str
    session: str | None
    run: str | None
    workflow_id: str
    dialect: Dialect
    tool: str
    actor: str
    actor_name: str
    agent_id: str
    activity: str
    step: str
    started_at: Moment
    duration_us: int
    outcome: TraceOutcome
    error_code: str
    warnings: list[dict[str, Any]]
    arguments: dict[str, Any]
    request_id: str

    @staticmethod
    def of(call: TraceCall) -> "TraceCallAnswer":
        return TraceCallAnswer.taken(
            call,
            id=to_text(Prefix.TRACE, call.id),
            session=_text(Prefix.SESSION, call.session_id),
            run=_text(Prefix.RUN, call.run_id),
            actor=call.actor_id,
            step=call.step_key,
            warnings=[dict(warning) for warning in call.warnings],
            arguments=dict(call.arguments),
        )


class SpanAnswer(Shape, frozen=True):
    label: str
    started_at: Moment
    ended_at: Moment
    busy_us: int
    calls: int
    warnings: int
    refusals: int
    failures: int

    @staticmethod
    def of(span: Span) -> "SpanAnswer":
        return SpanAnswer.taken(span)


class GapAnswer(Shape, frozen=True):
    started_at: Moment
    ended_at: Moment

    @staticmethod
    def of(gap: TimelineGap) -> "GapAnswer":
        return GapAnswer(started_at=gap.started_at, ended_at=gap.ended_at)


class LaneAnswer(Shape, frozen=True):
    """`run` is null for calls of a session that belong to no run."""

    run: str | None
    workflow_id: str
    calls: int
    warnings: int
    refusals: int
    failures: int
    spans: list[SpanAnswer]
    gaps: list[GapAnswer]

    @staticmethod
    def of(lane: Lane) -> "LaneAnswer":
        return LaneAnswer.taken(
            lane,
            run=_text(Prefix.RUN, lane.run_id),
            spans=[SpanAnswer.of(span) for span in lane.spans],
            gaps=[GapAnswer.of(gap) for gap in lane.gaps],
        )


class TimelineAnswer(Shape, frozen=True):
    """`isCut`: there were earlier calls, which are in the trace and not in this timeline; ask for them with `before`."""

    started_at: Moment | None
    ended_at: Moment | None
    calls: int
    is_cut: bool
    before: str | None
    lanes: list[LaneAnswer]

    @staticmethod
    def of(timeline: Timeline) -> "TimelineAnswer":
        return TimelineAnswer.taken(
            timeline,
            before=_text(Prefix.TRACE, timeline.first_call) if timeline.is_cut else None,
            lanes=[LaneAnswer.of(lane) for lane in timeline.lanes],
        )


def _text(prefix: Prefix, row_id: UUID | None) -> str | None:
    return None if row_id is None else to_text(prefix, row_id)
