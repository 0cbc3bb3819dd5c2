"""By hand nobody is asked to begin a loop in which there is nothing to do."""

import itertools

import pytest

from sessions_app.engine.actions import AdvanceLoop, CompleteStep
from sessions_app.engine.landscape import Waiting, survey
from tests.activity_folders import activity, equals, folder, program_of, step
from tests.hand_play import begun, steered


def loop(loop_id, **more):
    return {"id": loop_id, "name": loop_id.title(), "steps": [step(f"in-{loop_id}")], **more}


NEVER = equals("never", "yes")
EMPTY = {
    "no items": loop("none", type="forEach", over="found.items"),
    "a test that fails": loop("none", type="while", condition=NEVER),
    "a round without a step": loop("none", type="doWhile", condition=NEVER, steps=[step("in-none", condition=NEVER)]),
    "items without a step": loop("none", type="forEach", over="some", steps=[step("in-none", condition=NEVER)]),
}
FULL = loop("each", type="forEach", over="some")
KNOWN = {"found": {"items": []}, "some": ["x", "y"]}
PLACES = {
    "alone": lambda empty: [empty],
    "before another": lambda empty: [empty, FULL],
    "behind another": lambda empty: [FULL, empty],
    "twice": lambda empty: [empty, {**empty, "id": "nor", "steps": [{**empty["steps"][0], "id": "in-nor"}]}],
}


@pytest.mark.parametrize(("why", "where", "ahead"), list(itertools.product(EMPTY, PLACES, [[], [step("do")]])))
def test_a_loop_without_anything_to_do_is_passed_by(why, where, ahead):
    program = program_of(folder(activity(steps=ahead, loops=PLACES[where](EMPTY[why]))))
    snapshot, met = begun(program, **KNOWN), []

    while not snapshot.position.complete and len(met) < 20:
        land = survey(program=program, snapshot=snapshot)
        if land.waiting is Waiting.STEP:
            action = CompleteStep(step_id=land.step.id)
        else:
            assert land.loop is not None, land
            action = AdvanceLoop(loop_id=land.loop.id)
        met.append(land.loop.id if land.loop else "")
        snapshot = steered(program, snapshot, action)

    assert snapshot.position.complete
    assert "none" not in met
    assert "nor" not in met


@pytest.mark.parametrize("known", [{}, {"some": "text"}, {"some": None}])
def test_a_loop_whose_list_nobody_knows_is_asked_for_its_list(known):
    program = program_of(folder(activity(steps=[step("do")], loops=[FULL])))

    land = survey(program=program, snapshot=steered(program, begun(program, **known), CompleteStep(step_id="do")))

    assert (land.waiting, land.needs_items) == (Waiting.LOOP, True)
