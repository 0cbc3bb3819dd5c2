"""When Postgres leaves, REST and MCP say so once, with when to try again, and go on with the same tokens."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from tests.lost_connections import end_backend, end_once_it_waits
from tests.run_cast import assert_healthy, plain_steps, published, session_id

pytestmark = pytest.mark.own_connection

V1 = "/api/v1"


class ByRest:
    def __init__(self, wire):
        self.wire = wire

    def __call__(self, path, body):
        headers = {"Authorization": f"Bearer {self.wire.key}"}
        return httpx.post(f"{self.wire.url}{V1}/{path}", json=body, headers=headers, timeout=30)

    def start(self):
        return self("runs", {"workflowId": "team.sample", "goal": "Try it"}).json()

    def advance(self, value):
        """The reply and, of a refusal, its code and retry."""
        response = self("runs/continue", {"stateToken": value["stateToken"], "ackToken": value["ackToken"]})
        told = response.json()
        refused = response.status_code >= 400
        return (None, told["code"], told["retry"]) if refused else (told, None, None)


class ByMcp:
    def __init__(self, wire):
        self.wire = wire

    def start(self):
        return self.wire.value("start_workflow", workflowId="team.sample", goal="Try it")

    def advance(self, value):
        answer = self.wire("continue_workflow", stateToken=value["stateToken"], ackToken=value["ackToken"])
        return (None, answer.code, answer.value["retry"]) if answer.is_error else (answer.value, None, None)


@pytest.fixture(params=[ByRest, ByMcp])
def door(request, wire, desk):
    published(desk, *plain_steps(4))
    return request.param(wire)


@pytest.fixture
def other(desk):
    from django.db import connection

    info = connection.connection.info
    with psycopg.connect(info.dsn, password=info.password, autocommit=True) as made:
        yield made


def backends(other):
    found = other.execute(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'site-under-test'"
    )
    return [pid for (pid,) in found.fetchall()]


def test_a_restart_of_postgres_between_two_advances_is_not_noticed(door, other):
    value = door.start()
    for pid in backends(other):
        end_backend(other, pid)

    reply, code, _ = door.advance(value)

    assert (code, reply["pending"]["stepId"]) == (None, "step-1")


def test_a_connection_that_is_lost_in_a_call_refuses_it_and_no_later_one(door, other):
    value = door.start()
    with other.transaction(), ThreadPoolExecutor(1) as thread:
        other.execute("SELECT 1 FROM sessions_app_worksession WHERE id = %s FOR UPDATE", [session_id(value)])
        lost = thread.submit(door.advance, value)
        end_once_it_waits(other.info)

        _, code, retry = lost.result()

    answers = [door.advance(value) for _ in range(8)]
    assert (code, retry["kind"]) == ("SERVICE_UNAVAILABLE", "retryable_after_ms")
    assert [code for _, code, _ in answers] == [None] * 8
    assert {reply["pending"]["stepId"] for reply, _, _ in answers} == {"step-1"}
    assert_healthy(value)
