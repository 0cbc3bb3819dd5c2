"""Numbers of the product for Prometheus, read when it asks. Of several scrapes within a while one reads the tables."""

import threading
from collections.abc import Iterator
from time import monotonic

import redis
from django.db import DatabaseError
from django.utils import timezone
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sessions_app.selectors.figures import Figures, read_figures
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from workrail_site import redis_pool

KEPT_SECONDS = 30.0
_QUEUE = "celery"


class _Kept:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.figures: Figures | None = None
        self.read_at = float("-inf")

    def read(self) -> Figures | None:
        """None while the database does not answer: no number is better than an old one."""
        with self.lock:
            if monotonic() - self.read_at > KEPT_SECONDS:
                self.figures, self.read_at = _figures(), monotonic()
            return self.figures


class ProductCollector(Collector):
    def __init__(self) -> None:
        self._kept = _Kept()

    def collect(self) -> Iterator[Metric]:
        figures = self._kept.read()
        if figures is not None:
            yield from _of_figures(figures)
        depth = _queue_depth()
        if depth is not None:
            yield GaugeMetricFamily("workrail_queue_depth", "Tasks that wait for a worker", value=depth)


def _of_figures(figures: Figures) -> Iterator[Metric]:
    runs = GaugeMetricFamily("workrail_runs", "Runs by state", labels=["state"])
    for status, count in figures.runs.items():
        runs.add_metric([status.value], count)
    yield runs
    yield GaugeMetricFamily("workrail_questions_open", "Questions without an answer", value=figures.questions_open)
    overdue = "Questions without an answer that were due"
    yield GaugeMetricFamily("workrail_questions_overdue", overdue, value=figures.questions_overdue)
    calls = "Starts, advances and bookmarks, since PostgreSQL's statistics were reset"
    yield CounterMetricFamily("workrail_answered_calls", calls, value=figures.answered_calls)
    waiting = "Announcements that are not queued as notices yet"
    yield GaugeMetricFamily("workrail_announcements_waiting", waiting, value=figures.announcements_waiting)
    jobs = "Exports and imports that are not done yet"
    yield GaugeMetricFamily("workrail_bundle_jobs_open", jobs, value=figures.bundle_jobs_open)


def _figures() -> Figures | None:
    try:
        return read_figures(actor=system_actor(team_id=NO_TEAM, door=Door.REST), now=timezone.now())
    except DatabaseError:
        return None


def _queue_depth() -> int | None:
    try:
        return int(redis_pool.client().llen(_QUEUE))
    except redis.RedisError:
        return None


registry = CollectorRegistry()
registry.register(ProductCollector())
