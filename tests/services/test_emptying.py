"""Tables are emptied after a test although a server that it has started is still writing."""

import threading

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from teams_app.models import Team, TeamStorage
from tests.emptying import empty_tables
from tests.run_cast import make_desk

pytestmark = [pytest.mark.own_connection, pytest.mark.django_db(transaction=True)]


def test_what_a_server_writes_meanwhile_is_emptied_too():
    desk = make_desk()
    asked, written = threading.Event(), threading.Event()
    parameters = {
        name: value for name, value in connection.get_connection_params().items() if isinstance(value, (str, int))
    }
    parameters.pop("cursor_factory", None)

    def server():
        with psycopg.connect(**parameters) as other:
            other.execute(
                "INSERT INTO teams_app_teamstorage (team_id, stored_bytes, measured_at) VALUES (%s, 1, %s)",
                [desk.team_id, timezone.now()],
            )
            # Its team is there, and cannot be deleted before the end of this.
            other.execute("SET CONSTRAINTS ALL IMMEDIATE")
            written.set()
            asked.wait(0.5)

    TeamStorage.objects.all().delete()
    thread = threading.Thread(target=server)
    thread.start()
    assert written.wait(5)
    empty_tables(connection)
    thread.join()

    assert not Team.objects.exists()
    assert not TeamStorage.objects.exists()
