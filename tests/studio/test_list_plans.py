"""Lists of the Studio touch few pages and make few queries among very many sessions, whatever they are asked and however sorted;
the same by the role that serves requests, to which Postgres shows the rows of one team.
"""

from contextlib import contextmanager, nullcontext
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import as_web, run_doors
from tests.crowd import fill
from tests.database_watch import rows_and_pages_read
from tests.run_cast import NOW
from tests.run_doors import begin_run, go_on

# What is read of statistics is seen only from outside of a transaction.
pytestmark = [pytest.mark.measures, pytest.mark.django_db(transaction=True)]

MOST_QUERIES = 12
RUNS, SESSIONS, INBOX = (f"/studio/sessions_app/{name}/" for name in ("run", "worksession", "checkpointrequest"))
# Pages of tables and indexes. What is asked by common words, or is in nearly every run, is read as far as its cap.
MOST_PAGES = {
    "/studio/": 10_000,
    RUNS: 5_000,
    f"{RUNS}?q=status:open": 5_000,
    f"{RUNS}?q=status:waiting": 18_000,
    f"{RUNS}?q=status:stuck": 5_000,
    f"{RUNS}?q=status:done": 5_000,
    f"{RUNS}?q=sort:-call": 5_000,
    f"{RUNS}?q=sort:started": 5_000,
    f"{RUNS}?q=sort:workflow": 5_000,
    f"{RUNS}?q=sort:-status": 5_000,
    f"{RUNS}?q=workflow:team.*": 5_000,
    f"{RUNS}?q=gap:": 8_000,
    f"{RUNS}?q=ticket:SHOP-400": 3_000,
    f"{RUNS}?q=quokka": 3_000,
    f"{RUNS}?q=checkout": 12_000,
    f"{RUNS}?q=checkout+basket": 12_000,
    SESSIONS: 500,
    f"{SESSIONS}?q=status:blocked": 2_000,
    f"{SESSIONS}?q=sort:started": 500,
    # Of 760 that it is: pages that the server of another test keeps from being used again come on top.
    f"{SESSIONS}?q=quokka": 1_200,
    f"{SESSIONS}?q=checkout": 4_000,
    INBOX: 4_000,
}


@pytest.fixture
def doors():
    return run_doors.open_doors()


def visit(doors, path):
    with CaptureQueriesContext(connection) as captured:
        response = doors.viewer.client.get(path)
    assert response.status_code == 200
    return len(captured)


@contextmanager
def as_the_web_server():
    with pytest.MonkeyPatch.context() as patch:
        as_web.hold(patch)
        yield


def too_much(doors, count):
    fill(team_id=doors.desk.team_id, count=count, now=NOW - timedelta(hours=1))
    go_on(doors.agent, begin_run(doors, goal="A vestibule"), notes="Saw a quokka.")
    as_web.grant()
    found = {}
    for role, held in (("owner", nullcontext), ("web", as_the_web_server)):
        with held():
            found |= {(role, path): read for path, read in reads(doors) if is_too_much(path, *read)}
    return found


def reads(doors):
    for path in MOST_PAGES:
        visit(doors, path)
        queries, (_, pages) = rows_and_pages_read(lambda path=path: visit(doors, path))
        yield path, (queries, pages)


def is_too_much(path, queries, pages):
    return pages > MOST_PAGES[path] or queries > MOST_QUERIES


def test_no_list_reads_more_among_20000_sessions(doors):
    assert too_much(doors, 20_000) == {}


@pytest.mark.slow
def test_nor_among_100000(doors):
    assert too_much(doors, 100_000) == {}


@pytest.mark.parametrize("path", [INBOX, "/studio/"])
def test_gaps_of_a_run_are_read_once_for_all_its_questions(doors, path):
    fill(team_id=doors.desk.team_id, count=60, now=NOW - timedelta(hours=1))
    rows = {"questions": 40, "gaps": 1_500}
    with connection.cursor() as cursor:
        for table, count in (("gap", rows["gaps"]), ("checkpointrequest", rows["questions"])):
            _repeat(cursor, table, count)
        cursor.execute("VACUUM (ANALYZE) sessions_app_gap, sessions_app_checkpointrequest")
    visit(doors, path)

    _, (read, _) = rows_and_pages_read(lambda: visit(doors, path))

    assert read < 12 * rows["gaps"]


def _repeat(cursor, table, count):
    """So many rows like one that the team has, in one run."""
    name = f"sessions_app_{table}"
    cursor.execute("SELECT column_name FROM information_schema.columns WHERE table_name = %s", [name])
    columns = [column for (column,) in cursor.fetchall()]
    made = {"id": "gen_random_uuid()", "event_index": "1000 + i", "instance_key": "'ask' || i", "state": "'open'"}
    made |= {"run_id": "r.id", "session_id": "r.session_id", "team_id": "r.team_id"}
    made |= {"answered_at": "NULL", "to_node_id": "NULL"}
    values = ", ".join(made.get(column, f"x.{column}") for column in columns)
    cursor.execute(
        f"INSERT INTO {name} ({', '.join(columns)}) SELECT {values} FROM (SELECT * FROM {name} LIMIT 1) x,"
        " (SELECT * FROM sessions_app_run WHERE team_id = (SELECT team_id FROM sessions_app_run GROUP BY 1 ORDER BY"
        " count(*) DESC LIMIT 1) ORDER BY id LIMIT 1) r, generate_series(1, %s) i",
        [count],
    )


def test_what_a_word_finds_is_asked_for_with_one_value_however_much_it_is(doors):
    from sessions_app.models import Run, WorkSession
    from sessions_app.selectors.found_words import runs_with_word, sessions_with_words

    value = begin_run(doors, goal="A vestibule")
    go_on(doors.agent, value, notes="Saw a quokka.")
    begin_run(doors, goal="Another vestibule", workflow_id="team.other")

    for rows, found in (
        (Run.objects.all(), runs_with_word(actor=doors.desk.owner, word="vestibule")),
        (WorkSession.objects.all(), sessions_with_words(actor=doors.desk.owner, text="vestibule")),
    ):
        wanted = rows.filter(found)
        assert wanted.count() == 2
        assert len(wanted.query.sql_with_params()[1]) == 1
    assert Run.objects.filter(runs_with_word(actor=doors.desk.owner, word="nowhere")).count() == 0
