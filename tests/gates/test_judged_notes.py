"""What a program looks for in the notes of a step is demanded in every dialect, and words that it does not look at in none."""

import pytest

from tests.gate_kinds import SHOWS_RESULT, VERDICT
from tests.gate_play import HANDED_OVER, STEPS, hand_in, nav, nav_start, nav_step, reached, said
from tests.run_cast import notes_free, published
from tests.step_documents import loop, step
from workflows_app.engine.contracts import BUILT_IN

pytestmark = pytest.mark.django_db(transaction=True)

JUDGED = {"validationCriteria": [SHOWS_RESULT]}
SHOWN = "Result: 3 tests passed."
IN_LOOP = loop("rounds", [step("gated", **JUDGED)], type="for", count=1)
SHAPES = {"a step": step("gated", **JUDGED), "a step of a loop": IN_LOOP}


def publish(desk, middle):
    published(desk, notes_free("before"), middle, notes_free("after"), workflow_id=STEPS)


def hand_over(floor, dialect, **told):
    """What is told of each step, by its id."""
    token = hand_in(floor, dialect, STEPS, "main")
    manifest = [{"step_id": name, "output": output} for name, output in told.items()] or None
    moved = {"activity_id": "workflow-end", "step_manifest": manifest}
    return said(floor[dialect].raw("next_activity", session_token=token, **moved))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dialect", HANDED_OVER)
@pytest.mark.parametrize("output", [None, "", " \n", "Did it."])
def test_a_manifest_tells_what_is_looked_for(floor, dialect, shape, output):
    publish(floor.desk, SHAPES[shape])
    told = {} if output is None else {"gated": output}

    refused = hand_over(floor, dialect, before="Did it.", **told, after="Did it.")

    assert refused["code"] == "STEP_NOT_DONE"
    assert refused["details"]["blockers"][0]["pointer"]["stepId"] == "gated"
    assert not reached() & {"after", "complete"}
    hand_over(floor, dialect, before="Did it.", gated=SHOWN, after="Did it.")


@pytest.mark.parametrize("criteria", [{}, JUDGED], ids=["without criteria", "with criteria"])
@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_an_artifact_is_demanded_in_every_round_also_of_a_step_whose_notes_are_judged(floor, dialect, criteria):
    gated = step("gated", outputContract={"contractRef": VERDICT}, **criteria)
    publish(floor.desk, loop("rounds", [gated], type="for", count=2))
    token = hand_in(floor, dialect, STEPS, "main")
    told = {"step_id": "gated", "output": SHOWN, "artifacts": [BUILT_IN[VERDICT].example]}
    manifest = [{"step_id": "before", "output": "Did it."}, told, {"step_id": "after", "output": "Did it."}]

    moved = {"activity_id": "workflow-end", "step_manifest": manifest}
    refused = said(floor[dialect].raw("next_activity", session_token=token, **moved))
    assert refused["code"] == "STEP_NOT_DONE"
    assert not reached() & {"after", "complete"}


@pytest.mark.parametrize("dialect", HANDED_OVER)
@pytest.mark.parametrize("told", [{}, {"before": ""}, {"before": "Did it.", "gated": ""}])
def test_notes_that_nobody_looks_at_stay_the_agents_own_matter(floor, dialect, told):
    publish(floor.desk, step("gated"))

    hand_over(floor, dialect, **told)

    assert "complete" in reached()


@pytest.mark.parametrize("dialect", HANDED_OVER)
def test_optional_notes_are_not_demanded_for_being_judged(floor, dialect):
    publish(floor.desk, notes_free("gated", **JUDGED))

    hand_over(floor, dialect, before="Did it.")

    assert "complete" in reached()


@pytest.mark.parametrize("notes", [None, "", "Did it."])
def test_a_step_completed_by_hand_tells_what_is_looked_for(floor, notes):
    publish(floor.desk, SHAPES["a step"])
    state = nav_step(floor, nav_start(floor)["state"], "before")["state"]

    nav(floor, state, "complete_step", step_id="gated", notes=notes)
    nav_step(floor, state, "after")

    assert not reached() & {"after", "complete"}
    nav(floor, state, "complete_step", step_id="gated", notes=SHOWN)
    assert "after" in reached()
