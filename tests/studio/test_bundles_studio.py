"""Exports and imports in the Studio: asked for on a page, watched in a list, fetched and handed in."""

import gzip
import io

import pytest

from sessions_app.models import BundleJob, WorkSession
from tests import run_doors
from tests.run_doors import begin_run

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = "/studio/sessions_app"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def exported(doors, client):
    begin_run(doors, title="Flaky checkout")
    (session,) = WorkSession.objects.all()
    act = f"{ROOT}/worksession/{session.id}/export/"
    assert act in client.get(f"{ROOT}/worksession/{session.id}/change/").content.decode()
    assert client.get(act).status_code == 200
    page = client.post(act, follow=True).content.decode()
    job = BundleJob.objects.get(kind="export")
    assert f"{ROOT}/bundlejob/{job.id}/file/" in page
    file = client.get(f"{ROOT}/bundlejob/{job.id}/file/")
    return b"".join(file.streaming_content)


def test_a_viewer_exports_a_session_and_fetches_its_file(doors):
    data = exported(doors, doors.viewer.client)
    assert gzip.decompress(data).startswith(b'{"bundleId"')
    assert "Import a bundle" not in doors.viewer.client.get(f"{ROOT}/bundlejob/").content.decode()


def test_an_author_hands_in_a_file(doors):
    client = doors.owner.client
    data = exported(doors, client)
    upload = io.BytesIO(data)
    upload.name = "session.json.gz"
    page = client.post(f"{ROOT}/bundlejob/import/", {"bundle": upload}, follow=True).content.decode()
    assert "done" in page
    assert WorkSession.objects.count() == 2


def test_a_stranger_finds_neither_job_nor_file(doors):
    exported(doors, doors.viewer.client)
    job = BundleJob.objects.get(kind="export")
    from dataclasses import replace

    stranger = run_doors.signed_in(
        replace(doors.desk.owner, id=run_doors.person_text(), name="sam", team_id=doors.desk.stranger.team_id)
    )
    assert stranger.client.get(f"{ROOT}/bundlejob/{job.id}/file/").status_code == 404
    assert str(job.id) not in stranger.client.get(f"{ROOT}/bundlejob/").content.decode()
