"""The measurements measure: small and quick, for what they print and not for how fast they are."""

import json
import os
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection

import pytest
from django.db import ProgrammingError

from tests.clusters import eventually
from workrail_site.bench.compiling import STEPS, compile_report, large_document
from workrail_site.bench.figures import Figure, best_seconds, table
from workrail_site.bench.limit import find_pgbench, measure_limit, prepare_limit, that_fit
from workrail_site.bench.processor_time import processor_seconds


def figure(name, calls, *, clients=1):
    return Figure(name=name, clients=clients, calls=calls, seconds=2.0, latencies_ms=[1.0, 2.0, 3.0], cpu_us=40.0)


def test_a_ratio_is_to_the_base_with_as_many_clients():
    shown = table([figure("base", 100), figure("base", 400, clients=8), figure("mine", 200, clients=8)], base="base")

    assert shown.splitlines()[3].split()[:4] == ["mine", "8", "100", "0.50"]


def test_a_figure_without_latencies_leaves_their_cells_empty():
    shown = table([Figure(name="base", clients=1, calls=10, seconds=1.0)], base="base")

    assert shown.splitlines()[1].split() == ["base", "1", "10", "1.00"]


def test_the_best_of_some_rounds_is_kept():
    rounds = iter([0, 0, 0])

    assert best_seconds(lambda: next(rounds), rounds=3) >= 0


def test_the_large_workflow_is_as_large_as_it_says_and_compiles():
    assert 90_000 < len(large_document()) < 110_000
    assert f"{STEPS} steps" in compile_report()


@pytest.mark.django_db(transaction=True)
def test_the_limit_runs_on_the_tables_that_an_advance_writes():
    from django.db import connection

    from sessions_app.models import Node

    program = find_pgbench()
    if program is None:
        pytest.skip("there is no pgbench here")
    prepare_limit()
    before = Node.objects.count()

    found = measure_limit(program=program, database=connection.settings_dict["NAME"], clients=[1], seconds=1)

    assert found[0].rate > 0
    assert Node.objects.count() > before


@pytest.fixture
def few_rounds(monkeypatch):
    """Runs come to their end while they are measured, as those of a long measurement do."""
    from workrail_site.bench import stage

    monkeypatch.setattr(stage, "ROUNDS", 3)


@pytest.mark.django_db(transaction=True)
def test_a_run_is_taken_on_by_tokens_by_hand_and_by_activities_and_another_begins_at_its_end(few_rounds):
    from sessions_app.models import Run
    from sessions_app.services.store.signing_keys import forget_keys
    from workrail_site.bench import service
    from workrail_site.bench.stage import set_stage

    forget_keys()
    stage = set_stage()
    walks = (service.advancing(), service.steering(), service.handing())

    found = [service.measure_service(stage=stage, walk=walk, clients=1, seconds=0.2) for walk in walks]
    ratios = [service.ratio_in_turns(stage=stage, walk=walk, base=walks[0], calls=3) for walk in walks[1:]]

    assert all(figure.calls == len(figure.latencies_ms) > 0 for figure in found)
    assert all(ratio > 0 for ratio in ratios)
    assert set(Run.objects.filter(status="complete").values_list("dialect", flat=True)) == {"rail", "navigation"}
    assert set(Run.objects.values_list("dialect", flat=True)) == {"rail", "navigation", "session"}


@pytest.mark.django_db
def test_no_more_clients_are_measured_without_a_door_than_the_database_has_connections_for():
    assert that_fit([1, 8, 100_000, 32]) == [1, 8, 32]


@pytest.mark.django_db(transaction=True)
def test_a_walk_that_fails_ends_the_measurement_with_its_reason():
    from workrail_site.bench.service import BenchWalk, measure_service

    def begin(_stage):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        measure_service(stage=None, walk=BenchWalk(name="broken", begin=begin, step=begin), clients=2, seconds=0.1)


def answered(situation):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": situation}}).encode()


def situation(*required, optional=()):
    actions = {"required": list(required), "optional": list(optional), "blocked": []}
    return {"success": True, "state": "st.v1.x", "availableActions": actions}


@pytest.mark.django_db(transaction=True)
def test_at_the_end_of_a_run_each_door_begins_another_that_is_not_counted(staged):
    from workrail_site.bench.doors import McpDoor, NavigationDoor, RestDoor

    ended = {
        RestDoor: b'{"kind": "ok", "isComplete": true}',
        McpDoor: b'{"result": {"structuredContent": {"isComplete":true}}}',
        NavigationDoor: answered({"success": True, "complete": True}),
    }
    for made, answer in ended.items():
        door = made()
        begun = door.begin(staged[0])

        assert door.go_on(answer) == replace(begun, counts=False)


def test_at_the_door_of_navigation_only_steps_are_counted():
    from workrail_site.bench.doors import NavigationDoor

    loop = {"action": "advance_loop", "loop": "rounds"}
    step = {"action": "complete_step", "step": "step-0"}

    to_round = NavigationDoor().go_on(answered(situation(loop)))
    to_step = NavigationDoor().go_on(answered(situation(step, optional=[loop])))

    assert (to_round.counts, to_round.body["params"]["arguments"]["action"]) == (False, "advance_loop")
    assert (to_step.counts, to_step.body["params"]["arguments"]["step_id"]) == (True, "step-0")


def test_at_the_door_of_sessions_an_activity_is_left_with_a_manifest_of_its_steps():
    from workrail_site.bench.doors import SessionDoor
    from workrail_site.bench.stage import activity_steps

    first = SessionDoor().go_on(answered({"session_token": "ses.v1.x"})).body["params"]["arguments"]
    then = SessionDoor().go_on(answered({"session_token": "ses.v1.y", "id": "there"})).body["params"]["arguments"]

    assert first == {"session_token": "ses.v1.x", "activity_id": "there"}
    assert (then["activity_id"], [entry["step_id"] for entry in then["step_manifest"]]) == ("back", activity_steps())


def test_a_door_that_is_refused_ends_the_measurement():
    from workrail_site.bench.doors import McpDoor, NavigationDoor, SessionDoor

    for door in (McpDoor(), NavigationDoor(), SessionDoor()):
        with pytest.raises(RuntimeError, match="RATE_LIMITED"):
            door.go_on(b'{"error": {"data": {"code": "RATE_LIMITED"}}}')


def test_the_time_of_the_processors_grows_with_work():
    before = processor_seconds(os.getpid())
    if before is None:
        pytest.skip("there is no /proc here")
    while processor_seconds(os.getpid()) == before:
        sum(range(1000))

    assert processor_seconds(os.getpid()) > before


def test_the_figures_are_told_to_programs_too():
    from workrail_site.bench.figures import as_json

    (told,) = as_json([figure("mine", 100)])

    assert (told["name"], told["perSecond"], told["p50Ms"], told["cpuUs"]) == ("mine", 50.0, 2.0, 40.0)


@pytest.mark.django_db(transaction=True)
def test_growth_is_measured_by_kind_of_call_and_held_against_the_fewest_sessions(settings):
    from sessions_app.services.store.signing_keys import forget_keys
    from workrail_site.bench import growth
    from workrail_site.bench.stage import set_stage

    settings.ALLOWED_HOSTS = ["localhost"]
    forget_keys()

    found = growth.measure_growth(stage=set_stage(), sizes=[2, 1], calls=2)

    assert {each.sessions for each in found} == {1, 2}
    assert {"start", "rehydrate", "resume, by words", "list of runs", "Studio, a run"} <= {each.name for each in found}
    assert "1.00" in growth.growth_table(found)


def test_the_door_is_held_against_what_it_leads_to():
    from workrail_site.bench.mcp_cost import TrivialTool, cost_table

    ours, base = figure("ours", 10), Figure(name="base", clients=1, calls=1, seconds=1.0, cpu_us=20.0)

    assert cost_table([(ours, base)]).splitlines()[1].split() == ["ours", "40", "2.00", "base", "20", "0.00", "2.00"]
    with pytest.raises(RuntimeError, match="RATE_LIMITED"):
        TrivialTool().go_on(b'{"error": {"data": {"code": "RATE_LIMITED"}}}')


@pytest.fixture
def staged(db, few_rounds):
    """The stage of a measurement in this test's database, and the environment of a web server for it."""
    from django.db import connection

    from sessions_app.services.store.signing_keys import forget_keys
    from workrail_site.bench.stage import server_environment, set_stage

    forget_keys()
    return set_stage(), server_environment(connection.settings_dict["NAME"])


@pytest.mark.django_db(transaction=True)
def test_measurements_serve_as_the_role_of_production_in_sight_of_one_team(staged):
    from urllib.parse import urlsplit

    from django.db import connection

    from sessions_app.models import Run
    from teams_app.services.row_scope import row_scope
    from workrail_site.bench import service
    from workrail_site.bench.serving import serving

    stage, environment = staged
    owner = connection.settings_dict["USER"]

    with serving(stage.actor):
        service.begin(stage)
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user")
            assert cursor.fetchone() == ("workrail_app",)
        with pytest.raises(ProgrammingError, match="permission denied"):
            Run.objects.all().delete()

    assert urlsplit(environment["DATABASE_URL"]).username == "workrail_app"
    assert (connection.settings_dict["USER"], row_scope()) == (owner, None)


@pytest.fixture
def site(staged):
    from workrail_site.bench.web import web_server

    with web_server(staged[1]) as server:
        yield server


@pytest.mark.django_db(transaction=True)
def test_every_call_is_answered_in_a_closed_and_in_an_open_loop(staged, site):
    from workrail_site.bench.clients import measure_door
    from workrail_site.bench.every_call import agents_doors, readers_doors

    doors = (*agents_doors(), *readers_doors(staged[0]))

    closed = [measure_door(stage=staged[0], server=site, door=door, clients=1, seconds=0.05) for door in doors]
    opened = measure_door(stage=staged[0], server=site, door=doors[0], clients=2, seconds=0.5, per_second=20)

    assert all(found.calls > 0 for found in closed)
    assert (opened.calls, opened.name) == (10, "start by MCP, 20/s")


@pytest.mark.django_db(transaction=True)
def test_an_open_loop_makes_each_call_that_was_due(staged, site):
    from workrail_site.bench.clients import measure_door
    from workrail_site.bench.every_call import StartDoor

    found = measure_door(stage=staged[0], server=site, door=StartDoor(), clients=1, seconds=0.1, per_second=500)

    assert found.calls == 50


def test_what_waits_in_an_open_loop_counts_from_the_moment_at_which_it_was_due():
    """Five calls that take five of their turns each: the last waits for four of them, and was due four turns after the first."""
    import asyncio
    import time

    from workrail_site.bench.clients import _Due

    turn = 0.004

    class SlowClient:
        async def step(self):
            await asyncio.sleep(5 * turn)

        def close(self):
            pass

    begun = time.perf_counter()
    told = asyncio.run(_Due(begun, 1 / turn, begun + 4.5 * turn).work(SlowClient()))

    # Nothing sleeps for less than it was told, so these hold on the slowest machine.
    assert len(told) == 5
    assert all(ms >= (5 * (place + 1) - place) * turn * 1e3 - 1 for place, ms in enumerate(told))


@pytest.mark.django_db(transaction=True)
def test_the_doors_are_measured_in_turns_with_bare_views_that_do_the_same_beyond_the_end_of_a_run(staged, site):
    from traces_app.models import TraceEvent
    from workrail_site.bench.mcp_cost import ComparedSites, measure_costs
    from workrail_site.bench.web import web_server

    with web_server(staged[1], application="workrail_site.bench.bare_site:application") as bare:
        found = measure_costs(stage=staged[0], places=ComparedSites(site=site, bare=bare), calls=20, warm_calls=2)
        wrong = [answer_without_key(server) for server in (site, bare)]

    names = {(ours.name, base.name) for ours, base in found}
    assert ("health_check by MCP", "the same by a bare view") in names
    assert ("advance by MCP", "advance in process") in names
    assert all(each.calls >= 20 for pair in found for each in pair)
    # Whoever brings no key is admitted by neither, and what both do leaves a trace.
    assert all(status >= 400 for status in wrong)
    eventually(lambda: TraceEvent.objects.filter(tool="health_check").count() >= 40, "the trace of both")


def answer_without_key(server):
    given = {"Content-Type": "application/json", "Authorization": "Bearer wr_key_none"}
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        connection.request("POST", "/bare/trivial", b"{}", given)
        answer = connection.getresponse()
        answer.read()
        return answer.status


@pytest.mark.django_db(transaction=True)
def test_memory_is_looked_at_before_and_after_calls_of_all_kinds(staged, site):
    from workrail_site.bench.memory import measure_memory, memory_table

    found = measure_memory(stage=staged[0], server=site, calls=22)
    if not found:
        pytest.skip("there is no /proc here")

    assert (found[0].calls, found[-1].calls) == (0, 22)
    assert all(each.memory_bytes > 10_000_000 for each in found)
    assert memory_table(found).splitlines()[-1].split()[0] == "22"


@pytest.mark.django_db(transaction=True)
def test_viewers_are_sent_what_an_agent_does_beside_them(staged, site, monkeypatch):
    from workrail_site.bench import viewers
    from workrail_site.bench.viewers import as_json, measure_viewers

    # More viewers than one sign-in may have.
    monkeypatch.setattr(viewers, "MOST_OF_ONE", 1)
    found = measure_viewers(stage=staged[0], server=site, viewers=[0, 2], seconds=2.5)

    assert [each["viewers"] for each in as_json(found)] == [0, 2]
    assert found[0].events == 0
    assert found[1].events >= 2
    assert all(each.figure.calls > 0 for each in found)


@pytest.mark.django_db(transaction=True)
def test_a_long_session_is_held_against_a_young_one(staged):
    from workrail_site.bench.growth import measure_ages

    assert [events for events, ratio in measure_ages(stage=staged[0], events=20, calls=2) if ratio > 0] == [20]


def test_a_measurement_that_cannot_be_made_says_why():
    from django.core.management import CommandError, call_command

    with pytest.raises(CommandError, match="--command"):
        call_command("bench", "peer")
    with pytest.raises(CommandError, match="no JSON"):
        call_command("bench", "peer", "--command", "true", "--arguments", "{")
    with pytest.raises(CommandError, match="ended"):
        call_command("bench", "peer", "--command", "true")
