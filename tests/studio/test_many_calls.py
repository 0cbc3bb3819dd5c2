"""A list of tool calls among very many: what a filter or a search reads does not grow with what the team ever called."""

import html
import re
from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.db import connection

from sessions_app.engine.runs import Dialect
from teams_app.engine.pages import PageRequest
from tests import run_cast
from tests.database_watch import rows_and_pages_read
from tests.run_cast import NOW, begin, notes_free, run_id, session_id
from tests.trace_calls import made, write
from traces_app.services import reading

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/studio/traces_app/traceevent/"
_FILL = """
INSERT INTO traces_app_traceevent (id, team_id, session_id, run_id, workflow_id, dialect, tool, actor_id, actor_name, agent_id,
  activity, step_key, started_at, duration_us, outcome, error_code, warnings, arguments, request_id)
SELECT (lpad(to_hex((extract(epoch FROM %(now)s::timestamptz) * 1000)::bigint - %(count)s + i), 12, '0') || '7'
        || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid,
  CASE WHEN i %% 4 = 0 THEN md5((i %% 40)::text)::uuid ELSE %(team)s END,
  CASE WHEN i %% 3 = 0 THEN md5('session' || i %% 900)::uuid END, CASE WHEN i %% 3 = 0 THEN md5('run' || i %% 900)::uuid END, 'team.sample', 'rail', 'continue_workflow', 'key_crowd', 'crowd', '', '', '', %(now)s, 1500,
  CASE WHEN i %% 50 = 0 THEN 'refused' ELSE 'ok' END, CASE WHEN i %% 50 = 0 THEN 'TOKEN_INVALID_FORMAT' ELSE '' END,
  '[]', '{}', ''
FROM generate_series(1, %(count)s) i
"""


def fill(team_id, count):
    with connection.cursor() as cursor:
        cursor.execute(_FILL, {"now": NOW - timedelta(hours=1), "count": count, "team": team_id})
        cursor.execute("VACUUM (ANALYZE) traces_app_traceevent")


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def studio(client, desk):
    from teams_app.engine.ids import Prefix, from_text
    from teams_app.models import Membership, Person
    from teams_app.services.ids import new_id

    person = Person.objects.create(id=from_text(Prefix.PERSON, desk.viewer.id), username="vera", created_at=NOW)
    Membership.objects.create(
        id=new_id(now=NOW), team_id=desk.team_id, person=person, role=desk.viewer.role.value, created_at=NOW
    )
    client.force_login(person)
    return client


def pages_of(studio, query):
    pages = []
    for _ in range(2):
        response, (_, read) = rows_and_pages_read(lambda: studio.get(f"{LIST}?{query}"))
        assert response.status_code == 200
        pages.append(read)
    return pages[-1]


QUERIES = [
    "",
    "q=continue_workflow",
    "q=nobody_ever_called_this",
    "only=slow",
    "only=refused",
    "dialect__exact=navigation",
]
# Pages of tables and indexes that a read may touch, however many calls there are.
MOST_PAGES_OF_A_SEARCH = 2_400
MOST_PAGES_OF_A_RUN = 400


def too_many(desk, studio, count):
    """The reads that touch more than their bound among so many calls: lists of the Studio, and a run and its session."""
    fill(desk.team_id, count)
    value = begin(desk, notes_free("plan"))
    write(*(made(desk.agent, arguments={"stateToken": value["stateToken"]}) for _ in range(60)))
    run, session, page = run_id(value), session_id(value), PageRequest(after=None, limit=50)
    viewer = desk.viewer
    reads = {
        "trace of a run": lambda: reading.read_run_trace(actor=viewer, run_id=run, page=page),
        "trace of a session": lambda: reading.read_session_trace(actor=viewer, session_id=session, page=page),
        "timeline of a run": lambda: reading.read_run_timeline(actor=viewer, run_id=run),
        "timeline of a session": lambda: reading.read_session_timeline(actor=viewer, session_id=session),
        "get_trace": lambda: reading.get_trace(actor=viewer, session_id=session),
    }
    lists = {query: pages_of(studio, query) for query in QUERIES}
    plain = {name: min(rows_and_pages_read(read)[1][1] for _ in range(3)) for name, read in reads.items()}
    return {
        **{query: pages for query, pages in lists.items() if pages > MOST_PAGES_OF_A_SEARCH},
        **{name: pages for name, pages in plain.items() if pages > MOST_PAGES_OF_A_RUN},
    }


@pytest.mark.measures
def test_no_read_of_the_trace_reads_more_among_200000_calls(desk, studio):
    assert too_many(desk, studio, 200_000) == {}


def test_a_filter_by_dialect_is_offered_and_narrows(desk, studio):
    write(made(desk.agent), made(desk.agent, tool="nav_action", dialect=Dialect.NAVIGATION))

    offered = re.findall(r'href="(\?[^"]*navigation[^"]*)"', studio.get(LIST).content.decode())
    page = studio.get(LIST + html.unescape(offered[0]))

    assert not list(get_messages(page.wsgi_request))
    assert [row.tool for row in page.context["cl"].result_list] == ["nav_action"]


@pytest.mark.slow
def test_nor_among_2000000(desk, studio):
    assert too_many(desk, studio, 2_000_000) == {}


def test_a_timeline_comes_in_pages_that_are_small(desk):
    value = begin(desk, notes_free("plan"), notes_free("work"))
    calls = [made(desk.agent, arguments={"stateToken": value["stateToken"]}) for _ in range(1200)]
    write(*calls)

    seen, before = 0, None
    while True:
        page = reading.read_run_timeline(actor=desk.viewer, run_id=run_id(value), before=before)
        assert page.calls <= 500
        seen += page.calls
        if not page.is_cut:
            break
        before = page.first_call

    assert seen == 1200
