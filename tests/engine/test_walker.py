"""Which item comes next: conditions, every kind of loop, and the ways between activities."""

import msgspec
import pytest

from tests.engine_play import activities, asking, built, do
from tests.walking import CONTRACT, GO_ON, IS_ON, STOP, activity, loop, to, when
from workflows_app.engine import walker
from workflows_app.engine.program import Branch, DecisionPoint, Effect, LoopKind, Option, WorkflowMode
from workflows_app.engine.walks import FailureKind, NoteKind


def walk_through(program, variables=None, *, artifacts=None, limit=200, **options):
    """The keys of every pending item until the end, and the last walk. `artifacts(key)` is what an item hands in."""
    given = variables or {}
    walk = walker.start(program=program, variables=given, **options)
    keys = []
    while walk.failure is None and not walk.position.complete:
        keys.append(walk.position.pending)
        assert len(keys) < limit
        walk = walker.complete_pending(
            program=program,
            position=walk.position,
            variables=given,
            artifacts=tuple(artifacts(keys[-1])) if artifacts else (),
            **options,
        )
    return keys, walk


def keys_of(*args, **options):
    keys, walk = walk_through(*args, **options)
    assert walk.failure is None
    return keys


# Steps


def test_steps_come_in_the_order_of_the_program():
    assert keys_of(built(do("a"), do("b"), do("c"))) == ["a", "b", "c"]


def test_a_step_whose_condition_does_not_hold_is_passed_over():
    program = built(do("a", run_condition=IS_ON), do("b"))

    assert keys_of(program) == ["b"]
    assert keys_of(program, {"on": True}) == ["a", "b"]


def test_a_step_whose_condition_turns_true_later_is_still_done():
    program = built(do("early", run_condition=IS_ON), do("late"))
    first = walker.start(program=program, variables={})

    then = walker.complete_pending(program=program, position=first.position, variables={"on": True})

    assert (first.position.pending, then.position.pending) == ("late", "early")


def test_a_program_without_an_eligible_step_is_complete_at_once():
    walk = walker.start(program=built(do("a", run_condition=IS_ON)), variables={})

    assert walk.position.complete
    assert walker.item_at(built(do("a")), walk.position) is None


def test_the_walk_says_why_it_went_where_it_went():
    walk = walker.start(program=built(do("a", run_condition=IS_ON), do("b")), variables={})

    assert [(note.kind, note.item) for note in walk.notes] == [
        (NoteKind.EVALUATED_CONDITION, "a"),
        (NoteKind.SELECTED_NEXT_STEP, "b"),
    ]
    assert walk.notes[0].summary == "on == true is false."


# Loops that count


def test_a_for_loop_runs_its_count_of_rounds():
    program = built(loop("l", do("a"), do("b"), count=2), do("end"))

    assert keys_of(program) == ["l@0::a", "l@0::b", "l@1::a", "l@1::b", "end"]


@pytest.mark.parametrize(("value", "rounds"), [(2, 2), (2.0, 2), (0, 0), (-0.0, 0)])
def test_a_count_may_be_a_number_of_the_context(value, rounds):
    program = built(loop("l", do("a"), count=("times",)))

    assert keys_of(program, {"times": value}) == [f"l@{index}::a" for index in range(rounds)]


@pytest.mark.parametrize(
    "value",
    [None, "2", "", True, False, [1], {}, 2.5, 0.1, 1e-9, -1, -3, -0.5, float("nan"), float("inf"), float("-inf")],
)
def test_a_count_that_is_no_whole_number_stops_the_walk_and_names_the_key(value):
    _, walk = walk_through(built(loop("l", do("a"), count=("limits", "times"))), {"limits": {"times": value}})

    assert (walk.failure.kind, walk.failure.keys) == (FailureKind.MISSING_CONTEXT, ("limits.times",))
    assert "a whole number of at least 0" in walk.failure.message
    assert walk.failure.so_that == "so that limits.times is a whole number of at least 0"
    assert not walk.position.complete


@pytest.mark.parametrize("value", [4, 1e3, 1e300, 10**400])
def test_a_count_beyond_the_limit_is_told_after_the_last_round_however_large_it_is(value):
    keys, walk = walk_through(built(loop("l", do("a"), count=("times",), max_iterations=3)), {"times": value})

    assert keys == ["l@0::a", "l@1::a", "l@2::a"]
    assert walk.failure.kind is FailureKind.MAX_ITERATIONS


def test_a_for_each_loop_runs_one_round_for_each_item():
    program = built(loop("l", do("a"), kind=LoopKind.FOR_EACH, items=("files",)))

    assert keys_of(program, {"files": ["x", "y", "z"]}) == ["l@0::a", "l@1::a", "l@2::a"]
    assert keys_of(program, {"files": []}) == []


@pytest.mark.parametrize("value", [None, "xyz", {"a": 1}])
def test_items_that_are_no_list_stop_the_walk(value):
    _, walk = walk_through(built(loop("l", do("a"), kind=LoopKind.FOR_EACH, items=("files",))), {"files": value})

    assert walk.failure.kind is FailureKind.MISSING_CONTEXT


def test_a_list_that_shrinks_between_rounds_ends_the_loop():
    program = built(loop("l", do("a"), kind=LoopKind.FOR_EACH, items=("files",)), do("end"))
    first = walker.start(program=program, variables={"files": [1, 2, 3]})

    then = walker.complete_pending(program=program, position=first.position, variables={"files": [1]})

    assert then.position.pending == "end"


def test_rounds_are_told_from_one_and_indices_from_zero():
    program = built(loop("l", do("a"), kind=LoopKind.FOR_EACH, items=("files",)))
    files = {"files": ["x", "y"]}
    first = walker.start(program=program, variables=files)
    second = walker.complete_pending(program=program, position=first.position, variables=files)

    seen = walker.loop_variables(program=program, position=second.position, variables=files)

    assert seen == {"currentIteration": 2, "currentIndex": 1, "currentItem": "y"}


def test_an_author_names_the_variables_of_a_loop():
    named = {"iteration_variable": "round", "item_variable": "file", "index_variable": "at"}
    program = built(loop("l", do("a"), kind=LoopKind.FOR_EACH, items=("files",), **named))
    first = walker.start(program=program, variables={"files": ["x"]})

    seen = walker.loop_variables(program=program, position=first.position, variables={"files": ["x"]})

    assert seen == {"round": 1, "file": "x", "at": 0}


# Loops that ask


def test_a_while_loop_asks_before_its_first_round():
    program = built(loop("l", do("a"), kind=LoopKind.WHILE, condition=IS_ON), do("end"))

    assert keys_of(program) == ["end"]


def test_an_until_loop_runs_while_its_condition_does_not_hold():
    program = built(loop("l", do("a"), kind=LoopKind.UNTIL, condition=when(var="currentIteration", equals=3)))

    assert keys_of(program) == ["l@0::a", "l@1::a"]


def test_a_do_while_loop_asks_after_its_first_round():
    program = built(loop("l", do("a"), kind=LoopKind.DO_WHILE, condition=IS_ON), do("end"))

    assert keys_of(program) == ["l@0::a", "end"]


def test_a_break_condition_ends_a_loop_whatever_else_says():
    program = built(loop("l", do("a"), count=5, break_condition=when(var="currentIteration", equals=2)), do("end"))

    assert keys_of(program) == ["l@0::a", "l@1::a", "end"]


def test_a_condition_of_a_round_sees_the_round():
    program = built(
        loop("l", do("a", run_condition=when(var="currentItem", equals="y")), kind=LoopKind.FOR_EACH, items=("files",))
    )

    assert keys_of(program, {"files": ["x", "y"]}) == ["l@1::a"]


def test_a_round_in_which_every_step_is_skipped_still_counts():
    program = built(loop("l", do("a", run_condition=IS_ON), count=3, max_iterations=3), do("end"))

    assert keys_of(program) == ["end"]


def test_a_loop_inside_a_loop_is_entered_afresh_in_every_round():
    inner = loop("inner", do("a"), count=2)
    program = built(loop("outer", inner, do("b"), count=2))

    assert keys_of(program) == [
        "outer@0/inner@0::a",
        "outer@0/inner@1::a",
        "outer@0::b",
        "outer@1/inner@0::a",
        "outer@1/inner@1::a",
        "outer@1::b",
    ]


def test_an_inner_loop_goes_over_an_item_of_the_outer_one():
    inner = loop("inner", do("a"), kind=LoopKind.FOR_EACH, items=("currentItem",), item_variable="cell")
    program = built(loop("outer", inner, kind=LoopKind.FOR_EACH, items=("rows",)))

    assert keys_of(program, {"rows": [[1, 2], [3]]}) == [
        "outer@0/inner@0::a",
        "outer@0/inner@1::a",
        "outer@1/inner@0::a",
    ]


# The limit of rounds


def test_a_loop_at_its_limit_whose_decision_says_go_on_fails_loudly():
    program = built(loop("l", do("a"), kind=LoopKind.WHILE, condition=IS_ON, max_iterations=2), do("end"))

    keys, walk = walk_through(program, {"on": True})

    assert keys == ["l@0::a", "l@1::a"]
    assert (walk.failure.kind, walk.failure.item, walk.failure.keys) == (FailureKind.MAX_ITERATIONS, "l", ("on",))
    assert walk.position.pending == "l@1::a"


def test_a_loop_that_ends_by_its_decision_at_its_limit_does_not_fail():
    program = built(loop("l", do("a"), count=2, max_iterations=2), do("end"))

    assert keys_of(program) == ["l@0::a", "l@1::a", "end"]


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ({"kind": LoopKind.FOR, "count": ("times",)}, ("times",)),
        ({"kind": LoopKind.FOR_EACH, "items": ("files",)}, ("files",)),
    ],
)
def test_a_loop_of_too_many_rounds_names_the_variable_that_says_how_many(fields, keys):
    program = built(loop("l", do("a"), max_iterations=1, **fields))

    _, walk = walk_through(program, {"times": 2, "files": [1, 2]})

    assert walk.failure.keys == keys


def test_a_loop_that_an_artifact_decides_says_how_it_is_ended():
    program = built(loop("l", do("a"), kind=LoopKind.WHILE, decision_contract=CONTRACT, max_iterations=1))

    _, walk = walk_through(program)

    assert "decision is stop" in walk.failure.remedy


def test_a_walk_that_presses_on_leaves_the_loop_and_tells():
    program = built(loop("l", do("a"), kind=LoopKind.WHILE, condition=IS_ON, max_iterations=2), do("end"))
    position = walker.start(program=program, variables={"on": True}).position
    for _ in range(2):
        walk = walker.complete_pending(program=program, position=position, variables={"on": True}, press_on=True)
        position = walk.position

    assert position.pending == "end"
    assert [failure.kind for failure in walk.passed] == [FailureKind.MAX_ITERATIONS]


# Decisions by artifact


WORK_AND_DECIDE = (do("work"), do("decide"))


def decided(*, body=WORK_AND_DECIDE, **fields):
    return loop("l", *body, kind=LoopKind.WHILE, decision_contract=CONTRACT, max_iterations=4, **fields)


def test_a_loop_without_a_decision_goes_on():
    keys, walk = walk_through(built(decided()))

    assert len(keys) == 8
    assert walk.failure.kind is FailureKind.MAX_ITERATIONS


def test_the_step_that_ends_a_round_decides_on_the_next():
    def said(key):
        return [STOP] if key.startswith("l@1") else [GO_ON]

    assert keys_of(built(decided(), do("end")), artifacts=said)[-2:] == ["l@1::decide", "end"]


def test_only_the_step_just_completed_is_heard():
    def said(key):
        return [STOP] if key.endswith("work") else []

    keys, _ = walk_through(built(decided()), artifacts=said)

    assert len(keys) == 8


def test_the_last_word_counts():
    assert len(keys_of(built(decided()), artifacts=lambda _key: [GO_ON, STOP])) == 2


def test_a_step_outside_of_all_loops_decides_whether_the_next_one_is_entered():
    program = built(do("before"), decided(), do("end"))

    assert keys_of(program, artifacts=lambda _key: [STOP]) == ["before", "end"]


def test_what_ended_one_loop_does_not_skip_the_next():
    second = loop("m", do("more"), kind=LoopKind.WHILE, decision_contract=CONTRACT, max_iterations=4)
    program = built(decided(), second)

    keys = keys_of(program, artifacts=lambda _key: [STOP])

    assert keys == ["l@0::work", "l@0::decide", "m@0::more"]


def test_a_word_from_inside_a_loop_that_only_counts_does_not_skip_the_next():
    program = built(loop("each", do("a"), count=1), decided(body=(do("decide"),)))

    assert keys_of(program, artifacts=lambda _key: [STOP]) == ["each@0::a", "l@0::decide"]


def test_a_decision_that_names_a_loop_is_heard_by_that_loop_only():
    named = {**STOP, "loopId": "someone-else"}

    keys, walk = walk_through(built(decided()), artifacts=lambda _key: [named])

    assert len(keys) == 8
    assert walk.failure.kind is FailureKind.MAX_ITERATIONS


@pytest.mark.parametrize("name", ["l", "said-by-the-author"])
def test_a_loop_answers_to_its_id_and_to_the_name_that_its_author_gave(name):
    program = built(decided(decision_loop_id="said-by-the-author"))

    assert len(keys_of(program, artifacts=lambda _key: [{**STOP, "loopId": name}])) == 2


def test_a_decided_loop_inside_another_loop_is_entered_again_in_the_next_round():
    program = built(loop("outer", decided(body=(do("decide"),)), count=2))

    assert keys_of(program, artifacts=lambda _key: [STOP]) == ["outer@0/l@0::decide", "outer@1/l@0::decide"]


def test_what_ends_the_inner_loop_does_not_end_the_outer_one():
    outer = loop("o", decided(body=(do("decide"),)), kind=LoopKind.WHILE, decision_contract=CONTRACT, max_iterations=2)

    keys, walk = walk_through(built(outer), artifacts=lambda _key: [STOP])

    assert keys == ["o@0/l@0::decide", "o@1/l@0::decide"]
    assert walk.failure.item == "o"


def test_a_step_in_a_loop_that_only_counts_decides_the_loop_around_it():
    counted = loop("each", do("decide"), count=1)
    program = built(loop("o", counted, kind=LoopKind.WHILE, decision_contract=CONTRACT, max_iterations=3))

    assert keys_of(program, artifacts=lambda _key: [STOP]) == ["o@0/each@0::decide"]


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "wr.loop_control"},
        {"kind": "wr.loop_control", "decision": ["stop"]},
        {"kind": "wr.loop_control", "decision": "halt"},
        {"kind": "wr.loop_control", "decision": "stop", "loopId": ["l"]},
        {"kind": "wr.loop_control", "decision": "stop", "loopId": {}},
        {"decision": "stop"},
    ],
)
def test_an_artifact_that_is_no_decision_is_as_none(broken):
    keys, walk = walk_through(built(decided()), artifacts=lambda _key: [broken])

    assert len(keys) == 8
    assert walk.failure.kind is FailureKind.MAX_ITERATIONS


# Bounds


def nested_and_skipped():
    skipped = do("a", run_condition=IS_ON)
    inner = loop("inner", skipped, count=1000, max_iterations=1000)
    return built(loop("outer", inner, count=1000, max_iterations=1000), do("end"))


def test_a_walk_over_nothing_but_skipped_steps_ends_in_a_failure():
    walk = walker.start(program=nested_and_skipped(), variables={})

    assert walk.failure.kind is FailureKind.BUDGET


def test_a_walk_that_presses_on_ends_the_run_when_its_budget_is_spent():
    walk = walker.start(program=nested_and_skipped(), variables={}, press_on=True)

    assert (walk.failure, walk.position.complete) == (None, True)
    assert walk.passed[-1].kind is FailureKind.BUDGET


def test_a_position_does_not_grow_with_the_rounds_that_it_has_seen():
    program = built(loop("l", do("a"), count=1000, max_iterations=1000))
    position = walker.start(program=program, variables={}).position
    sizes = []
    for _ in range(999):
        sizes.append(len(msgspec.json.encode(position)))
        position = walker.complete_pending(program=program, position=position, variables={}).position

    # From the second round on it says that there was one.
    assert max(sizes[1:]) - min(sizes[1:]) <= 4


# Between activities


def test_an_activity_without_transitions_ends_the_run():
    assert keys_of(activities(activity("one", do("a")))) == ["one@0::a"]


def test_the_first_transition_whose_condition_holds_is_taken():
    ways = (to("two", condition=IS_ON), to("three", is_default=True))
    program = activities(
        activity("one", do("a"), transitions=ways), activity("two", do("b")), activity("three", do("c"))
    )

    assert keys_of(program, {"on": True}) == ["one@0::a", "two@0::b"]
    assert keys_of(program) == ["one@0::a", "three@0::c"]


def test_the_branches_of_a_decision_are_asked_before_the_transitions():
    branch = Branch(id="b", label="B", condition=IS_ON, transition_to="two")
    decision = DecisionPoint(id="d", name="D", branches=(branch,))
    program = activities(
        activity("one", do("a"), decisions=(decision,), transitions=(to("three", is_default=True),)),
        activity("two", do("b")),
        activity("three", do("c")),
    )

    assert keys_of(program, {"on": True})[-1] == "two@0::b"
    assert keys_of(program)[-1] == "three@0::c"


def test_a_default_branch_comes_after_the_default_transition():
    branch = Branch(id="b", label="B", transition_to="two", is_default=True)
    decision = DecisionPoint(id="d", name="D", branches=(branch,))
    program = activities(activity("one", do("a"), decisions=(decision,)), activity("two", do("b")))

    assert keys_of(program) == ["one@0::a", "two@0::b"]


def test_an_activity_whose_conditions_all_fail_is_the_last_one():
    program = activities(activity("one", do("a"), transitions=(to("one", condition=IS_ON),)))

    keys, walk = walk_through(program)

    assert (keys, walk.failure, walk.position.complete) == (["one@0::a"], None, True)
    assert "no condition of its transitions holds" in walk.notes[-1].summary


@pytest.mark.parametrize("name", sorted(walker.TERMINAL_TARGETS))
def test_an_activity_may_be_called_like_the_end(name):
    program = activities(activity("one", do("a"), transitions=(to(name),)), activity(name, do("b")))

    assert keys_of(program) == ["one@0::a", f"{name}@0::b"]
    assert name not in walker.end_names(program)
    assert walker.end_name(program) in walker.end_names(program)


@pytest.mark.parametrize("target", sorted(walker.TERMINAL_TARGETS))
def test_a_terminal_target_ends_the_run(target):
    program = activities(activity("one", do("a"), transitions=(to(target, is_default=True),)))

    assert keys_of(program) == ["one@0::a"]


def test_an_activity_may_have_the_name_of_a_terminal_target():
    program = activities(
        activity("one", do("a"), transitions=(to("end-workflow", is_default=True),)),
        activity("end-workflow", do("wrap-up")),
    )

    assert keys_of(program)[-1] == "end-workflow@0::wrap-up"


def test_a_transition_to_nowhere_stops_the_walk():
    _, walk = walk_through(activities(activity("one", do("a"), transitions=(to("gone", is_default=True),))))

    assert (walk.failure.kind, walk.failure.item) == (FailureKind.UNKNOWN_ACTIVITY, "gone")


def test_an_activity_that_is_entered_again_starts_afresh():
    back = (to("one", condition=when(var="again", equals=True)), to("__terminal__", is_default=True))
    program = activities(activity("one", do("a"), transitions=back))
    first = walker.start(program=program, variables={})

    again = walker.complete_pending(program=program, position=first.position, variables={"again": True})

    assert again.position.pending == "one@1::a"
    assert again.position.completed_activities == ("one",)


def test_a_skipped_activity_is_passed_over_by_its_own_ways():
    program = activities(
        activity("one", do("a"), transitions=(to("two", is_default=True),)),
        activity("two", do("b"), transitions=(to("three", is_default=True),)),
        activity("three", do("c")),
    )
    first = walker.start(program=program, variables={})

    then = walker.complete_pending(program=program, position=walker.skip(first.position, ("two",)), variables={})

    assert then.position.pending == "three@0::c"


def test_a_mode_skips_its_activities():
    mode = WorkflowMode(id="quick", name="Quick", activation_variable="quick", skip_activities=("one",))
    program = activities(
        activity("one", do("a"), transitions=(to("two", is_default=True),)), activity("two", do("b")), modes=(mode,)
    )

    assert keys_of(program, {"quick": True}) == ["two@0::b"]
    assert keys_of(program, {"quick": "yes"}) == ["one@0::a", "two@0::b"]


def test_skipped_activities_that_lead_to_each_other_end_in_a_failure():
    mode = WorkflowMode(id="none", name="None", activation_variable="none", skip_activities=("one", "two"))
    program = activities(
        activity("one", do("a"), transitions=(to("two", is_default=True),)),
        activity("two", do("b"), transitions=(to("one", is_default=True),)),
        modes=(mode,),
    )

    walk = walker.start(program=program, variables={"none": True})

    assert walk.failure.kind is FailureKind.BUDGET


def test_entering_an_activity_leaves_loops_behind():
    program = activities(activity("one", loop("l", do("a"), count=3)), activity("two", do("b")))
    inside = walker.start(program=program, variables={})

    then = walker.enter_activity(program=program, position=inside.position, activity_id="two", variables={})

    assert (then.position.pending, then.position.frames) == ("two@0::b", ())


def test_a_gate_is_asked_where_it_stands_and_when_its_checkpoint_says():
    gate, checkpoint = asking("plan", Option(id="yes", label="Yes", effect=Effect()), condition=IS_ON)
    program = activities(activity("one", do("a"), gate, do("b"), checkpoints=(checkpoint,)))

    assert keys_of(program, {"on": True}) == ["one@0::a", "one@0::ask-plan", "one@0::b"]
    assert keys_of(program) == ["one@0::a", "one@0::b"]
