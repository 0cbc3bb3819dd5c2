"""What an advance writes, in bytes and updates: what was gained there cannot silently go."""

from datetime import timedelta

import pytest
from django.db import connection

from tests import run_cast
from tests.run_cast import NOW, advanced, make_desk
from tests.step_documents import step

pytestmark = [pytest.mark.own_connection, pytest.mark.django_db(transaction=True)]

ADVANCES = 200
MOVED = ("sessions_app_run", "sessions_app_worksession")


def begun(desk):
    loop = {"type": "for", "count": 1000, "maxIterations": 1000}
    body = [step(f"step-{number}", prompt=f"Look at part {number} of the whole. " * 15) for number in range(5)]
    run_cast.published(desk, {"id": "the-loop", "type": "loop", "title": "The loop", "loop": loop, "body": body})
    return run_cast.start(desk).value


def asked(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def updates():
    """Of each table: how many there were, and how many of them touched no index."""
    asked("SELECT pg_stat_force_next_flush()")
    connection.close()
    counted = "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = ANY(%s)"
    return {name: (every, hot) for name, every, hot in asked(counted, list(MOVED))}


def test_updates_of_an_advance_touch_no_index():
    """Calls that follow each other within a window of activity, as most do."""
    desk = make_desk()
    value = begun(desk)
    before = updates()
    for number in range(ADVANCES):
        value = advanced(desk.agent, value, now=NOW + timedelta(seconds=number))
    after = updates()
    for table in MOVED:
        every, hot = (now - then for now, then in zip(after[table], before[table], strict=True))
        assert every == ADVANCES
        assert hot >= 0.95 * every, f"{hot} of {every} updates of {table} are HOT"
