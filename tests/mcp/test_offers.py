"""What a client can show its user in every dialect: resources, prompts, and completion of their arguments."""

import json
from copy import copy

import pytest
from django.db import transaction
from django.utils import timezone

from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.services.ids import new_id
from tests import run_cast
from tests.activity_folders import activity, folder
from tests.checkpoint_cast import publish_folder
from tests.mcp_play import HANDSHAKE, MODERN
from tests.step_documents import step
from workflows_app.models import Revision, Workflow
from workflows_app.services.bundled import load_bundled
from workrail_site.dialects.offers.addresses import Address, OfferShelf, read_address

pytestmark = pytest.mark.django_db(transaction=True)
DIALECTS = ("rail", "navigation", "session", "orchestrator", "lookup")


@pytest.fixture
def ask(wire, desk):
    load_bundled(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=timezone.now())

    def send(method, params=None, *, dialect="rail", version=HANDSHAKE):
        return wire.send(method, params or {}, version=version, path=f"/mcp/{dialect}").json()

    return send


@pytest.mark.parametrize("shelf", OfferShelf)
def test_an_address_reads_back_as_it_was_written(shelf):
    item = "meta/04 a" if shelf in {OfferShelf.SKILL, OfferShelf.RESOURCE, OfferShelf.TEMPLATE} else ""
    address = Address(shelf=shelf, name="team.sample", item=item)

    assert read_address(address.as_uri()) == address


@pytest.mark.parametrize("uri", ["", "file:///etc/passwd", "workrail://", "workrail://workflows/", "workrail://x/y"])
def test_another_address_is_none(uri):
    assert read_address(uri) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_resource_that_is_listed_can_be_read(ask, wire, dialect):
    wire("start_workflow", workflowId="wr.code-review", goal="Look at it")
    listed, cursor = [], None
    while True:
        page = ask("resources/list", {"cursor": cursor} if cursor else {}, dialect=dialect)["result"]
        listed += page["resources"]
        cursor = page.get("nextCursor")
        if cursor is None:
            break

    kinds = {each["uri"].removeprefix("workrail://").partition("/")[0] for each in listed}
    assert kinds == {"workflows", "schemas", "runs"}
    for each in [found for found in listed if "workflows" not in found["uri"]] + listed[-2:]:
        (content,) = ask("resources/read", {"uri": each["uri"]}, dialect=dialect)["result"]["contents"]
        assert content["uri"] == each["uri"]
        assert json.loads(content["text"])


def test_skills_resources_and_templates_are_read_by_their_templates(ask):
    templates = ask("resources/templates/list")["result"]["resourceTemplates"]
    about = ask("resources/read", {"uri": "workrail://workflows/work-package"})["result"]["contents"][0]
    held = json.loads(about["text"])

    assert {each["name"] for each in templates} == {"workflow", "skill", "resource", "template", "schema", "run"}
    for shelf in ("skills", "resources"):
        uri = f"workrail://workflows/work-package/{shelf}/{held[shelf][0]}"
        assert ask("resources/read", {"uri": uri})["result"]["contents"][0]["text"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("shelf", ["resources", "templates", "skills"])
def test_what_is_longer_than_a_reply_is_read_to_its_end_by_the_addresses_that_it_names(ask, desk, shelf, dialect):
    long = "# Long\n\n" + "".join(f"Line {number}, ünd 日本.\n" for number in range(5_000))
    publish_folder(desk, folder(activity("work"), **{f"{shelf}__01-long.md": long.encode()}))
    address = f"workrail://workflows/team.plan/{shelf}/long"
    read, uri = [], address

    while uri and len(read) < 20:
        (content,) = ask("resources/read", {"uri": uri}, dialect=dialect)["result"]["contents"]
        text, _, said = content["text"].rpartition("\n\n[This was part ")
        assert content["uri"] == uri
        assert said.startswith(f"{len(read) + 1} of ")
        read.append(text)
        uri = said.partition("The next: ")[2].removesuffix("]")

    assert "".join(read) == long
    assert len(read) > 2
    for part, code in (("99", "NOT_FOUND"), ("2-of-00000000", "REPRESENTATION_CHANGED")):
        refused = ask("resources/read", {"uri": f"{address}#part-{part}"}, dialect=dialect)["error"]["data"]
        assert refused["code"] == code
        assert address in refused["details"]["suggestion"]


def test_what_is_not_there_or_of_another_team_is_refused_by_the_number_of_the_revision(ask, stranger, desk):
    run_cast.published(desk, step("one"))
    uri = "workrail://workflows/team.sample"

    assert "result" in ask("resources/read", {"uri": uri})
    for version, code in ((HANDSHAKE, -32002), (MODERN, -32602)):
        foreign = stranger.send("resources/read", {"uri": uri}, version=version, **{"Mcp-Name": uri}).json()
        assert foreign["error"]["code"] == code, foreign


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_prompt_begins_its_workflow_with_the_tool_of_the_dialect(ask, dialect):
    tools = {tool["name"] for tool in ask("tools/list", dialect=dialect)["result"]["tools"]}
    listed = ask("prompts/list", dialect=dialect)["result"]["prompts"]
    names = [each["name"] for each in listed]

    told = ask("prompts/get", {"name": "wr.code-review", "arguments": {"goal": "Look at it"}}, dialect=dialect)[
        "result"
    ]
    text = told["messages"][0]["content"]["text"]

    assert "wr.code-review" in names
    assert [tool for tool in tools if f"the tool {tool} " in text]
    assert "Look at it" in text


def test_a_prompt_that_is_asked_wrongly_says_what_it_takes(ask):
    refused = ask("prompts/get", {"name": "wr.code-review", "arguments": {"colour": "red"}})["error"]
    nowhere = ask("prompts/get", {"name": "wr.nowhere"})["error"]

    assert (refused["code"], nowhere["code"]) == (-32602, -32602)
    assert "goal" in refused["data"]["details"]["suggestion"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("place", ["goal", "name"])
def test_a_prompt_repeats_no_key_that_it_was_given(ask, dialect, place):
    key = "wr_key_" + "abcdefgh" * 5
    given = {place: f"Look at it with {key}"}
    refused = ask("prompts/get", {"name": "wr.code-review", "arguments": {"goal": "x", **given}}, dialect=dialect)
    unknown = ask("prompts/get", {"name": f"wr.{key}", "arguments": given}, dialect=dialect)

    assert refused["error"]["code"] == unknown["error"]["code"] == -32602, refused
    assert key not in json.dumps([refused, unknown])


def test_a_prompt_passes_no_key_of_others_on(ask):
    told = ask("prompts/get", {"name": "wr.code-review", "arguments": {"goal": "use ghp_" + "a1B2" * 9}})["result"]

    assert "a1B2a1B2" not in told["messages"][0]["content"]["text"]


def test_ids_are_completed(ask):
    def completed(ref, name, value, **context):
        params = {"ref": ref, "argument": {"name": name, "value": value}}
        return ask("completion/complete", {**params, **context})["result"]["completion"]["values"]

    template = {"type": "ref/resource", "uri": "workrail://workflows/{workflow}/skills/{skill}"}
    workflows = completed(template, "workflow", "work-")
    skills = completed(template, "skill", "", context={"arguments": {"workflow": "work-package"}})

    assert {"work-package", "work-packages"} <= set(workflows)
    assert skills
    assert completed({"type": "ref/prompt", "name": "wr.code-review"}, "nothing", "") == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cursor_that_a_list_did_not_give_is_refused_by_every_list(ask, dialect):
    given = ask("prompts/list", dialect=dialect)["result"].get("nextCursor", "cur1.AAAA")

    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
        for cursor in ("nonsense", "cur1.AAAA", given if method != "prompts/list" else "x"):
            said = ask(method, {"cursor": cursor}, dialect=dialect)
            assert said["error"]["code"] == -32602, (method, cursor, said)
            assert said["error"]["data"]["details"]["suggestion"]


def test_of_many_workflows_as_many_are_completed_as_the_protocol_takes_and_all_are_counted(ask, desk):
    run_cast.published(desk, step("one"))
    first = Workflow.objects.select_related("published").get(workflow_id="team.sample")
    made = [copied(first, f"team.many-{number:04}") for number in range(230)]
    with transaction.atomic():
        Workflow.objects.bulk_create(made)
        Revision.objects.bulk_create(each.published for each in made)

    def completed(value):
        params = {
            "ref": {"type": "ref/resource", "uri": "workrail://workflows/{workflow}"},
            "argument": {"name": "workflow", "value": value},
        }
        return ask("completion/complete", params)["result"]["completion"]

    every = completed("team.many-")
    late = completed("team.many-022")
    nothing = completed("team.nothing\u0000%_")

    assert (len(every["values"]), every["total"], every["hasMore"]) == (100, 230, True)
    assert late == {"values": [f"team.many-022{digit}" for digit in range(10)], "total": 10, "hasMore": False}
    assert nothing == {"values": [], "total": 0, "hasMore": False}


def copied(workflow, name):
    made, revision = copy(workflow), copy(workflow.published)
    made.pk, revision.pk = new_id(now=timezone.now()), new_id(now=timezone.now())
    made.workflow_id, made.published, revision.workflow = name, revision, made
    return made


def test_the_rail_says_how_to_read_the_skill_of_a_step_and_it_can_be_read(ask, wire):
    started = wire.value("start_workflow", workflowId="work-package")
    prompt = started["pending"]["prompt"]
    skill = prompt.rpartition(", skill ")[2].rstrip(".")

    told = wire("inspect_workflow", workflowId="work-package", part="skill", skill=skill)
    misspelt = wire("inspect_workflow", workflowId="work-package", part="skill", skill="nowhere")

    assert "Read the skill with inspect_workflow: workflowId work-package, part skill, skill " in prompt
    assert skill in told.text
    assert len(told.text) > 100
    assert misspelt.code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "workrail://workflows/wr.code-review"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "wr.code-review"}),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "workrail://workflows/{workflow}"},
                "argument": {"name": "workflow", "value": "w"},
            },
        ),
    ],
)
def test_the_revision_without_sessions_is_answered_too(ask, wire, method, params):
    named = {"Mcp-Name": params.get("uri") or params.get("name")} if "read" in method or "get" in method else {}

    answer = wire.send(method, params, **named).json()

    assert answer["result"]["resultType"] == "complete", answer


def test_ones_own_runs_are_offered_also_when_others_of_the_team_have_newer_ones(ask, wire, agent, desk):
    run_cast.published(desk, step("one"))
    mine = wire.value("start_workflow", workflowId="team.sample", goal="Mine")["session"]["runId"]
    other = agent(name="other")
    for _ in range(12):
        other.value("start_workflow", workflowId="team.sample", goal="Theirs")

    listed = [each["uri"] for each in ask("resources/list")["result"]["resources"]]

    assert [uri for uri in listed if "/runs/" in uri] == [f"workrail://runs/{mine}"]
