"""A change of mode beside those who go on: it holds from where the run stands, and never leads back to an older step."""

import os
from itertools import cycle

import pytest
from django.db.models import Count

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.services.moves import runs
from tests import run_cast
from tests.crews import hiring
from tests.run_cast import NOW, advanced, assert_healthy, plain_steps, run_id
from workflows_app.engine.program import Autonomy
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

CHANGERS, CHANGES, STEPS = 3, 6, 8
# What the suite repeats; all are asked for with -m slow.
IN_THE_SUITE, IN_FULL = 8, 100


@pytest.fixture
def desk():
    return run_cast.make_desk()


crew = pytest.fixture(hiring)


def walk(desk, value):
    while value["pending"] is not None:
        value = advanced(desk.agent, value)


def keep_changing(desk, value):
    modes = cycle(Autonomy)
    for _ in range(CHANGES):
        change = PreferenceChange(autonomy=next(modes))
        runs.change_preferences(
            actor=desk.person, run_id=run_id(value), change=change, now=NOW, entropy=os.urandom, speech=RAIL
        )


def forks(value):
    from sessions_app.models import Node

    made = Node.objects.filter(run_id=run_id(value), parent_id__isnull=False)
    return list(made.values("parent_id").annotate(children=Count("id")).filter(children__gt=1))


@pytest.mark.parametrize(
    "repetitions", [IN_THE_SUITE, pytest.param(IN_FULL, marks=pytest.mark.slow)], ids=["suite", "full"]
)
def test_changes_of_mode_beside_a_walk_make_no_fork(desk, crew, repetitions):
    run_cast.published(desk, *plain_steps(STEPS))
    hands = crew(CHANGERS + 1)

    for _ in range(repetitions):
        value = run_cast.start(desk).value
        results = hands.race(lambda at=value: walk(desk, at), *[lambda at=value: keep_changing(desk, at)] * CHANGERS)

        assert [result for result in results if isinstance(result, Exception)] == []
        assert forks(value) == []
        assert_healthy(value)
