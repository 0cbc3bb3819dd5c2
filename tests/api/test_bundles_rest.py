"""Bundles by REST: a job with its progress, a file that expires, and what may be handed in."""

import base64
import gzip
import json
import zlib

import pytest

from sessions_app.engine.bundles import MEDIA_TYPE
from teams_app.engine.actors import Role
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.redaction import hide_keys
from teams_app.models import Team
from tests.cast import issue, play
from tests.run_cast import begin, make_desk, plain_steps, session_id

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rest(as_key):
    desk = make_desk()
    value = begin(desk, *plain_steps(2))
    return as_key(issue(desk.owner).text), to_text(Prefix.SESSION, session_id(value)), desk


def test_an_export_is_asked_for_watched_and_fetched(rest):
    api, session, _ = rest
    asked = api.post(f"/api/v1/sessions/{session}/export")
    assert asked.status_code == 202
    job = api.get(f"/api/v1/bundles/{asked.json()['id']}").json()
    assert (job["state"], job["doneEvents"]) == ("done", job["totalEvents"])
    file = api.get(f"/api/v1/bundles/{job['id']}/file")
    assert file["Content-Disposition"] == f'attachment; filename="{session}.json.gz"'
    assert gzip.decompress(b"".join(file.streaming_content)).startswith(b'{"bundleId"')
    assert [each["id"] for each in api.get("/api/v1/bundles").json()["items"]] == [job["id"]]


def test_a_key_hands_in_nothing_and_an_author_does(rest, client):
    api, session, desk = rest
    job = api.post(f"/api/v1/sessions/{session}/export").json()
    data = b"".join(api.get(f"/api/v1/bundles/{job['id']}/file").streaming_content)
    refused = api.client.post("/api/v1/bundles", data, content_type="application/gzip", headers=api.headers)
    assert refused.json()["code"] == "FORBIDDEN"
    client.force_login(play("dora", Team.objects.get(pk=desk.team_id), Role.AUTHOR).person)
    for body, kind in ((data, "application/gzip"), (gzip.decompress(data), MEDIA_TYPE)):
        taken = client.post("/api/v1/bundles", body, content_type=kind)
        assert taken.status_code == 202, taken.content
        done = api.get(f"/api/v1/bundles/{taken.json()['id']}").json()
        assert done["result"]["sessions"] != [session]
        assert done["result"]["renamed"] is True


def looks_like_keys(data):
    """The same file, with a comment that in base64 has what keys of others look like, as any file of some size has."""
    plain = gzip.decompress(data)
    comment = base64.b64decode("/eyJhbGciOiJIUzI1NiJ9+AKIAxyzw1234abcd/x")
    assert 0 not in comment
    head = b"\x1f\x8b\x08\x10" + bytes(6) + b"##" + comment + b"\0"
    packed = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    tail = zlib.crc32(plain).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
    return head + packed.compress(plain) + packed.flush() + tail


def test_a_bundle_in_json_is_read_as_it_was_sent_whatever_its_base64_looks_like(rest, client):
    """It was looked through for keys of others, and what was taken for one was cut out of it."""
    api, session, desk = rest
    job = api.post(f"/api/v1/sessions/{session}/export").json()
    data = looks_like_keys(b"".join(api.get(f"/api/v1/bundles/{job['id']}/file").streaming_content))
    sent = base64.b64encode(data).decode()
    assert hide_keys(sent) != sent
    client.force_login(play("dora", Team.objects.get(pk=desk.team_id), Role.AUTHOR).person)

    taken = client.post("/api/v1/bundles", {"bundle": sent}, content_type="application/json")

    assert taken.status_code == 202, taken.content
    assert client.get(f"/api/v1/bundles/{taken.json()['id']}").json()["state"] == "done"


def test_no_field_of_a_body_that_is_a_file_in_base64_is_read_as_words():
    from workrail_site.openapi import document
    from workrail_site.rest import AS_WRITTEN

    shapes = json.loads(document())["components"]["schemas"]
    files = {
        name
        for shape in shapes.values()
        for name, field in shape.get("properties", {}).items()
        if any(each.get("contentEncoding") == "base64" for each in [field, *field.get("anyOf", [])])
    }
    assert files == {"archive", "bundle"}
    assert files <= AS_WRITTEN


def test_a_report_is_for_people(rest):
    api, session, _ = rest
    assert api.get(f"/api/v1/sessions/{session}/report").content.startswith(b"# ")
    page = api.get(f"/api/v1/sessions/{session}/report?form=html")
    assert page["Content-Type"] == "text/html"
    assert "attachment" in page["Content-Disposition"]


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_of_a_long_log_no_document_is_made_in_a_request(rest, monkeypatch, form):
    from sessions_app.api import bundles

    api, session, _ = rest
    monkeypatch.setattr(bundles, "MOST_BYTES_AT_ONCE", 2_000)

    refused = api.get(f"/api/v1/sessions/{session}/report?form={form}")

    assert (refused.status_code, refused.json()["code"]) == (409, "PRECONDITION_FAILED")
    assert f"./workrail export {session}" in refused.content.decode()
