"""The measurements measure: small and quick, for what they print and not for how fast they are."""

import pytest

from workrail_site.bench.compiling import STEPS, compile_report, large_document
from workrail_site.bench.figures import Figure, best_seconds, table
from workrail_site.bench.limit import find_pgbench, measure_limit, prepare_limit


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
