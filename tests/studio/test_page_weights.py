"""What a list costs on the wire, measured by a browser that has nothing in its cache, and by one that comes back."""

import pytest

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


def test_a_list_weighs_little_and_what_stays_the_same_is_loaded_once(tmp_path):
    story = studio_story.tell()

    def weigh(page):
        found = {}
        for path in LISTS:
            page.context.new_cdp_session(page).send("Network.clearBrowserCache")
            page.goto(path)
            first = page.evaluate(_LOADED)
            page.goto(path)
            found[path] = (first, page.evaluate(_LOADED))
        return found

    with running_site(tmp_path) as site:
        found, complaints = browse(site.url, studio_story.owner_of(story), weigh)

    weights = {path: sum(size for _, size in first) for path, (first, _) in found.items()}
    assert {path: weight for path, weight in weights.items() if not 0 < weight <= MOST_BYTES} == {}
    names = [name for first, _ in found.values() for name, _ in first]
    assert [name for name in names if "jquery" in name.lower()] == []
    again = [(name, size) for _, second in found.values() for name, size in second if "/static/" in name]
    assert again
    assert [(name, size) for name, size in again if size > 0] == []
    assert complaints == []
