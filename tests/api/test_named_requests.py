"""Every POST that begins something takes an Idempotency-Key: the same again begins nothing and is answered the same."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.utils import timezone

from teams_app.engine.ids import Prefix, to_text
from tests import run_doors
from tests.run_cast import plain_steps, published
from tests.run_doors import V1, begin_run
from tests.step_documents import step, workflow

pytestmark = pytest.mark.django_db(transaction=True)
KEY = {"Idempotency-Key": "5a0f3c1e-0001"}
URL = "https://chat.example.com/hooks/secret"


@pytest.fixture
def doors(settings):
    settings.PUBLIC_URL = "https://rails.example.com"
    return run_doors.open_doors()


def in_days(days):
    return (timezone.now() + timedelta(days=days)).isoformat()


def session_of(doors):
    return begin_run(doors, workflow_id="team.other")["session"]["sessionId"]


def exported(doors):
    job = doors.owner.post(f"{V1}/sessions/{session_of(doors)}/export").json()["id"]
    return b"".join(doors.owner.get(f"{V1}/bundles/{job}/file").streaming_content)


def key_of(doors):
    return doors.owner.post(f"{V1}/keys", {"name": "ci", "scopes": ["runs:read"]}).json()["key"]["id"]


def member_of(doors):
    return doors.owner.get(f"{V1}/members").json()["items"][0]["id"]


def delivery_of(doors):
    from teams_app.models import Endpoint, NoticeDelivery
    from teams_app.services.ids import new_id

    doors.owner.post(f"{V1}/endpoints", {"url": URL})
    endpoint, now = Endpoint.objects.get(), timezone.now()
    row = NoticeDelivery.objects.create(
        id=new_id(now=now),
        team_id=endpoint.team_id,
        endpoint=endpoint,
        notice_id=new_id(now=now),
        kind="run_started",
        body=b"{}",
        state="delivered",
        created_at=now,
    )
    return to_text(Prefix.DELIVERY, row.pk)


def files_of(name):
    return {"files": {"workflow.json": json.dumps(written(name))}}


def written(name):
    return workflow(step("one"), id=name)


# The address as the document has it: who asks, what is put into the address, a body, and another one.
BEGINNINGS = {
    "/runs": (
        "agent",
        None,
        {"workflowId": "team.short", "goal": "Try"},
        {"workflowId": "team.short", "goal": "Other"},
    ),
    "/sessions": ("agent", None, {"title": "Notes"}, {"title": "Others"}),
    "/sessions/{session}/export": ("owner", session_of, {}, None),
    "/bundles": ("owner", None, exported, {"bundle": "AAAA"}),
    "/keys": ("owner", None, {"name": "ci", "scopes": ["runs:read"]}, {"name": "cd", "scopes": ["runs:read"]}),
    "/keys/{key}/rotate": ("owner", key_of, {}, None),
    "/tokens": ("owner", None, {"name": "laptop", "expiresAt": in_days(9)}, {"name": "phone", "expiresAt": in_days(9)}),
    "/invitations": ("owner", None, {"username": "erin", "role": "viewer"}, {"username": "erin", "role": "owner"}),
    "/members/{member}/password-link": ("owner", member_of, {}, None),
    "/endpoints": ("owner", None, {"url": URL}, {"url": URL, "kinds": ["run_started"]}),
    "/deliveries/{delivery}/redeliver": ("owner", delivery_of, {}, None),
    "/teams": ("owner", None, {"name": "New"}, {"name": "Newer"}),
    "/workflows": ("owner", None, {"definition": written("team.new")}, {"definition": written("team.newer")}),
    "/workflows/{workflow}/fork": ("owner", lambda _doors: "team.short", {"id": "team.copy"}, {"id": "team.other"}),
    "/workflows/import": ("owner", None, files_of("team.in"), files_of("team.out")),
}
TOOLS = [
    ("rail", "start_workflow", {"workflowId": "team.short"}, {"workflowId": "team.short", "goal": "Other"}),
    ("rail", "start_session", {"title": "Notes"}, {"title": "Others"}),
    (
        "navigation",
        "nav_start",
        {"workflow_id": "team.short"},
        {"workflow_id": "team.short", "initial_variables": {"a": 1}},
    ),
    ("session", "start_session", {"workflow_id": "team.short"}, {"workflow_id": "team.short", "agent_id": "b"}),
    ("orchestrator", "start_session", {"workflow_id": "team.short"}, {"workflow_id": "team.short", "agent_id": "b"}),
]


def rows():
    """How many there are of all that a request could begin; what is only said of it does not count."""
    from django.apps import apps

    apart = {"NamedRequest", "AuditEntry", "TraceEvent", "Session"}
    return {model.__name__: model._base_manager.count() for model in apps.get_models() if model.__name__ not in apart}


def test_every_post_that_begins_something_is_in_this_table():
    from workrail_site.openapi import document

    paths = json.loads(document())["paths"]
    posts = {path.removeprefix(V1): found["post"] for path, found in paths.items() if "post" in found}
    begin = {path for path, found in posts.items() if found["responses"].keys() & {"201", "202"}}
    named = {path for path, found in posts.items() if any(p.get("name") in KEY for p in found["parameters"])}

    assert begin == set(BEGINNINGS)
    assert named == begin | {"/dialects/{dialect}/tools/{tool}"}


def test_every_tool_that_begins_something_is_in_this_table():
    from workrail_site.mcp.toolsets import all_servers

    begin = {
        (name, tool.name)
        for name, server in all_servers().items()
        for tool in server.tools()
        if not tool.hints.read_only and not tool.hints.idempotent
    }

    assert begin == {(dialect, tool) for dialect, tool, *_ in TOOLS}


@pytest.mark.parametrize("path", BEGINNINGS)
def test_the_same_key_again_begins_nothing_and_another_body_is_refused(doors, path):
    who, place, body, other = BEGINNINGS[path]
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    there = path if place is None else path[: path.index("{")] + place(doors) + path[path.index("}") + 1 :]
    sent = {"bundle": base64.b64encode(body(doors)).decode()} if callable(body) else body
    api = getattr(doors, who)
    # Whoever founds a team is in two.
    team = {"Workrail-Team": to_text(Prefix.TEAM, doors.desk.team_id)} if path == "/teams" else {}

    first = api.post(f"{V1}{there}", sent, **KEY, **team)
    after = rows()
    again = api.post(f"{V1}{there}", sent, **KEY, **team)

    assert first.status_code in {201, 202}, first.content
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert rows() == after
    if other is not None:
        refused = api.post(f"{V1}{there}", other, **KEY, **team)
        assert (refused.status_code, refused.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
        assert rows() == after


@pytest.mark.parametrize(("dialect", "tool", "body", "other"), TOOLS)
def test_a_tool_is_begun_once_too(doors, dialect, tool, body, other):
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    path = f"{V1}/dialects/{dialect}/tools/{tool}"

    first = doors.agent.post(path, body, **KEY)
    after = rows()
    again = doors.agent.post(path, body, **KEY)
    refused = doors.agent.post(path, other, **KEY)

    assert (first.status_code, again.content) == (200, first.content), first.content
    assert (refused.status_code, refused.json()["code"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert rows() == after


def test_a_key_is_its_callers_own_and_its_address_own(doors):
    body = {"title": "Notes"}
    mine = doors.agent.post(f"{V1}/sessions", body, **KEY)
    theirs = doors.stranger.post(f"{V1}/sessions", body, **KEY)
    elsewhere = doors.agent.post(f"{V1}/dialects/rail/tools/start_session", body, **KEY)

    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.content != theirs.content
    assert elsewhere.json()["code"] == "IDEMPOTENCY_KEY_REUSED"


def test_what_was_refused_may_be_asked_again_with_the_same_key(doors):
    path = f"{V1}/workflows/team.short/fork"
    body = {"id": "team.copy"}

    refused = doors.owner.post(path, body, **KEY)
    published(doors.desk, *plain_steps(2), workflow_id="team.short")
    done = doors.owner.post(path, body, **KEY)

    assert (refused.status_code, done.status_code) == (404, 201)


def test_what_is_shown_once_stands_nowhere_in_the_database(doors):
    from teams_app.models import NamedRequest

    text = doors.owner.post(f"{V1}/keys", {"name": "ci", "scopes": ["runs:read"]}, **KEY).json()["text"]
    (row,) = NamedRequest.objects.values()

    assert text.encode() not in bytes(row["answer"])
    assert b"ci" not in bytes(row["answer"])
    assert KEY["Idempotency-Key"] not in repr(row)


def test_an_answer_is_known_after_the_key_of_the_server_was_changed(doors, settings):
    first = doors.agent.post(f"{V1}/sessions", {"title": "Notes"}, **KEY)
    settings.TOKEN_KEY, settings.TOKEN_KEY_PREVIOUS = b"n" * 32, settings.TOKEN_KEY

    from teams_app.models import NamedRequest
    from teams_app.services.named_requests import _keys, open_answer

    kept = bytes(NamedRequest.objects.get().answer)
    assert open_answer(kept, keys=_keys(), name=KEY["Idempotency-Key"]) == first.content
    assert open_answer(kept, keys=[b"x" * 32], name=KEY["Idempotency-Key"]) is None


def test_of_several_at_once_one_begins(doors):
    from django.db import connection

    def ask(_):
        try:
            return doors.agent.post(f"{V1}/sessions", {"title": "Notes"}, **KEY)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(ask, range(12)))

    begun = {answer.content for answer in answers if answer.status_code == 201}
    assert len(begun) == 1
    assert {answer.json()["code"] for answer in answers if answer.status_code != 201} <= {"REQUEST_UNSETTLED"}
    assert rows()["WorkSession"] == 1


def test_what_broke_off_is_not_begun_again_by_its_name(doors):
    """As a process leaves it that dies after it began."""
    from teams_app.models import NamedRequest

    doors.agent.post(f"{V1}/sessions", {"title": "Notes"}, **KEY)
    NamedRequest.objects.update(answer=None)

    told = doors.agent.post(f"{V1}/sessions", {"title": "Notes"}, **KEY)

    assert (told.status_code, told.json()["code"], told["Retry-After"]) == (409, "REQUEST_UNSETTLED", "1")


def test_requests_are_forgotten_after_a_day(doors):
    from teams_app.models import NamedRequest
    from teams_app.tasks import forget_deliveries

    doors.agent.post(f"{V1}/sessions", {"title": "Notes"}, **KEY)
    doors.agent.post(f"{V1}/sessions", {"title": "Notes"}, **{"Idempotency-Key": "another"})
    first = NamedRequest.objects.order_by("created_at").first()
    NamedRequest.objects.filter(pk=first.pk).update(created_at=timezone.now() - timedelta(hours=25))

    assert forget_deliveries() == 1
    assert NamedRequest.objects.count() == 1


@pytest.mark.parametrize("key", ["x" * 201, "x" * 5_000])
@pytest.mark.parametrize("path", ["/runs", "/sessions", "/dialects/rail/tools/start_session"])
def test_a_key_that_is_too_long_is_refused(doors, path, key):
    refused = doors.agent.post(f"{V1}{path}", {}, **{"Idempotency-Key": key})

    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR")
