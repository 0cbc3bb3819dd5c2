"""Bundles by REST: a job with its progress, a file that expires, and what may be handed in."""

import gzip

import pytest

from sessions_app.engine.bundles import MEDIA_TYPE
from teams_app.engine.actors import Role
from teams_app.engine.ids import Prefix, to_text
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
    from teams_app.models import Team

    client.force_login(play("dora", Team.objects.get(pk=desk.team_id), Role.AUTHOR).person)
    for body, kind in ((data, "application/gzip"), (gzip.decompress(data), MEDIA_TYPE)):
        taken = client.post("/api/v1/bundles", body, content_type=kind)
        assert taken.status_code == 202, taken.content
        done = api.get(f"/api/v1/bundles/{taken.json()['id']}").json()
        assert done["result"]["sessions"] != [session]
        assert done["result"]["renamed"] is True


def test_a_report_is_for_people(rest):
    api, session, _ = rest
    assert api.get(f"/api/v1/sessions/{session}/report").content.startswith(b"# ")
    page = api.get(f"/api/v1/sessions/{session}/report?form=html")
    assert page["Content-Type"] == "text/html"
    assert "attachment" in page["Content-Disposition"]
