"""Workflows of steps through the dialects of whole activities, over HTTP: one door, one engine, another way to walk."""

import pytest
from django.utils import timezone

from sessions_app.models import Run
from sessions_app.selectors.integrity import verify_session
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests.activity_play import OrchestratorWalk, SessionWalk
from workflows_app.services.bundled import load_bundled

WALKS = {"session": SessionWalk, "orchestrator": OrchestratorWalk}


@pytest.fixture
def library(served):
    return load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())


class ByHttp:
    """The tools of a dialect at its address."""

    def __init__(self, wire, dialect):
        self.wire = wire
        self.path = f"/mcp/{dialect}"

    def raw(self, tool, **arguments):
        given = {name: value for name, value in arguments.items() if value is not None}
        response = self.wire.send("tools/call", {"name": tool, "arguments": given}, path=self.path)
        assert response.status_code == 200, response.text
        return response.json()["result"]


class RealTime:
    """These workflows ask no question that has to be read first, so nobody waits."""

    def shift(self, seconds):
        pass


@pytest.mark.parametrize("workflow_id", ["wr.ticket-writing", "wr.bug-investigation"])
@pytest.mark.parametrize("dialect", WALKS)
def test_a_workflow_of_steps_is_walked_to_its_end_over_http(wire, library, dialect, workflow_id):
    walk = WALKS[dialect](ByHttp(wire, dialect), RealTime())

    last = walk.drive(workflow_id)

    assert (last["status"], walk.entered, walk.warnings) == ("completed", ["main"], [])
    run = Run.objects.get()
    assert (run.status, run.dialect) == ("complete", dialect)
    assert [str(finding) for finding in verify_session(run.session_id)] == []


@pytest.mark.parametrize("dialect", WALKS)
def test_every_token_stands_on_a_line_of_its_own_and_in_meta(wire, library, dialect):
    call = ByHttp(wire, dialect)

    result = call.raw("start_session", workflow_id="wr.ticket-writing")

    token = result["_meta"]["session_token"]
    (line,) = [line for line in result["content"][0]["text"].splitlines() if token in line]
    assert line.strip(' ",') == f'session_token": "{token}'
