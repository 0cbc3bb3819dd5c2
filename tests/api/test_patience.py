"""How long a process waits for Postgres: a limit of the server's on each of its connections, and a stop from outside."""

import os
import subprocess
import sys
import threading

import psycopg
import pytest
from django.db import OperationalError, connection, connections

from tests import run_doors
from tests.run_doors import V1

ASK = """
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("SHOW statement_timeout")
    found = cursor.fetchone()[0]
    cursor.execute("SHOW lock_timeout")
    print(found, cursor.fetchone()[0])
"""
DOOR = "import workrail_site.asgi"
WORKER = "import django; django.setup(); from workrail_site.celery import app; from celery.signals import worker_init; worker_init.send(None)"
COMMAND = "import django; django.setup()"


def limits_of(process, environ):
    code = f"import os\nos.environ.setdefault('DJANGO_SETTINGS_MODULE', 'workrail_site.settings')\n{process}\n{ASK}"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environ, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("process", "environ", "limits"),
    [
        (DOOR, {}, ["5s", "2s"]),
        (DOOR, {"WORKRAIL_STATEMENT_TIMEOUT_MS": "700"}, ["700ms", "700ms"]),
        (DOOR, {"WORKRAIL_STATEMENT_TIMEOUT_MS": "0"}, ["0", "0"]),
        (WORKER, {}, ["1min", "2s"]),
        (COMMAND, {}, ["0", "0"]),
    ],
)
@pytest.mark.own_connection
def test_a_door_waits_seconds_a_task_a_minute_and_a_command_as_long_as_it_takes(process, environ, limits):
    assert limits_of(process, environ) == limits


@pytest.mark.django_db(transaction=True)
def test_a_query_is_stopped_from_another_thread_and_its_connection_serves_on():
    from workrail_site.patience import query_stopper

    began, stops, failures = threading.Event(), [], []

    def wait_long():
        stops.append(query_stopper())
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                began.set()
                cursor.execute("SELECT pg_sleep(60)")
        except OperationalError as error:
            failures.append(str(error))
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            connections.close_all()

    thread = threading.Thread(target=wait_long)
    thread.start()
    assert began.wait(10)
    while thread.is_alive():
        stops[0]()
        thread.join(0.05)

    assert len(failures) == 1
    assert "canceling statement" in failures[0]


@pytest.mark.own_connection
@pytest.mark.django_db(transaction=True)
def test_a_page_whose_query_took_too_long_says_so_and_not_that_it_is_broken(client, monkeypatch):
    from workrail_site import health

    def too_long():
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 20")
            cursor.execute("SELECT pg_sleep(5)")

    monkeypatch.setitem(health._CHECKS, "database", too_long)
    try:
        response = client.get("/readyz")
    finally:
        connection.close()

    assert (response.status_code, response.json()["code"]) == (503, "SERVICE_UNAVAILABLE")


@pytest.mark.own_connection
@pytest.mark.django_db(transaction=True)
def test_a_session_or_a_row_that_somebody_else_changes_is_told_as_that_by_every_door():
    doors = run_doors.open_doors()
    session = run_doors.begin_run(doors)["session"]
    of_session, of_run = f"{V1}/sessions/{session['sessionId']}", f"{V1}/runs/{session['runId']}"
    info = connection.connection.info
    with psycopg.connect(info.dsn, password=info.password) as other, connection.cursor() as cursor:
        other.execute("SELECT 1 FROM sessions_app_worksession FOR UPDATE")
        other.execute("SELECT 1 FROM teams_app_team FOR UPDATE")
        cursor.execute("SET lock_timeout = 20")
        answers = {
            "paused": doors.owner.post(f"{of_run}/pause", {"reason": "Wait"}),
            "deleted": doors.owner.post(f"{of_session}/delete", {"reason": "Over"}),
            "held": doors.owner("PUT", f"{of_session}/hold", {"reason": "Keep"}),
            "named": doors.owner("PATCH", of_run, {"name": "Another"}),
            "renamed": doors.owner("PATCH", f"{V1}/teams/{_team(doors)}", {"name": "Another"}),
        }
    connection.close()

    told = {name: (answer.status_code, answer.json()["code"]) for name, answer in answers.items()}
    assert told.pop("renamed") == (503, "SERVICE_UNAVAILABLE")
    assert set(told.values()) == {(423, "TOKEN_SESSION_LOCKED")}, told
    assert "changing the same" in answers["renamed"].json()["detail"]


def _team(doors):
    return doors.owner.get(f"{V1}/whoami").json()["team"]
