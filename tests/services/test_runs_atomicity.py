"""One writer, one statement: a transition is there whole or not at all, whatever happens on the way."""

import os
import time

import psycopg
import pytest
from django.db import DatabaseError

from sessions_app.engine.submissions import Submission
from sessions_app.engine.tokens import TokenSessionLockedError
from sessions_app.services.moves import runs
from sessions_app.services.store.patience import LOCK_TIMEOUT_MS
from tests import run_cast
from tests.engine_play import NEVER_STOP
from tests.run_cast import NOW, advance, advanced, assert_healthy, begin, events, plain_steps, session_id, start
from tests.step_documents import step
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = ("event", "node", "attempt", "output", "gap", "snapshot", "run", "worksession")


@pytest.fixture
def desk():
    return run_cast.make_desk()


def contents():
    """Every row of every table of sessions, as text."""
    from django.db import connection

    with connection.cursor() as cursor:
        found = {}
        for table in TABLES:
            cursor.execute(f"SELECT t::text FROM sessions_app_{table} t ORDER BY 1")
            found[table] = [row[0] for row in cursor.fetchall()]
    return found


@pytest.fixture
def failing():
    """`failing(table)`: from now on no row gets into it, or out of the state that it has."""
    from django.db import connection

    spoilt = []

    def spoil(table):
        spoilt.append(table)
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE OR REPLACE FUNCTION test_refuses() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'no room'; END $$",
            )
            cursor.execute(
                f"CREATE TRIGGER test_refuses BEFORE INSERT OR UPDATE ON sessions_app_{table} "
                "FOR EACH ROW EXECUTE FUNCTION test_refuses()",
            )

    def mend():
        with connection.cursor() as cursor:
            while spoilt:
                cursor.execute(f"DROP TRIGGER test_refuses ON sessions_app_{spoilt.pop()}")

    spoil.mend = mend
    yield spoil
    mend()


@pytest.mark.parametrize("table", TABLES)
def test_when_one_table_fails_nothing_is_written_to_any(desk, failing, table):
    value = begin(desk, step("first-step"), step("next-step"), preferences=NEVER_STOP)
    artifact = {"kind": "own.a"}
    before = contents()
    failing(table)

    with pytest.raises(DatabaseError, match="no room"):
        advance(desk.agent, value, "", artifacts=[artifact])

    assert contents() == before
    failing.mend()
    assert advanced(desk.agent, value, "", artifacts=[artifact])["pending"]["stepId"] == "next-step"
    assert_healthy(value)


@pytest.mark.parametrize("table", ["event", "node", "run", "snapshot"])
def test_a_start_that_fails_leaves_no_session_behind(desk, failing, table):
    run_cast.published(desk, *plain_steps(2))
    failing(table)

    with pytest.raises(DatabaseError):
        run_cast.start(desk)

    assert not any(contents().values())


class CrashError(Exception):
    pass


def acting(desk, value, entropy):
    return runs.advance_run(
        actor=desk.agent,
        state_token=value["stateToken"],
        ack_token=value["ackToken"],
        submission=Submission(notes="Done."),
        now=NOW,
        entropy=entropy,
        speech=RAIL,
    )


def test_a_crash_between_read_and_write_leaves_the_token_good(desk):
    value = begin(desk, *plain_steps(2))
    before = contents()

    def crash(_count):
        raise CrashError

    with pytest.raises(CrashError):
        acting(desk, value, crash)

    assert contents() == before
    assert advanced(desk.agent, value)["pending"]["stepId"] == "step-1"


def test_who_was_overtaken_between_read_and_write_decides_again_on_the_new_state(desk):
    value = begin(desk, *plain_steps(3))
    fresh = run_cast.rehydrate(desk.agent, value).value
    overtaken = []

    def entropy(count):
        if not overtaken:
            overtaken.append(advance(desk.agent, fresh))
        return os.urandom(count)

    reply = acting(desk, value, entropy)

    assert reply.value["warnings"][0]["code"] == "FORKED"
    assert len(events(value, "advance_recorded")) == 2
    assert_healthy(value)


def test_who_was_overtaken_by_the_same_token_is_answered_the_same(desk):
    value = begin(desk, *plain_steps(3))
    overtaken = []

    def entropy(count):
        if not overtaken:
            overtaken.append(advance(desk.agent, value))
        return os.urandom(count)

    reply = acting(desk, value, entropy)

    assert (reply.data, reply.replayed) == (overtaken[0].data, True)
    assert len(events(value, "advance_recorded")) == 1


@pytest.fixture
def other_connection():
    from django.db import connection

    connection.ensure_connection()
    with psycopg.connect(connection.connection.info.dsn, password=connection.connection.info.password) as other:
        yield other


def test_a_session_that_is_held_too_long_is_told_as_busy_and_the_call_can_be_repeated(desk, other_connection):
    value = begin(desk, *plain_steps(2))
    other_connection.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(value)])
    begun = time.monotonic()

    with pytest.raises(TokenSessionLockedError) as refusal:
        advance(desk.agent, value)

    waited_ms = (time.monotonic() - begun) * 1000
    assert LOCK_TIMEOUT_MS * 0.9 < waited_ms < LOCK_TIMEOUT_MS * 5
    assert refusal.value.as_json()["retry"] == {"kind": "retryable_after_ms", "afterMs": 1000}
    other_connection.rollback()
    assert advanced(desk.agent, value)["pending"]["stepId"] == "step-1"
    assert_healthy(value)


def test_while_a_session_is_known_to_be_held_others_that_want_it_are_told_at_once(desk, other_connection, monkeypatch):
    from sessions_app.services.store import patience

    monkeypatch.setattr(patience, "HELD_SECONDS", 1_000)
    value = begin(desk, *plain_steps(2))
    elsewhere = start(desk).value
    other_connection.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(value)])
    waits = []
    for _ in range(3):
        waits.append(patience.held_sessions.wait_ms(session_id(value)))
        with pytest.raises(TokenSessionLockedError):
            advance(desk.agent, value)
    assert patience.held_sessions.wait_ms(session_id(elsewhere)) == LOCK_TIMEOUT_MS
    other_connection.rollback()
    advanced(desk.agent, value)

    assert waits == [LOCK_TIMEOUT_MS, patience.AT_ONCE_MS, patience.AT_ONCE_MS]
    assert patience.held_sessions.wait_ms(session_id(value)) == LOCK_TIMEOUT_MS


def test_the_limit_of_waiting_is_no_state_of_the_connection(desk):
    from django.db import connection

    advance(desk.agent, begin(desk, *plain_steps(2)))

    with connection.cursor() as cursor:
        cursor.execute("SELECT setting, reset_val FROM pg_settings WHERE name = 'lock_timeout'")
        now, from_the_start = cursor.fetchone()
    assert now == from_the_start


def test_replays_and_rehydrations_do_not_wait_for_the_writer(desk, other_connection):
    value = begin(desk, *plain_steps(2))
    first = advance(desk.agent, value)
    other_connection.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(value)])

    assert advance(desk.agent, value).data == first.data
    assert run_cast.rehydrate(desk.agent, value).value["pending"]["stepId"] == "step-0"
    other_connection.rollback()


def test_another_session_is_not_held_up(desk, other_connection):
    run_cast.published(desk, *plain_steps(2))
    held, free = run_cast.start(desk).value, run_cast.start(desk).value
    other_connection.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(held)])

    assert advanced(desk.agent, free)["pending"]["stepId"] == "step-1"
    other_connection.rollback()


def test_the_log_has_one_row_for_what_is_written_at_a_place(desk):
    from django.db import IntegrityError

    from sessions_app.models import Event

    value = begin(desk, *plain_steps(2))
    columns = Event.objects.filter(session_id=session_id(value)).order_by("-index").values()[0]

    with pytest.raises(IntegrityError, match=r"event_has_place|pkey"):
        Event.objects.create(**columns)


def test_the_log_refuses_change_and_deletion(desk):
    from django.db import IntegrityError, connection

    begin(desk, *plain_steps(2))

    for statement in ("UPDATE sessions_app_event SET seal = NULL", "DELETE FROM sessions_app_event"):
        with pytest.raises(IntegrityError, match="append-only"), connection.cursor() as cursor:
            cursor.execute(statement)
