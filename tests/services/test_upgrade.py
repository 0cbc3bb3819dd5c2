"""Data of the release before bundles, notices, seals and roles is migrated, verified, and gone on with by its old tokens.

`before_seals.sql.gz` was written by `pg_dump` from what the services of that release had made, under the key below.
"""

import base64
import gzip
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from workrail_site.local import binaries

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
TOKEN_KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()
DUMP = Path(__file__).with_name("before_seals.sql.gz")
NAME = "upgraded"
MANAGE = (sys.executable, str(ROOT / "manage.py"))

BEFORE = """
import os
from dataclasses import replace
from uuid import UUID
import django
django.setup()
from django.utils import timezone
from sessions_app.engine.obligations import Submission
from sessions_app.engine.runs import Dialect
from sessions_app.models import CheckpointRequest
from sessions_app.selectors.bundles import read_with_children
from sessions_app.engine.decisions import EnterActivity
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.services.bundles.files import export_session
from sessions_app.services.moves import handed_over, runs, session_tokens
from sessions_app.services.moves.handed_over import HandoverCall
from sessions_app.services.people import checkpoints
from teams_app.engine.actors import Actor, ActorKind, Door, Role, Scope
from workrail_site.dialects.activities.speech import ACTIVITIES
from workrail_site.dialects.rail.replies import RAIL

team = UUID("01a1ee87-3200-7d62-810b-9844b6cd5948")
agent = Actor(kind=ActorKind.AGENT_KEY, id="key_6", name="a key", team_id=team, door=Door.MCP, scopes=frozenset(Scope))
person = Actor(kind=ActorKind.PERSON, id="per_x", name="bob", team_id=team, door=Door.STUDIO, role=Role.OWNER)
now = timezone.now()

def advance(state, ack):
    return runs.advance_run(actor=agent, state_token=state, ack_token=ack, submission=Submission(notes="Done."),
                            preferences=None, now=now, entropy=os.urandom, speech=RAIL)
"""

ADVANCE = """
again = advance("st.v1.01m7q8ecg0efpsfs28f3yjffvqaxbeab4qhyfg7fqn", "ack.v1.00t3vm768077vcqwh47hz97qxvg50y2fjmyxp3yn158stze6vjmnrh6")
assert again.replayed, "what was answered before the upgrade is answered again"
done = advance("st.v1.01m7q8g730ezns9egrjm61456zdejvd5880ff0xxkd", "ack.v1.00t3vm83hg7ftwmq8c9a30j2kfhe1k3xafmrb5c56eng1cgde7ym5v6")
assert done.value["isComplete"], done.value
"""

ANSWER = """
row = CheckpointRequest.objects.get(state="open", authority="human")
checkpoints.answer_checkpoint(actor=person, request_id=row.id, option_id="yes", digest=row.digest, reason="", now=now, entropy=os.urandom)
"""

HANDED_OVER = """
held = session_tokens.read_held(actor=agent, dialect=Dialect.SESSION, token="ses.v1.3d46maxpm2j40e4827dk0g4pym000000000000504svgevx3bfhc69j")
assert held.activity.id == "plan"
call = HandoverCall(actor=agent, dialect=Dialect.SESSION, token=held.token, now=now, entropy=os.urandom, speech=ACTIVITIES)
done = tuple(ManifestEntry(step_id=name, output="Did it.") for name in ("draft", "review"))
handed_over.enter_activity(call, EnterActivity(activity_id="build", manifest=done, asks_on_entry=True))
"""

EXPORT = """
from sessions_app.models import Run
for session_id in Run.objects.values_list("session_id", flat=True):
    written = []
    export_session(actor=person, session_id=session_id, write=written.append, now=now)
    assert written
"""


@pytest.fixture
def database(db):
    """A database with the old data, beside that of the tests."""
    where = connection.settings_dict
    address = {"host": where["HOST"], "user": where["USER"], "port": where["PORT"] or None}
    with psycopg.connect(dbname="postgres", autocommit=True, **address) as server:
        server.execute(f"DROP DATABASE IF EXISTS {NAME}")
        server.execute(f"CREATE DATABASE {NAME}")
        programs = binaries.choose_postgres(binaries.providers(environ=os.environ), major=None)
        url = f"postgresql:///{NAME}?host={where['HOST']}&user={where['USER']}"
        fill = [programs.program("psql"), "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", url]
        subprocess.run(fill, input=gzip.decompress(DUMP.read_bytes()), capture_output=True, check=True)
        yield url
        server.execute(f"DROP DATABASE {NAME} WITH (FORCE)")


@pytest.fixture
def run(database):
    """Runs a command on the old data, after the upgrade; what it prints."""
    environ = os.environ | {"DATABASE_URL": database, "REDIS_URL": settings.REDIS_URL, "WORKRAIL_TOKEN_KEY": TOKEN_KEY}
    environ["DJANGO_SETTINGS_MODULE"] = "workrail_site.settings"

    def run(*command):
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    for arguments in (["migrate", "--no-input", "--verbosity", "0"], ["seal_store"]):
        run(*MANAGE, *arguments)
    return run


def test_what_the_release_before_has_made_is_verified_exported_and_goes_on(run):
    assert "0 promises broken" in run(*MANAGE, "verify_store")
    run(sys.executable, "-c", BEFORE + ADVANCE + HANDED_OVER + EXPORT)
    assert "0 promises broken" in run(*MANAGE, "verify_store")


def test_a_question_that_waited_before_the_upgrade_is_answered_after_it(run):
    run(sys.executable, "-c", BEFORE + ANSWER)
