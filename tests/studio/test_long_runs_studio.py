"""The page of a long run: what it weighs, and what it costs."""

import gzip
import uuid
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Node, Run
from tests import run_doors
from tests.run_doors import begin_run

pytestmark = pytest.mark.django_db

NODES = 1_000
MOST_BYTES, MOST_COMPRESSED_BYTES, MOST_QUERIES = 200_000, 60_000, 12


@pytest.fixture
def doors():
    return run_doors.open_doors()


def long_run(doors):
    """A run of a thousand nodes: every hundredth forks, every tenth is a blocked attempt. Written straight to the table."""
    begin_run(doors)
    run = Run.objects.get()
    root = Node.objects.get()
    nodes, at = [], root.id
    for number in range(1, NODES):
        node = Node.objects.get(pk=root.id)
        node.id, node.parent_id = uuid.UUID(int=root.id.int + number), at
        node.kind = "blocked_attempt" if number % 10 == 0 else "step"
        node.edge_kind, node.edge_cause = "acked_step", "tip_advance"
        node.pending_key = node.pending_title = f"A step of some length, number {number}"
        node.event_index = root.event_index + number
        nodes.append(node)
        if number % 100:
            at = node.id
    Node.objects.bulk_create(nodes)
    Run.objects.update(tip_node_id=at)
    return f"/studio/sessions_app/run/{run.id}/change/"


@pytest.mark.parametrize("query", ["", "?unfold=all", "?order=oldest&unfold=all", "?show=look"])
def test_a_run_of_a_thousand_nodes_is_light_and_costs_what_a_short_one_does(doors, query):
    path = long_run(doors)
    doors.viewer.client.get(path)

    with CaptureQueriesContext(connection) as captured:
        response = doors.viewer.client.get(f"{path}{query}")

    assert response.status_code == 200
    assert len(captured) <= MOST_QUERIES
    assert len(response.content) <= MOST_BYTES
    assert len(gzip.compress(response.content)) <= MOST_COMPRESSED_BYTES


def test_the_bar_of_a_long_run_tells_the_same_as_the_words_below_it():
    from sessions_app.admin.run_page import _WIDTH, _bar

    lengths = [
        ("none", 40.0) if number % 60 == 0 else ("stop" if number % 4 == 0 else "done", 1.0) for number in range(960)
    ]
    total = sum(seconds for _, seconds in lengths)
    bar = _bar(lengths, total)

    for kind in ("done", "stop", "none"):
        told = sum(seconds for each, seconds in lengths if each == kind) / total
        drawn = sum(stretch.width for stretch in bar if stretch.kind == kind) / _WIDTH
        assert abs(told - drawn) < 0.02, kind
    assert all(one.x + one.width == pytest.approx(other.x) for one, other in pairwise(bar))
    assert (bar[0].x, bar[-1].x + bar[-1].width) == (0, pytest.approx(_WIDTH))


def test_the_bar_of_a_short_run_has_one_stretch_for_each_part():
    from sessions_app.admin.run_page import _bar

    bar = _bar([("done", 30.0), ("wait", 10.0), ("done", 20.0), ("done", 4.0)], 64.0)

    assert [(each.kind, round(each.width, -1)) for each in bar] == [("done", 300), ("wait", 100), ("done", 240)]
