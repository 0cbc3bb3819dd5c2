"""A database, a broker and workers that can be killed: each piece of work is a process of its own, forked and watched."""

import base64
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import traceback
from contextlib import contextmanager, suppress

import redis

from tests.clusters import eventually, fill, servers, used_by_django
from workrail_site.local.binaries import choose_redis, providers
from workrail_site.servers import celery_url

VICTIMS = ("worker", "database", "broker")
_PATIENCE_SECONDS = 60


class Broker:
    """Keeps nothing: what was asked for dies with it."""

    def __init__(self, folder):
        self.socket, self.folder, self.process = folder / "broker", folder, None

    @property
    def url(self):
        return f"unix://{self.socket}?db=0"

    def start(self):
        program = choose_redis(providers(environ=os.environ))
        flags = ["--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self.folder)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
        self.process = subprocess.Popen([str(program), *flags], **quiet)
        eventually(self._answers, "the broker")

    def _answers(self):
        try:
            with redis.Redis.from_url(self.url) as client:
                return client.ping()
        except redis.ConnectionError:
            return False

    def kill(self):
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def take(self):
        """The tasks that were asked for: their names and arguments."""
        found = []
        with redis.Redis.from_url(self.url) as client:
            while (raw := client.rpop("celery")) is not None:
                message = json.loads(raw)
                arguments = json.loads(base64.b64decode(message["body"]))[0]
                found.append((message["headers"]["task"], arguments))
        return found


class Site:
    """`died_at` are the marks at which somebody has died so far."""

    def __init__(self, server, broker, folder):
        self.server, self.broker, self.deaths = server, broker, folder / "deaths"
        self.deaths.touch()

    @property
    def died_at(self):
        return self.deaths.read_text().splitlines()

    def work(self, do, *, dies_at, victim):
        """Does it in a process of its own, in which somebody dies at that mark. Whoever died is there again after."""
        from django.db import connection

        connection.close()
        left = dies_at

        def fail(place):
            nonlocal left
            left -= 1
            if left == 0:
                with self.deaths.open("a") as file:
                    file.write(f"{place}\n")
                self._kill(victim)

        worker = multiprocessing.get_context("fork").Process(target=_do, args=[do, fail])
        worker.start()
        worker.join(_PATIENCE_SECONDS)
        assert worker.exitcode is not None, "the worker hangs"
        # 1 is a fault of ours; 3 is the loss of a server, and -9 a death.
        assert worker.exitcode in {0, 3, -signal.SIGKILL}, worker.exitcode
        self._revive()
        return worker.exitcode == 0

    def _kill(self, victim):
        match victim:
            case "worker":
                os.kill(os.getpid(), signal.SIGKILL)
            case "database":
                self.server.kill()
            case "broker":
                self.broker.kill()

    def _revive(self):
        if self.server.process.poll() is not None:
            self.server.start()
        if self.broker.process.poll() is not None:
            self.broker.start()


def _do(do, fail):
    from django.db import InterfaceError, OperationalError

    from workrail_site.celery import app

    app._after_fork()
    code = 1
    try:
        do(fail)
        code = 0
    except (OperationalError, InterfaceError):
        code = 3
    except BaseException:  # noqa: BLE001  the parent sees the exit code and the reader of the log this
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Without the rest of pytest, which is the parent's.
        os._exit(code)


@contextmanager
def mortal_site(folder):
    """With the schema of the tests' database, which has to be there."""
    with servers(1) as (server,):
        server.initialise()
        server.start()
        fill(server)
        broker = Broker(server.sockets.parent.parent)
        broker.start()
        try:
            yield Site(server, broker, folder)
        finally:
            broker.kill()


@contextmanager
def lived_on(site, settings):
    """This process works on the site, which is empty."""
    from django.db import connection

    from tests.emptying import empty_tables
    from workrail_site.celery import app

    settings.CELERY_TASK_ALWAYS_EAGER = False
    settings.CELERY_BROKER_URL = celery_url(site.broker.url)
    app._after_fork()
    site.broker.take()
    with used_by_django(site.server):
        empty_tables(connection)
        try:
            yield
        finally:
            app._after_fork()
