"""Every call of the hot path touches few pages among thousands of sessions, whatever plan is kept for its statements: as
the role that serves requests, whose rows are limited to its team.
"""

import os
from datetime import timedelta

import pytest
from django.db import connection

from sessions_app.engine.resume_signals import ResumeQuery
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.tokens import TokenKind
from sessions_app.models import Node
from sessions_app.selectors.branches import newest_leaf
from sessions_app.selectors.checkpoints import Wanted, count_open, list_checkpoints
from sessions_app.selectors.integrity import verify_session
from sessions_app.selectors.records import list_events, list_nodes, list_outputs
from sessions_app.selectors.runs import RunFilters, list_runs, read_run, read_tree
from sessions_app.selectors.sessions import SessionFilters, list_sessions, read_session
from sessions_app.services.moves import sessions
from sessions_app.services.moves.resume import resume_sessions
from sessions_app.services.store.signing_keys import read_token
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.pages import PageRequest
from tests import run_cast
from tests.as_web import as_web, grant
from tests.crowd import fill
from tests.database_watch import rows_and_pages_read
from tests.run_cast import NOW, advance, advanced, bookmark, notes_free, rehydrate, run_id, session_id
from tests.store_copies import write_copies
from workrail_site.dialects.rail.replies import RAIL

# A search sets its transaction to read only, which Postgres allows only at the outermost.
pytestmark = [pytest.mark.own_connection, pytest.mark.django_db(transaction=True)]

# psycopg prepares a text at its sixth use, and Postgres may keep a general plan from the sixth use of that.
PAST_THE_GENERAL_PLAN = 12
SIBLINGS = 20
RUNS_OF_A_WINDOW = 2_000
PAGE = PageRequest(after=None, limit=50)
GOAL = "Find out why the quartz lantern of the vestibule flickers"

# Pages of tables and indexes that a call may touch. What is looked for by common words is read as far as its cap.
MOST_PAGES = {
    "start": 200,
    "advance": 150,
    "replay": 40,
    "bookmark": 150,
    "fork": 650,
    "rehydrate with siblings": 600,
    "rehydrate": 400,
    "resume by run": 400,
    "resume by session": 400,
    "resume by ticket": 150,
    "resume by branch": 150,
    "resume by goal": 2200,
    "resume by common goal": 1200,
    "resume by words of notes": 3000,
    "resume by common words": 1500,
    "resume the newest": 900,
    "resume by workflow": 900,
    "sessions": 120,
    "sessions by text": 150,
    "runs": 60,
    "runs by workflow": 60,
    "inbox": 400,
    "inbox of a run": 40,
    "inbox count": 500,
    "session": 40,
    "run": 60,
    "tree": 60,
    "nodes": 60,
    "outputs": 150,
    "events": 60,
    "verify": 1500,
}


def long_loop():
    loop = {"type": "for", "count": 1000, "maxIterations": 1000}
    return {"id": "the-loop", "type": "loop", "title": "The loop", "loop": loop, "body": [notes_free("inside")]}


class Work:
    """Runs of the crowd's team among all the others, and every call of the hot path on them."""

    def __init__(self, desk):
        self.desk = desk
        run_cast.published(desk, long_loop())
        self.first = self.value = run_cast.start(desk, goal=GOAL).value
        self.forked = run_cast.start(desk, goal="Fork it").value
        for _ in range(SIBLINGS):
            fresh = rehydrate(desk.agent, self.forked).value
            bookmark(desk.agent, advanced(desk.agent, fresh, "Tried the gizmo."), "Noted beside it.")
        labels = {ObservationKey.TICKET: "LAMP-77", ObservationKey.GIT_BRANCH: "fix/LAMP-77-flicker"}
        begun = sessions.start_session(
            actor=desk.agent, title="Vestibule", observations=labels, now=NOW, entropy=os.urandom, speech=RAIL
        )
        session = from_text(Prefix.SESSION, begun.value["session"]["sessionId"])
        run_cast.start(desk, session_id=session, goal="With a ticket")

    def calls(self):
        """Each call, or how one is made ready."""
        desk, agent, viewer = self.desk, self.desk.agent, self.desk.viewer
        run, session = run_id(self.first), session_id(self.first)

        def find(**query):
            return self._plain(lambda: resume_sessions(actor=agent, query=ResumeQuery(**query)))

        def sessions_by(**filters):
            return self._plain(lambda: list_sessions(actor=viewer, filters=SessionFilters(**filters), page=PAGE))

        def runs_by(**filters):
            return self._plain(lambda: list_runs(actor=viewer, filters=RunFilters(**filters), page=PAGE))

        def inbox(**wanted):
            return self._plain(lambda: list_checkpoints(actor=viewer, page=PAGE, wanted=Wanted(**wanted), now=NOW))

        plain = self._plain
        return {
            "start": plain(lambda: run_cast.start(desk, goal="Another")),
            "advance": plain(self._advance),
            "replay": plain(lambda: advance(agent, self.first)),
            "bookmark": self._bookmark,
            "fork": self._fork,
            "rehydrate with siblings": plain(lambda: rehydrate(agent, self.forked)),
            "rehydrate": plain(lambda: rehydrate(agent, self.value)),
            "resume by run": find(run_id=self.first["session"]["runId"]),
            "resume by session": find(session_id=self.first["session"]["sessionId"]),
            "resume by ticket": find(ticket="LAMP-77"),
            "resume by branch": find(git_branch="fix/LAMP-77-flicker"),
            "resume by goal": find(text=GOAL),
            "resume by common goal": find(text="mend the checkout of the shop"),
            "resume by words of notes": find(text="tried the gizmo"),
            "resume by common words": find(text="basket"),
            "resume the newest": find(),
            "resume by workflow": find(workflow_id="team.workflow-3"),
            "sessions": sessions_by(),
            "sessions by text": sessions_by(text="vestibule"),
            "runs": runs_by(),
            "runs by workflow": runs_by(workflow_id="team.sample"),
            "inbox": inbox(),
            "inbox of a run": inbox(run_id=run),
            "inbox count": plain(lambda: count_open(actor=viewer)),
            "session": plain(lambda: read_session(actor=viewer, session_id=session)),
            "run": plain(lambda: read_run(actor=viewer, run_id=run)),
            "tree": plain(lambda: read_tree(actor=viewer, run_id=run)),
            "nodes": plain(lambda: list_nodes(actor=viewer, run_id=run, page=PAGE)),
            "outputs": plain(lambda: list_outputs(actor=viewer, run_id=run, page=PAGE)),
            "events": plain(lambda: list_events(actor=viewer, session_id=session, page=PAGE)),
            "verify": plain(lambda: verify_session(session_id(self.forked))),
        }

    @staticmethod
    def _plain(call):
        return lambda: call

    def _advance(self):
        self.value = advanced(self.desk.agent, self.value)

    def _fork(self):
        fresh = rehydrate(self.desk.agent, self.forked).value
        return lambda: advance(self.desk.agent, fresh)

    def _bookmark(self):
        fresh = rehydrate(self.desk.agent, self.value).value
        return lambda: bookmark(self.desk.agent, fresh)


def pages_of(made_ready):
    """What a call touches once the plans of its statements are settled."""
    pages = [rows_and_pages_read(made_ready())[1][1] for _ in range(PAST_THE_GENERAL_PLAN)]
    return min(pages[-3:])


def too_many(desk, sessions_in_all):
    fill(team_id=desk.team_id, count=sessions_in_all, now=NOW - timedelta(hours=1))
    with as_web(desk.team_id):
        touched = {name: pages_of(made_ready) for name, made_ready in Work(desk).calls().items()}
    assert touched.keys() == MOST_PAGES.keys()
    return {name: pages for name, pages in touched.items() if pages > MOST_PAGES[name]}


def crowd_one_window(runs):
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_run SET last_activity_at = %s WHERE id IN ("
            "SELECT id FROM sessions_app_run WHERE workflow_id = 'team.workflow-3' ORDER BY last_activity_at DESC LIMIT %s)",
            [NOW, runs],
        )
        cursor.execute("VACUUM ANALYZE sessions_app_run")


@pytest.fixture
def desk():
    grant()
    return run_cast.make_desk()


@pytest.mark.measures
def test_no_call_of_the_hot_path_reads_more_among_20000_sessions(desk):
    assert too_many(desk, 20_000) == {}
    # Many agents at work at once: the runs of one window are read to be sorted, and of their sessions only those that are told.
    crowd_one_window(RUNS_OF_A_WINDOW)
    query = ResumeQuery(workflow_id="team.workflow-3")
    with as_web(desk.team_id):
        touched = pages_of(lambda: lambda: resume_sessions(actor=desk.agent, query=query))
    assert touched <= RUNS_OF_A_WINDOW + MOST_PAGES["resume by workflow"]


@pytest.mark.measures
@pytest.mark.slow
def test_nor_among_100000(desk):
    assert too_many(desk, 100_000) == {}


def test_a_node_with_hundreds_of_branches_is_read_without_the_nodes_of_others():
    """As the planner sees it that has counted them: it may take one look at all nodes for less than as many looks at an index."""
    desk = run_cast.make_desk()
    root = run_cast.begin(desk, *run_cast.plain_steps(60))
    for _ in range(300):
        last = advanced(desk.agent, rehydrate(desk.agent, root).value, "")
    other = run_cast.start(desk).value
    for _ in range(50):
        other = advanced(desk.agent, other, "")

    def rows_read():
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        calls = {
            "rehydrate": lambda: rehydrate(desk.agent, root),
            "prefer": lambda: newest_leaf(actor=desk.agent, node_id=node_of(root)),
            "fork": lambda: advanced(desk.agent, rehydrate(desk.agent, root).value, ""),
        }
        return {name: rows_and_pages_read(call)[1][0] for name, call in calls.items()}

    before = rows_read()
    write_copies(session_id(other), count=150)
    after = rows_read()

    assert last["pending"]["stepId"] == "step-1"
    assert {name: rows for name, rows in after.items() if rows > before[name] + 200} == {}


def grown(value, count):
    """So many nodes below that of a reply, one after the other, as rows alone."""
    node_id = node_of(value)
    names = [field.column for field in Node._meta.concrete_fields]
    made = {"id": "i.id", "parent_id": "i.parent_id", "event_index": "n.event_index + i.place"}
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH ids AS MATERIALIZED (SELECT place, gen_random_uuid() AS id FROM generate_series(1, %s) place), "
            "i AS (SELECT place, id, coalesce(lag(id) OVER (ORDER BY place), %s) AS parent_id FROM ids) "
            f"INSERT INTO sessions_app_node ({', '.join(names)}) "
            f"SELECT {', '.join(made.get(name, f'n.{name}') for name in names)} FROM i JOIN sessions_app_node n ON n.id = %s",
            [count, node_id, node_id],
        )
        cursor.execute("ANALYZE sessions_app_node")


def test_the_root_of_a_run_is_told_without_a_walk_through_all_of_it():
    """Whoever has lost their chat may have nothing but the first token of a run that has gone on for days."""
    desk = run_cast.make_desk()
    root = run_cast.begin(desk, *run_cast.plain_steps(9))
    value = advanced(desk.agent, root)
    calls = {
        "rehydrate": lambda: rehydrate(desk.agent, root),
        "prefer": lambda: newest_leaf(actor=desk.agent, node_id=node_of(root)),
    }
    for count in (300, 5_000):
        grown(advanced(desk.agent, rehydrate(desk.agent, value).value), count)
    read = {name: min(rows_and_pages_read(call)[1][0] for _ in range(3)) for name, call in calls.items()}

    assert {name: rows for name, rows in read.items() if rows > 1_000} == {}
    assert newest_leaf(actor=desk.agent, node_id=node_of(root)) == newest_leaf(actor=desk.agent, node_id=node_of(value))


def node_of(value):
    return read_token(kind=TokenKind.STATE, text=value["stateToken"])[0].node_id
