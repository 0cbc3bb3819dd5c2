"""A list of tool calls among very many: what a filter or a search reads does not grow with what the team ever called."""

from datetime import timedelta

import pytest
from django.db import connection

from tests import run_cast
from tests.database_watch import rows_and_pages_read
from tests.run_cast import NOW, begin, notes_free, run_id
from tests.trace_calls import made, write
from traces_app.services import reading

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/studio/traces_app/traceevent/"
_FILL = """
INSERT INTO traces_app_traceevent (id, team_id, session_id, run_id, workflow_id, dialect, tool, actor_id, actor_name, agent_id,
  activity, step_key, started_at, duration_us, outcome, error_code, warnings, arguments, request_id)
SELECT (lpad(to_hex((extract(epoch FROM %(now)s::timestamptz) * 1000)::bigint - %(count)s + i), 12, '0') || '7'
        || substr(md5(i::text), 1, 3) || '8' || substr(md5(i::text), 4, 15))::uuid,
  %(team)s, NULL, NULL, 'team.sample', 'rail', 'continue_workflow', 'key_crowd', 'crowd', '', '', '', %(now)s, 1500,
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


QUERIES = ["", "q=continue_workflow", "q=nobody_ever_called_this", "only=slow", "only=refused", "dialect=navigation"]


def test_a_search_reads_no_more_among_120000_calls_than_its_bound(desk, studio):
    fill(desk.team_id, 120_000)

    read = {query: pages_of(studio, query) for query in QUERIES}

    assert {query: pages for query, pages in read.items() if pages > 4_000} == {}


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
