"""Runs driven by hand that end or begin at once on a real database: their parent hears of each of them."""

import pytest

from sessions_app.engine.state import snapshot_from_bytes
from sessions_app.models import Run, WorkSession
from sessions_app.selectors.integrity import verify_session
from sessions_app.selectors.standings import read_tip
from tests import run_cast
from tests.crews import hiring
from tests.trigger_play import complete, publish_all, start, triggered

pytestmark = pytest.mark.django_db(transaction=True)

HANDS = 6


@pytest.fixture
def desk():
    return run_cast.make_desk()


crew = pytest.fixture(hiring)


def parent_now():
    run = Run.objects.get(workflow_id="team.parent")
    return snapshot_from_bytes(read_tip(team_id=run.team_id, run_id=run.id).snapshot)


def healthy():
    assert [found for session in WorkSession.objects.all() for found in verify_session(session.id)] == []


def test_children_that_end_at_once_all_give_back_and_the_parent_goes_on(desk, crew):
    publish_all(desk)
    parent = start(desk)
    ready = [complete(desk, triggered(desk, parent)["state"], "do")["state"] for _ in range(HANDS)]

    ended = crew(HANDS).race(*[lambda state=state: complete(desk, state, "end") for state in ready])

    assert [value["complete"] for value in ended] == [True] * HANDS
    assert (parent_now().waits_for, parent_now().returned) == ((), HANDS)
    assert complete(desk, parent["state"], "draft")["success"]
    healthy()


def test_the_last_action_of_a_child_in_many_hands_releases_its_parent_once(desk, crew):
    publish_all(desk)
    parent = start(desk)
    state = complete(desk, triggered(desk, parent)["state"], "do")["state"]

    ended = crew(HANDS).race(*[lambda: complete(desk, state, "end")] * HANDS)

    assert ended == [ended[0]] * HANDS
    assert (parent_now().waits_for, parent_now().returned) == ((), 1)
    healthy()


def test_children_that_begin_at_once_are_all_waited_for(desk, crew):
    publish_all(desk)
    parent = start(desk)

    begun = crew(HANDS).race(*[lambda: triggered(desk, parent)] * HANDS)

    assert all(value["success"] for value in begun)
    assert len(parent_now().waits_for) == HANDS
    healthy()
