"""A web server of a test's own, whole, on a database that the test names; and agents that call it over HTTP."""

import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from django.conf import settings

from tests.clusters import eventually
from workrail_site.local.programs import WEB_FLAGS

ROOT = Path(__file__).resolve().parents[1]
_NO_LIMITS = dict.fromkeys(
    ("WORKRAIL_THROTTLE_ACTOR_PER_MINUTE", "WORKRAIL_THROTTLE_TEAM_PER_MINUTE", "WORKRAIL_TEAM_STORAGE_MIB_PER_MINUTE"),
    "0",
)


class Web:
    """`port`, and `log`: what it has printed."""

    def __init__(self, port, log):
        self.port, self.log = port, log

    def call(self, method, path, body=None, *, key="", cookie="", **headers):
        """Status and body, as bytes; OSError or HTTPException when it does not answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"Content-Type": "application/json", **headers}
        if key:
            given["Authorization"] = f"Bearer {key}"
        if cookie:
            given["Cookie"] = cookie
        try:
            connection.request(method, path, None if body is None else json.dumps(body), given)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def is_ready(self):
        try:
            return self.call("GET", "/readyz")[0] == 200
        except (OSError, HTTPException):
            return False


@contextmanager
def web_server(folder, *, database_url, **environ):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    given = os.environ | _NO_LIMITS | {"DATABASE_URL": database_url, "REDIS_URL": settings.REDIS_URL, **environ}
    given |= {"WORKRAIL_ENV": "development", "WORKRAIL_THROTTLE_SIGN_IN_PER_MINUTE": "0", "PYTHONUNBUFFERED": "1"}
    given |= {"WORKRAIL_WEB_THREADS": "8"}
    where = f"--host 127.0.0.1 --port {port} --workers 1"
    command = [sys.executable, "-m", "granian", *WEB_FLAGS, *where.split(), "workrail_site.asgi:application"]
    path = folder / f"web-{port}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=given, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    web = Web(port, path)
    try:
        eventually(lambda: web.is_ready() or process.poll() is not None, "the web server")
        assert process.poll() is None, path.read_text()[-3000:]
        yield web
    finally:
        process.terminate()
        process.wait(timeout=60)


class Agent:
    """Begins runs and walks them to their end; a call that fails is repeated as it was until it is answered."""

    def __init__(self, web, key, workflow_id):
        self.web, self.key, self.workflow_id = web, key, workflow_id
        # What was answered: the steps of each run, in order, and every refusal that was no outage.
        self.walked, self.refusals, self.repeats, self.starts = {}, [], 0, 0
        self.nap = threading.Event()

    @property
    def acknowledged(self):
        return sum(map(len, list(self.walked.values())))

    def work(self, stop):
        while not stop.is_set():
            self.starts += 1
            once = {"Idempotency-Key": f"start {self.starts}"}
            value = self._insist("/api/v1/runs", {"workflowId": self.workflow_id, "goal": "Outlive it"}, **once)
            if value is None:
                return
            steps = self.walked[value["session"]["runId"]] = []
            while value is not None and value["nextCall"] is not None and not stop.is_set():
                step = value["pending"]["stepId"]
                tokens = {name: value[name] for name in ("stateToken", "ackToken")}
                value = self._insist("/api/v1/runs/continue", {**tokens, "output": {"notesMarkdown": "Did it."}})
                if value is not None:
                    steps.append(step)

    def _insist(self, path, body, **headers):
        while True:
            try:
                status, answer = self.web.call("POST", path, body, key=self.key, **headers)
            except (OSError, HTTPException):
                status, answer = 0, b""
            if status in {200, 201}:
                return json.loads(answer)
            if status and status < 500:
                self.refusals.append((status, answer))
                return None
            self.repeats += 1
            # Also when the work is over: whether it was done is not left open.
            self.nap.wait(0.05)
