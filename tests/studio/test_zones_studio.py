"""Times on the pages of the Studio are in the zone of whoever reads them, and programs get theirs in UTC."""

import re

import pytest

from sessions_app.models import Run
from tests import run_doors
from tests.run_doors import V1, begin_run
from workrail_site.reader_zone import COOKIE

pytestmark = pytest.mark.django_db

RUNS = "/studio/sessions_app/run/"


@pytest.fixture
def doors():
    return run_doors.open_doors()


def titles_of(doors, zone, path=RUNS):
    client = doors.viewer.client
    client.cookies[COOKIE] = zone
    page = client.get(path)
    assert page.status_code == 200
    return re.findall(r'<time datetime="([^"]*)" title="([^"]*)"', page.content.decode())


@pytest.mark.parametrize(
    ("zone", "told"),
    [
        ("Europe/Berlin", "2 June 2026, 01:30:00 CEST"),
        ("America/Argentina/Buenos_Aires", "1 June 2026, 20:30:00 -03"),
        ("Asia/Kathmandu", "2 June 2026, 05:15:00 +0545"),
        ("", "1 June 2026, 23:30:00 UTC"),
        ("Nowhere/Atall", "1 June 2026, 23:30:00 UTC"),
        ("Europe", "1 June 2026, 23:30:00 UTC"),
        ("../../etc/passwd", "1 June 2026, 23:30:00 UTC"),
        ("x" * 4000, "1 June 2026, 23:30:00 UTC"),
    ],
)
def test_a_time_is_told_in_the_zone_of_the_reader(doors, zone, told):
    begin_run(doors)
    Run.objects.update(last_activity_at="2026-06-01T23:30Z")

    assert ("2026-06-01T23:30:00Z", told) in titles_of(doors, zone)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/Coyhaique", "Etc/GMT+12"])
def test_home_counts_by_days_of_the_reader_whatever_the_database_knows_of_zones(doors, zone):
    begin_run(doors)
    Run.objects.update(status="complete", completed_at="2026-06-01T23:30Z")
    doors.viewer.client.cookies[COOKIE] = zone

    assert doors.viewer.client.get("/studio/").status_code == 200


def test_the_zone_ends_with_the_page_and_is_no_matter_of_programs(doors):
    begin_run(doors)
    Run.objects.update(last_activity_at="2026-06-01T23:30Z")
    titles_of(doors, "Europe/Berlin")

    assert doors.agent.get(f"{V1}/runs").json()["items"][0]["lastActivityAt"] == "2026-06-01T23:30:00Z"
