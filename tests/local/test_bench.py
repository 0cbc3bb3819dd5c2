"""The measurements measure: small and quick, for what they print and not for how fast they are."""

import json
import os

import pytest

from workrail_site.bench.compiling import STEPS, compile_report, large_document
from workrail_site.bench.figures import Figure, best_seconds, table
from workrail_site.bench.limit import find_pgbench, measure_limit, prepare_limit
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


@pytest.mark.django_db(transaction=True)
def test_a_run_is_taken_on_by_tokens_by_hand_and_by_activities():
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
    assert set(Run.objects.values_list("dialect", flat=True)) == {"rail", "navigation", "session"}


def answered(situation):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": situation}}).encode()


def situation(*required, optional=()):
    actions = {"required": list(required), "optional": list(optional), "blocked": []}
    return {"success": True, "state": "st.v1.x", "availableActions": actions}


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

    found = growth.measure_growth(stage=set_stage(), sizes=[2, 1])

    assert {each.sessions for each in found} == {1, 2}
    assert {"start", "rehydrate", "resume, by words", "list of runs", "Studio, a run"} <= {each.name for each in found}
    assert "1.00" in growth.growth_table(found)


def test_the_door_is_held_against_what_it_leads_to():
    from workrail_site.bench.mcp_cost import BareView, TrivialTool, cost_table

    ours, base = figure("ours", 10), Figure(name="base", clients=1, calls=1, seconds=1.0, cpu_us=20.0)

    assert cost_table([(ours, base)]).splitlines()[1].split() == ["ours", "40", "base", "20", "2.00"]
    assert BareView().go_on(b"").method == "GET"
    with pytest.raises(RuntimeError, match="RATE_LIMITED"):
        TrivialTool().go_on(b'{"error": {"data": {"code": "RATE_LIMITED"}}}')
