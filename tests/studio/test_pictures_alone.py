"""Pages that stand alone or are seen by few: signing in, what is refused or not there, a viewer's pages, an empty team."""

import os
import re
from pathlib import Path

import pytest

from tests import run_doors, studio_story
from tests.chromium import CHROMIUM, browse, photograph

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

LISTS, TEAMS = "/studio/sessions_app", "/studio/teams_app"


@pytest.fixture
def to(tmp_path):
    return Path(os.environ.get("WORKRAIL_PICTURES", tmp_path))


def heard(complaints):
    """What a page that is refused is said to be by the browser itself is no complaint."""
    return [said for said in complaints if not re.search("status of [45]", said)]


def test_a_viewer_reads_and_is_told_what_is_not_theirs(live_server, to):
    story = studio_story.tell()
    question = f"{LISTS}/checkpointrequest/{studio_story.question_of(story.hotfix).id}/change/"
    paths = {
        "viewer-home": "/studio/",
        "viewer-question": question,
        "viewer-members": f"{TEAMS}/membership/",
        "viewer-keys": f"{TEAMS}/agentkey/",
        "refused": (f"{TEAMS}/agentkey/issue/", 403),
        "missing": (f"{LISTS}/run/00000000-0000-7000-8000-000000000000/change/", 404),
        "missing-id": ("/studio/find/?q=run_agq7c4bc2j3szmknsf4czcpeqm", 404),
    }
    viewer = run_doors.enrol(story.doors.desk.viewer)

    faults, complaints = browse(live_server.url, viewer, lambda page: photograph(page, paths, to))

    assert faults == []
    assert heard(complaints) == []


def test_an_empty_team_and_who_has_not_signed_in(live_server, to):
    desk = run_doors.open_doors().desk
    empty = {
        "empty-home": "/studio/",
        "empty-inbox": f"{LISTS}/checkpointrequest/",
        "empty-runs": f"{LISTS}/run/",
        "empty-sessions": f"{LISTS}/worksession/",
        "empty-traces": "/studio/traces_app/traceevent/",
    }
    alone = {
        "sign-in": "/studio/login/",
        "spent-link": ("/studio/join/nothing-like-it/", 404),
        "no-page": ("/nowhere", 404),
    }

    def walk(page):
        faults = photograph(page, empty, to)
        page.context.clear_cookies()
        return [*faults, *photograph(page, alone, to)]

    faults, complaints = browse(live_server.url, run_doors.enrol(desk.owner), walk)

    assert faults == []
    assert heard(complaints) == []


def test_pages_of_what_went_wrong(live_server, to, monkeypatch):
    """One page of the Studio for each way in which it fails."""
    from django.db import OperationalError

    from teams_app.engine.errors import InvalidInputError, RateLimitedError
    from workrail_site import studio

    errors = {
        "unreadable": InvalidInputError("That is no moment."),
        "too-much": RateLimitedError("600 requests in a minute."),
        "defect": RuntimeError("inside"),
        "database-away": OperationalError("away"),
    }

    def fail(text):
        raise errors[text]

    monkeypatch.setattr(studio.finding, "is_id", fail)
    desk = run_doors.open_doors().desk
    sign_in_page = "/studio/login/"
    paths = {
        "wrong-method": ("/studio/theme/", 405),
        **{
            name: (f"/studio/find/?q={name}", status) for name, status in zip(errors, (400, 429, 500, 503), strict=True)
        },
    }

    def walk(page):
        faults = photograph(page, paths, to)
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto("/studio/teams_app/membership/invite/")
        page.evaluate("document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach(each => each.remove())")
        page.fill("[name=username]", "erin")
        page.click("main form button[type=submit]")
        said = page.inner_text("#main")
        page.screenshot(path=to / "form-out-of-date.png")
        page.click("text=Back to the page")
        faults += [] if "out of date" in said and page.url.endswith("/invite/") else [said, page.url]
        page.context.clear_cookies()
        page.goto("/studio/sessions_app/run/")
        return [*faults, *([] if sign_in_page in page.url else [page.url])]

    faults, complaints = browse(live_server.url, run_doors.enrol(desk.owner), walk)

    assert faults == []
    assert heard(complaints) == []
