"""Many holders of one run on a real database: one move, one answer, one return to the parent."""

import pytest

from sessions_app.engine.checkpoints import CheckpointAnsweredError, CheckpointStaleError
from sessions_app.engine.handover_refusals import CheckpointNotPendingError
from sessions_app.engine.runs import Dialect
from sessions_app.models import CheckpointRequest, Handle, Node, WorkSession
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.moves.session_tokens import read_held
from tests import run_cast
from tests.checkpoint_cast import answer, publish_folder
from tests.crews import hiring
from tests.handover_cast import (
    LATER,
    answered,
    begun,
    child_files,
    entered,
    handed,
    question,
    triggering,
    two_activities,
)

pytestmark = pytest.mark.django_db(transaction=True)

HANDS, REPETITIONS = 16, 15
ORCHESTRATOR = Dialect.ORCHESTRATOR


@pytest.fixture
def desk():
    return run_cast.make_desk()


crew = pytest.fixture(hiring)


def healthy():
    assert [found for session in WorkSession.objects.all() for found in verify_session(session.id)] == []


def test_one_call_in_many_hands_is_one_move_and_equal_replies(desk, crew):
    handed(desk)
    hands = crew(HANDS)

    for _ in range(REPETITIONS):
        held = begun(desk).held
        replies = hands.race(*[lambda held=held: entered(desk, held.token, "plan")] * HANDS)

        assert replies == [replies[0]] * HANDS
        assert Node.objects.filter(run_id=held.handle.run_id).count() == 2
    healthy()


def test_of_two_answers_at_once_one_counts_and_the_other_is_told(desk, crew):
    handed(desk, two_activities(question(authority="relayed")))
    hands = crew(2)

    for _ in range(REPETITIONS):
        at = entered(desk, begun(desk).held.token, "plan")["session_token"]
        results = hands.race(
            lambda at=at: answered(desk, at, "agreed", option="yes"),
            lambda at=at: answered(desk, at, "agreed", option="stop"),
        )

        refused = [result for result in results if isinstance(result, Exception)]
        assert [type(each) for each in refused] == [CheckpointNotPendingError]
    assert CheckpointRequest.objects.filter(state="answered").count() == REPETITIONS
    healthy()


def test_a_person_and_an_agent_who_answer_at_once_give_one_answer(desk, crew):
    handed(desk, two_activities(question()))
    hands = crew(2)

    for _ in range(REPETITIONS):
        held = begun(desk).held
        at = entered(desk, held.token, "plan")["session_token"]
        row = CheckpointRequest.objects.get(run_id=held.handle.run_id)
        person, agent = hands.race(
            lambda row=row: answer(desk.person, row, "yes", now=LATER),
            lambda at=at: answered(desk, at, "agreed", option="stop"),
        )

        row.refresh_from_db()
        if isinstance(person, Exception):
            assert isinstance(person, CheckpointAnsweredError | CheckpointStaleError)
            assert (row.option_id, row.answered_as, agent["resolved_option"]) == ("stop", "relayed", "stop")
        else:
            assert (row.option_id, row.answered_as, agent["resolved_option"]) == ("yes", "human", "yes")
    healthy()


def test_an_agent_that_joins_from_many_places_at_once_has_one_holder(desk, crew):
    held = handed(desk, dialect=ORCHESTRATOR)
    hands = crew(HANDS)

    joined = hands.race(
        *[lambda: begun(desk, dialect=ORCHESTRATOR, session_token=held.token, agent_id="worker")] * HANDS
    )

    assert len({each.held.handle.id for each in joined}) == 1
    assert Handle.objects.filter(agent_id="worker").count() == 1
    healthy()


def test_children_that_end_at_once_all_give_back_and_the_parent_goes_on(desk, crew):
    parent = handed(desk, triggering(), dialect=ORCHESTRATOR)
    publish_folder(desk, child_files(), "team.child")
    token = entered(desk, parent.token, "plan", dialect=ORCHESTRATOR)["session_token"]
    children = [begun(desk, dialect=ORCHESTRATOR, workflow_id="team.child", parent_token=token).held for _ in range(6)]
    ready = [entered(desk, child.token, "only", dialect=ORCHESTRATOR)["session_token"] for child in children]
    hands = crew(len(ready))

    ended = hands.race(*[lambda at=at: entered(desk, at, "end-workflow", "do", dialect=ORCHESTRATOR) for at in ready])

    assert [each["status"] for each in ended] == ["completed"] * len(ready)
    held = read_held(actor=desk.agent, token=token, dialect=ORCHESTRATOR)
    assert (held.pending, held.snapshot.waits_for, held.snapshot.is_complete) == ((), (), False)
    healthy()
