"""One advance of the rail by MCP, in process: which modules it passes, and how often its reply is written as JSON."""

import json
import os
import sys
from pathlib import Path

import msgspec
import orjson
import pytest

from tests.run_cast import begin, make_desk, plain_steps
from workrail_site.mcp import toolsets
from workrail_site.mcp.calling import Caller, calls_as

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[2]
# Files in which a function is called. The aim is 25; each that goes lowers the number.
MOST_MODULES = 61
APPS = ("teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site")


@pytest.fixture
def advance():
    """Acknowledges the pending step, as the door calls the tool; the bytes of the result."""
    desk = make_desk()
    calls_as(Caller(actor=desk.agent))
    server = toolsets.all_servers()["rail"]
    tool = next(each for each in server.tools() if each.name == "continue_workflow")
    at = [begin(desk, *plain_steps(6))]

    def call():
        given = {
            "stateToken": at[0]["stateToken"],
            "ackToken": at[0]["ackToken"],
            "output": {"notesMarkdown": "Did it, and found nothing else to do."},
        }
        data = server._answer_as_bytes(tool, given)
        at[0] = orjson.loads(data)["structuredContent"]
        assert at[0]["kind"] == "ok"
        return data

    call()
    return call


def test_a_reply_is_written_once(advance, monkeypatch):
    written = []

    def counting(write):
        def counted(value, *args, **options):
            if isinstance(value, dict) and any(is_reply(part) for part in (value, value.get("structuredContent"))):
                written.append(value)
            return write(value, *args, **options)

        return counted

    for module, name in ((orjson, "dumps"), (json, "dumps"), (msgspec.json, "encode")):
        monkeypatch.setattr(module, name, counting(getattr(module, name)))
    advance()

    assert len(written) == 1


def is_reply(value):
    return isinstance(value, dict) and {"stateToken", "nextIntent"} <= value.keys()


def passed_by(advance):
    passed = set()

    def enter(frame, event, _argument):
        if event == "call":
            passed.add(frame.f_code.co_filename)

    sys.setprofile(enter)
    try:
        advance()
    finally:
        sys.setprofile(None)
    own = tuple(f"{ROOT}/{app}/" for app in APPS)
    return sorted(os.path.relpath(path, ROOT) for path in passed if path.startswith(own))


def test_an_advance_passes_no_more_modules(advance):
    """The leanest of four: what the clock asks for now and then (a look for a newer revision, a batch of traces) is not of each."""
    leanest = min((passed_by(advance) for _ in range(4)), key=len)

    assert len(leanest) <= MOST_MODULES, "\n".join(leanest)
