"""A run's nodes as rows with lanes beside them: which branch a node is of, in which lane it is drawn, and what folds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from uuid import UUID

MOST_LANES = 8
# A straight chain that is longer folds between its ends.
LONGEST_CHAIN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePoint:
    """A node as far as its place is concerned. `is_aside` marks a bookmark: it hangs on its branch and leads nowhere.

    `is_plain` marks one that needs no look of its own; `loop` and `round` say which loop it is in, if any.
    """

    id: UUID
    parent: UUID | None
    is_aside: bool = False
    is_plain: bool = True
    loop: str = ""
    round: int = 0


@dataclass(slots=True, kw_only=True)
class LaneBranch:
    """A way from a fork to its end. `base` is the node it leaves from; the first branch has none."""

    points: list[UUID] = field(default_factory=list)
    base: UUID | None = None
    lane: int = 0

    @property
    def tip(self) -> UUID:
        return self.points[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLine:
    """A row: one point, or several that are folded away (`folded` has all of them, in the order of the run)."""

    point: UUID
    folded: tuple[UUID, ...] = ()
    loop: str = ""
    rounds: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lanes:
    """`lines` from the first to the last; `branches` by the points in them, the preferred first."""

    lines: tuple[LaneLine, ...]
    branches: tuple[LaneBranch, ...]
    branch_of: Mapping[UUID, int]
    forks: Mapping[UUID, int]


def lay_lanes(*, points: Sequence[LanePoint], tip: UUID, unfolded: AbstractSet[UUID] | None = frozenset()) -> Lanes:
    """`points` in the order in which they were made. `unfolded` names lines that are shown in full, None all of them."""
    by_id = {point.id: point for point in points}
    children = _children(points, by_id)
    on_way = _way(tip, by_id)
    branches, branch_of = _branches(points, children, on_way)
    forks = {id_: len(found) for id_, found in children.items() if len(found) > 1}
    stops = {branch.base for branch in branches if branch.base} | {branch.tip for branch in branches}
    lines = tuple(_folded(points, branches, stops, unfolded))
    _allocate(branches, lines)
    return Lanes(lines=lines, branches=tuple(branches), branch_of=branch_of, forks=forks)


def _children(points: Iterable[LanePoint], by_id: Mapping[UUID, LanePoint]) -> dict[UUID, list[UUID]]:
    found: dict[UUID, list[UUID]] = {}
    for point in points:
        if point.parent in by_id and not point.is_aside and point.parent is not None:
            found.setdefault(point.parent, []).append(point.id)
    return found


def _way(tip: UUID, by_id: Mapping[UUID, LanePoint]) -> set[UUID]:
    way: set[UUID] = set()
    at: UUID | None = tip
    while at in by_id and at not in way and at is not None:
        way.add(at)
        at = by_id[at].parent
    return way


def _branches(
    points: Sequence[LanePoint], children: Mapping[UUID, list[UUID]], on_way: AbstractSet[UUID]
) -> tuple[list[LaneBranch], dict[UUID, int]]:
    """The child that leads to the tip goes on in its parent's branch; where none does, the one made last."""
    branches: list[LaneBranch] = []
    branch_of: dict[UUID, int] = {}
    for point in points:
        parent = point.parent if point.parent in branch_of else None
        goes_on = parent is not None and (point.is_aside or _straight_on(children[parent], on_way) == point.id)
        if goes_on and parent is not None:
            branch_of[point.id] = branch_of[parent]
        else:
            branch_of[point.id] = len(branches)
            branches.append(LaneBranch(base=parent))
        if not point.is_aside or not goes_on:
            branches[branch_of[point.id]].points.append(point.id)
    return branches, branch_of


def _straight_on(following: Sequence[UUID], on_way: AbstractSet[UUID]) -> UUID:
    return next((child for child in following if child in on_way), following[-1])


def _folded(
    points: Sequence[LanePoint],
    branches: Sequence[LaneBranch],
    stops: AbstractSet[UUID | None],
    unfolded: AbstractSet[UUID] | None,
) -> Iterator[LaneLine]:
    """Of each branch the plain stretches: rounds of one loop, and chains that are long. The rest are lines of their own."""
    hidden: set[UUID] = set()
    heads: dict[UUID, LaneLine] = {}
    if unfolded is not None:
        by_id = {point.id: point for point in points}
        for branch in branches:
            for stretch in _stretches([by_id[id_] for id_ in branch.points], stops):
                line = _fold(stretch)
                if line is not None and line.point not in unfolded:
                    heads[line.point] = line
                    hidden.update(line.folded)
    for point in points:
        if point.id in heads:
            yield heads[point.id]
        elif point.id not in hidden:
            yield LaneLine(point=point.id)


def _stretches(points: Sequence[LanePoint], stops: AbstractSet[UUID | None]) -> Iterator[list[LanePoint]]:
    """Runs of plain points of one loop, or of none."""
    stretch: list[LanePoint] = []
    for point in points:
        is_plain = point.is_plain and point.id not in stops
        if stretch and (not is_plain or point.loop != stretch[0].loop):
            yield stretch
            stretch = []
        if is_plain:
            stretch.append(point)
    if stretch:
        yield stretch


def _fold(stretch: Sequence[LanePoint]) -> LaneLine | None:
    """The last of them stands for all: newest first, it is where one looks."""
    rounds = len({point.round for point in stretch}) if stretch[0].loop else 0
    if rounds < 2 and len(stretch) <= LONGEST_CHAIN:
        return None
    ids = tuple(point.id for point in stretch)
    return LaneLine(point=ids[-1], folded=ids, loop=stretch[0].loop if rounds > 1 else "", rounds=rounds)


def _allocate(branches: Sequence[LaneBranch], lines: Sequence[LaneLine]) -> None:
    """The branch that leads to the tip is in the first lane; a lane that is free again is used again."""
    rows: dict[UUID, int] = {}
    for row, line in enumerate(lines):
        rows[line.point] = row
        for id_ in line.folded:
            rows[id_] = row
    ends = [max((rows[id_] for id_ in branch.points if id_ in rows), default=0) for branch in branches]
    starts = [rows[branch.base] if branch.base in rows else rows.get(branch.points[0], 0) for branch in branches]
    free_from: list[int] = [len(lines) + 1]
    for index in range(1, len(branches)):
        lane = next((at for at, free in enumerate(free_from) if free < starts[index]), None)
        if lane is None:
            lane = len(free_from)
            free_from.append(0)
        free_from[lane] = ends[index]
        branches[index].lane = min(lane, MOST_LANES - 1)
