"""The loops around a position, as whoever works in them is told of each: which round it is, of how many, and what it is about."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from workflows_app.engine import canonical, conditions, walker, walks
from workflows_app.engine.budgets import fit_bytes
from workflows_app.engine.program import Loop, Program
from workflows_app.engine.walks import Position

_MAX_ITEM_BYTES = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """`iteration` counts from 1; `total` is known where the rounds are counted."""

    loop: Loop
    iteration: int
    total: int | None = None
    item: Any = None


def rounds_around(*, program: Program, position: Position, variables: Mapping[str, Any]) -> tuple[Round, ...]:
    """Outermost first."""
    return tuple(_rounds(program, position, variables))


def rounds_json(rounds: Sequence[Round]) -> dict[str, Any] | None:
    """The innermost, within those around it."""
    said: dict[str, Any] | None = None
    for each in rounds:
        body: dict[str, Any] = {"id": each.loop.id, "round": each.iteration, "atMost": each.loop.max_iterations}
        if each.total is not None:
            body["total"] = each.total
        if each.item is not None:
            body["item"] = fit_bytes(in_words(each.item), max_bytes=_MAX_ITEM_BYTES)
        said = body if said is None else {**body, "within": said}
    return said


def in_words(item: Any) -> str:
    return item if isinstance(item, str) else canonical.canonical_bytes(item).decode("utf-8")


def _rounds(program: Program, position: Position, variables: Mapping[str, Any]) -> Iterator[Round]:
    activity = program.activity(position.activity)
    loops = () if activity is None else walker.loops_at(activity, position.frames)
    for depth, (loop, frame) in enumerate(zip(loops, position.frames, strict=False)):
        outside = replace(position, frames=position.frames[:depth], pending="", pending_item="")
        scope = walker.scope_at(program=program, position=outside, variables=variables)
        items = conditions.lookup(loop.items, variables=scope) if loop.items else None
        if isinstance(items, list):
            item = items[frame.iteration] if frame.iteration < len(items) else None
            yield Round(loop=loop, iteration=frame.iteration + 1, total=len(items), item=item)
        else:
            yield Round(loop=loop, iteration=frame.iteration + 1, total=_count(loop, scope))


def _count(loop: Loop, scope: Mapping[str, Any]) -> int | None:
    said = loop.count if isinstance(loop.count, int) else conditions.lookup(loop.count or (), variables=scope)
    return walks.whole_rounds(said)
