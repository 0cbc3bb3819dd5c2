"""The role that serves requests sees the rows of the team that it serves, whatever a query forgets to ask for."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from threading import Barrier
from uuid import UUID, uuid4

import pytest
from django.db import ProgrammingError, close_old_connections, connection, connections
from django.http import StreamingHttpResponse
from django.test import Client, RequestFactory

from sessions_app.models import Run
from sessions_app.selectors import run_list, runs as run_selectors
from teams_app.models import AgentKey, Invitation, Membership, PasswordReset, PersonalToken, Team
from teams_app.services import row_policies
from teams_app.services.roles import APP_ROLE, APPEND_ONLY, KEPT, UPKEEP_ROLE
from teams_app.services.row_scope import NOBODY, RowScope, enter_scope, row_scope, within_scope, within_team
from tests import run_cast, run_doors
from tests.as_web import as_role, as_web, grant
from tests.handover_cast import WORKFLOW, begun, entered, publish_folder, two_activities
from tests.run_cast import advanced, begin, bookmark, plain_steps
from traces_app.services.recording import flush_calls
from workflows_app.selectors.asked import prepared_cursor
from workrail_site.request_context import RequestContext

pytestmark = pytest.mark.django_db(transaction=True)

_TABLES = """
SELECT c.relname, c.relrowsecurity, array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attgenerated = ''),
       (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid AND p.polroles @> ARRAY[%s::regrole::oid])
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
GROUP BY c.oid ORDER BY c.relname
"""


@pytest.fixture(autouse=True)
def _granted():
    grant()


def rows(query, parameters=()):
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return cursor.fetchall()


def tables():
    """Each table with whether its rows are limited, its columns, and how many policies the web's role has there."""
    return {name: tuple(more) for name, *more in rows(_TABLES, [APP_ROLE])}


def limited():
    return {name: columns for name, (_, columns, _) in tables().items() if name not in row_policies.OPEN}


def of_teams():
    return [name for name, columns in limited().items() if "team_id" in columns]


@pytest.fixture
def doors():
    """Two teams, each with runs, and people who are in one of them."""
    opened = run_doors.open_doors()
    for desk in (opened.desk, run_cast.make_desk()):
        value = begin(desk, *plain_steps(4))
        bookmark(desk.agent, advanced(desk.agent, value))
        publish_folder(desk, two_activities(), WORKFLOW)
        entered(desk, begun(desk).held.token, "plan")
    assert all((opened.reader, opened.person, opened.owner, opened.viewer, opened.token))
    for api in (opened.agent, opened.stranger):
        api.post("/api/v1/runs", {"workflowId": "team.sample", "goal": "One more"})
    flush_calls()
    return opened


# What there is


def test_every_table_is_limited_or_open_for_a_reason():
    """A new table is limited by its team, or has to be thought about: one that nobody named shows nothing."""
    found = tables()

    assert {name for name, (is_on, _, _) in found.items() if not is_on} == found.keys() & row_policies.OPEN.keys()
    assert [name for name, (is_on, _, policies) in found.items() if is_on and not policies] == []
    assert [name for name in row_policies.OPEN if "team_id" in found.get(name, (0, (), 0))[1]] == []
    thought_of = {*row_policies.OPEN, *row_policies.RULES}
    assert [
        name for name, (_, columns, _) in found.items() if name not in thought_of and "team_id" not in columns
    ] == []
    assert thought_of - found.keys() == set()


def test_partitions_are_reached_through_their_table_alone(doors):
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'")
        partitions = [name for (name,) in cursor.fetchall()]
    assert partitions
    with as_web(doors.desk.team_id):
        for name in partitions:
            with pytest.raises(ProgrammingError, match="permission denied"):
                rows(f"SELECT count(*) FROM {name}")


def test_policies_that_are_as_they_should_be_are_left_alone_and_others_are_mended():
    def held():
        return rows("SELECT oid FROM pg_policy ORDER BY oid")

    before = held()
    grant()
    assert held() == before

    with connection.cursor() as cursor:
        cursor.execute("CREATE POLICY generous ON sessions_app_run TO PUBLIC USING (true)")
        cursor.execute("ALTER TABLE sessions_app_gap DISABLE ROW LEVEL SECURITY")
    grant()
    assert rows("SELECT polname FROM pg_policy WHERE polname = 'generous'") == []
    assert rows("SELECT relrowsecurity FROM pg_class WHERE relname = 'sessions_app_gap'") == [(True,)]


def test_the_names_of_the_roles_are_no_way_past_it():
    for role in (APP_ROLE, UPKEEP_ROLE):
        ((bypasses, is_super),) = rows("SELECT rolbypassrls, rolsuper FROM pg_roles WHERE rolname = %s", [role])
        assert (bypasses, is_super) == (False, False)
    with as_web(uuid4()), pytest.raises(ProgrammingError, match="row-level security"), connection.cursor() as cursor:
        cursor.execute("SET LOCAL row_security = off; SELECT count(*) FROM sessions_app_run")


# Nobody, and somebody of a team


@pytest.mark.parametrize("scope", [None, NOBODY], ids=["outside of a request", "before anybody is known"])
def test_without_a_team_no_table_shows_a_row_or_takes_one(doors, scope):
    filled = {name for name in limited() if rows(f"SELECT EXISTS (SELECT 1 FROM {name})") == [(True,)]}
    assert len(filled) >= 20

    with as_role(APP_ROLE, scope):
        assert {name for name in limited() if rows(f"SELECT count(*) FROM {name}") != [(0,)]} == set()
        for name, columns in limited().items():
            given = "(team_id) VALUES (gen_random_uuid())" if "team_id" in columns else "DEFAULT VALUES"
            with pytest.raises(ProgrammingError, match="row-level security"):
                rows(f"INSERT INTO {name} {given}")


def test_a_team_sees_no_row_of_another_and_writes_none(doors):
    own, other = doors.desk.team_id, doors.desk.stranger.team_id
    others = {name for name in of_teams() if rows(f"SELECT 1 FROM {name} WHERE team_id <> %s LIMIT 1", [own])}
    assert {"sessions_app_event", "sessions_app_snapshot", "sessions_app_attempt", "traces_app_traceevent"} < others

    with as_web(own):
        seen = {name: {team for (team,) in rows(f"SELECT DISTINCT team_id FROM {name}")} for name in of_teams()}
        of_library = {"workflows_app_workflow", "workflows_app_revision"}
        assert {name for name, teams in seen.items() if teams - ({own, None} if name in of_library else {own})} == set()
        assert seen["sessions_app_event"] == {own}
        for name in of_teams():
            with pytest.raises(ProgrammingError, match="row-level security"):
                rows(f"INSERT INTO {name} (team_id) VALUES (%s)", [other])
            if name not in APPEND_ONLY:
                with connection.cursor() as cursor:
                    cursor.execute(f"UPDATE {name} SET team_id = team_id WHERE team_id = %s", [other])
                    assert cursor.rowcount == 0
            if name not in APPEND_ONLY | KEPT:
                with connection.cursor() as cursor:
                    cursor.execute(f"DELETE FROM {name} WHERE team_id = %s", [other])
                    assert cursor.rowcount == 0


def test_what_hangs_on_a_row_is_seen_with_it(doors):
    hanging = {
        "workflows_app_revisionfile": "revision_id IN (SELECT id FROM workflows_app_revision WHERE team_id = %s)",
    }
    for table, of_team in hanging.items():
        assert rows(f"SELECT count(*) > 0 FROM {table} WHERE {of_team}", [doors.desk.team_id]) == [(True,)]
        with as_web(uuid4()):
            assert rows(f"SELECT count(*) FROM {table}") == [(0,)]
        with as_web(doors.desk.team_id):
            assert rows(f"SELECT count(*) > 0 FROM {table}") == [(True,)]


def test_the_library_that_comes_with_it_is_read_by_every_team_and_changed_by_none():
    from workflows_app.services.bundled import load_bundled

    assert load_bundled
    with connection.cursor() as cursor:
        cursor.execute("SELECT polname, polcmd FROM pg_policy WHERE polrelid = 'workflows_app_workflow'::regclass")
        commands = {command for name, command in cursor.fetchall() if name.startswith(APP_ROLE)}
    assert commands == {"r", "*"}


def test_upkeep_sees_all_teams(doors):
    with as_role(UPKEEP_ROLE):
        seen = {team for (team,) in rows("SELECT DISTINCT team_id FROM sessions_app_run")}
    assert len(seen) >= 2


# Before a team is known


def test_a_person_sees_which_teams_they_are_in_and_no_other(doors):
    person = Membership.objects.filter(team_id=doors.desk.team_id).first()
    with as_role(APP_ROLE, RowScope(person=person.person_id)):
        assert set(Membership.objects.values_list("person_id", flat=True)) == {person.person_id}
        assert set(Team.objects.values_list("pk", flat=True)) == {person.team_id}
        assert Run.objects.count() == 0


def test_a_secret_shows_the_one_row_that_it_is_the_secret_of(doors):
    assert AgentKey.objects.count() >= 3
    key = AgentKey.objects.order_by("pk").first()
    with as_role(APP_ROLE, RowScope(proof=bytes(key.digest))):
        assert [row.pk for row in AgentKey.objects.all()] == [key.pk]
        assert Membership.objects.count() == 0
        assert Run.objects.count() == 0
    with as_role(APP_ROLE, RowScope(proof=bytes(32))):
        assert not any(model.objects.exists() for model in (AgentKey, PersonalToken, Invitation, PasswordReset))


# Queries that forget their team, at the doors


@pytest.fixture
def forgetful(monkeypatch):
    """A list of runs whose filter by team is gone."""
    monkeypatch.setattr(run_selectors, "_filtered", lambda _actor, _filters: Run.objects.all())
    monkeypatch.setattr(run_list, "_filtered", lambda *_asked, **_more: Run.objects.all(), raising=False)


@pytest.mark.usefixtures("forgetful")
def test_a_query_without_its_filter_answers_with_the_rows_of_its_team(doors):
    own = {str(pk) for pk in Run.objects.filter(team_id=doors.desk.team_id).values_list("pk", flat=True)}
    assert Run.objects.count() > len(own)

    with as_role(APP_ROLE):
        for api in (doors.agent, doors.person, doors.token):
            found = api.get("/api/v1/runs?limit=100").json()["items"]
            assert len(found) == len(own)
    assert len(doors.agent.get("/api/v1/runs?limit=100").json()["items"]) == Run.objects.count()


def test_what_is_sent_in_pieces_is_read_in_the_team_that_asked():
    team = uuid4()

    def pieces():
        for _ in range(2):
            yield str(row_scope().team)

    def answer(_request):
        enter_scope(RowScope(team=team))
        return StreamingHttpResponse(pieces())

    response = RequestContext(answer)(RequestFactory().get("/"))

    assert row_scope() is None
    for piece in response:
        assert piece == str(team).encode()
        assert row_scope() is None


def test_nothing_of_a_request_is_left_for_the_next(doors):
    with as_role(APP_ROLE):
        assert doors.agent.get("/api/v1/runs").status_code == 200
        assert row_scope() is None
        assert rows("SELECT current_setting('workrail.team', true)") in ([("",)], [(None,)])
        assert Run.objects.count() == 0
        assert Client().get("/api/v1/runs").status_code == 401


# Several at once


def test_requests_of_several_teams_at_once_never_see_each_other(doors):
    """The same threads and connections serve all of them, one after the other, by both kinds of cursors and in transactions."""
    teams = list(Team.objects.values_list("pk", flat=True))[:4]
    expected = {team: Run.objects.filter(team_id=team).count() for team in teams}
    assert sum(1 for count in expected.values() if count) >= 2
    at_once, rounds = 4, 60
    barrier = Barrier(at_once)

    def look(team):
        from django.db import transaction

        with within_team(team):
            yield set(Run.objects.values_list("team_id", flat=True))
            yield {row[0] for row in prepared_cursor().execute("SELECT team_id FROM sessions_app_run", []).fetchall()}
            with transaction.atomic():
                yield set(Run.objects.values_list("team_id", flat=True))
                yield {
                    row[0] for row in prepared_cursor().execute("SELECT team_id FROM sessions_app_node", []).fetchall()
                }

    def work(first):
        barrier.wait()
        try:
            wrong = []
            for team in islice(cycle(teams[first:] + teams[:first]), rounds):
                wrong += [seen for seen in look(team) if seen != ({team} if expected[team] else set())]
                close_old_connections()
            return wrong
        finally:
            connections.close_all()

    with as_role(APP_ROLE), ThreadPoolExecutor(at_once) as pool:
        assert [each for found in pool.map(work, range(at_once)) for each in found] == []


def test_a_failed_statement_leaves_the_connection_and_the_scope_as_they_were(doors):
    import psycopg
    from django.db import DataError, transaction

    team = doors.desk.team_id
    with as_web(team):
        for _ in range(8):
            with pytest.raises((ProgrammingError, DataError, psycopg.Error)):
                prepared_cursor().execute("SELECT 1 / $1::int", [0])
            assert {
                row[0] for row in prepared_cursor().execute("SELECT team_id FROM sessions_app_run", []).fetchall()
            } == {team}
        with transaction.atomic():
            with pytest.raises((ProgrammingError, DataError, psycopg.Error)), transaction.atomic():
                prepared_cursor().execute("SELECT 1 / $1::int", [0])
            with pytest.raises(DataError), transaction.atomic():
                rows("SELECT 1 / 0")
            assert set(Run.objects.values_list("team_id", flat=True)) == {team}


def test_a_scope_ends_with_what_it_was_for():
    first, second = UUID(int=1), UUID(int=2)
    with within_scope(NOBODY):
        with within_team(first):
            assert row_scope().team == first
        enter_scope(RowScope(team=second))
        assert row_scope().team == second
    assert row_scope() is None
