"""Lists and pages of the Studio are read from a replica; nothing else is, and without it they come from the primary."""

import json
import os
import subprocess
import sys
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client

from tests import run_cast
from tests.cast import issue
from tests.clusters import eventually, fill, servers, used_by_django
from tests.run_cast import plain_steps, published
from tests.run_doors import enrol
from tests.web_servers import web_server
from workrail_site.local.postgres_server import APP_ROLE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def pair(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), servers(2) as (primary, standby):
        primary.initialise()
        primary.start()
        fill(primary)
        yield primary, standby


class Caller:
    """An agent by REST and a person in the Studio, on a web server that has a replica."""

    def __init__(self, web, key, cookie):
        self.web, self.key, self.cookie = web, key, cookie

    def begin(self):
        status, body = self.web.call(
            "POST", "/api/v1/runs", {"workflowId": "team.sample", "goal": "Be read"}, key=self.key
        )
        assert status == 201, body
        return json.loads(body)

    def listed(self):
        status, body = self.web.call("GET", "/api/v1/runs", key=self.key)
        assert status == 200, body
        return {run["id"] for run in json.loads(body)["items"]}

    def page(self, *, cookie=""):
        status, body = self.web.call("GET", "/studio/sessions_app/run/", cookie=f"{self.cookie}; {cookie}")
        assert status == 200, body
        return body.decode()


@pytest.fixture
def caller(pair, tmp_path, db):
    primary, standby = pair
    with used_by_django(primary):
        call_command("grant_roles", verbosity=0, stdout=StringIO())
        desk = run_cast.make_desk()
        published(desk, *plain_steps(3))
        key = issue(desk.owner).text
        client = Client()
        client.force_login(enrol(desk.owner))
        cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    standby.copy_of(primary)
    standby.start()
    addresses = {"database_url": primary.url(APP_ROLE), "DATABASE_REPLICA_URL": standby.url(APP_ROLE)}
    with web_server(tmp_path, **addresses) as web:
        yield Caller(web, key, cookie)


def test_lists_and_pages_are_the_replicas_and_moves_the_primarys(pair, caller):
    _primary, standby = pair
    standby.ask("SELECT pg_wal_replay_pause()")
    begun = caller.begin()
    run_id = begun["session"]["runId"]

    assert run_id not in caller.listed()
    assert run_id not in caller.page()
    status, one = caller.web.call("GET", f"/api/v1/runs/{run_id}", key=caller.key)
    assert (status, run_id in one.decode()) == (200, True)
    tokens = {name: begun[name] for name in ("stateToken", "ackToken")}
    status, answer = caller.web.call(
        "POST", "/api/v1/runs/continue", {**tokens, "output": {"notesMarkdown": "Done."}}, key=caller.key
    )
    assert (status, json.loads(answer)["pending"]["stepId"]) == (200, "step-1")

    # Whoever has just changed something sees it.
    token = "t" * 32
    proof = {"cookie": f"{caller.cookie}; csrftoken={token}", "X-CSRFToken": token}
    assert caller.web.call("POST", "/studio/team/", **proof)[0] == 302
    assert run_id in caller.page(cookie="workrail_changed=1")

    standby.ask("SELECT pg_wal_replay_resume()")
    eventually(lambda: run_id in caller.listed(), "the run on the replica")
    assert run_id in caller.page()

    # It goes away: the primary takes its part, and the log has a word of it.
    standby.kill()
    later = caller.begin()["session"]["runId"]
    assert {run_id, later} <= caller.listed()
    assert later in caller.page()
    status, ready = caller.web.call("GET", "/readyz")
    assert (status, json.loads(ready)["status"], json.loads(ready)["replica"]) == (200, "degraded", "away")
    assert caller.web.log.read_text().count("replica_away") == 1


def test_nothing_is_written_on_a_connection_of_the_replica(pair, db):
    """Also where its address is that of a server that takes writes."""
    primary, _standby = pair
    code = """
import django; django.setup()
from django.db import InternalError, connection
from teams_app.api.replica import read_lagging
from teams_app.models import Team
asked = []
def write():
    asked.append(connection.alias)
    if len(asked) == 2:
        return "on the primary"
    Team.objects.update(name="Other")
print(read_lagging(write), asked)
"""
    url = primary.url()
    given = os.environ | {
        "DATABASE_URL": url,
        "DATABASE_REPLICA_URL": url,
        "DJANGO_SETTINGS_MODULE": "workrail_site.settings",
    }
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=False)
    assert "on the primary ['replica', 'default']" in done.stdout, done.stderr
