"""What a list costs on the wire, measured by a browser that has nothing in its cache."""

import gzip
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.contrib.staticfiles import finders

from tests import studio_story
from tests.chromium import CHROMIUM, browse
from tests.mcp.conftest import running_site

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

MOST_BYTES = 60_000
LISTS = [
    "/studio/",
    "/studio/sessions_app/run/",
    "/studio/sessions_app/worksession/",
    "/studio/sessions_app/checkpointrequest/",
    "/studio/workflows_app/workflow/",
    "/studio/traces_app/traceevent/",
    "/studio/teams_app/agentkey/",
    "/studio/teams_app/auditentry/",
]
_LOADED = """
[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .filter((each) => !each.name.includes('/live/') && !each.name.includes('/watch/'))
  .map((each) => [each.name, each.transferSize])
"""


def on_the_wire(loaded):
    """Pages as they came; static files as a deployment sends them, compressed once when they are collected."""
    weight = 0
    for name, size in loaded:
        found = finders.find(urlsplit(name).path.removeprefix("/static/")) if "/static/" in name else None
        weight += len(gzip.compress(Path(found).read_bytes())) if found else size
    return weight


def test_a_list_weighs_little_and_loads_no_jquery(tmp_path):
    story = studio_story.tell()

    def weigh(page):
        found = {}
        for path in LISTS:
            page.context.new_cdp_session(page).send("Network.clearBrowserCache")
            page.goto(path)
            found[path] = page.evaluate(_LOADED)
        return found

    with running_site(tmp_path) as site:
        found, complaints = browse(site.url, studio_story.owner_of(story), weigh)

    weights = {path: on_the_wire(loaded) for path, loaded in found.items()}
    assert {path: weight for path, weight in weights.items() if not 0 < weight <= MOST_BYTES} == {}
    assert all(any("studio.css" in name for name, _ in loaded) for loaded in found.values())
    assert [name for loaded in found.values() for name, _ in loaded if "jquery" in name.lower()] == []
    assert complaints == []
