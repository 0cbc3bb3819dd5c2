"""The lanes beside the list of a run's nodes, as one drawing. Numbers and constants only: no word of anybody is in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.safestring import SafeString, mark_safe

from sessions_app.engine.lanes import Lanes

ROW = 40
_FIRST, _STEP = 20, 23

_GLYPHS = {
    "blocked": "M{l} {y}h7.2",
    "approved": "m{a} {b} 2.2 2.2 4-4.5",
    "done": "m{a} {b} 2.2 2.2 4-4.5",
    "sentback": "m{c} {d}-2.5 2.3 2.5 2.3M{e} {f}h4.3c3 0 3 4 0 4",
    "waiting": "M{g} {h}c0-3.2 4-3.2 4 0 0 1.6-2 1.6-2 3",
    "overdue": "M{x} {i}v5",
    "rejected": "m{j} {k} 4.8 4.8m0-4.8-4.8 4.8",
}
_FILL = {
    "blocked": "stop",
    "waiting": "wait",
    "sentback": "wait",
    "overdue": "stop",
    "approved": "done",
    "done": "done",
    "rejected": "stop",
}
_DOTTED = frozenset({"waiting", "overdue"})
_DIAMONDS = frozenset({"waiting", "overdue", "sentback", "approved", "rejected"})
_HOLLOW_DIAMONDS = frozenset({"changed", "left", "question"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A node as it is drawn: where, as what, and whether it is the pending one or the chosen one."""

    node: UUID
    shape: str
    is_pending: bool = False
    is_chosen: bool = False


def lane_class(lane: int) -> int:
    """The colours of the side lanes take turns."""
    return 1 if lane == 0 else 2 + (lane - 1) % 2


def width_of(lanes: Lanes) -> int:
    return _FIRST * 2 + _STEP * max((branch.lane for branch in lanes.branches), default=0)


def drawing(*, lanes: Lanes, spots: Sequence[Spot], rows: Mapping[UUID, int]) -> SafeString:
    """`rows` says in which row each node stands that is shown, folded ones in the row of their line."""
    height = ROW * len(spots)
    parts = [f'<svg class="lanes" width="{width_of(lanes)}" height="{height}" aria-hidden="true">']
    parts.extend(_paths(lanes, rows, len(spots)))
    for row, spot in enumerate(spots):
        branch = lanes.branches[lanes.branch_of[spot.node]]
        parts.append(_node(spot, _x(branch.lane), _y(row), lane_class(branch.lane)))
    parts.append("</svg>")
    return mark_safe("".join(parts))  # noqa: S308  numbers and constants


def _x(lane: int) -> int:
    return _FIRST + _STEP * lane


def _y(row: int) -> int:
    return ROW * row + ROW // 2


def _paths(lanes: Lanes, rows: Mapping[UUID, int], count: int) -> Iterable[str]:
    for branch in reversed(lanes.branches):
        known = [rows[point] for point in branch.points if point in rows]
        if not known:
            continue
        x = _x(branch.lane)
        start, end = _y(known[0]), _y(known[-1])
        base = rows.get(branch.base) if branch.base else None
        if base is not None and branch.base is not None:
            x_base, y_base = _x(lanes.branches[lanes.branch_of[branch.base]].lane), _y(base)
            turn = 24 if start > y_base else -24
            path = f"M{x_base} {y_base}C{x_base} {y_base + turn} {x} {y_base + turn * 2 // 3} {x} {y_base + turn * 5 // 3}V{end}"
        else:
            # What came before stands on another page: the line goes on to the edge of the drawing.
            edge = start if branch.base is None else (_y(count) if end < start or count == 1 else 0)
            path = f"M{x} {edge}V{end}"
        yield f'<path class="lane lane-{lane_class(branch.lane)}" d="{path}"/>'


def _node(spot: Spot, x: int, y: int, lane: int) -> str:
    ring = f'<circle class="node-ring" cx="{x}" cy="{y}" r="13"/>' if spot.is_chosen else ""
    halo = (
        f'<circle class="node-halo{"" if spot.shape in _DOTTED else " is-going"}" cx="{x}" cy="{y}" r="13"/>'
        if spot.is_pending
        else ""
    )
    return f"{ring}{halo}{_shape(spot.shape, x, y, lane)}"


def _shape(shape: str, x: int, y: int, lane: int) -> str:
    if shape in _DIAMONDS:
        return f'<path class="node node-{_FILL[shape]}" d="M{x} {y - 10} {x + 10} {y} {x} {y + 10} {x - 10} {y}z"/>{_glyph(shape, x, y)}'
    if shape in _HOLLOW_DIAMONDS:
        return f'<path class="node-hollow" d="M{x} {y - 9} {x + 9} {y} {x} {y + 9} {x - 9} {y}z"/>'
    if shape == "blocked":
        octagon = f"M{x - 3.7:.1f} {y - 9}h7.4l5.3 5.3v7.4l-5.3 5.3h-7.4l-5.3-5.3v-7.4z"
        return f'<path class="node node-stop" d="{octagon}"/>{_glyph(shape, x, y)}'
    if shape == "done":
        return f'<circle class="node node-done" cx="{x}" cy="{y}" r="8.5"/>{_glyph(shape, x, y)}'
    if shape == "bookmark":
        return f'<path class="node node-2" d="M{x - 6} {y - 9}h12v18l-6-4.5-6 4.5z"/>'
    if shape == "loop":
        back = f'<rect class="node node-{lane}" x="{x - 6}" y="{y - 11.5}" width="12" height="10" rx="3"/>'
        front = f'<rect class="node node-{lane}" x="{x - 9}" y="{y - 6}" width="18" height="15" rx="4"/>'
        return f'{back}{front}<path class="node-glyph" d="M{x - 4} {y + 1.5}h.01M{x} {y + 1.5}h.01M{x + 4} {y + 1.5}h.01"/>'
    if shape == "child":
        arrow = f'<path class="node-glyph" d="M{x - 3} {y + 3}l5.4-5.4m-4 0h4v4"/>'
        return f'<rect class="node node-{lane}" x="{x - 8}" y="{y - 8}" width="16" height="16" rx="3"/>{arrow}'
    return f'<circle class="node node-{lane}" cx="{x}" cy="{y}" r="6.5"/>'


def _glyph(shape: str, x: int, y: int) -> str:
    numbers = {
        "x": x,
        "y": y,
        "l": f"{x - 3.6:.1f}",
        "a": x - 3,
        "b": f"{y + 0.2:.1f}",
        "c": f"{x - 1.5:.1f}",
        "d": f"{y - 3.3:.1f}",
        "e": f"{x - 3.8:.1f}",
        "f": y - 1,
        "g": x - 2,
        "h": y - 2,
        "i": y - 5,
        "j": f"{x - 2.4:.1f}",
        "k": f"{y - 2.4:.1f}",
    }
    dot = f'<circle class="node-dot" cx="{x}" cy="{y + 4}" r="1"/>' if shape in _DOTTED else ""
    return f'<path class="node-glyph" d="{_GLYPHS[shape].format(**numbers)}"/>{dot}'
