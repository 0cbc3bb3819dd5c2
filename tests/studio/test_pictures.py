"""Every page is photographed at 1440 and 390, light and dark, and has nothing to complain of."""

import os
from pathlib import Path

import pytest

from tests import studio_story
from tests.chromium import CHROMIUM, browse
from tests.run_cast import run_id, session_id

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]

LISTS = "/studio/sessions_app"


def pages_of(story):
    run = f"{LISTS}/run/{run_id(story.hotfix)}/change/"
    return {
        "home": "/studio/",
        "session": f"{LISTS}/worksession/{session_id(story.hotfix)}/change/",
        "sessions": f"{LISTS}/worksession/",
        "more": "/studio/more/",
        "runs": f"{LISTS}/run/",
        "runs-found": f"{LISTS}/run/?q=status:open+since:3d+rounds",
        "run": run,
        "run-node": f"{run}?node={studio_story.node_text(story.hotfix, 'risk')}",
        "inbox": f"{LISTS}/checkpointrequest/",
        "question": f"{LISTS}/checkpointrequest/{studio_story.question_of(story.hotfix).id}/change/",
        "question-own": f"{LISTS}/checkpointrequest/{studio_story.question_of(story.triage).id}/change/",
    }


def test_pages_are_photographed_in_both_themes_and_widths(live_server, tmp_path):
    story = studio_story.tell()
    paths = pages_of(story)
    to = Path(os.environ.get("WORKRAIL_PICTURES", tmp_path))

    def photograph(page):
        for width, height, suffix in ((1440, 900, ""), (390, 844, "-phone")):
            page.set_viewport_size({"width": width, "height": height})
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                for name, path in paths.items():
                    page.goto(path)
                    page.screenshot(
                        path=to / f"{name}{suffix}{'-dark' if theme == 'dark' else ''}.png",
                        full_page=bool(os.environ.get("WORKRAIL_WHOLE")),
                    )

    _, complaints = browse(live_server.url, studio_story.owner_of(story), photograph)

    assert complaints == []
