"""A timeline as rectangles and words with their places, for a page that runs no script and styles nothing inline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from teams_app.engine.counting import counted
from traces_app.engine.timeline import Lane, Span, Timeline, TimelineGap

WIDTH = 960
_LEFT = 8
_LANE_HEIGHT = 44
_BAR_HEIGHT = 20
_BAR_TOP = 18
_AXIS_HEIGHT = 24
_THINNEST = 2.0
_CHARACTER_WIDTH = 6.5
_TICKS = 6
_DRAWN_SPANS = 1_000


class DrawnMark(StrEnum):
    CALLS = "calls"
    WARNED = "warned"
    REFUSED = "refused"
    FAILED = "failed"
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBar:
    """`words` stand in the bar when they fit; `title` is said when one points at it, and read aloud."""

    mark: DrawnMark
    x: str
    y: str
    width: str
    height: str
    words: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    x: str
    y: str
    text: str
    anchor: str = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    width: int
    height: int
    bars: Sequence[DrawnBar]
    names: Sequence[Words]
    ticks: Sequence[Words]


def draw(timeline: Timeline) -> Drawing:
    """All lanes on one scale."""
    if timeline.started_at is None or timeline.ended_at is None:
        return Drawing(width=WIDTH, height=_AXIS_HEIGHT, bars=(), names=(), ticks=())
    scale = _Scale(timeline.started_at, timeline.ended_at)
    return Drawing(
        width=WIDTH,
        height=_LANE_HEIGHT * len(timeline.lanes) + _AXIS_HEIGHT,
        bars=tuple(bar for row, lane in enumerate(timeline.lanes) for bar in _bars(scale, row, lane)),
        names=tuple(_name(row, lane) for row, lane in enumerate(timeline.lanes)),
        ticks=tuple(_tick(scale, number, len(timeline.lanes)) for number in range(_TICKS + 1)),
    )


def told(duration: timedelta) -> str:
    """`2 h 5 min`, `3 min 20 s`, `4.2 s`, `12 ms`."""
    seconds = duration.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    return f"{hours} h {minutes_left} min" if hours else f"{minutes} min {rest} s"


class _Scale:
    def __init__(self, first: datetime, last: datetime) -> None:
        self.first = first
        self.whole = max((last - first).total_seconds(), 0.001)

    def x(self, at: datetime) -> float:
        return _LEFT + (at - self.first).total_seconds() / self.whole * (WIDTH - 2 * _LEFT)

    def at(self, part: float) -> timedelta:
        return timedelta(seconds=self.whole * part)


def _bars(scale: _Scale, row: int, lane: Lane) -> Iterator[DrawnBar]:
    for gap in lane.gaps[-_DRAWN_SPANS:]:
        yield _bar(scale, row, gap, DrawnMark.GAP, words=told(gap.duration), title=f"No call for {told(gap.duration)}")
    for spans in _drawn(scale, lane.spans[-_DRAWN_SPANS:]):
        whole = _whole(spans)
        yield _bar(scale, row, whole, _mark(whole), words=whole.label, title=_title(whole))


def _drawn(scale: _Scale, spans: Sequence[Span]) -> Iterator[list[Span]]:
    """What would lie upon one another is one bar, as far as it went alike."""
    together: list[Span] = []
    for span in spans:
        is_apart = bool(together) and scale.x(span.started_at) - scale.x(together[0].started_at) >= _THINNEST
        if together and (is_apart or _mark(span) is not _mark(together[0])):
            yield together
            together = []
        together.append(span)
    if together:
        yield together


def _whole(spans: Sequence[Span]) -> Span:
    first, last = spans[0], spans[-1]
    if first is last:
        return first
    return Span(
        label=first.label if first.label == last.label else f"{first.label} to {last.label}",
        started_at=first.started_at,
        ended_at=max(span.ended_at for span in spans),
        calls=sum(span.calls for span in spans),
        busy_us=sum(span.busy_us for span in spans),
        warnings=sum(span.warnings for span in spans),
        refusals=sum(span.refusals for span in spans),
        failures=sum(span.failures for span in spans),
    )


def _bar(scale: _Scale, row: int, part: Span | TimelineGap, mark: DrawnMark, *, words: str, title: str) -> DrawnBar:
    x = scale.x(part.started_at)
    width = max(scale.x(part.ended_at) - x, _THINNEST)
    return DrawnBar(
        mark=mark,
        x=f"{x:.1f}",
        y=f"{row * _LANE_HEIGHT + _BAR_TOP}",
        width=f"{width:.1f}",
        height=f"{_BAR_HEIGHT}",
        words=words if len(words) * _CHARACTER_WIDTH < width else "",
        title=title,
    )


def _mark(span: Span) -> DrawnMark:
    """The worst that happened in it."""
    if span.failures:
        return DrawnMark.FAILED
    if span.refusals:
        return DrawnMark.REFUSED
    return DrawnMark.WARNED if span.warnings else DrawnMark.CALLS


def _title(span: Span) -> str:
    sums = ((span.warnings, "warnings"), (span.refusals, "refused"), (span.failures, "failed"))
    rest = "".join(f", {number} {word}" for number, word in sums if number)
    return f"{span.label or 'No activity'}: {counted(span.calls, 'call')} in {told(span.duration)}{rest}"


def _name(row: int, lane: Lane) -> Words:
    return Words(x=f"{_LEFT}", y=f"{row * _LANE_HEIGHT + _BAR_TOP - 5}", text=lane.workflow_id or "Calls of no run")


def _tick(scale: _Scale, number: int, lanes: int) -> Words:
    part = number / _TICKS
    x = _LEFT + part * (WIDTH - 2 * _LEFT)
    return Words(
        x=f"{x:.1f}",
        y=f"{lanes * _LANE_HEIGHT + _AXIS_HEIGHT - 8}",
        text=f"+{told(scale.at(part))}",
        anchor=_anchor(number),
    )


def _anchor(number: int) -> str:
    """The outermost words stay inside."""
    if number == 0:
        return "start"
    return "end" if number == _TICKS else "middle"
