"""A person who prefers a branch beside agents who go on: the run stands at the end of a branch, and never at an older step."""

import os

import pytest

from sessions_app.engine.tokens import TokenKind
from sessions_app.models import Node, Run
from sessions_app.services.people import preferring
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.errors import PreconditionFailedError
from tests import run_cast
from tests.crews import hiring
from tests.run_cast import advance, advanced, assert_healthy, plain_steps, rehydrate, run_id, soon

pytestmark = pytest.mark.django_db(transaction=True)

# What the suite repeats; all are asked for with -m slow.
IN_THE_SUITE, IN_FULL = 40, 300

crew = pytest.fixture(hiring)


def prefer(desk, value):
    node = read_token(kind=TokenKind.STATE, text=value["stateToken"])[0].node_id
    preferring.prefer_branch(actor=desk.person, run_id=run_id(value), node_id=node, now=soon(5), entropy=os.urandom)


@pytest.mark.parametrize(
    "repetitions", [IN_THE_SUITE, pytest.param(IN_FULL, marks=pytest.mark.slow)], ids=["suite", "full"]
)
def test_a_branch_that_is_preferred_while_agents_go_on_is_stood_on_at_its_end(crew, repetitions):
    desk = run_cast.make_desk()
    run_cast.published(desk, *plain_steps(4))
    hands = crew(3)

    for _ in range(repetitions):
        first = run_cast.start(desk).value
        one, other = (advanced(desk.agent, rehydrate(desk.agent, first).value, name) for name in ("one", "other"))
        said, *went_on = hands.race(
            lambda value=one: prefer(desk, value),
            lambda value=one: advance(desk.agent, value, now=soon(5)),
            lambda value=other: advance(desk.agent, value, now=soon(5)),
        )

        assert said is None or isinstance(said, PreconditionFailedError), said
        assert all(each.value["pending"]["stepId"] == "step-2" for each in went_on), went_on
        tip = Run.objects.get(pk=run_id(first)).tip_node_id
        assert not Node.objects.filter(parent_id=tip).exclude(kind="checkpoint").exists()
        assert_healthy(first)
