"""A measurement of another server does the same work there: tried on our own, by the tools and tokens that both kinds have."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from django.utils import timezone

from tests import run_cast
from tests.activity_folders import activity, folder, step
from tests.mcp.conftest import environ_of_site
from workflows_app.engine.source import Source, SourceFormat
from workflows_app.services.publishing import publish_revision
from workflows_app.services.workflows import create_workflow

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(wire, monkeypatch):
    """The command that starts a dialect, with the key and the database in its environment."""
    for name, value in {**environ_of_site(), "WORKRAIL_KEY": wire.key}.items():
        monkeypatch.setenv(name, value)
    return lambda dialect: shlex.join([sys.executable, str(ROOT / "manage.py"), "mcp", "--dialect", dialect])


def errand(command, **fields):
    from workrail_site.bench.peer import Errand

    return Errand(command=command, **{"arguments": {}, **fields})


def test_a_server_of_the_rails_kind_is_driven_until_its_runs_are_complete(command, desk):
    from sessions_app.models import Run
    from workrail_site.bench.peer import as_json, measure_peer, peer_table

    run_cast.published(desk, *run_cast.plain_steps(3))

    found = measure_peer(errand(command("rail"), runs=2, clients=2))

    assert (found.kind, found.runs, found.workflow_id) == ("rail", 4, "team.sample")
    assert set(Run.objects.values_list("status", flat=True)) == {"complete"}
    told = {each["tool"]: each["calls"] for each in as_json(found)["byTool"]}
    assert told == {"list_workflows": 1, "start_workflow": 4, "continue_workflow": 12}
    assert "continue_workflow" in peer_table(found)


def test_a_server_of_the_orchestrators_kind_is_driven_through_all_activities(command, desk):
    from sessions_app.models import Run
    from workrail_site.bench.peer import as_json, measure_peer

    first = activity("work", steps=[step("look"), step("mend")], transitions=[{"to": "rest", "isDefault": True}])
    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=folder(first, activity("rest", steps=[step("tell")])))
    now = timezone.now()
    saved = create_workflow(actor=desk.owner, source=source, message="", now=now)
    workflow_id = saved.workflow.workflow_id
    publish_revision(actor=desk.owner, workflow_id=workflow_id, number=saved.revision.number, base=None, now=now)

    found = measure_peer(errand(command("orchestrator"), workflow_id=workflow_id))

    told = {each["tool"]: each["calls"] for each in as_json(found)["byTool"]}
    assert found.kind == "orchestrator"
    assert told == {"start_session": 1, "get_workflow": 1, "next_activity": 2, "get_activity": 2}
    assert Run.objects.get().dialect == "orchestrator"


def test_a_refusal_ends_the_measurement_with_its_words(command, desk):
    from workrail_site.bench.peer import measure_peer
    from workrail_site.bench.peer_talk import PeerError

    with pytest.raises(PeerError, match="start_workflow was refused"):
        measure_peer(errand(command("rail"), workflow_id="team.none"))


def test_a_command_that_is_no_server_is_told_and_nothing_waits_for_it():
    from workrail_site.bench.peer import measure_peer
    from workrail_site.bench.peer_talk import PeerError

    with pytest.raises(PeerError, match="cannot be run"):
        measure_peer(errand("/nonexistent/server"))
    with pytest.raises(PeerError, match="ended"):
        measure_peer(errand("true"))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ('{"activity_id": "a", "session_token": "x"}', "session_token", "x"),
        (
            "session_token: abc\n---\nsteps[1]{id}:\n  look\ntransitions[1]{to}:\n  rest",
            "transitions",
            [{"to": "rest"}],
        ),
        ("session_token: abc\n---\nsteps[1]{id}:\n  look", "session_token", "abc"),
        ("Do this.\n\nstateToken: st.v1.abc\nackToken: ack.v1.def", "ackToken", "ack.v1.def"),
    ],
)
def test_what_a_reply_says_is_found_in_each_form(text, name, value):
    from workrail_site.bench.peer_talk import read_reply

    line = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}}).encode()

    assert read_reply(line).find(name) == value
