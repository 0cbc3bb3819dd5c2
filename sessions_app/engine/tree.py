"""The tree of a run as lines from top to bottom: what goes on keeps its place, what branches off stands further in."""

from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from uuid import UUID

from sessions_app.engine.log import NodeKind
from sessions_app.engine.values import NodeValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLine:
    """One node. `depth` counts the forks that it branched off at; `is_on_way` tells that it leads to the tip."""

    node: NodeValue
    depth: int
    is_tip: bool
    is_on_way: bool
    branches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """`before` is the event index before which older nodes of the run are found, when there are any."""

    lines: tuple[TreeLine, ...]
    before: int | None = None


def lay_out(*, nodes: Sequence[NodeValue], tip: UUID, way: AbstractSet[UUID] = frozenset()) -> tuple[TreeLine, ...]:
    """A line for each node, a parent before its children. Where a node forks, the side branches come first.

    The branch that goes straight on is the one that leads to the tip; where none does, the one begun last. `way` names nodes
    on the way to a tip that is not among the nodes itself; a node whose parent is not among them begins at the margin.
    """
    known = {node.id for node in nodes}
    children: dict[UUID | None, list[NodeValue]] = {}
    for node in sorted(nodes, key=lambda node: (node.event_index, node.id.bytes)):
        children.setdefault(node.parent_id if node.parent_id in known else None, []).append(node)
    on_way = _way_to(tip, {node.id: node.parent_id for node in nodes}) | way
    return tuple(_lines(children, on_way, tip))


def _way_to(tip: UUID, parents: dict[UUID, UUID | None]) -> set[UUID]:
    found: set[UUID] = set()
    at: UUID | None = tip
    while at is not None and at in parents and at not in found:
        found.add(at)
        at = parents[at]
    return found


def _lines(children: dict[UUID | None, list[NodeValue]], on_way: AbstractSet[UUID], tip: UUID) -> Iterator[TreeLine]:
    """With a stack of its own: a run is as deep as it is long."""
    waiting = [(node, 0) for node in reversed(children.get(None, []))]
    while waiting:
        node, depth = waiting.pop()
        following = children.get(node.id, [])
        ahead = _straight_on(following, on_way)
        aside = [child for child in following if child is not ahead]
        yield TreeLine(
            node=node, depth=depth, is_tip=node.id == tip, is_on_way=node.id in on_way, branches=_branches(following)
        )
        if ahead is not None:
            waiting.append((ahead, depth))
        waiting.extend((child, depth + 1) for child in reversed(aside))


def _straight_on(following: Iterable[NodeValue], on_way: AbstractSet[UUID]) -> NodeValue | None:
    steps = [node for node in following if node.kind is not NodeKind.BOOKMARK]
    return next((node for node in steps if node.id in on_way), steps[-1] if steps else None)


def _branches(following: Iterable[NodeValue]) -> int:
    """How many ways go on from a node: bookmarks are none."""
    return sum(node.kind is not NodeKind.BOOKMARK for node in following)
