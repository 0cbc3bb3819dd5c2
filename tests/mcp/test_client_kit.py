"""The client that is there to be copied, and the example that waits for a person."""

import json
import os
import re
import sys
import tomllib
from pathlib import Path

import pytest

from sessions_app.models import CheckpointRequest
from sessions_app.services.people import checkpoints
from teams_app.engine.client_kit import ClientName, setup_for
from tests import run_cast
from tests.checkpoint_cast import SOON, asking, publish_folder
from tests.step_documents import step

CLIENTS = Path(__file__).parents[2] / "docs" / "clients"


@pytest.fixture
def kit(monkeypatch):
    monkeypatch.syspath_prepend(str(CLIENTS))
    yield __import__("workrail_client")
    sys.modules.pop("workrail_client", None)


@pytest.mark.parametrize("client", ClientName)
def test_the_document_shows_what_connect_prints(client):
    shown = setup_for(
        client=client, url="https://rails.example.com/mcp/rail", key="wr_key_…", starter="/path/to/workrail"
    )

    assert shown.text in (CLIENTS / "README.md").read_text()


@pytest.mark.django_db(transaction=True)
def test_a_run_is_walked_and_a_refusal_names_its_code(kit, wire, desk):
    run_cast.published(desk, step("one"), step("two"))

    with kit.Workrail(wire.url, key=wire.key) as rails:
        first = rails.start("team.sample", goal="Try it")
        second = rails.done(first, notes="Did what the step says.")
        last = rails.done(second, notes="Did what the step says.")
        with pytest.raises(kit.WorkrailError) as refused:
            rails.start("team.nowhere")

    assert [first.step_id, second.step_id, last.is_complete] == ["one", "two", True]
    assert refused.value.code == "NOT_FOUND"
    assert refused.value.suggestion


@pytest.mark.django_db(transaction=True)
def test_a_person_is_waited_for_and_the_run_goes_on(kit, wire, desk):
    publish_folder(desk, asking(human=True))
    pauses = []

    def answer_meanwhile(seconds):
        pauses.append(seconds)
        row = CheckpointRequest.objects.get()
        checkpoints.answer_checkpoint(
            actor=desk.person,
            request_id=row.pk,
            option_id="yes",
            digest=row.digest,
            reason="",
            now=SOON,
            entropy=os.urandom,
        )

    with kit.Workrail(wire.url, key=wire.key) as rails:
        asked = rails.done(rails.start("team.plan"), notes="Did what the step says.")
        told = rails.wait_for_person(asked, timeout_seconds=60, pause=answer_meanwhile)
        with pytest.raises(TimeoutError):
            rails.wait_for_person(rails.done(rails.start("team.plan"), notes="Did."), timeout_seconds=0)

    assert asked.waits_for_person
    assert pauses == [10.0]
    assert told.step_id == "work"


def test_what_a_registry_reads_is_as_its_schema_of_that_day_asks():
    root = CLIENTS.parents[1]
    told = json.loads((root / "server.json").read_text())
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]

    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", told["name"])
    assert 3 <= len(told["name"]) <= 200
    assert 1 <= len(told["description"]) <= 100
    assert 1 <= len(told["title"]) <= 100
    assert told["version"] == version
    for remote in told["remotes"]:
        assert remote["type"] == "streamable-http"
        assert re.fullmatch(r"https?://[^\s]+", remote["url"])
        assert set(re.findall(r"{(\w+)}", remote["url"])) == set(remote["variables"])
        for given in [*remote["headers"], *remote["variables"].values()]:
            assert set(given) <= {"name", "description", "isRequired", "isSecret", "value", "default", "choices"}
        assert {header["name"]: header.get("isSecret", False) for header in remote["headers"]} == {
            "Authorization": True,
            "Workrail-Reply": False,
        }
