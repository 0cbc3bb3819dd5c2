"""A session that somebody holds keeps its own callers waiting, and nobody else."""

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.run_cast import plain_steps, published, session_id

CALLERS = 4


@pytest.fixture
def held(desk, wire):
    """A run whose session another transaction holds."""
    from django.db import connection

    published(desk, *plain_steps(3))
    value = wire.value("start_workflow", workflowId="team.sample", goal="Held")
    connection.ensure_connection()
    info = connection.connection.info
    with psycopg.connect(info.dsn, password=info.password) as other:
        other.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(value)])
        yield value


def go_on(wire, value):
    tokens = {"stateToken": value["stateToken"], "ackToken": value["ackToken"]}
    return wire("continue_workflow", **tokens, output={"notesMarkdown": "Did what the step says, and looked at it."})


def test_callers_that_wait_for_one_session_keep_nobody_from_another(held, wire, agent):
    done, refused = threading.Event(), []

    def hammer(caller):
        while not done.is_set():
            answer = go_on(caller, held)
            refused.append((answer.is_error, answer.code))

    with ThreadPoolExecutor(CALLERS) as threads:
        hammering = [threads.submit(hammer, agent(name=f"caller {number}")) for number in range(CALLERS)]
        try:
            # Of the same team, so that they share its threads too.
            served = [wire.value("start_workflow", workflowId="team.sample", goal="Free") for _ in range(8)]
        finally:
            done.set()
    for each in hammering:
        each.result()

    assert len(served) == 8
    assert set(refused) == {(True, "TOKEN_SESSION_LOCKED")}
    # Each of them was told, most of them at once: had each held a thread until it gave up, the eight would have been done
    # before as many were told.
    assert len(refused) > CALLERS
