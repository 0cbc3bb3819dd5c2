"""Actions by hand: what each refuses, by its code, and what it leaves in the log."""

import pytest

from sessions_app.engine.actions import AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition, nonce_of
from sessions_app.engine.decide import decide
from sessions_app.engine.decisions import Steer
from sessions_app.engine.landscape import survey
from sessions_app.engine.steering_refusals import REFUSALS
from sessions_app.engine.submissions import Submission
from tests.activity_folders import activity, checkpoint, equals, folder, program_of, step
from tests.engine_play import built, do
from tests.hand_play import ITEMS, begun, place, situation_at, steered
from tests.walking import IS_ON, loop, when
from workflows_app.engine import canonical
from workflows_app.engine.program import Confirmation, ConfirmationKind, LoopKind

EACH = {"id": "each", "name": "Each", "type": "forEach", "over": "tasks", "steps": [step("turn")]}
FILES = folder(
    activity(
        steps=[step("do"), step("look")],
        loops=[EACH],
        transitions=[{"to": "next", "condition": equals("go", "yes")}, {"to": "work", "isDefault": True}],
    ),
    activity("next", checkpoints=[checkpoint("sure")], steps=[step("end")], transitions=[{"to": "work"}]),
)


@pytest.fixture
def program():
    return program_of(FILES)


def refused(program, snapshot, action):
    with pytest.raises(REFUSALS) as caught:
        steered(program, snapshot, action)
    assert caught.value.suggestion
    return caught.value.code


def at_loop(program, **variables):
    return steered(
        program, steered(program, begun(program, **variables), CompleteStep(step_id="do")), CompleteStep(step_id="look")
    )


def out_of_loop(program, **variables):
    snapshot = steered(program, at_loop(program, **variables), AdvanceLoop(loop_id="each", items=("one",)))
    return steered(program, steered(program, snapshot, CompleteStep(step_id="turn")), AdvanceLoop(loop_id="each"))


def at_checkpoint(program):
    return steered(program, out_of_loop(program, go="yes"), TakeTransition(activity_id="next"))


def test_an_unknown_step_is_not_found(program):
    assert refused(program, begun(program), CompleteStep(step_id="nope")) == "STEP_NOT_FOUND"


def test_a_step_of_a_loop_that_is_not_begun_is_not_at_hand(program):
    assert refused(program, begun(program), CompleteStep(step_id="turn")) == "STEP_NOT_FOUND"


def test_a_step_is_completed_once(program):
    done = steered(program, begun(program), CompleteStep(step_id="do"))

    assert refused(program, done, CompleteStep(step_id="do")) == "STEP_ALREADY_COMPLETE"


def test_steps_may_be_completed_out_of_their_order(program):
    done = steered(program, begun(program), CompleteStep(step_id="look"))

    assert survey(program=program, snapshot=done).step.id == "do"


def test_an_activity_is_left_when_it_is_complete(program):
    assert refused(program, begun(program), TakeTransition(activity_id="next")) == "ACTIVITY_NOT_COMPLETE"


def test_an_unknown_target_is_not_found(program):
    assert refused(program, out_of_loop(program), TakeTransition(activity_id="nope")) == "TARGET_ACTIVITY_NOT_FOUND"


def test_a_way_whose_condition_does_not_hold_is_refused(program):
    done = out_of_loop(program, go="no")

    assert refused(program, done, TakeTransition(activity_id="next")) == "INVALID_TRANSITION"


def test_a_way_on_the_agents_word_leaves_a_gap_and_a_warning(program):
    done = out_of_loop(program)

    decision = decide(
        program=program, snapshot=done, command=Steer(action=TakeTransition(activity_id="next")), place=place(1)
    )

    assert decision.snapshot.position.activity == "next"
    assert 'go == "yes"' in decision.gaps[0].gap.summary
    assert [warning.code for warning in decision.warnings] == ["GAP_RECORDED"]


def test_a_checkpoint_blocks_steps_loops_and_transitions(program):
    asked = at_checkpoint(program)

    codes = {
        refused(program, asked, action)
        for action in (
            CompleteStep(step_id="end"),
            TakeTransition(activity_id="work"),
            AdvanceLoop(loop_id="each"),
        )
    }

    assert codes == {"CHECKPOINT_BLOCKING"}


def test_an_answer_names_a_checkpoint_and_an_option_that_there_are(program):
    asked = at_checkpoint(program)

    def answer(checkpoint_id, option_id):
        return refused(program, asked, RespondToCheckpoint(checkpoint_id=checkpoint_id, option_id=option_id))

    assert answer("nope", "yes") == "CHECKPOINT_NOT_FOUND"
    assert answer("sure", "nope") == "OPTION_NOT_FOUND"


def test_a_checkpoint_is_answered_once(program):
    answer = RespondToCheckpoint(checkpoint_id="sure", option_id="yes")
    answered = steered(program, at_checkpoint(program), answer)

    assert refused(program, answered, answer) == "CHECKPOINT_ALREADY_RESPONDED"


def test_a_checkpoint_for_a_person_is_not_answered_by_an_agent():
    program = program_of(folder(activity(steps=[step("do")], checkpoints=[checkpoint("sign", authority="human")])))
    asked = begun(program)

    told = situation_at(program, asked)["availableActions"]

    assert refused(program, asked, RespondToCheckpoint(checkpoint_id="sign", option_id="yes")) == "CHECKPOINT_BLOCKING"
    assert (told["required"], told["optional"]) == ([], [])
    assert [each["action"] for each in told["blocked"]] == ["respond_to_checkpoint", "complete_step"]


def test_a_loop_that_does_not_know_its_items_asks_for_them(program):
    assert refused(program, at_loop(program), AdvanceLoop(loop_id="each")) == "LOOP_ITEMS_REQUIRED"
    assert refused(program, at_loop(program), AdvanceLoop(loop_id="nope")) == "LOOP_NOT_FOUND"


def test_a_loop_takes_its_items_from_the_variable(program):
    begins = steered(program, at_loop(program, tasks=["a", "b", "c"]), AdvanceLoop(loop_id="each"))

    land = survey(program=program, snapshot=begins)

    assert (land.round.iteration, land.round.total, land.round.item) == (1, 3, "a")


def test_a_round_is_ended_by_its_steps(program):
    begins = steered(program, at_loop(program), AdvanceLoop(loop_id="each", items=ITEMS))

    assert refused(program, begins, AdvanceLoop(loop_id="each")) == "ROUND_NOT_COMPLETE"
    assert refused(program, begins, TakeTransition(activity_id="next")) == "ACTIVITY_NOT_COMPLETE"
    assert refused(program, begins, CompleteStep(step_id="each")) == "STEP_NOT_FOUND"


def test_a_loop_over_nothing_is_done_at_once(program):
    passed = steered(program, at_loop(program), AdvanceLoop(loop_id="each", items=()))

    assert [way.target for way in survey(program=program, snapshot=passed).ways] == ["next", "work"]


def test_a_loop_that_the_agent_decides_is_left_by_completing_it():
    loop = {"id": "again", "name": "Again", "type": "while", "condition": equals("go", "yes"), "steps": [step("turn")]}
    program = program_of(folder(activity(steps=[step("do")], loops=[loop])))
    snapshot = steered(program, begun(program, go="yes"), CompleteStep(step_id="do"))
    for _ in range(2):
        snapshot = steered(program, snapshot, AdvanceLoop(loop_id="again"))
        snapshot = steered(program, snapshot, CompleteStep(step_id="turn"))

    left = steered(program, snapshot, CompleteStep(step_id="again"))

    assert left.position.complete


def test_a_loop_stops_aloud_at_its_most_rounds():
    loop = {
        "id": "again",
        "name": "Again",
        "type": "while",
        "condition": equals("go", "yes"),
        "maxIterations": 1,
        "steps": [step("turn")],
    }
    program = program_of(folder(activity(steps=[step("do")], loops=[loop])))
    snapshot = steered(program, begun(program, go="yes"), CompleteStep(step_id="do"))
    snapshot = steered(program, snapshot, AdvanceLoop(loop_id="again"))
    snapshot = steered(program, snapshot, CompleteStep(step_id="turn"))

    assert refused(program, snapshot, AdvanceLoop(loop_id="again")) == "LOOP_EXHAUSTED"
    assert steered(program, snapshot, CompleteStep(step_id="again")).position.complete


def test_nothing_is_done_in_a_run_that_is_complete():
    program = program_of(folder(activity(steps=[step("do")])))
    done = steered(program, begun(program), CompleteStep(step_id="do"))

    assert refused(program, done, CompleteStep(step_id="do")) == "RUN_COMPLETE"


def test_an_option_may_lead_elsewhere_and_pass_over_activities():
    asked = checkpoint("sure")
    asked["options"][0]["effect"] = {"transitionTo": "b", "skipActivities": ["c"]}
    files = folder(
        activity(steps=[step("do")], checkpoints=[asked], transitions=[{"to": "b"}]),
        activity("b", steps=[step("x")], transitions=[{"to": "c"}]),
        activity("c", steps=[step("y")], transitions=[{"to": "d"}]),
        activity("d", steps=[step("z")]),
    )
    program = program_of(files)
    moved = steered(program, begun(program), RespondToCheckpoint(checkpoint_id="sure", option_id="yes"))

    after = steered(program, steered(program, moved, CompleteStep(step_id="x")), TakeTransition(activity_id="c"))

    assert (moved.position.activity, after.position.activity) == ("b", "d")


def test_what_was_not_handed_in_is_written_down_as_a_gap(program):
    decision = decide(
        program=program, snapshot=begun(program), command=Steer(action=CompleteStep(step_id="do")), place=place(1)
    )

    assert all(found.gap.severity == "info" for found in decision.gaps)
    assert decision.warnings == ()


def test_the_same_action_at_the_same_node_has_the_same_name_and_any_other_has_not():
    node, other = place().next_node, place(1).next_node
    actions = [
        CompleteStep(step_id="a"),
        CompleteStep(step_id="b"),
        TakeTransition(activity_id="a"),
        AdvanceLoop(loop_id="a"),
        AdvanceLoop(loop_id="a", items=()),
        AdvanceLoop(loop_id="a", items=(1,)),
    ]

    names = {nonce_of(node_id=place, action=action) for place in (node, other) for action in actions}

    assert len(names) == 2 * len(actions)
    assert nonce_of(node_id=node, action=CompleteStep(step_id="a")) in names


def test_items_that_are_no_json_have_no_name():
    with pytest.raises(canonical.NotCanonicalError):
        nonce_of(node_id=place().next_node, action=AdvanceLoop(loop_id="a", items=(float("nan"),)))


APPROVED = do("ship", confirmation=Confirmation(confirms=ConfirmationKind.HUMAN_APPROVAL), run_condition=IS_ON)
MORE = when(var="more", equals=True)
SPENT = {
    "list": (loop("l", do("work"), APPROVED, kind=LoopKind.FOR_EACH, items=("list",), max_iterations=1), {"list": []}),
    "count": (loop("l", do("work"), APPROVED, count=("count",), max_iterations=1), {"count": 1}),
    "while": (loop("l", do("work"), APPROVED, kind=LoopKind.WHILE, condition=MORE, max_iterations=1), {"more": False}),
}


@pytest.mark.parametrize("kind", SPENT)
def test_a_loop_that_asks_people_says_at_its_limit_what_leaves_it(kind):
    spent, ends = SPENT[kind]
    program = built(spent)
    snapshot = begun(program, list=["one", "two"], count=2, more=True)
    snapshot = steered(program, steered(program, snapshot, AdvanceLoop(loop_id="l")), CompleteStep(step_id="work"))

    offered = situation_at(program, snapshot)["availableActions"]
    (blocked,) = offered["blocked"]

    assert (offered["required"], offered["optional"], blocked["loop"]) == ([], [], "l")
    assert next(iter(ends)) in blocked["reason"]
    assert refused(program, snapshot, CompleteStep(step_id="l")) == "LOOP_EXHAUSTED"
    left = steered(program, snapshot, CompleteStep(step_id="l", submission=Submission(context=ends)))
    assert (left.position.frames, left.variables[next(iter(ends))]) == ((), ends[next(iter(ends))])


def test_what_is_handed_in_with_the_end_of_a_loop_is_kept():
    endless = built(loop("l", do("work"), kind=LoopKind.WHILE, condition=MORE))
    inside = steered(endless, begun(endless, more=True), AdvanceLoop(loop_id="l"))
    inside = steered(endless, inside, CompleteStep(step_id="work"))
    said = CompleteStep(step_id="l", submission=Submission(notes="Left early.", context={"why": "enough"}))

    decision = decide(program=endless, snapshot=inside, command=Steer(action=said), place=place(1))

    assert decision.snapshot.variables["why"] == "enough"
    assert [output.body for output in decision.outputs] == ["Left early."]
    assert "context_set" in [draft.kind.value for draft in decision.drafts]


def test_a_loop_that_is_not_at_hand_is_not_suggested_once_more(program):
    with pytest.raises(REFUSALS) as caught:
        steered(program, out_of_loop(program), AdvanceLoop(loop_id="each"))

    assert "each" not in caught.value.suggestion
