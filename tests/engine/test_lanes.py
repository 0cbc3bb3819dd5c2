"""How the nodes of a run become rows with lanes."""

from uuid import UUID

from hypothesis import given, strategies as st

from sessions_app.engine.lanes import LONGEST_CHAIN, MOST_LANES, LanePoint, lay_lanes


def point(number, parent=None, **fields):
    return LanePoint(id=UUID(int=number), parent=None if parent is None else UUID(int=parent), **fields)


def lay(points, tip, **fields):
    return lay_lanes(points=points, tip=UUID(int=tip), **fields)


def test_the_way_to_the_tip_is_the_first_lane_and_a_side_branch_another():
    lanes = lay([point(1), point(2, 1), point(3, 2), point(4, 2), point(5, 3)], 5, unfolded=None)

    assert [branch.lane for branch in lanes.branches] == [0, 1]
    assert [each.int for each in lanes.branches[0].points] == [1, 2, 3, 5]
    assert (lanes.branches[1].base.int, lanes.forks) == (2, {UUID(int=2): 2})


def test_a_bookmark_stands_on_its_branch_and_is_no_end_of_it():
    lanes = lay([point(1), point(2, 1, is_aside=True), point(3, 1)], 3, unfolded=None)

    assert lanes.branch_of[UUID(int=2)] == 0
    assert [each.int for each in lanes.branches[0].points] == [1, 3]
    assert lanes.forks == {}


def test_rounds_of_a_loop_fold_into_one_line_and_unfold_again():
    rounds = [point(number, number - 1, loop="each", round=number) for number in range(2, 6)]
    points = [point(1), *rounds, point(6, 5)]
    folded = lay(points, 6)
    head = folded.lines[1]

    assert [line.point.int for line in folded.lines] == [1, 5, 6]
    assert (head.loop, head.rounds, len(head.folded)) == ("each", 4, 4)
    assert len(lay(points, 6, unfolded={head.point}).lines) == 6


def test_a_long_chain_folds_and_what_needs_a_look_does_not():
    chain = [point(number, number - 1 or None, is_plain=number != 6) for number in range(1, 31)]
    lanes = lay(chain, 30)

    assert UUID(int=6) in [line.point for line in lanes.lines]
    assert len(lanes.lines) < LONGEST_CHAIN + 3
    shown = sum(len(line.folded) or 1 for line in lanes.lines)
    assert shown == 30


@given(st.lists(st.tuples(st.integers(0, 400), st.booleans(), st.booleans()), min_size=1, max_size=60), st.data())
def test_every_node_is_on_one_branch_and_in_one_line_whatever_the_tree(shape, data):
    points = [point(1)]
    for number, (up, is_aside, is_plain) in enumerate(shape, start=2):
        ways = [each.id.int for each in points if not each.is_aside]
        points.append(point(number, ways[up % len(ways)], is_aside=is_aside, is_plain=is_plain))
    tip = data.draw(st.sampled_from([each.id.int for each in points if not each.is_aside]))

    lanes = lay(points, tip)

    seen = [each for line in lanes.lines for each in (line.folded or (line.point,))]
    assert sorted(seen) == sorted(each.id for each in points)
    assert set(lanes.branch_of) == set(seen)
    assert all(0 <= branch.lane < MOST_LANES for branch in lanes.branches)
    assert lanes.branches[lanes.branch_of[UUID(int=tip)]].lane == 0
