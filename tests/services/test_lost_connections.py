"""A connection to Postgres that breaks costs one call at most: the next is answered on a new one."""

import threading

import psycopg
import pytest
from django.db import OperationalError, close_old_connections, connection

from tests import run_cast
from tests.database_watch import round_trips
from tests.lost_connections import end_backend, end_once_it_waits
from tests.run_cast import NOW, advance, advanced, assert_healthy, begin, plain_steps, session_id

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.own_connection]


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def other():
    """A connection of the test's own, beside Django's."""
    connection.ensure_connection()
    info = connection.connection.info
    with psycopg.connect(info.dsn, password=info.password, autocommit=True) as made:
        yield made


def pid():
    return connection.connection.info.backend_pid


def test_an_advance_after_the_connection_was_lost_is_answered_on_a_new_one(desk, other):
    value = begin(desk, *plain_steps(3))
    before = pid()
    end_backend(other, before)

    reply = advance(desk.agent, value)

    assert reply.value["pending"]["stepId"] == "step-1"
    assert pid() != before
    assert_healthy(reply.value)


def test_a_connection_that_is_lost_on_the_way_fails_the_call_and_no_later_one(desk, other):
    value = begin(desk, *plain_steps(3))
    with other.transaction():
        other.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(value)])
        killer = threading.Thread(target=end_once_it_waits, args=[connection.connection.info])
        killer.start()

        with pytest.raises(OperationalError):
            advance(desk.agent, value)
        killer.join()

    assert advanced(desk.agent, value)["pending"]["stepId"] == "step-1"
    assert_healthy(value)


def test_django_is_told_of_the_loss_and_leaves_the_connection(desk, other):
    """The doors ask it to, around each call."""
    value = begin(desk, *plain_steps(2))
    with other.transaction():
        other.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(value)])
        killer = threading.Thread(target=end_once_it_waits, args=[connection.connection.info])
        killer.start()
        with pytest.raises(OperationalError):
            advance(desk.agent, value)
        killer.join()

    close_old_connections()

    assert connection.connection is None


def test_what_the_server_says_unasked_is_no_loss(desk, other):
    """A notice of a server that reloads its configuration makes the socket readable as a farewell does."""
    value = begin(desk, *plain_steps(3))
    before = pid()
    value = advanced(desk.agent, value)
    connection.connection.execute("LISTEN something_else")
    other.execute("NOTIFY something_else")

    reply = advance(desk.agent, value, now=NOW)

    assert reply.value["pending"]["stepId"] == "step-2"
    assert pid() == before


def test_looking_for_a_loss_asks_the_server_nothing(desk):
    value = begin(desk, *plain_steps(12))
    for _ in range(8):
        value = advanced(desk.agent, value)

    _, trips = round_trips(lambda: advance(desk.agent, value))

    assert trips == 2
