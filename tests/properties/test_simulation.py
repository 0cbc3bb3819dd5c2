"""Histories by seed over the real services and a store in memory: none breaks a promise, and planted defects are found."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.planted_defects import SERVICES, STORES
from workrail_site.simulation.faults import SimulatedFault
from workrail_site.simulation.seeds import STEPS, Plot, live, live_all, plot_from, shortened
from workrail_site.simulation.store import MemoryStore

ROOT = Path(__file__).resolve().parents[2]
KEPT = json.loads((Path(__file__).parent / "kept_seeds.json").read_bytes())
SEEDS = 1_000
PARTS = 8
# What few histories come to is looked for first where it was found last.
RARE = {"half of a transition of two runs": (304,)}
# Of another seed than the suite's, so that the check of the same history is one of its own.
TWICE = range(5_000, 5_012)


def sound(histories):
    """Fails with the shortest history that shows what is wrong."""
    for history in histories:
        if history.finding:
            pytest.fail(shortened(history).told())


@pytest.mark.parametrize("part", range(PARTS))
def test_no_history_breaks_a_promise(part):
    sound(live_all(range(part, SEEDS, PARTS)))


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: f"{kept['seed']}")
def test_what_a_seed_once_found_stays_mended(kept):
    sound([live(plot_from(kept))])


def test_a_seed_is_one_history():
    digests = [live(Plot(seed=seed)).digest for seed in TWICE]

    assert [live(Plot(seed=seed)).digest for seed in TWICE] == digests
    assert len(set(digests)) == len(TWICE)


def test_a_seed_is_the_same_history_in_another_process():
    seed = TWICE[0]
    code = (
        "import django; django.setup()\n"
        "from workrail_site.simulation.seeds import Plot, live\n"
        f"print(live(Plot(seed={seed})).digest)"
    )
    environ = os.environ | {"DJANGO_SETTINGS_MODULE": "workrail_site.settings", "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=ROOT, env=environ, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout.strip()) == (0, live(Plot(seed=seed)).digest), done.stderr


def test_every_kind_of_fault_happens():
    happened = {fault for history in live_all(range(60)) for fault in history.faults}

    assert happened == set(SimulatedFault)


def first_finding(make_store=MemoryStore, *, first=()):
    seeds = (*first, *range(SEEDS))
    return next((history for history in live_all(seeds, make_store=make_store) if history.finding), None)


@pytest.mark.parametrize("name", STORES)
def test_a_store_that_keeps_less_is_found(name):
    assert first_finding(STORES[name], first=RARE.get(name, ())) is not None


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_forgets_a_rule_is_found(name, monkeypatch):
    SERVICES[name](monkeypatch)

    assert first_finding() is not None


def test_a_finding_is_told_in_fewer_steps():
    found = first_finding(STORES["attempts that are not unique"])
    assert found is not None

    short = shortened(found, make_store=STORES["attempts that are not unique"])

    assert short.finding
    assert short.plot.steps < STEPS
    assert live(short.plot, make_store=STORES["attempts that are not unique"]).digest == short.digest
    assert short.finding in short.told()


def test_the_command_tells_what_it_has_seen(tmp_path):
    out, file = StringIO(), tmp_path / "seen.json"

    call_command("simulate", seeds=6, first=100, processes=1, json=file, stdout=out)

    told = json.loads(file.read_bytes())
    assert (told["histories"], told["findings"]) == (6, [])
    assert "6 histories" in out.getvalue()
    assert "No promise was broken." in out.getvalue()


def test_the_command_prints_a_finding_and_how_to_keep_it(monkeypatch):
    SERVICES["a replay with other bytes"](monkeypatch)
    out = StringIO()

    with pytest.raises(CommandError, match="broke a promise"):
        call_command("simulate", seeds=2, processes=1, stdout=out)

    assert "was answered otherwise than what is recorded for it" in out.getvalue()
    kept = json.loads(next(line for line in out.getvalue().splitlines() if line.startswith("{")))
    assert kept["seed"] in {0, 1}
