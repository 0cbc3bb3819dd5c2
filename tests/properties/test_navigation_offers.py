"""Whatever navigation offers in any random folder is accepted, and what it requires leads to the end."""

from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from sessions_app.engine.actions import AdvanceLoop, CompleteStep, RespondToCheckpoint, TakeTransition
from sessions_app.engine.landscape import Waiting, survey
from sessions_app.engine.steering_refusals import REFUSALS
from tests.activity_folders import activity, compiled, equals, folder, program_of, step
from tests.hand_play import begun, steered
from tests.newest_play import random_folder

MOST_ACTIONS = 400


def offers(land):
    """By how strongly it is offered: what is required, then what is possible."""
    turn = (
        [AdvanceLoop(loop_id=land.loop.id, items=("a", "b") if land.needs_items else None)]
        if land.may_turn_loop
        else []
    )
    leave = [CompleteStep(step_id=land.loop.id)] if land.may_leave_loop else []
    steps = [CompleteStep(step_id=each.id) for each in land.may_do if each.id not in land.needs_person]
    ways = [TakeTransition(activity_id=way.target) for way in land.ways if way.is_open]
    answers = []
    if land.checkpoint is not None and not land.checkpoint.human:
        name = land.checkpoint.id
        answers = [RespondToCheckpoint(checkpoint_id=name, option_id=each.id) for each in land.checkpoint.options]
    return [*steps, *answers, *turn, *leave, *ways]


def walked(program, chance, **known):
    """Random offers taken one after the other; how often each loop was turned at most."""
    snapshot = begun(program, **known)
    for _ in range(MOST_ACTIONS):
        land = survey(program=program, snapshot=snapshot)
        if land.waiting is Waiting.NOTHING:
            return True
        offered = offers(land)
        assert offered or land.needs_person or (land.checkpoint and land.checkpoint.human), land
        if not offered:
            return True
        action = chance.choice(offered)
        try:
            snapshot = steered(program, snapshot, action)
        except REFUSALS as error:
            raise AssertionError((action, str(error), land)) from error
    return False


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_is_offered_in_a_random_folder_is_accepted(seed):
    made = random_folder(seed)
    program = compiled(made.files, library=made.library).program
    chance = Random(seed)

    walked(program, chance, task_list=[1, 2], ready_flag=chance.random() < 0.5, again_flag=chance.random() < 0.5)


ALWAYS = equals("go", "yes")
LOOPS = {
    "while": {"type": "while", "condition": ALWAYS},
    "doWhile": {"type": "doWhile", "condition": ALWAYS},
    "forEach": {"type": "forEach", "over": "many"},
    "until": {"type": "while", "condition": ALWAYS, "breakCondition": equals("never", "yes")},
}


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.parametrize("limit", [1, 2])
def test_a_loop_at_its_limit_offers_no_round_that_is_refused_and_can_be_left(kind, limit):
    loop = {"id": "again", "name": "Again", "maxIterations": limit, "steps": [step("turn")], **LOOPS[kind]}
    program = program_of(folder(activity(steps=[step("do")], loops=[loop])))
    snapshot = steered(program, begun(program, go="yes", many=[1, 2, 3]), CompleteStep(step_id="do"))
    for _ in range(limit):
        assert survey(program=program, snapshot=snapshot).may_turn_loop
        snapshot = steered(program, snapshot, AdvanceLoop(loop_id="again"))
        snapshot = steered(program, snapshot, CompleteStep(step_id="turn"))

    land = survey(program=program, snapshot=snapshot)

    assert (land.may_turn_loop, land.may_leave_loop) == (False, True)
    with pytest.raises(REFUSALS) as refused:
        steered(program, snapshot, AdvanceLoop(loop_id="again"))
    assert refused.value.code == "LOOP_EXHAUSTED"
    assert "complete again" in refused.value.suggestion
    assert steered(program, snapshot, CompleteStep(step_id="again")).position.complete
