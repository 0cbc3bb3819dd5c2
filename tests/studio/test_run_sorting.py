"""Lists are sorted by what is asked for, page after page, and no row is shown twice or left out."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.admin import run_lists, session_lists
from sessions_app.models import Run, WorkSession
from tests import run_doors
from tests.run_cast import plain_steps, published, start

pytestmark = pytest.mark.django_db

ROOT = "/studio/sessions_app"
STATUSES = ["in_progress", "blocked", "complete"]


@pytest.fixture
def doors():
    return run_doors.open_doors()


def crowd(doors, count=23):
    """Runs of which several are alike in all that a list is sorted by."""
    for workflow in ("team.one", "team.two"):
        published(doors.desk, *plain_steps(1), workflow_id=workflow)
    base = datetime(2026, 6, 1, tzinfo=UTC)
    for number in range(count):
        start(doors.desk, ("team.one", "team.two")[number % 2], goal=f"Goal {number}")
    for number, run in enumerate(Run.objects.order_by("id")):
        at = base + timedelta(minutes=(number * 7) % 5)
        Run.objects.filter(pk=run.pk).update(last_activity_at=at, status=STATUSES[number % 3])
        WorkSession.objects.filter(pk=run.session_id).update(last_activity_at=at)


def walked(doors, path, query):
    """The names of all rows, page after page."""
    found, following = [], f"?q={query}"
    while following:
        page = doors.viewer.client.get(f"{path}{following}").content.decode()
        found += re.findall(r'<a class="name" href="([^"]*)"', page)
        older = re.search(r'href="(\?[^"]*after=[^"]*)"', page)
        following = older[1].replace("&amp;", "&") if older else ""
    return found


def key_of(sort):
    return {
        "call": lambda row: (-row.last_activity_at.timestamp(), row.id),
        "started": lambda row: -row.id.int,
        "workflow": lambda row: (row.workflow_id, -row.last_activity_at.timestamp(), row.id),
        "status": lambda row: (row.status, -row.last_activity_at.timestamp(), row.id),
    }[sort]


@pytest.mark.parametrize("sort", ["call", "-call", "started", "-started", "workflow", "-workflow", "status", "-status"])
def test_runs_come_in_the_order_that_is_asked_for(doors, monkeypatch, sort):
    crowd(doors)
    monkeypatch.setattr(run_lists, "PER_PAGE", 4)
    wanted = sorted(Run.objects.all(), key=key_of(sort.removeprefix("-")), reverse=sort.startswith("-"))

    assert walked(doors, f"{ROOT}/run/", f"sort:{sort}") == [f"{ROOT}/run/{run.id}/change/" for run in wanted]


@pytest.mark.parametrize("sort", ["call", "-call", "started", "-started"])
def test_sessions_come_in_the_order_that_is_asked_for(doors, monkeypatch, sort):
    crowd(doors, count=9)
    monkeypatch.setattr(session_lists, "PER_PAGE", 4)
    wanted = sorted(WorkSession.objects.all(), key=key_of(sort.removeprefix("-")), reverse=sort.startswith("-"))

    assert walked(doors, f"{ROOT}/worksession/", f"sort:{sort}") == [
        f"{ROOT}/worksession/{row.id}/change/" for row in wanted
    ]


@pytest.mark.parametrize(
    ("path", "query", "says"),
    [
        ("run", "sort:strated", "Did you mean sort:started?"),
        ("worksession", "sort:workflow", "Write sort:call or sort:started."),
    ],
)
def test_an_order_that_there_is_not_is_refused(doors, path, query, says):
    assert says in doors.viewer.client.get(f"{ROOT}/{path}/?q={query}").content.decode()


@pytest.mark.parametrize("after", ["x", "2026-01-01", "team.one 2026-01-01", "a b c d e f"])
def test_a_place_of_another_order_begins_at_the_first_page(doors, after):
    crowd(doors, count=3)

    assert doors.viewer.client.get(f"{ROOT}/run/?q=sort:workflow&after={after}").status_code == 200


def test_a_session_is_found_by_a_word_of_its_notes(doors):
    run_doors.go_on(doors.agent, run_doors.begin_run(doors), notes="The flamingo leaned on the fence.")
    run_doors.begin_run(doors, workflow_id="team.other", goal="Another")

    assert len(walked(doors, f"{ROOT}/worksession/", "flamingo")) == 1
