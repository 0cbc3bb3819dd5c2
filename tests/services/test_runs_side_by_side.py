"""Several workflows in one chat: one after the other, interleaved, and one inside a step of another."""

import pytest

from tests import run_cast
from tests.run_cast import (
    advanced,
    assert_healthy,
    events,
    notes_free,
    plain_steps,
    published,
    rehydrate,
    run_id,
    session_id as session_of,
)
from tests.step_documents import step

# To tell a lost chat where it stands, a transaction is begun that only reads, which Postgres allows outermost only.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    desk = run_cast.make_desk()
    published(desk, *plain_steps(3), workflow_id="team.outer")
    published(desk, *plain_steps(2), workflow_id="team.inner")
    return desk


def start(desk, workflow_id, beside=None, **fields):
    session_id = None if beside is None else session_of(beside)
    return run_cast.start(desk, workflow_id, session_id=session_id, **fields).value


def place(value):
    return value["pending"]["stepId"]


def nodes(value):
    return [event for event in events(value, "node_created") if event["scope"]["runId"] == value["session"]["runId"]]


def test_one_after_the_other_they_are_two_runs_of_one_session(desk):
    first = start(desk, "team.inner")
    end = advanced(desk.agent, advanced(desk.agent, first))
    second = start(desk, "team.outer", beside=end)

    assert end["isComplete"]
    assert second["session"]["sessionId"] == first["session"]["sessionId"]
    assert (run_id(second) == run_id(first), place(second)) == (False, "step-0")
    assert_healthy(second)


def test_tokens_of_several_runs_are_advanced_in_any_order_and_none_moves_another(desk):
    one, two, other = start(desk, "team.outer"), start(desk, "team.outer"), start(desk, "team.inner")
    three = start(desk, "team.outer", beside=one)

    three = advanced(desk.agent, three)
    one = advanced(desk.agent, one)
    other = advanced(desk.agent, other)
    three = advanced(desk.agent, three)
    one = advanced(desk.agent, one)

    assert [place(value) for value in (one, two, three, other)] == ["step-2", "step-0", "step-2", "step-1"]
    assert advanced(desk.agent, one)["isComplete"]
    assert place(rehydrate(desk.agent, two).value) == "step-0"
    for value in (one, two, three, other):
        assert_healthy(value)


def test_each_run_has_a_lineage_of_its_own(desk):
    one = start(desk, "team.outer")
    two = start(desk, "team.outer", beside=one)
    then = advanced(desk.agent, two)
    advanced(desk.agent, rehydrate(desk.agent, two).value)

    assert (len(nodes(one)), len(nodes(then))) == (1, 3)
    assert [event["data"]["parentNodeId"] for event in nodes(one)] == [None]
    own = {event["scope"]["nodeId"] for event in nodes(then)}
    assert {event["data"]["parentNodeId"] for event in nodes(then)[1:]} <= own


def test_a_workflow_inside_a_step_gives_its_result_to_that_step(desk):
    published(
        desk,
        step("decide-it"),
        notes_free("when-yes", runCondition={"var": "verdict", "equals": "yes"}),
        notes_free("when-no", runCondition={"var": "verdict", "equals": "no"}),
        workflow_id="team.caller",
    )
    outer = start(desk, "team.caller")

    inner = start(desk, "team.inner", beside=outer, context={"verdict": "no"})
    end = advanced(desk.agent, advanced(desk.agent, inner), "The inner verdict is yes.")
    then = advanced(desk.agent, outer, "Asked the inner workflow.", context={"verdict": "yes"})

    assert end["isComplete"]
    assert place(then) == "when-yes"
    assert then["warnings"] == []
    assert_healthy(then)


def test_a_run_without_a_session_makes_one_and_its_calls_keep_it_up_to_date(desk):
    from sessions_app.models import WorkSession

    value = start(desk, "team.outer", title="Flaky checkout")
    row = WorkSession.objects.get()
    begun = (row.title, row.next_event_index)

    advanced(desk.agent, value, now=run_cast.soon(7))

    row.refresh_from_db()
    assert begun == ("Flaky checkout", len(events(value)) - (row.next_event_index - begun[1]))
    assert row.next_event_index > begun[1]
    assert row.last_activity_at == run_cast.soon(7)


@pytest.mark.parametrize(
    "claim",
    [
        {"completedSteps": ["step-0", "step-1"], "pending": "step-2"},
        {"position": {"pending": "step-2", "complete": True}, "isComplete": True},
        {"loopStack": [], "engineState": {"kind": "complete"}},
    ],
)
def test_context_that_claims_progress_makes_none(desk, claim):
    value = start(desk, "team.outer", context=claim)

    then = advanced(desk.agent, value, context=claim)

    assert (place(value), place(then)) == ("step-0", "step-1")
    assert not then["isComplete"]
    assert_healthy(then)
