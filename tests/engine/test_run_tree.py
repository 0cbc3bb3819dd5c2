"""The tree of a run as lines: a parent before its children, the way to the tip at the margin, side branches further in."""

from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given, strategies as st

from sessions_app.engine.log import EdgeCause, EdgeKind, NodeKind
from sessions_app.engine.state import Preferences
from sessions_app.engine.tree import lay_out
from sessions_app.engine.values import NodeValue

RUN = UUID(int=1 << 64)


def node(number, parent=None, kind=NodeKind.STEP):
    return NodeValue(
        id=UUID(int=number),
        session_id=RUN,
        run_id=RUN,
        parent_id=None if parent is None else UUID(int=parent),
        kind=kind,
        edge_kind=None if parent is None else EdgeKind.ACKED_STEP,
        edge_cause=None if parent is None else EdgeCause.TIP_ADVANCE,
        pending_key=f"step-{number}",
        pending_title="",
        preferences=Preferences(),
        snapshot_digest="",
        event_index=number * 10,
        created_at=datetime(2026, 11, 18, tzinfo=UTC),
    )


def drawn(nodes, tip, way=frozenset()):
    lines = lay_out(nodes=nodes, tip=UUID(int=tip), way={UUID(int=number) for number in way})
    return [(line.node.id.int, line.depth) for line in lines]


def test_a_run_without_forks_stays_at_the_margin_however_long_it_is():
    nodes = [node(1), *(node(number, number - 1) for number in range(2, 3000))]

    assert drawn(nodes, tip=2999) == [(number, 0) for number in range(1, 3000)]


def test_the_branch_that_leads_to_the_tip_goes_straight_on():
    nodes = [node(1), node(2, 1), node(3, 2), node(4, 1), node(5, 2)]

    assert drawn(nodes, tip=3) == [(1, 0), (4, 1), (2, 0), (5, 1), (3, 0)]
    assert drawn(nodes, tip=4) == [(1, 0), (2, 1), (3, 2), (5, 1), (4, 0)]


def test_off_the_way_to_the_tip_the_branch_begun_last_goes_straight_on():
    nodes = [node(1), node(2, 1), node(3, 2), node(4, 2), node(5, 1)]

    assert drawn(nodes, tip=5) == [(1, 0), (2, 1), (3, 2), (4, 1), (5, 0)]


def test_a_bookmark_hangs_beside_its_step_and_is_no_branch():
    nodes = [node(1), node(2, 1, NodeKind.BOOKMARK), node(3, 1)]

    lines = lay_out(nodes=nodes, tip=UUID(int=3))

    assert [(line.node.id.int, line.depth, line.branches) for line in lines] == [(1, 0, 1), (2, 1, 0), (3, 0, 0)]


def test_a_bookmark_at_the_tip_leaves_the_tip_where_it_is():
    lines = lay_out(nodes=[node(1), node(2, 1, NodeKind.BOOKMARK)], tip=UUID(int=1))

    assert [(line.node.id.int, line.is_tip) for line in lines] == [(1, True), (2, False)]


def test_nodes_whose_parents_are_not_shown_begin_at_the_margin():
    nodes = [node(7, 6), node(8, 5), node(9, 7)]

    assert drawn(nodes, tip=99, way={8}) == [(7, 0), (9, 0), (8, 0)]


def test_a_tip_that_is_not_shown_is_led_to_by_those_that_are_named():
    lines = lay_out(nodes=[node(1), node(2, 1), node(3, 1)], tip=UUID(int=99), way={UUID(int=1), UUID(int=2)})

    assert [(line.node.id.int, line.depth, line.is_on_way) for line in lines] == [
        (1, 0, True),
        (3, 1, False),
        (2, 0, True),
    ]


@given(st.lists(st.integers(min_value=0, max_value=40), max_size=40), st.integers(min_value=0, max_value=40))
def test_every_node_is_drawn_once_and_after_its_parent(parents, tip):
    """Whatever the tree: node n hangs on some earlier one."""
    nodes = [node(0), *(node(number, parent % number) for number, parent in enumerate(parents, 1))]

    lines = drawn(nodes, tip=tip % len(nodes))

    places = {number: place for place, (number, _) in enumerate(lines)}
    assert sorted(places) == list(range(len(nodes)))
    assert all(places[one.parent_id.int] < places[one.id.int] for one in nodes if one.parent_id is not None)
    assert dict(lines)[tip % len(nodes)] == 0
