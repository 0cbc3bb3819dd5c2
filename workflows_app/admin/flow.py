"""The steps of a workflow as one drawing: boxes from top to bottom, loops and activities around what they hold, ways at the side.

What an author wrote is escaped here and nowhere else; the rest is numbers and constants.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from teams_app.engine.times import length_words
from workflows_app.admin.words import WorkflowStage

_ROW, _HEAD, _BOX = 54, 36, 40
_LEFT, _INDENT, _RIGHT = 84, 16, 490
_TIME, _BAR, _BAR_WIDTH, _PERCENT, _WIDTH = 566, 588, 104, 744, 760
_TITLE_CHARACTERS, _SUB_CHARACTERS = 46, 58
_OFTEN_PERCENT = 25
_MOST_STAGES = 120
_SHAPES = {"step": "step", "question": "waiting", "child": "child"}


class Seen(Protocol):
    """What runs say of a step."""

    now: int
    attempts: int
    median_s: float | None

    @property
    def percent(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _FlowPlace:
    stage: WorkflowStage
    y: int
    height: int
    # The row after the last one that a group holds.
    end: int

    @property
    def x(self) -> int:
        return _LEFT + _INDENT * self.stage.depth

    @property
    def middle(self) -> int:
        return self.y + self.height // 2


def draw_flow(
    *, stages: Sequence[WorkflowStage], ways: Mapping[str, Sequence[str]], seen: Mapping[str, Seen], label: str
) -> SafeString | None:
    """`ways` are the activities to which an activity leads. None where so many steps would be no picture."""
    if not stages or len(stages) > _MOST_STAGES:
        return None
    places = _places(stages)
    height = places[-1].y + places[-1].height + 12
    parts = [
        format_html('<svg class="flow" viewBox="0 0 {} {}" role="img" aria-label="{}">', _WIDTH, height, label),
        format_html('<text class="flow-head" x="{}" y="14" text-anchor="end">half take</text>', _TIME),
        format_html('<text class="flow-head" x="{}" y="14">attempts blocked</text>', _BAR),
        *_groups(places),
        *_arrows(places),
        *_ways(places, ways),
        *(_box(place, seen.get(place.stage.item_id)) for place in places if not place.stage.is_group),
        SafeString("</svg>"),
    ]
    return mark_safe("".join(parts))  # noqa: S308  each part is escaped where it is made


def _places(stages: Sequence[WorkflowStage]) -> list[_FlowPlace]:
    found, y = [], 24
    for at, stage in enumerate(stages):
        height = _HEAD if stage.is_group else _ROW
        end = next((n for n in range(at + 1, len(stages)) if stages[n].depth <= stage.depth), len(stages))
        found.append(_FlowPlace(stage=stage, y=y, height=height, end=end))
        y += height + (10 if not stage.is_group and end < len(stages) and stages[end].depth < stage.depth else 0)
    return found


def _groups(places: Sequence[_FlowPlace]) -> Iterator[SafeString]:
    for place in places:
        if not place.stage.is_group:
            continue
        last = places[place.end - 1]
        bottom = last.y + last.height + (0 if last is place else -2)
        inset = _INDENT * place.stage.depth
        yield format_html(
            '<rect class="flow-group" x="{}" y="{}" width="{}" height="{}" rx="8"/><text class="flow-name" x="{}" y="{}">{}</text>',
            place.x - 12,
            place.y + 4,
            _RIGHT + 12 - inset // 2 - (place.x - 12),
            max(20, bottom - place.y - 4),
            place.x,
            place.y + 24,
            _cut(_told(place.stage), _SUB_CHARACTERS + 8),
        )


def _told(stage: WorkflowStage) -> str:
    return f"{stage.title}: {stage.sub}" if stage.sub else stage.title


def _arrows(places: Sequence[_FlowPlace]) -> Iterator[SafeString]:
    """From each step to the one below it, unless an activity ends between them: its ways say where it goes on."""
    boxes = [place for place in places if not place.stage.is_group]
    for one, other in pairwise(boxes):
        if one.stage.activity != other.stage.activity:
            continue
        x = (max(one.x, other.x) + _RIGHT) // 2
        begin, end = one.middle + _BOX // 2, other.middle - _BOX // 2
        # Into a loop as far as its edge: its name stands there.
        edges = [place.y + 4 for place in places if place.stage.is_group and one.y < place.y < other.y]
        end = min([end, *edges])
        yield format_html('<path class="flow-arrow" d="M{} {}V{}m-3-4 3 4 3-4"/>', x, begin, end)


def _ways(places: Sequence[_FlowPlace], ways: Mapping[str, Sequence[str]]) -> Iterator[SafeString]:
    """Dashed at the side, each on a line of its own as far as there is room."""
    heads = {place.stage.item_id: place for place in places if place.stage.is_group and place.stage.depth == 0}
    number = 0
    for origin, targets in ways.items():
        for target in targets:
            if origin not in heads or target not in heads:
                continue
            begin, end = heads[origin].y + 26, heads[target].y + 16
            x = 64 - 8 * (number % 7)
            number += 1
            yield format_html(
                '<path class="flow-way" d="M72 {}H{}V{}H72m-4-3 4 3-4 3"><title>{}</title></path>',
                begin,
                x,
                end,
                f"{heads[origin].stage.title} leads to {heads[target].stage.title}",
            )


def _box(place: _FlowPlace, seen: Seen | None) -> SafeString:
    stage, y = place.stage, place.middle
    now = seen.now if seen else 0
    top, right = y - _BOX // 2, _RIGHT - _INDENT * stage.depth // 2
    return format_html(
        '<g><title>{}</title><rect class="flow-box{}" x="{}" y="{}" width="{}" height="{}" rx="6"/>{}'
        '<svg x="{}" y="{}" width="{}" height="{}"><text class="flow-title" y="{}">{}</text>{}</svg>{}{}</g>',
        _told(stage),
        " is-here" if now else "",
        place.x,
        top,
        right - place.x,
        _BOX,
        _mark(_SHAPES.get(stage.shape, "step"), place.x + 14, y - 8),
        # A picture in the picture cuts off what is wider than the letters are on the average.
        place.x + 40,
        top,
        right - place.x - (86 if now else 46),
        _BOX,
        y - top + (4 if not stage.sub else -2),
        _cut(stage.title, _TITLE_CHARACTERS - 3 * stage.depth),
        _sub(stage, y - top + 13, characters=_SUB_CHARACTERS - (10 if now else 0) - 3 * stage.depth),
        _count(now, right, y),
        _facts(seen, y) if seen else "",
    )


def _mark(shape: str, x: int, y: int) -> SafeString:
    return format_html(
        '<svg class="mark is-{}" x="{}" y="{}" width="16" height="16" aria-hidden="true"><use href="#s-{}"/></svg>',
        shape,
        x,
        y,
        shape,
    )


def _sub(stage: WorkflowStage, y: int, *, characters: int) -> SafeString:
    if not stage.sub:
        return SafeString("")
    return format_html('<text class="flow-sub" y="{}">{}</text>', y, _cut(stage.sub, characters))


def _count(now: int, right: int, y: int) -> SafeString:
    """How many runs stand there."""
    if not now:
        return SafeString("")
    return format_html(
        '<rect class="flow-now" x="{}" y="{}" width="34" height="20" rx="10"/><circle class="flow-dot" cx="{}" cy="{}" r="3"/>'
        '<text class="flow-count" x="{}" y="{}">{}</text>',
        right - 44,
        y - 10,
        right - 34,
        y,
        right - 26,
        y + 4,
        now if now < 100 else "99+",
    )


def _facts(seen: Seen, y: int) -> SafeString:
    took = "" if seen.median_s is None else length_words(seen.median_s)
    if not seen.attempts:
        return format_html('<text class="flow-fact" x="{}" y="{}" text-anchor="end">{}</text>', _TIME, y + 4, took)
    return format_html(
        '<text class="flow-fact" x="{}" y="{}" text-anchor="end">{}</text><rect class="flow-bar" x="{}" y="{}" width="{}" height="6" rx="3"/>'
        '<rect class="flow-blocked" x="{}" y="{}" width="{}" height="6" rx="3"/>'
        '<text class="flow-fact{}" x="{}" y="{}" text-anchor="end">{} %</text>',
        _TIME,
        y + 4,
        took,
        _BAR,
        y - 3,
        _BAR_WIDTH,
        _BAR,
        y - 3,
        max(4, _BAR_WIDTH * seen.percent // 100) if seen.percent else 0,
        " is-often" if seen.percent >= _OFTEN_PERCENT else "",
        _PERCENT,
        y + 4,
        seen.percent,
    )


def _cut(text: str, characters: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[: characters - 1].rstrip()}…"
