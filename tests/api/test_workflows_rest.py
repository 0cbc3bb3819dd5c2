"""Workflows by REST: what each endpoint answers, refuses and costs."""

import base64
import gzip
import io
import json
import re
import zipfile

import pytest

from tests.workflow_cast import FOLDER, NOW, create, document, make_cast, publish

pytestmark = pytest.mark.django_db

ROOT = "/api/v1/workflows"


class Caller:
    """Calls as one actor: a key over HTTP, for a person has a session and CSRF, which are the matter of other tests."""

    def __init__(self, client, text):
        self._client = client
        self._headers = {"Authorization": f"Bearer {text}"}

    def get(self, path="", **query):
        return self._client.get(f"{ROOT}{path}", query, headers=self._headers)

    def send(self, method, path="", body=None, content_type="application/json", **headers):
        data = json.dumps(body) if content_type == "application/json" else body
        return self._client.generic(
            method, f"{ROOT}{path}", data, content_type=content_type, headers={**self._headers, **headers}
        )


@pytest.fixture
def cast():
    return make_cast()


@pytest.fixture
def callers(cast, client):
    """Keys of Alice's team and of Charlie's, with every scope that a key can have."""
    from teams_app.engine.actors import Scope
    from teams_app.services.keys import issue_key

    def key_of(actor):
        issued = issue_key(actor=actor, name="a key", scopes=frozenset(Scope), expires_at=None, now=NOW)
        return Caller(client, issued.text)

    return {"alice": key_of(cast.alice), "charlie": key_of(cast.charlie)}


@pytest.fixture
def key(callers):
    return callers["alice"]


@pytest.fixture
def signed_in(cast, client):
    """Bob himself, signed in: what needs a person is done by one."""
    from teams_app.engine.actors import Role
    from teams_app.models import Membership, Person
    from teams_app.services.ids import new_id

    bob = Person.objects.create(id=new_id(now=NOW), username="bob", created_at=NOW)
    Membership.objects.create(
        id=new_id(now=NOW), team_id=cast.bob.team_id, person=bob, role=Role.AUTHOR.value, created_at=NOW
    )
    client.force_login(bob)

    def send(method, path, body=None):
        return client.generic(method, f"{ROOT}{path}", json.dumps(body or {}), content_type="application/json")

    send.client = client
    return send


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return buffer.getvalue()


def test_a_workflow_is_created_read_and_listed(key):
    created = key.send("POST", body={"definition": document(), "message": "first"})
    read = key.get("/team.review", include="source,program,history")
    listed = key.get()

    assert created.status_code == 201
    assert created.json()["revision"]["message"] == "first"
    body = read.json()
    assert json.loads(body["source"]["files"]["workflow.json"]) == document()
    assert body["program"]["id"] == "team.review"
    assert [revision["number"] for revision in body["history"]] == [1]
    (item,) = listed.json()["items"]
    assert {name: item[name] for name in ("id", "kind", "idStatus", "state", "problems", "publishedRevision")} == {
        "id": "team.review",
        "kind": "workflow",
        "idStatus": "namespaced",
        "state": "draft",
        "problems": {"errors": 0, "warnings": 0},
        "publishedRevision": None,
    }


def test_a_workflow_of_files_is_created(key):
    files = {path: data.decode() for path, data in FOLDER.items()}
    created = key.send("POST", body={"files": files})

    assert created.json()["workflow"]["family"] == "activities"
    assert key.get("/team.folder", include="source").json()["source"]["files"] == files


def test_validating_answers_problems_and_saves_nothing(key):
    good = key.send("POST", "/validate", {"definition": document()})
    bad = key.send("POST", "/validate", {"definition": document(steps=[], colour="red")})

    assert (good.status_code, good.json()["valid"], good.json()["problems"]) == (200, True, [])
    assert (bad.status_code, bad.json()["valid"], bad.json()["workflowHash"]) == (200, False, None)
    assert {problem["code"] for problem in bad.json()["problems"]} == {"too_short", "unknown_key"}
    assert key.get().json()["items"] == []


@pytest.mark.parametrize("base", ["body", "header"])
def test_a_revision_says_what_it_builds_upon(key, base):
    key.send("POST", body={"definition": document()})
    body = {"definition": document(name="Other")} | ({"baseRevision": 1} if base == "body" else {})
    headers = {"If-Match": '"1"'} if base == "header" else {}

    first = key.send("PUT", "/team.review", body, **headers)
    second = key.send("PUT", "/team.review", body | {"definition": document(name="Third")}, **headers)

    assert (first.status_code, first.json()["revision"]["number"]) == (200, 2)
    assert (second.status_code, second.json()["code"]) == (409, "PRECONDITION_FAILED")
    assert second.json()["details"]["latestRevision"] == 2


def test_a_person_publishes_and_is_shown_the_difference(key, signed_in):
    key.send("POST", body={"definition": document()})
    signed_in("POST", "/team.review/publish", {"revision": 1})
    key.send("PUT", "/team.review", {"definition": document(name="Other"), "baseRevision": 1})

    done = signed_in("POST", "/team.review/publish", {"revision": 2, "base": 1})

    assert done.status_code == 200
    assert done.json()["workflow"]["publishedRevision"] == 2
    assert {item["path"] for item in done.json()["diff"]["program"]} >= {"title"}
    assert key.get("/team.review/diff", revision=2, base=1).json()["program"] == done.json()["diff"]["program"]


def test_a_key_publishes_nothing_whatever_its_scopes(key):
    key.send("POST", body={"definition": document()})

    refused = key.send("POST", "/team.review/publish", {"revision": 1})

    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert key.get("/team.review").json()["workflow"]["state"] == "draft"


def test_a_person_retires_what_was_published(key, signed_in):
    key.send("POST", body={"definition": document()})
    signed_in("POST", "/team.review/publish", {"revision": 1})

    assert signed_in("POST", "/team.review/retire").json()["state"] == "retired"


def test_a_fork_answers_its_origin(key):
    key.send("POST", body={"definition": document()})

    forked = key.send("POST", "/team.review/fork", {"id": "own.review"})

    assert (forked.status_code, forked.json()["workflow"]["forkedFrom"]) == (201, "team.review@1")


def test_history_is_paged(key):
    key.send("POST", body={"definition": document()})
    for number in (1, 2):
        key.send("PUT", "/team.review", {"definition": document(name=f"N{number}"), "baseRevision": number})

    first = key.get("/team.review/revisions", limit=2).json()
    rest = key.get("/team.review/revisions", limit=2, cursor=first["nextCursor"]).json()

    assert [item["number"] for item in first["items"] + rest["items"]] == [3, 2, 1]
    assert rest["nextCursor"] is None


@pytest.mark.parametrize("way", ["json", "zip", "form"])
def test_an_archive_is_imported_however_it_is_sent(key, way):
    data = zipped(FOLDER)
    match way:
        case "json":
            body = {"archive": base64.b64encode(data).decode(), "filename": "a.zip"}
            sent = key.send("POST", "/import", body)
        case "zip":
            sent = key.send("POST", "/import", data, content_type="application/zip")
        case "form":
            body = (
                b'--cut\r\nContent-Disposition: form-data; name="rename"\r\n\r\ntrue\r\n'
                b'--cut\r\nContent-Disposition: form-data; name="archive"; filename="a.zip"\r\n'
                b"Content-Type: application/zip\r\n\r\n" + data + b"\r\n--cut--\r\n"
            )
            sent = key.send("POST", "/import", body, content_type="multipart/form-data; boundary=cut")

    assert sent.status_code == 201, sent.content
    (saved,) = sent.json()["workflows"]
    assert (saved["workflow"]["id"], saved["workflow"]["state"]) == ("team.folder", "draft")


PACKED = {
    "a zip": lambda: zipped(FOLDER),
    "a gzip": lambda: gzip.compress(b"\0" * 1024),
    "a bundle": lambda: b'{"bundle": 1}',
}
NO_TYPE_OF_OURS = (
    *("application/x-www-form-urlencoded", "application/octet-stream", "application/x-zip-compressed"),
    *("application/x-gzip", "text/plain", "nonsense"),
)
SAID_JSON = "application/json; charset=utf-8"


def next_move(response, status):
    assert response.status_code == status, response.content
    return response.json()["details"]["suggestion"]


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("said", NO_TYPE_OF_OURS)
def test_a_body_of_an_unknown_type_is_refused_with_the_types_that_are_read_there(key, packed, said):
    move = next_move(key.send("POST", "/import", PACKED[packed](), content_type=said), 415)

    for kind in ("application/zip", "application/x-tar", "application/gzip", "multipart/form-data", "application/json"):
        assert kind in move


def test_an_archive_that_is_said_to_be_json_is_refused_with_the_types_that_are_read_there(key):
    assert "application/zip" in next_move(key.send("POST", "/import", zipped(FOLDER), content_type=SAID_JSON), 400)

    broken = key.send("POST", "/import", b'{"files": }', content_type=SAID_JSON)
    elsewhere = key.send("POST", "", b"\xff", content_type=SAID_JSON)

    assert {next_move(each, 400) for each in (broken, elsewhere)} == {"Send one JSON document in UTF-8."}


def test_the_type_that_is_named_is_the_next_move(key):
    move = next_move(key.send("POST", "/import", zipped(FOLDER), content_type="application/octet-stream"), 415)

    named = re.search("application/zip", move)[0]

    assert key.send("POST", "/import", zipped(FOLDER), content_type=named).status_code == 201


def test_an_archive_that_is_the_body_takes_its_options_from_the_query(key):
    legacy = FOLDER | {"workflow.toon": FOLDER["workflow.toon"].replace(b"id: team.folder", b"id: folder")}

    path = "/import?rename=true&origin=remote&message=why"
    sent = key.send("POST", path, zipped(legacy), content_type="application/zip")

    (saved,) = sent.json()["workflows"]
    assert (saved["workflow"]["id"], saved["revision"]["message"]) == ("repo.folder", "why")


ORIGINS = "Send one of: bundled, project, remote, team."
STRICT = "Send one of: legacy, strict."
OF_CLOSED_SETS = [
    ("POST", "/import", {"files": {"a.json": "{}"}, "origin": "repo"}, ORIGINS),
    ("POST", "/import?origin=repo", {"files": {"a.json": "{}"}}, ORIGINS),
    ("POST", "/import?strictness=loose", {"files": {"a.json": "{}"}}, STRICT),
    ("POST", "/validate", {"definition": {}, "strictness": "loose"}, STRICT),
    ("GET", "?kind=thing", None, "Send one of: routine, workflow."),
]


@pytest.mark.parametrize(("method", "path", "body", "words"), OF_CLOSED_SETS)
def test_a_word_that_is_not_known_is_refused_with_those_that_are(key, method, path, body, words):
    refused = key.send(method, path, body)

    assert (refused.status_code, refused.json()["details"]["suggestion"]) == (400, words)


def test_a_signed_in_person_sends_a_form_with_its_csrf_proof(cast, signed_in):
    from django.core.files.uploadedfile import SimpleUploadedFile
    from django.middleware.csrf import _get_new_csrf_string
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.client.cookies
    strict.cookies["csrftoken"] = proof = _get_new_csrf_string()
    form = {"archive": SimpleUploadedFile("a.zip", zipped(FOLDER)), "rename": "false"}

    sent = strict.post(f"{ROOT}/import", form, headers={"X-CSRFToken": proof})
    without = strict.post(f"{ROOT}/import", {"archive": SimpleUploadedFile("a.zip", b"x")})

    assert (sent.status_code, without.status_code) == (201, 403)


def test_a_legacy_id_is_renamed_when_that_is_asked_for(key):
    files = {"review.json": json.dumps(document("review"))}
    refused = key.send("POST", "/import", {"files": files})
    renamed = key.send("POST", "/import", {"files": files, "rename": True})

    assert (refused.status_code, refused.json()["details"]["suggestedId"]) == (400, "team.review")
    (saved,) = renamed.json()["workflows"]
    assert (saved["renamedFrom"], saved["alias"], saved["workflow"]["id"]) == ("review", "review", "team.review")
    read = key.get("/review").json()
    assert (read["requestedId"], [problem["code"] for problem in read["warnings"]]) == ("review", ["legacy_id"])


def test_an_export_is_a_file_that_imports_again(key, callers):
    key.send("POST", "/import", zipped(FOLDER), content_type="application/zip")
    exported = key.get("/team.folder/export")
    sent = callers["charlie"].send("POST", "/import", exported.content, content_type="application/zip")

    assert exported["Content-Disposition"] == 'attachment; filename="team.folder.zip"'
    assert exported["Content-Type"] == "application/zip"
    assert sent.status_code == 201


def test_contracts_are_registered_and_listed(key):
    body = {
        "artifactKind": "team.finding",
        "schema": {"type": "object", "properties": {"kind": {"const": "team.finding"}}, "required": ["kind"]},
        "example": {"kind": "team.finding"},
    }
    sent = key.send("PUT", "/contracts/team.contracts.finding", body)
    listed = {item["id"]: item for item in key.get("/contracts").json()["items"]}

    assert sent.status_code == 200
    assert listed["team.contracts.finding"]["schema"] == body["schema"]
    assert listed["wr.contracts.loop_control"]["bundled"]
    assert [key.send("DELETE", "/contracts/team.contracts.finding").status_code for _ in range(2)] == [204, 404]
    assert "team.contracts.finding" not in {item["id"] for item in key.get("/contracts").json()["items"]}


def test_a_person_binds_a_slot_and_takes_it_back(cast, key, signed_in):
    for name in ("first", "second"):
        create(cast.bob, f"team.routine-{name}", name=name)
        publish(cast.bob, f"team.routine-{name}")
    create(
        cast.bob,
        "team.slotted",
        extensionPoints=[{"slotId": "look", "purpose": "Look", "default": "team.routine-first"}],
        steps=[{"id": "look-at-it", "title": "Look", "prompt": "Run {{wr.bindings.look}} on the change."}],
    )
    publish(cast.bob, "team.slotted")
    body = {"workflow": "team.slotted", "slot": "look", "routine": "team.routine-second"}

    bound = signed_in("PUT", "/bindings", body)
    listed = key.get("/bindings").json()["items"]
    gone = signed_in("DELETE", "/bindings?workflow=team.slotted&slot=look")

    assert bound.status_code == 200
    assert [{name: item[name] for name in body} for item in listed] == [body]
    assert (gone.status_code, key.get("/bindings").json()["items"]) == (204, [])


def test_a_person_sets_an_alias_and_removes_it(cast, key, signed_in):
    create(cast.bob)

    assert signed_in("PUT", "/aliases/old", {"workflow": "team.review"}).json() == {
        "alias": "old",
        "workflow": "team.review",
    }
    assert key.get("/old").json()["aliases"] == ["old"]
    assert signed_in("DELETE", "/aliases/old").status_code == 204
    assert key.get("/old").status_code == 404


def test_a_list_costs_one_query_however_long_it_is(cast, key, django_assert_num_queries):
    for number in range(5):
        create(cast.bob, f"team.w{number}")
    key.get()

    with django_assert_num_queries(1):
        assert len(key.get(text="review", state="draft").json()["items"]) == 5


def test_a_workflow_is_read_in_three_queries(cast, key, django_assert_num_queries):
    create(cast.bob)
    key.get("/team.review", include="program,source")

    with django_assert_num_queries(3):
        assert key.get("/team.review", include="program,source").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/team.review", None),
        ("PUT", "/team.review", {"definition": document(), "baseRevision": 1}),
        ("POST", "/team.review/fork", {"id": "own.copy"}),
        ("GET", "/team.review/revisions", None),
        ("GET", "/team.review/diff?revision=1", None),
        ("GET", "/team.review/export", None),
    ],
)
def test_another_teams_workflow_is_the_same_as_none(cast, callers, method, path, body):
    create(cast.bob)

    theirs = callers["charlie"].send(method, path, body).json()
    nobodys = callers["charlie"].send(method, path.replace("review", "nobody"), body).json()

    for answer in (theirs, nobodys):
        assert (answer["status"], answer["code"]) == (404, "NOT_FOUND")
    assert theirs["detail"].replace("review", "nobody") == nobodys["detail"]
    assert theirs["details"]["suggestion"] == nobodys["details"]["suggestion"]


BAD = [
    ("POST", "", {}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": document(), "files": {"a.json": "{}"}}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": []}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": document(), "colour": "red"}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": document(), "message": "x" * 501}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": document(), "strictness": "loose"}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": document("review")}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": document("wr.review")}, "VALIDATION_ERROR"),
    ("POST", "", {"definition": {"id": 7}}, "VALIDATION_ERROR"),
    ("POST", "", {"files": {"../a.json": "{}"}}, "VALIDATION_ERROR"),
    ("POST", "", {"files": {"a.json": 7}}, "VALIDATION_ERROR"),
    ("POST", "", {"files": {}}, "VALIDATION_ERROR"),
    ("POST", "", [], "VALIDATION_ERROR"),
    ("POST", "/validate", {}, "VALIDATION_ERROR"),
    ("POST", "/import", {}, "VALIDATION_ERROR"),
    ("POST", "/import", {"archive": "not base64!"}, "VALIDATION_ERROR"),
    ("POST", "/import", {"archive": "bm90IGEgemlw", "filename": "a.zip"}, "VALIDATION_ERROR"),
    ("POST", "/import", {"files": {"readme.md": "x"}}, "VALIDATION_ERROR"),
    ("POST", "/import", {"files": {"a.json": "{}"}, "origin": "bundled"}, "VALIDATION_ERROR"),
    ("POST", "/import?colour=red", {"files": {"a.json": json.dumps(document())}}, "VALIDATION_ERROR"),
    ("POST", "/import", {"archive": "", "files": {"a.json": "{}"}}, "VALIDATION_ERROR"),
    ("POST", "/import", {"archive": "UEs=", "files": {"a.json": json.dumps(document())}}, "VALIDATION_ERROR"),
    ("PUT", "/team.here", {"definition": document("team.here")}, "VALIDATION_ERROR"),
    ("PUT", "/team.here", {"definition": document("team.here"), "baseRevision": "1"}, "VALIDATION_ERROR"),
    ("PUT", "/team.here", {"definition": document("team.there"), "baseRevision": 1}, "VALIDATION_ERROR"),
    ("PUT", "/team.here", {"definition": document("team.here"), "baseRevision": 7}, "PRECONDITION_FAILED"),
    ("PUT", "/team.gone", {"definition": document("team.gone"), "baseRevision": 1}, "NOT_FOUND"),
    ("POST", "/team.here/fork", {}, "VALIDATION_ERROR"),
    ("POST", "/team.here/fork", {"id": "legacy"}, "VALIDATION_ERROR"),
    ("POST", "/team.here/fork", {"id": "team.here"}, "PRECONDITION_FAILED"),
    ("POST", "/team.here/fork", {"id": "own.x", "revision": 9}, "NOT_FOUND"),
    ("POST", "/team.here/fork", {"id": "own.x", "revision": 0}, "VALIDATION_ERROR"),
    ("POST", "/team.here/publish", {"revision": 1}, "FORBIDDEN"),
    ("POST", "/team.here/publish", {}, "VALIDATION_ERROR"),
    ("POST", "/team.here/retire", {"really": True}, "VALIDATION_ERROR"),
    ("POST", "/team.here/retire", {}, "FORBIDDEN"),
    ("PUT", "/contracts/team.contracts.x", {"artifactKind": "team.x", "schema": {}}, "VALIDATION_ERROR"),
    ("PUT", "/contracts/wr.contracts.x", {"artifactKind": "a.b", "schema": {}, "example": {}}, "VALIDATION_ERROR"),
    ("PUT", "/bindings", {"slot": "look", "routine": "team.here"}, "FORBIDDEN"),
    ("PUT", "/aliases/x", {"workflow": "team.here"}, "FORBIDDEN"),
    ("DELETE", "/aliases/x", None, "FORBIDDEN"),
    ("DELETE", "/bindings?slot=look", None, "FORBIDDEN"),
    ("GET", "?limit=0", None, "VALIDATION_ERROR"),
    ("GET", "?kind=thing", None, "VALIDATION_ERROR"),
    ("GET", "?cursor=forged", None, "VALIDATION_ERROR"),
    ("GET", "?colour=red", None, "VALIDATION_ERROR"),
    ("GET", "/team.here?include=secrets", None, "VALIDATION_ERROR"),
    ("GET", "/team.here?revision=2", None, "NOT_FOUND"),
    ("GET", "/team.here?revision=x", None, "VALIDATION_ERROR"),
    ("GET", "/team.here/diff", None, "VALIDATION_ERROR"),
    ("GET", "/team.here/diff?revision=1&base=4", None, "NOT_FOUND"),
    ("GET", "/team.here/export?revision=2", None, "NOT_FOUND"),
    ("GET", "/team.here/export?colour=red", None, "VALIDATION_ERROR"),
    ("GET", "/nul%00", None, "NOT_FOUND"),
    ("PATCH", "/team.here", {}, "METHOD_NOT_ALLOWED"),
]


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_with_a_code_and_a_next_move_and_writes_nothing(cast, key, case):
    from workflows_app.models import Alias, Binding, Program, Revision, TeamContract, Workflow

    create(cast.bob, "team.here")
    models = (Alias, Binding, Program, Revision, TeamContract, Workflow)
    before = [model.objects.count() for model in models]
    method, path, body, code = case

    answer = key.send(method, path, body)

    problem = answer.json()
    assert (problem["code"], answer["Content-Type"]) == (code, "application/problem+json")
    assert problem["details"]["suggestion"]
    assert [model.objects.count() for model in models] == before


def test_nobody_in_particular_is_answered_nothing(client):
    assert client.get(ROOT).status_code == 401
    assert client.get(f"{ROOT}/team.x/export").status_code == 401


def test_an_archive_beyond_the_limit_is_refused(key):
    from workflows_app.api.parsers import MAX_ARCHIVE_BYTES

    answer = key.send("POST", "/import", b"x" * (MAX_ARCHIVE_BYTES + 1), content_type="application/zip")

    assert answer.json()["details"]["maxBytes"] == MAX_ARCHIVE_BYTES


def test_the_api_document_describes_every_operation(client):
    paths = json.loads(client.get("/api/v1/schema").content)["paths"]

    described = {(path, method) for path, methods in paths.items() for method in methods if path.startswith(ROOT)}
    assert {path.removeprefix(ROOT) for path, _ in described} >= {
        "",
        "/validate",
        "/import",
        "/{workflow}",
        "/{workflow}/publish",
        "/{workflow}/retire",
        "/{workflow}/fork",
        "/{workflow}/revisions",
        "/{workflow}/diff",
        "/{workflow}/export",
        "/contracts",
        "/contracts/{contract}",
        "/bindings",
        "/aliases/{alias}",
    }
