"""Gates of runs that were begun before questions were kept: a rebuild asks them, once, and then a person can answer."""

import os

import pytest
from django.core.management import call_command

from sessions_app.engine.journal import Journal
from sessions_app.models import CheckpointRequest, Event, Run
from sessions_app.services.unasked import ask_unasked
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError
from tests import run_cast
from tests.checkpoint_cast import SOON, answer, asking, only_row, publish_folder
from tests.run_cast import advanced, assert_healthy, begin, notes_free, rehydrate, session_id, start
from tests.workflow_cast import NOW

pytestmark = pytest.mark.django_db(transaction=True)

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def of_old(monkeypatch):
    """What runs did before they asked: the gate stands there, and no question is kept of it."""

    def do(act):
        with monkeypatch.context() as before:
            before.setattr(Journal, "ask", lambda _journal, _program, snapshot, **_more: snapshot)
            return act()

    return do


def old_gate(desk, of_old):
    publish_folder(desk, asking(human=True))
    value = start(desk, "team.plan", context={"goal": "the roof"}).value
    return of_old(lambda: advanced(desk.agent, value, now=NOW))


def ask(value):
    return ask_unasked(actor=SYSTEM, session_id=session_id(value), now=SOON, entropy=os.urandom)


def test_an_old_gate_is_asked_once_and_a_person_answers_it(desk, of_old):
    value = old_gate(desk, of_old)
    assert CheckpointRequest.objects.count() == 0

    asked = [ask(value), ask(value)]
    row = only_row(value)
    answer(desk.person, row, "no")

    assert (asked, row.message, row.presented_at) == ([1, 0], "Is the plan for the roof right?", SOON)
    assert advanced(desk.agent, value, "")["pending"]["stepId"] == "again"
    assert_healthy(value)


def test_an_old_gate_that_blocked_the_agent_is_asked_too(desk, of_old):
    value = old_gate(desk, of_old)
    stuck = of_old(lambda: advanced(desk.agent, value))

    assert ask(value) == 1
    answer(desk.person, only_row(value))

    assert advanced(desk.agent, stuck, "")["pending"]["stepId"] == "work"
    assert_healthy(value)


def test_an_old_approval_is_asked_too(desk, of_old):
    value = of_old(lambda: begin(desk, notes_free("ship", requireConfirmation={"kind": "human_approval"})))

    assert ask(value) == 1
    answer(desk.person, only_row(value), "approve")

    assert advanced(desk.agent, rehydrate(desk.agent, value).value)["isComplete"] is True
    assert_healthy(value)


def test_what_waits_for_nobody_or_was_asked_is_left_as_it_is(desk):
    publish_folder(desk, asking(human=True))
    value = advanced(desk.agent, start(desk, "team.plan", context={"goal": "the roof"}).value, now=NOW)
    plain = begin(desk, notes_free("first"), notes_free("second"))
    before = (Event.objects.count(), list(Run.objects.order_by("id").values()))

    assert (ask(value), ask(plain)) == (0, 0)
    assert (Event.objects.count(), list(Run.objects.order_by("id").values())) == before


def test_the_command_that_rebuilds_asks_and_says_so(desk, of_old, capsys):
    value = old_gate(desk, of_old)

    call_command("rebuild_projections")

    assert "0 rows written again, 1 questions asked." in capsys.readouterr().out
    assert only_row(value).state == "open"
    assert_healthy(value)


def test_no_team_asks_by_itself(desk, of_old):
    value = old_gate(desk, of_old)

    with pytest.raises(ForbiddenError):
        ask_unasked(actor=desk.owner, session_id=session_id(value), now=SOON, entropy=os.urandom)
