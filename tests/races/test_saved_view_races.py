"""Views that one person saves at once: never more than there may be."""

from functools import partial

import pytest

from sessions_app.engine.run_query import ViewedList
from sessions_app.models import SavedView
from sessions_app.services.people.saved_views import MAX_VIEWS, save_view
from teams_app.engine.errors import PreconditionFailedError
from tests import run_cast
from tests.crews import hiring
from tests.run_cast import NOW
from tests.run_doors import enrol

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE, TURNS = 8, 3

crew = pytest.fixture(hiring)


def save(actor, name):
    try:
        save_view(actor=actor, viewed=ViewedList.RUNS, name=name, query="status:open", is_shared=False, now=NOW)
    except PreconditionFailedError:
        return 0
    return 1


def test_of_views_that_are_saved_at_once_no_more_than_the_limit_are_kept(crew):
    desk = run_cast.make_desk()
    enrol(desk.person)
    hands = crew(AT_ONCE)
    for number in range(MAX_VIEWS - AT_ONCE // 2):
        save(desk.person, f"view {number}")

    for turn in range(TURNS):
        saved = hands.race(*(partial(save, desk.person, f"one more {turn} {hand}") for hand in range(AT_ONCE)))

        assert sum(saved) == AT_ONCE // 2
        assert SavedView.objects.count() == MAX_VIEWS
        SavedView.objects.filter(name__startswith="one more").delete()
