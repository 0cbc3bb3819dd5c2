"""A worker that is killed while a retry waits in it takes nothing with it: the broker hands the retry to another one."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.db import connection

from sessions_app import jobs
from tests.clusters import eventually
from tests.deaths import Broker
from workrail_site.celery import app
from workrail_site.local.temporary import short_folder
from workrail_site.servers import celery_url

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
FLAGS = "--pool threads --concurrency 1 --loglevel INFO --without-gossip --without-mingle --without-heartbeat"


@pytest.fixture
def broker():
    with short_folder(None) as folder:
        made = Broker(folder)
        made.start()
        yield made
        made.kill()


@pytest.fixture
def work(broker, tmp_path):
    """`with work() as (process, log)`: a worker as `up` starts it, with an address that takes no anchor."""
    where = connection.settings_dict
    url = f"postgresql:///{where['NAME']}?host={where['HOST']}&user={where['USER']}&port={where['PORT'] or 5432}"
    given = os.environ | {"DATABASE_URL": url, "REDIS_URL": broker.url, "WORKRAIL_ENV": "development"}
    given |= {"WORKRAIL_ANCHOR_URL": "https://localhost:1/", "WORKRAIL_ANCHOR_DIR": str(tmp_path / "anchors")}
    given |= {"WORKRAIL_WEBHOOK_PRIVATE_HOSTS": "localhost", "PYTHONWARNINGS": "ignore", "PYTHONUNBUFFERED": "1"}

    @contextmanager
    def run(name):
        log = tmp_path / name
        command = [sys.executable, "-m", "celery", "--quiet", "-A", "workrail_site.celery", "worker", *FLAGS.split()]
        with log.open("wb") as out:
            process = subprocess.Popen(command, cwd=ROOT, env=given, stdout=out, stderr=out)
        try:
            yield process, log
        finally:
            process.kill()
            process.wait()

    return run


def an_hour_passes(broker):
    """As long as the broker waits for the word of a worker before it hands a message out again."""
    seconds = settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]
    with redis.Redis.from_url(broker.url) as client:
        waiting = dict(client.zrange("unacked_index", 0, -1, withscores=True))
        assert waiting
        client.zadd("unacked_index", {tag: time.time() - seconds - 1 for tag in waiting})


def test_a_retry_that_waited_in_a_killed_worker_is_sent_again(broker, work, settings):
    settings.CELERY_TASK_ALWAYS_EAGER = False
    settings.CELERY_BROKER_URL = celery_url(broker.url)
    app._after_fork()
    try:
        task_id = app.send_task(jobs.KEEP_ANCHOR).id
    finally:
        app._after_fork()
    received = re.compile(rf"Task {jobs.KEEP_ANCHOR}\[{task_id}\] received")
    with work("first") as (process, log):
        eventually(lambda: f"{jobs.KEEP_ANCHOR}[{task_id}] retry" in log.read_text(), f"the retry ({log})")
        eventually(lambda: len(received.findall(log.read_text())) == 2, "the retry in the worker that waits for it")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    an_hour_passes(broker)
    with work("second") as (_process, log):
        eventually(lambda: received.search(log.read_text()), "the retry in another worker")
