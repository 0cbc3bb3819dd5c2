"""The official conformance suite against our own door, with the tools behind it that the suite asks for.

It needs Node 22 and one package, both from npm. Where they cannot be had the tests are skipped, and say so.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.cast import issue
from tests.mcp.conftest import _free_port, environ_of_site

ROOT = Path(__file__).parents[2]
SUITE, NODE = "@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22"
_FAILED = re.compile(r"^✗ ([a-z0-9-]+): \d+ passed, (\d+) failed", re.MULTILINE)
_PASSED = re.compile(r"^✓ ([a-z0-9-]+): ", re.MULTILINE)
# Scenarios of what the server does not declare. The table in docs/mcp.md gives the reasons to readers.
NOT_DECLARED = {
    "logging-set-level": "no logging: the protocol has given it up",
    "tools-call-with-logging": "no logging",
    "tools-call-with-progress": "answers are single messages, without a stream for progress",
    "tools-call-sampling": "the server asks no model of the client",
    "tools-call-elicitation": "no way back to the client within a call; 2026-07-28 asks in the result",
    "elicitation-sep1034-defaults": "as tools-call-elicitation",
    "elicitation-sep1330-enums": "as tools-call-elicitation",
    "resources-subscribe": "resources have no subscriptions",
    "resources-unsubscribe": "resources have no subscriptions",
    "server-stateless": "two of its checks look for tools that log and that ask over a stream; every other one passes",
}
# Of a scenario that applies but for some of its checks, how many those are.
CHECKS_NOT_DECLARED = {"server-stateless": 2}
EXTENSIONS = "tasks-"
_ROW = re.compile(r"^\| (`[^|]*) \| ([^|]+) \|$", re.MULTILINE)


def test_the_table_for_readers_names_exactly_what_does_not_apply():
    document = (ROOT / "docs" / "mcp.md").read_text()
    section = document.partition("## Conformance")[2].partition("\n## ")[0]
    named = {name for row, _reason in _ROW.findall(section) for name in re.findall(r"`([a-z0-9*-]+)`", row)}

    assert named == {*NOT_DECLARED, f"{EXTENSIONS}*"}
    assert all(reason.strip() for _row, reason in _ROW.findall(section))


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    """The command that runs the suite."""
    folder = Path(os.environ.get("WORKRAIL_CONFORMANCE") or tmp_path_factory.mktemp("conformance"))
    if not (folder / "node_modules").is_dir():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("the conformance suite was not run: there is no npm")
        install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), SUITE, NODE]
        try:
            done = subprocess.run(install, capture_output=True, text=True, timeout=300, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip("the conformance suite was not run: npm has not brought it within 300 seconds")
        if done.returncode != 0:
            pytest.skip(f"the conformance suite was not run: npm cannot have it. {done.stderr[-200:]}")
        setup = folder / "node_modules" / "node" / "installArchSpecificPackage.js"
        subprocess.run(["node", str(setup)], cwd=setup.parent, capture_output=True, timeout=300, check=False)
    node = folder / "node_modules" / "node" / "bin" / "node"
    return [
        str(node if node.is_file() else "node"),
        str(folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"),
    ]


@pytest.fixture
def fixture_site(desk):
    port = _free_port()
    environ = {**environ_of_site(), "CONFORMANCE_KEY": issue(desk.owner).text}
    flags = f"--interface asgi --host 127.0.0.1 --port {port} --workers 1 --no-ws --log-level warning"
    command = [sys.executable, "-m", "granian", *flags.split(), "tests.conformance_site:application"]
    with subprocess.Popen(command, cwd=ROOT, env=environ) as process:
        try:
            _wait(f"http://127.0.0.1:{port}/mcp", process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def _wait(url, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert process.poll() is None
        with contextlib.suppress(httpx.TransportError):
            httpx.get(url)
            return
        time.sleep(0.1)
    raise AssertionError(url)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "terms", ["--spec-version 2025-06-18", "--requirements 2025-11-25", "--requirements 2026-07-28"]
)
def test_every_scenario_of_what_is_declared_passes(suite, fixture_site, terms):
    command = [*suite, "server", "--url", fixture_site, *terms.split()]

    told = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False).stdout

    passed, failed = set(_PASSED.findall(told)), dict(_FAILED.findall(told))
    assert len(passed) >= 18, told[-2000:]
    assert {name for name in failed if not name.startswith(EXTENSIONS)} <= set(NOT_DECLARED), told[-4000:]
    beyond = {name: count for name, count in CHECKS_NOT_DECLARED.items() if int(failed.get(name, 0)) > count}
    assert beyond == {}, told[-4000:]
