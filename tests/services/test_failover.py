"""The primary dies under eight agents, its synchronous standby takes over: what was answered is there, and there once."""

import random
import threading
from io import StringIO

import pytest
from django.core.management import call_command

from sessions_app.models import Run
from sessions_app.services.upkeep.verification import verify_all
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.ids import Prefix, to_text
from tests import logs, run_cast
from tests.cast import issue
from tests.clusters import eventually, fill, servers, used_by_django
from tests.run_cast import plain_steps, published
from tests.web_servers import Agent, web_server
from workrail_site.local.postgres_server import APP_ROLE, DATABASE

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
AGENTS = 8
ROUNDS = 20
STEPS = 25


def at_work(agents, stop):
    threads = [threading.Thread(target=agent.work, args=[stop], daemon=True) for agent in agents]
    for thread in threads:
        thread.start()
    return threads


def acknowledged(agents):
    return sum(agent.acknowledged for agent in agents)


def has_recorded(agents):
    """The steps that the log tells of, run by run, beside those that were answered."""
    told = {run: steps for agent in agents for run, steps in agent.walked.items()}
    logged = {to_text(Prefix.RUN, run): 0 for run in Run.objects.values_list("id", flat=True)}
    for event in logs.told("advance_recorded"):
        logged[event["scope"]["runId"]] += 1
    return logged, {run: len(steps) for run, steps in told.items()}


def test_no_advance_that_was_answered_is_lost_or_doubled_when_the_primary_dies(db, tmp_path):
    chance = random.Random(20261118)
    with servers(2) as pair:
        primary, standby = pair
        primary.initialise()
        primary.start()
        fill(primary)
        with used_by_django(primary):
            call_command("grant_roles", verbosity=0, stdout=StringIO())
            desk = run_cast.make_desk()
            workflow_id = published(desk, *plain_steps(STEPS))
            keys = [issue(desk.owner, name=f"agent {number}").text for number in range(AGENTS)]
        hosts = f"{primary.sockets},{standby.sockets}"
        address = f"postgresql:///{DATABASE}?host={hosts}&user={APP_ROLE}&target_session_attrs=read-write"
        with web_server(tmp_path, database_url=address) as web:
            agents = [Agent(web, key, workflow_id) for key in keys]
            stop = threading.Event()
            threads = at_work(agents, stop)
            try:
                for _ in range(ROUNDS):
                    standby.copy_of(primary)
                    standby.start()
                    primary.wait_for_standby()
                    until = acknowledged(agents) + chance.randrange(20, 60)
                    eventually(lambda until=until: acknowledged(agents) >= until, "work before the death")
                    primary.kill()
                    standby.promote()
                    primary, standby = standby, primary
                    before = acknowledged(agents)
                    eventually(lambda before=before: acknowledged(agents) >= before + AGENTS, "work after it")
            finally:
                stop.set()
                for thread in threads:
                    thread.join(timeout=60)
            refusals = [refusal for agent in agents for refusal in agent.refusals]
            repeats = sum(agent.repeats for agent in agents)
            print(f"{ROUNDS} rounds: {acknowledged(agents)} advances answered, {repeats} calls repeated")
        with used_by_django(primary):
            logged, answered = has_recorded(agents)
            findings = [str(finding) for finding in verify_all(actor=SYSTEM)]
    assert refusals == []
    assert repeats >= ROUNDS
    assert logged == answered
    assert findings == []
