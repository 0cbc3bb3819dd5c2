"""The site as `up` serves it, in a process of its own, on the database of this test process."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx
import pytest

from tests.mcp_play import Wire
from workrail_site.local.programs import WEB_FLAGS

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 60
# What the site's connections to Postgres are called, so that a test can tell them from its own.
SITE_CONNECTIONS = "site-under-test"


@dataclass(frozen=True, kw_only=True)
class Site:
    url: str
    log: Path

    def logged(self):
        return self.log.read_text()


@contextlib.contextmanager
def running_site(folder, environ=(), *, application="workrail_site.asgi"):
    """The site in a process of its own, with its log in the folder."""
    log = folder / "log"
    port = _free_port()
    whole = {**environ_of_site(), **dict(environ)}
    where = f"--host 127.0.0.1 --port {port} --workers 1"
    # Where rows are proved, it makes the faults that the tests are to find.
    application = "tests.faulty_site" if "WORKRAIL_SITE_FAULT" in whole else application
    command = [sys.executable, "-m", "granian", *WEB_FLAGS, *where.split(), f"{application}:application"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=_ROOT, env=whole, stdout=out, stderr=subprocess.STDOUT)
        try:
            found = Site(url=f"http://127.0.0.1:{port}", log=log)
            _wait_until_it_answers(found, process)
            yield found
        finally:
            process.terminate()
            process.wait(timeout=20)


@pytest.fixture(scope="session")
def site(django_db_setup, tmp_path_factory):
    with running_site(tmp_path_factory.mktemp("site")) as found:
        yield found


def environ_of_site():
    """For another process of the site, on the database of this one."""
    from django.conf import settings

    return {
        **os.environ,
        "DATABASE_URL": _with_name(os.environ["DATABASE_URL"], settings.DATABASES["default"]["NAME"]),
        "REDIS_URL": settings.REDIS_URL,
        "WORKRAIL_LOG_FORMAT": "json",
        "WORKRAIL_MCP_THREADS": "4",
        "WORKRAIL_WEB_THREADS": "1",
    }


@pytest.fixture
def served(site, transactional_db):
    """The site, with a database that this test has to itself."""
    return site


@pytest.fixture
def desk(served):
    """A team with people; its rows are there for the site too."""
    from tests.run_cast import make_desk

    return make_desk()


@pytest.fixture
def wire(served, desk):
    """The team's agent, with every scope."""
    return agent_of(served, desk.owner)


@pytest.fixture
def stranger(served, desk):
    """An agent of another team."""
    from dataclasses import replace

    return agent_of(served, replace(desk.owner, team_id=desk.stranger.team_id))


@pytest.fixture
def agent(served, desk):
    """`agent(scopes=…, expires_at=…)`: another agent of the team."""
    return lambda **terms: agent_of(served, desk.owner, **terms)


def agent_of(site, owner, **terms):
    from tests.cast import issue

    return Wire(url=site.url, key=issue(owner, **terms).text)


def _free_port():
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _with_name(url, name):
    parts = urlsplit(url)
    query = "&".join(filter(None, [parts.query, f"application_name={SITE_CONNECTIONS}"]))
    return urlunsplit(parts._replace(path=f"/{name}", query=query))


def _wait_until_it_answers(site, process):
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, site.logged()
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{site.url}/healthz").status_code == 200:
                return
        time.sleep(0.05)
    raise AssertionError(site.logged())
