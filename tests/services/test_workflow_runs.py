"""What runs tell of their workflow: how many, on which program, where they stand, what is blocked and for how long."""

import pytest

from sessions_app.selectors.workflow_runs import read_workflow_runs
from tests.run_cast import advance, advanced, make_desk, notes_free, published, soon, start
from tests.step_documents import step

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(db):
    return make_desk()


def test_steps_are_counted_over_all_runs_and_a_question_is_no_failed_attempt(desk):
    published(
        desk,
        step("find", validationCriteria=[{"type": "contains", "value": "E1", "message": "Name E1."}]),
        step("agree", requireConfirmation={"kind": "human_approval"}),
        notes_free("end"),
    )
    for _ in range(2):
        first = start(desk).value
        blocked = advanced(desk.agent, first, "Nothing yet.")
        passed = advanced(desk.agent, blocked, "E1: seen.")
    advance(desk.agent, passed, "Please look.")

    told = read_workflow_runs(actor=desk.viewer, workflow_id="team.sample")

    assert (told.total, sum(told.running.values())) == (2, 2)
    assert (told.ended, told.done, told.median_s, told.stuck) == (0, 0, None, {})
    assert (told.steps["find"].attempts, told.steps["find"].blocked, told.steps["find"].percent) == (4, 2, 50)
    assert told.steps["agree"].blocked == 0
    assert told.steps["agree"].now == 2
    assert "end" not in told.steps


def test_runs_that_ended_and_runs_that_are_stuck_are_told(desk):
    published(desk, notes_free("one"), step("two"))
    for minute in (3, 5, 9):
        value = advanced(desk.agent, start(desk).value, now=soon(1))
        advanced(desk.agent, value, now=soon(minute))
    stuck = advanced(desk.agent, start(desk).value)
    advance(desk.agent, stuck, "")

    told = read_workflow_runs(actor=desk.viewer, workflow_id="team.sample")

    assert (told.ended, told.done, told.median_s) == (3, 3, 300.0)
    assert told.stuck == {"two": 1}


def test_another_team_is_told_of_nothing(desk):
    published(desk, notes_free("one"))
    start(desk)

    told = read_workflow_runs(actor=desk.stranger, workflow_id="team.sample")

    assert (told.total, told.steps) == (0, {})
