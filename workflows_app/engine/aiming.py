"""Positions that are pointed at by name: whoever names an item says that it was its turn, so no condition is asked."""

from collections.abc import Iterator

from msgspec.structs import replace

from workflows_app.engine import walker
from workflows_app.engine.program import Activity, Item, Loop, Program
from workflows_app.engine.walks import Frame, Position, worked_in

# Where an item stands: the loops around it, outermost first, and its index within each of their bodies, then its own.
_Path = tuple[tuple[Loop, ...], tuple[int, ...]]


def past(position: Position) -> Position:
    """The pending item is behind; nothing is pending yet."""
    finished = position.pending_item
    after = replace(position, pending="", pending_item="")
    if not position.frames:
        return replace(after, done=tuple(sorted({*position.done, finished}))) if finished else after
    return replace(after, frames=worked_in(position.frames))


def aim(*, program: Program, position: Position, item_id: str) -> Position | None:
    """The position at which that item of the activity is pending; None when it is done in this visit, or not there.

    An item behind the cursor of a loop stands in the loop's next round. A loop that is aimed out of is done.
    """
    activity = program.activity(position.activity)
    if activity is None:
        return None
    found = next(_paths(activity, item_id), None)
    if found is None:
        return None
    frames, done = _moved(position, *found)
    outermost = found[0][0].id if found[0] else item_id
    if outermost in done:
        return None
    there = replace(position, frames=frames, done=done, pending_item=item_id)
    return replace(there, pending=walker.instance_key(program=program, position=there, item_id=item_id))


def rounds_begun(position: Position, aimed: Position) -> range:
    """How many loops stand around each of those that are begun, or turned, on the way there."""
    same = 0
    for here, there in zip(position.frames, aimed.frames, strict=False):
        if (here.loop, here.iteration) != (there.loop, there.iteration):
            break
        same += 1
    return range(same, len(aimed.frames))


def behind_loop(position: Position, depth: int) -> Position:
    """Behind the loop that stands within so many others."""
    return past(replace(position, frames=position.frames[:depth], pending_item=position.frames[depth].loop))


def is_within_loop(activity: Activity, item_id: str) -> bool:
    return any(loops for loops, _ in _paths(activity, item_id))


def loops_around(activity: Activity, item_id: str) -> tuple[Loop, ...]:
    found = next(_paths(activity, item_id), None)
    return found[0] if found else ()


def _paths(activity: Activity, item_id: str) -> Iterator[_Path]:
    yield from _paths_in(activity.body, item_id, (), ())


def _paths_in(body: tuple[Item, ...], item_id: str, loops: tuple[Loop, ...], at: tuple[int, ...]) -> Iterator[_Path]:
    for index, item in enumerate(body):
        if isinstance(item, Loop):
            yield from _paths_in(item.body, item_id, (*loops, item), (*at, index))
        elif item.id == item_id:
            yield loops, (*at, index)


def _moved(
    position: Position, loops: tuple[Loop, ...], at: tuple[int, ...]
) -> tuple[tuple[Frame, ...], tuple[str, ...]]:
    """The frames around the item, and what is done at the top of the activity when they are taken."""
    shared = _shared(position.frames, loops)
    kept = list(position.frames[:shared])
    done = position.done
    if position.frames and not shared:
        done = tuple(sorted({*done, position.frames[0].loop}))
    if kept:
        kept[-1] = _turned(kept[-1], at[shared])
    opened = [Frame(loop=loops[i].id, iteration=0, index=at[i + 1]) for i in range(shared, len(loops))]
    return (*kept, *opened), done


def _shared(frames: tuple[Frame, ...], loops: tuple[Loop, ...]) -> int:
    """How many of the loops that the run is in are also around the item."""
    count = 0
    for frame, loop in zip(frames, loops, strict=False):
        if frame.loop != loop.id:
            break
        count += 1
    return count


def _turned(frame: Frame, index: int) -> Frame:
    if index < frame.index:
        return replace(frame, iteration=frame.iteration + 1, index=index)
    return replace(frame, index=index)
