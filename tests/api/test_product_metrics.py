"""What `/metrics` tells of the product."""

import re

import pytest

from tests import run_cast
from tests.checkpoint_cast import at_question
from tests.run_cast import begin, plain_steps

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told(client, monkeypatch):
    from workrail_site import product_metrics

    def read():
        monkeypatch.setattr(product_metrics, "KEPT_SECONDS", 0.0)
        text = client.get("/metrics").content.decode()
        return {name: float(value) for name, value in re.findall(r"^(workrail_\S+) (\S+)$", text, re.MULTILINE)}

    return read


def test_runs_questions_and_what_waits_are_counted(told, settings, redis_client):
    settings.CELERY_TASK_ALWAYS_EAGER = False
    desk = run_cast.make_desk()
    begin(desk, *plain_steps(2))
    at_question(desk, human=True, dueMs=1)
    numbers = told()
    assert sum(value for name, value in numbers.items() if name.startswith("workrail_runs")) == 2
    assert (numbers["workrail_questions_open"], numbers["workrail_questions_overdue"]) == (1, 1)
    assert numbers["workrail_announcements_waiting"] >= 3
    assert numbers["workrail_queue_depth"] == redis_client.llen("celery")
    assert "workrail_answered_calls_total" in numbers


def test_without_redis_the_others_are_told(told, settings):
    from workrail_site import redis_pool

    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    redis_pool.client.cache_clear()
    try:
        numbers = told()
    finally:
        redis_pool.client.cache_clear()
    assert "workrail_queue_depth" not in numbers
    assert numbers["workrail_questions_open"] == 0
